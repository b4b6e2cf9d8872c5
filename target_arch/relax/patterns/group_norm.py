"""Normalization of images by groups of channels, of which one channel may be a group: a call of Relax.

Tests: `tests/relax/patterns/test_group_norm.py`.
"""

from tvm.relax.dpl import wildcard

from target_arch.plan.operators.facts import DEFINITION_NAME
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.patterns.matcher import Draft, Match, Matcher

_CALL = "nn.group_norm"


def float_group_norm() -> Matcher:
    """`group_norm` on floats [N,C,...] with a constant scale and offset."""
    return Matcher(roots=(_CALL,), pattern=wildcard(), calls={}, build=_build)


def _build(match: Match) -> Draft | None:
    call = match.graph.bound[match.root]
    x, scale, offset = call.args
    rank, constants = len(shape_of(x)), tuple(match.constant(each) for each in (scale, offset))
    axes = sorted(int(axis) % rank for axis in call.attrs.axes)
    if axes != list(range(2, rank)) or int(call.attrs.channel_axis) % rank != 1:
        return None
    if dtype_of(x) != "float32" or not match.is_activation(x):
        return None
    known = tuple(each for each in constants if each is not None and each.quantization is None)
    if len(known) < len(constants):
        return None
    return Draft(
        kind=OperatorKind.NORMALIZE,
        inputs=(x,),
        output=match.root,
        constants=known,
        attributes={
            DEFINITION_NAME: "group_norm",
            "groups": int(call.attrs.num_groups),
            "epsilon": float(call.attrs.epsilon),
        },
    )
