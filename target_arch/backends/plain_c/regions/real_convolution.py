"""Convolutions and dense layers of float32 values, and the sum after one, by the kernel for float32."""

from collections.abc import Iterator

from attrs import frozen

from target_arch.backends.plain_c.kernels import reals
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.backends.plain_c.kernels.text import Parameter
from target_arch.backends.plain_c.regions.convolution import sizes_of_lines
from target_arch.backends.plain_c.regions.linewise import FusedOperators, TurnNames, Turns
from target_arch.backends.plain_c.regions.windows import unit_of, window_of
from target_arch.backends.plain_c.work.rates import cycles
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.regions.cut import Axis
from target_arch.soc.words import InstructionSet

_CALL = 400
"""Instructions for each call of the driver."""


@frozen(kw_only=True)
class RealConvolution:
    """One of them as C calls it; `sizes` is its struct."""

    unit: FusedOperators
    sizes: str
    after: reals.RealSum | None
    packed: tuple[Tensor, ...]
    cycles: float
    """The instructions of one call for all rows, by estimate."""

    @property
    def inside(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(name=name, dtype="float32") for name in reals.INSIDE)

    @property
    def constants(self) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in self.packed)

    @property
    def headers(self) -> tuple[str, ...]:
        return (reals.HEADER, "kernels/f32_conv2d_rows.h")

    def functions(self, turns: Turns) -> tuple[CFunction, ...]:
        return ()

    def more(self, turns: Turns) -> float:
        return float((sum(turns.values()) - 1) * _CALL)

    def constant(self, names: TurnNames) -> Iterator[str]:
        yield self.sizes

    def call(self, names: TurnNames) -> Iterator[str]:
        other = "0"
        if self.after is not None:
            other = f"(const float *)(const void *)ta_rows_at(&{names.reads[1]}, {names.own}.done)"
        yield reals.end_in_c(other, self.after)
        inside = ", ".join(f"{name}{names.suffix}" for name in reals.INSIDE)
        place = f"(float *)(void *)({names.place})"
        given = f"&sizes, &end, &{names.reads[0]}, {inside}, {place}, {names.own}.done, to"
        yield f"ta_f32_convolve_rows({given});"


def real_convolution(
    operator: Operator, after: Operator | None, model: Model, axis: Axis, isa: InstructionSet
) -> RealConvolution | None:
    """One operator, or it and the addition `after` it; None where the kernel does not compute them."""
    if operator.kind not in (OperatorKind.CONV2D, OperatorKind.DENSE):
        return None
    window = window_of(operator, model, axis)
    if window is None:
        return None
    picked = pick(operator, after, model, isa)
    if picked.kernel is not Driver.REALS:
        return None
    added = None if after is None else reals.sum_after(after, operator.output, model)
    return RealConvolution(
        unit=unit_of(operator, window, after, None if added is None else added.other, model, axis),
        sizes=reals.sizes_in_c(operator, model, sizes_of_lines(operator, model, axis)),
        after=added,
        packed=reals.constants(operator, model),
        cycles=cycles(picked.work, isa),
    )
