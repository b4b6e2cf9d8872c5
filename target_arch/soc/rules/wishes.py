"""Rules about placement rules: no rule forbids the demand of another."""

from collections.abc import Iterator

from target_arch.soc.faults import Fault, Path, Related
from target_arch.soc.model import SoC

EVERY = "*"
_RULE = "contradicting-rules"


def _contradictions(soc: SoC) -> Iterator[Fault]:
    """Placement rules of which one makes another impossible, or keeps it from ever being asked."""
    for kind in dict.fromkeys((*soc.require, *soc.prefer, *soc.forbid)):
        forbidden = _forbidden(soc, kind)
        if kind in soc.forbid and forbidden >= _meant(soc, *(arch.name for arch in soc.archs)):
            message = f"{_said(kind)} may run nowhere: every target_arch is forbidden"
            path: Path = ("partitioning", "forbid", kind)
            yield Fault(rule=_RULE, path=path, message=message, hint="leave one of them out", at_key=True)
            continue
        must = kind if kind in soc.require else EVERY if EVERY in soc.require else None
        if must is not None and _meant(soc, soc.require[must]) <= forbidden:
            said = f"{_said(kind)} must run on `{soc.require[must]}`, which another rule forbids"
            yield _against_forbid(soc, ("partitioning", "require", must), kind, said)
        elif kind in soc.prefer:
            yield from _idle_wish(soc, kind, must)


def _idle_wish(soc: SoC, kind: str, must: str | None) -> Iterator[Fault]:
    """A preference that no operator can follow."""
    path, wanted = ("partitioning", "prefer", kind), _meant(soc, soc.prefer[kind])
    said = f"{_said(kind)} would best run on `{soc.prefer[kind]}`, which another rule"
    if wanted <= _forbidden(soc, kind):
        yield _against_forbid(soc, path, kind, f"{said} forbids")
    elif must is not None and not wanted & _meant(soc, soc.require[must]):
        at: Path = ("partitioning", "require", must)
        related = (Related(path=at, message=f"`{soc.require[must]}` is required here"),)
        yield Fault(rule=_RULE, path=path, message=f"{said} excludes", related=related, uses=(path, at))


def _against_forbid(soc: SoC, path: Path, kind: str, message: str) -> Fault:
    at: Path = ("partitioning", "forbid", kind if kind in soc.forbid else EVERY)
    related = (Related(path=at, message="forbidden here"),)
    return Fault(rule=_RULE, path=path, message=message, related=related, uses=(path, at))


def _forbidden(soc: SoC, kind: str) -> frozenset[str]:
    """The instances on which operators of a kind must not run."""
    return _meant(soc, *soc.forbid.get(kind, ()), *soc.forbid.get(EVERY, ()))


def _meant(soc: SoC, *targets: str) -> frozenset[str]:
    """The instances that names of target_archs and of instances mean."""
    return frozenset(each.name for each in soc.instances if {each.name, each.arch.name} & {*targets})


def _said(kind: str) -> str:
    return "every operator" if kind == EVERY else f"`{kind}`"


WISHES = (_contradictions,)
