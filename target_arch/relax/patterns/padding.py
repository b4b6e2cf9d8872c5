"""Paddings with a number."""

from tvm.relax.dpl import is_op, wildcard

from target_arch.plan.operators.facts import DEFINITION_NAME, Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.patterns.matcher import Draft, Match, Matcher


def fixed_pad() -> Matcher:
    """An `nn.pad` with a number, alone."""
    call = is_op("relax.nn.pad")(wildcard())
    return Matcher(roots=("nn.pad",), pattern=call, calls={"call": call}, build=_build)


def _build(match: Match) -> Draft | None:
    call = match.required("call")
    widths = [int(width) for width in call.attrs.pad_width]
    if str(call.attrs.pad_mode) != "constant" or min(widths) < 0 or not match.is_activation(call.args[0]):
        return None
    fill, real = float(call.attrs.pad_value), dtype_of(match.root).startswith("float")
    if not real and not fill.is_integer():
        return None
    return Draft(
        kind=OperatorKind.PAD,
        arithmetic=Arithmetic.FLOAT if real else match.graph.arithmetic,
        inputs=(call.args[0],),
        output=match.root,
        attributes={
            DEFINITION_NAME: "padded",
            "before": tuple(widths[::2]),
            "fill": fill if real else int(fill),
        },
    )
