"""From one `[[copy]]` table to the copy paths it stands for.

`from` and `to` may each name several memories, and a per-instance memory means all its replicas: every pair
is a path of its own. Rules speak of paths; an `CopyDeclaration` leads back to the words of the file.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from target_arch.soc.faults import CopyDeclaration
from target_arch.soc.model import CopyPath
from target_arch.soc.words import CacheDuty, cache_duty


@frozen(kw_only=True)
class Places:
    """The facts about memories for a table of copies: names that each stands for, and memories surely not
    cached.
    """

    replicas: Mapping[str, tuple[str, ...]]
    uncached: Collection[str]


def expanded(
    number: int, table: Mapping[str, Any], values: Mapping[str, Any], places: Places
) -> Iterator[tuple[CopyPath, CopyDeclaration]]:
    """The paths of table `number` of a file, whose good values include both ends.

    A cache duty is kept for the paths it concerns: those whose end is cached. Where that would be none, each
    path keeps it, for the rules to refuse.
    """
    sources, targets = values["source"], values["target"]
    rest = {key: value for key, value in values.items() if key not in ("source", "target", "cache")}
    duty = cache_duty(values.get("cache", CacheDuty.NONE))
    for source_index, source in enumerate(sources):
        for target_index, target in enumerate(targets):
            owed = duty.at(
                source=_concerns(source, sources, places.uncached),
                target=_concerns(target, targets, places.uncached),
            )
            origin = CopyDeclaration(
                table=number,
                source=source_index if isinstance(table["from"], list) else None,
                target=target_index if isinstance(table["to"], list) else None,
            )
            for one in places.replicas.get(source, (source,)):
                for other in places.replicas.get(target, (target,)):
                    yield CopyPath(source=one, target=other, cache=owed, **rest), origin


def _concerns(memory: str, alternatives: Sequence[str], uncached: Collection[str]) -> bool:
    return memory not in uncached or all(each in uncached for each in alternatives)
