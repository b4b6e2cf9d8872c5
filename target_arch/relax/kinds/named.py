"""Kinds with several definitions, which a reader names."""

from collections.abc import Callable, Mapping

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.table import OF_KIND, definition
from target_arch.relax.kinds.form import Form
from target_arch.relax.patterns import group_norm, integers, layer_norm, padding
from target_arch.relax.patterns.defined import named
from target_arch.relax.patterns.matcher import Matcher


def _by_name(kind: OperatorKind) -> Callable[[], Matcher]:
    def stated() -> Matcher:
        return named(kind)

    stated.__doc__ = f"A `{kind}` that the reader of the model named by its definition."
    return stated


_CALLED = (
    OperatorKind.POOLING,
    OperatorKind.REARRANGE,
    OperatorKind.SCAN,
    OperatorKind.TREES,
)

_FROM_CALLS: Mapping[OperatorKind, tuple[Callable[[], Matcher], ...]] = {
    OperatorKind.NORMALIZE: (layer_norm.float_layer_norm, group_norm.float_group_norm),
    OperatorKind.PAD: (padding.fixed_pad,),
    OperatorKind.PRODUCTS: (integers.integer_product, integers.integer_convolution),
}
"""Patterns of calls that have one of these definitions."""

FORMS: Mapping[OperatorKind, Form] = {
    kind: Form(patterns=(_by_name(kind), *_FROM_CALLS.get(kind, ())), definition=definition, paired=None)
    for kind in OF_KIND
} | {kind: Form(patterns=(), definition=None, paired=None) for kind in _CALLED}
