"""A mistake in a description, before it is known where in a file that is."""

from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

Path = tuple[str | int, ...]
"""A place in the description: `("memory", "ddr", "size")`, `("copy", 2, "to")`."""


@frozen(kw_only=True)
class Related:
    """The second place of a conflict."""

    path: Path
    message: str


@frozen(kw_only=True)
class Fault:
    """One mistake at `path` (at its key instead of its value where `at_key`).

    `uses` are the parts of the description that the finding rests on. Where one of them is wrong itself, this
    fault may be a mere consequence and is not reported. `("memory", "*")` stands for which memories there
    are.
    """

    rule: str
    path: Path
    message: str
    hint: str | None = None
    related: tuple[Related, ...] = ()
    uses: tuple[Path, ...] = ()
    at_key: bool = False


@frozen(kw_only=True)
class CopyDeclaration:
    """Where in a file a copy path was declared: the number of its table, and its place in `from` and `to`.

    `source` and `target` are None where the table names one memory and not a list.
    """

    table: int
    source: int | None = None
    target: int | None = None

    def moved(self, path: Path) -> Path:
        """The place in the file for a place in the copy path (`("copy", 5, "to")`)."""
        end = {"from": self.source, "to": self.target}.get(str(path[2])) if len(path) == 3 else None
        return ("copy", self.table, *path[2:], *(() if end is None else (end,)))


def independent(faults: Iterable[Fault], wrong: Iterable[Path]) -> tuple[Fault, ...]:
    """The faults that rest on nothing wrong, each once."""
    known = tuple(wrong)
    kept = [fault for fault in faults if not any(_touch(used, bad) for used in fault.uses for bad in known)]
    return tuple(dict.fromkeys(kept))


def dotted(path: Path) -> str:
    """The path in words, for descriptions that come from no file: `copy[2].to`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def relocated(fault: Fault, origins: Sequence[CopyDeclaration]) -> Fault:
    """The fault in terms of the file, where copy path `i` of the SoC was declared at `origins[i]`."""

    def moved(path: Path) -> Path:
        if len(path) > 1 and path[0] == "copy" and isinstance(path[1], int):
            return origins[path[1]].moved(path)
        return path

    related = tuple(evolve(each, path=moved(each.path)) for each in fault.related)
    return evolve(fault, path=moved(fault.path), related=related, uses=tuple(map(moved, fault.uses)))


def _touch(one: Path, other: Path) -> bool:
    """True where one path leads to or through the other."""
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]
