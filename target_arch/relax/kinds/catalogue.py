"""The patterns of the operator kinds, to be listed without TVM and loaded with it."""

from typing import Any

from attrs import frozen

from target_arch.backend.contract import Pattern
from target_arch.plan.operators.facts import Lowering
from target_arch.plan.operators.kinds import OperatorKind, kind_of

_OTHERWISE = (Lowering.TVM, Lowering.ONE_COPY)
_MATCHED = tuple(kind for kind in OperatorKind if kind.facts.lowering not in _OTHERWISE)


@frozen(kw_only=True)
class _Loader:
    """Makes the matchers of a kind; their modules import TVM, so they are imported when it is called."""

    kind: OperatorKind

    def __call__(self) -> Any:
        from target_arch.relax.kinds.table import FORMS

        return tuple(pattern() for pattern in FORMS[self.kind].patterns)


def standard_patterns(*kinds: str) -> tuple[Pattern, ...]:
    """The composites of these operator kinds, in integers and in floats; without arguments those of every
    kind.

    KeyError for a kind that no pattern of the table makes.
    """
    return tuple(Pattern(name=kind, load=_Loader(kind=kind)) for kind in map(_known, kinds or _MATCHED))


def _known(name: str) -> OperatorKind:
    kind = kind_of(name)
    if not isinstance(kind, OperatorKind) or kind not in _MATCHED:
        raise KeyError(name)
    return kind
