"""The piece of an operator that calls a kernel of `runtime_c/kernels`, where there is one for it."""

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.choices import KernelChoice, chosen
from target_arch.backends.plain_c.concat import ConcatSlice
from target_arch.backends.plain_c.kernels import (
    conversions,
    depthwise,
    hybrid,
    hybrid_depthwise,
    integers,
    matmul,
    parts,
    places,
    products,
    real_depthwise,
    real_extremes,
    real_functions,
    real_matmul,
    real_norms,
    real_pool,
    real_recurrent,
    reals,
    sums,
    transposes,
)
from target_arch.backends.plain_c.kernels.layout import WeightLayout
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.backends.plain_c.kernels.text import Made
from target_arch.backends.plain_c.lower import Piece, joint_piece, operands, own_memory, piece, rows_piece
from target_arch.plan.kernels import Access, Call, Operand
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.c.codegen import in_place

_UNWEIGHTED: Mapping[Driver | None, Callable[[Operator, Model], Made]] = {
    Driver.REAL_FUNCTION: real_functions.made,
    Driver.REAL_MATMUL: real_matmul.made,
    Driver.REAL_NORM: real_norms.made,
    Driver.REAL_RECURRENT: real_recurrent.made,
    Driver.REAL_POOL: real_pool.made,
    Driver.REAL_EXTREME: real_extremes.made,
    Driver.MATMUL: matmul.made,
    Driver.CONVERSION: conversions.made,
    Driver.TRANSPOSE: transposes.made,
    Driver.SUM: places.made,
    Driver.MUL: places.made,
}
"""The calls of kernels that have nothing to pack."""

_REAL: Mapping[Driver | None, Callable[[Operator, Model, int, reals.RealSum | None], Made]] = {
    Driver.REALS: reals.made,
    Driver.REAL_DEPTHWISE: real_depthwise.made,
    Driver.REAL_GROUPED: parts.real_made,
    Driver.REAL_TRANSPOSED: parts.real_made,
}
"""The calls of kernels in float32 that a sum may follow."""

_IN_LAYOUT: Mapping[Driver | None, Callable[[Operator, Model, WeightLayout, int, sums.Sum | None], Made]] = {
    Driver.PRODUCTS: products.made,
    Driver.GROUPED: parts.made,
    Driver.TRANSPOSED: parts.made,
    Driver.INTEGERS: integers.made,
}
"""Those of kernels in integers with weights in a layout."""

_HYBRID: Mapping[Driver | None, Callable[[Operator, Model, WeightLayout, int], Made]] = {
    Driver.HYBRID: hybrid.made,
    Driver.HYBRID_DEPTHWISE: hybrid_depthwise.made,
}
"""Those of kernels of floats with int8 weights."""


@frozen
class _Fast:
    """The code that was chosen, and the call of a kernel if it is one."""

    choice: KernelChoice
    made: Made | None

    @property
    def tuned(self) -> bool:
        """Whether a record chose the definition where the rules have a kernel."""
        return self.made is None and self.choice.task is not None

    def noted(self, found: Piece, operator: Operator) -> Piece:
        """The piece with what could be chosen, and with the task of the record that chose."""
        choice = self.choice
        others = {operator.id: (choice.name, *choice.others)} if choice.others else {}
        return evolve(found, choices=others, tuned=(choice.task,) if choice.task else found.tuned)


def fast_piece(operator: Operator, request: LoweringRequest, slot: ConcatSlice | None = None) -> Piece | None:
    """The piece of an operator, which writes into `slot` if there is one; None where no kernel is for it.
    Kernels without weights write one row behind the other, whatever is between the rows of a slot.
    """
    if slot and not (operator.facts.weighted and slot.run == _outputs(operator, request)):
        return None
    fast = _fast(operator, None, request, slot.stride if slot else 0)
    if fast.tuned:
        return fast.noted(rows_piece(operator, slot, request) if slot else piece(operator, request), operator)
    if fast.made is None:
        return None
    out = slot.operand() if slot else Operand(of=operator.output, access=Access.WRITE)
    return fast.noted(_called(operator, fast.made, (), out, request), operator)


def fast_pair(operator: Operator, after: Operator, request: LoweringRequest) -> Piece | None:
    """The piece of two operators, the second of which adds another tensor to the result of the first; None as
    above.
    """
    fast = _fast(operator, after, request, 0)
    if fast.tuned:
        return fast.noted(joint_piece(operator, after, request), operator)
    if fast.made is None:
        return None
    others = tuple(name for name in after.inputs if name != operator.output)
    out = Operand(of=after.output, access=Access.WRITE)
    return fast.noted(_called(operator, fast.made, others, out, request), operator)


def _fast(operator: Operator, after: Operator | None, request: LoweringRequest, apart: int) -> _Fast:
    """The call of a kernel. Weights are packed once for a model, however often it is lowered."""
    key = ("kernel", operator.id, after.id if after else None, apart, request.instance.arch.isa)
    if key not in request.shared:
        picked = pick(operator, after, request.model, request.instance.arch.isa, request.goal)
        choice = chosen(operator, picked, request)
        request.shared[key] = _Fast(choice, _packed(operator, after, choice, request.model, apart))
    fast: _Fast = request.shared[key]
    return fast


def _packed(
    operator: Operator, after: Operator | None, choice: KernelChoice, model: Model, apart: int
) -> Made | None:
    kernel = choice.driver
    if kernel in _UNWEIGHTED:
        return _UNWEIGHTED[kernel](operator, model)
    if kernel in _REAL:
        real = None if after is None else reals.sum_after(after, operator.output, model)
        return _REAL[kernel](operator, model, apart, real)
    added = None if after is None else sums.sum_after(after, operator.output, model)
    if kernel in _IN_LAYOUT:
        return _IN_LAYOUT[kernel](operator, model, choice.layout, apart, added)
    if kernel is Driver.DEPTHWISE:
        return depthwise.made(operator, model, apart, added)
    if kernel in _HYBRID:
        return _HYBRID[kernel](operator, model, choice.layout, apart)
    return None


def _outputs(operator: Operator, request: LoweringRequest) -> int:
    """The outputs of a pixel; those of a dense layer, whose result may have any shape, are in its weights."""
    tensors = request.model.tensors
    if operator.kind is OperatorKind.DENSE:
        return tensors[operator.constants[0]].shape[0]
    return tensors[operator.output].shape[-1]


def _called(
    operator: Operator, made: Made, others: tuple[str, ...], out: Operand, request: LoweringRequest
) -> Piece:
    reads = (*operator.inputs, *(constant.name for constant in made.packed), *others)
    buffers = own_memory(operator, made.scratch, request)
    names = tuple(buffer.name for buffer in buffers)
    given = in_place(made.function, (*operands(reads, Access.READ), out, *operands(names, Access.WRITE)))
    call = Call(function=made.function.name, operands=given, operator=operator.id)
    return Piece(functions=(made.function,), constants=made.packed, buffers=buffers, calls=(call,))
