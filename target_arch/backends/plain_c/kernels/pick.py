"""The kernel that an operator gets, and its work: one answer for costs, lowering and explanations. Nothing is
packed.

A product sum and the addition after it are one call, where nothing else reads the value between them and the
addition follows at once.
"""

from enum import StrEnum
from math import prod

from attrs import evolve, field, frozen

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
from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.backends.plain_c.work.forms import KernelForm, Work, WorkUnit, form_of, rounded
from target_arch.plan.goal import Goal
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic, Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import in_four_bits, is_hybrid, widens
from target_arch.soc.words import InstructionSet


class Driver(StrEnum):
    """The code of an operator: a driver of `runtime_c/kernels`, by its header, or the call before."""

    PRODUCTS = "s8_conv2d"
    DEPTHWISE = "s8_depthwise"
    HYBRID = "s8_hybrid"
    HYBRID_DEPTHWISE = "s8_hybrid_depthwise"
    INTEGERS = "s8_integers"
    GROUPED = "s8_grouped"
    TRANSPOSED = "s8_transposed"
    REAL_GROUPED = "f32_grouped"
    REAL_TRANSPOSED = "f32_transposed"
    REALS = "f32_conv2d"
    REAL_DEPTHWISE = "f32_depthwise"
    REAL_FUNCTION = "f32_functions"
    REAL_MATMUL = "f32_matmul"
    REAL_NORM = "f32_norms"
    REAL_RECURRENT = "f32_recurrent"
    REAL_POOL = "f32_pool"
    REAL_EXTREME = "f32_extremes"
    MATMUL = "s8_matmul"
    CONVERSION = "s8_convert"
    TRANSPOSE = "transposes"
    MUL = "s8_mul"
    SUM = "s8_add"
    REAL_SUM = "f32_conv2d before it"
    REAL_DEPTHWISE_SUM = "f32_depthwise before it"


_REAL_SUMS = {
    Driver.REALS: Driver.REAL_SUM,
    Driver.REAL_GROUPED: Driver.REAL_SUM,
    Driver.REAL_TRANSPOSED: Driver.REAL_SUM,
    Driver.REAL_DEPTHWISE: Driver.REAL_DEPTHWISE_SUM,
}
"""The sum in the call of a kernel for float32."""

_DEPTHWISE_AS_DEFINED = (InstructionSet.ARMV7E_M, InstructionSet.ARMV8_1_M, InstructionSet.AARCH64)

_X86_FORMS = (InstructionSet.GENERIC, InstructionSet.X86_64)
"""Others have no form of `s8_matmul.h`, `f32_norms.h`, `f32_pool.h`, `f32_extremes.h`, `transposes.h` and
`s8_convert.h` but the portable one, which is no shorter than the definition.
"""

_OF_DEFINED_WORK = (
    (Driver.REAL_POOL, real_pool),
    (Driver.REAL_EXTREME, real_extremes),
    (Driver.TRANSPOSE, transposes),
    (Driver.CONVERSION, conversions),
)
"""Kernels with a form for x86-64 whose work is counted as that of their definition."""

_WIDENED = 1.6
"""What a product takes whose weight is widened, in products of floats: eight instructions for five on a
Cortex-M7; on x86-64, where products are in vectors, it is 1.05."""


@frozen(kw_only=True)
class Pick:
    """The kernel of an operator and the work of its call; or the reason why it has none, and the work of its
    definition in TE.
    """

    kernel: Driver | None
    form: KernelForm
    work: Work = field(repr=False)
    reason: str = ""

    def __str__(self) -> str:
        if self.kernel is None:
            return f"C from its definition ({self.reason})"
        return f"kernel {self.kernel}, {self.form.name} form"


def predicted(operator: Operator, model: Model, isa: InstructionSet, goal: Goal = Goal.BALANCED) -> Pick:
    """The kernel of an operator if the operators that may share its call are at the same instance."""
    before = _before(operator, model)
    if before is not None:
        first = pick(before, operator, model, isa, goal)
        if first.kernel is not None:
            return _sum(operator, model, first)
        reason = f"no kernel for {operator.kind}"
        return Pick(kernel=None, form=form_of(isa), work=defined(operator, model), reason=reason)
    after = model.readers.get(operator.output)
    joined = after is not None and _before(after, model) is operator
    return pick(operator, after if joined else None, model, isa, goal)


def pick(
    operator: Operator,
    after: Operator | None,
    model: Model,
    isa: InstructionSet,
    goal: Goal = Goal.BALANCED,
) -> Pick:
    """The kernel of an operator, together with the operator `after` it if there is one.

    Nothing has one if the goal is size: `docs/kernels.md` has the bytes of both.
    """
    form = form_of(isa)
    if not operator.facts.weighted:
        found: Pick | str = _unweighted(operator, model, isa, goal)
    elif goal is Goal.SIZE:
        found = "kernels are larger"
    elif is_hybrid(operator, model):
        found = _hybrid(operator, model, isa, goal)
    elif operator.arithmetic is Arithmetic.FLOAT:
        found = _real(operator, after, model, isa, goal)
    else:
        found = _integer(operator, after, model, isa, goal)
    if isinstance(found, str):
        found = Pick(kernel=None, form=form, work=defined(operator, model), reason=found)
    found = evolve(found, work=rounded(found.work, operator.arithmetic))
    if goal is Goal.SPEED or not operator.facts.weighted:
        return found
    weights = model.tensors[operator.constants[0]]
    if not in_four_bits(weights):
        return found
    return evolve(found, work={**found.work, WorkUnit.WIDENED: weights.bytes})


def _integer(
    operator: Operator, after: Operator | None, model: Model, isa: InstructionSet, goal: Goal
) -> Pick | str:
    form, layout = form_of(isa), layout_of(isa)
    if after is not None and sums.sum_after(after, operator.output, model) is None:
        return f"no kernel for {after.kind} after it"
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        reason = depthwise.refusal(operator, model)
        if reason is None and depthwise.proven(operator, model):
            work = depthwise.work(operator, model, None if after else form.strips)
            return Pick(kernel=Driver.DEPTHWISE, form=form, work=work)
    elif parts.are_of(operator, model):
        reason = parts.refusal(operator, model, layout, bounded=goal is not Goal.SPEED)
        if reason is None and products.proven(operator, model):
            transposed = operator.kind is OperatorKind.CONV2D_TRANSPOSE
            driver = Driver.TRANSPOSED if transposed else Driver.GROUPED
            return Pick(kernel=driver, form=form, work=parts.work(operator, model, layout, form.tile))
    else:
        reason = products.refusal(operator, model, layout, bounded=goal is not Goal.SPEED)
        if reason is None and products.proven(operator, model):
            work = products.work(operator, model, layout, form.tile)
            return Pick(kernel=Driver.PRODUCTS, form=form, work=work)
    return reason or "its sums may take more than 31 bits"


def _real(
    operator: Operator, after: Operator | None, model: Model, isa: InstructionSet, goal: Goal
) -> Pick | str:
    """Where there is no form for float32, the portable one may take more instructions than the definition:
    convolutions a quarter more on a Cortex-M7, depthwise ones 30 % more on AArch64 and no fewer on Cortex-M.
    """
    if isa is InstructionSet.ARMV7E_M:
        return "the kernel for float32 is longer on armv7e-m"
    if after is not None and reals.sum_after(after, operator.output, model) is None:
        return f"no kernel for {after.kind} after it"
    form = form_of(isa)
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        reason = real_depthwise.refusal(operator, model)
        if isa in _DEPTHWISE_AS_DEFINED:
            reason = f"the kernel for float32 is no shorter on {isa}"
        work = {} if reason else real_depthwise.work(operator, model)
        return reason or Pick(kernel=Driver.REAL_DEPTHWISE, form=form, work=work)
    if parts.are_of(operator, model):
        reason = parts.real_refusal(operator, model, bounded=goal is not Goal.SPEED)
        transposed = operator.kind is OperatorKind.CONV2D_TRANSPOSE
        driver = Driver.REAL_TRANSPOSED if transposed else Driver.REAL_GROUPED
        work = {} if reason else parts.real_work(operator, model, form.real)
        return reason or Pick(kernel=driver, form=form, work=work)
    reason = reals.refusal(operator, model, bounded=goal is not Goal.SPEED)
    work = {} if reason else reals.work(operator, model, form.real)
    return reason or Pick(kernel=Driver.REALS, form=form, work=work)


def _hybrid(operator: Operator, model: Model, isa: InstructionSet, goal: Goal) -> Pick | str:
    form, layout = form_of(isa), layout_of(isa)
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        depthwise_work = hybrid_depthwise.work(operator, model)
        reason = hybrid_depthwise.refusal(operator, model)
        return reason or Pick(kernel=Driver.HYBRID_DEPTHWISE, form=form, work=depthwise_work)
    reason = hybrid.refusal(operator, model, layout, bounded=goal is not Goal.SPEED)
    if reason is not None:
        return reason
    return Pick(kernel=Driver.HYBRID, form=form, work=hybrid.work(operator, model, layout, form.tile))


def _unweighted(operator: Operator, model: Model, isa: InstructionSet, goal: Goal) -> Pick | str:
    for kernel, room in ((Driver.REAL_FUNCTION, real_functions), (Driver.REAL_MATMUL, real_matmul)):
        if room.refusal(operator, model) is None and goal is not Goal.SIZE:
            return Pick(kernel=kernel, form=form_of(isa), work=room.work(operator, model))
    form, layout = form_of(isa), layout_of(isa)
    if operator.kind is OperatorKind.PRODUCTS and goal is not Goal.SIZE:
        reason = integers.refusal(operator, model, layout, bounded=goal is not Goal.SPEED)
        work = {} if reason else integers.work(operator, model, layout, form.tile)
        return reason or Pick(kernel=Driver.INTEGERS, form=form, work=work)
    if operator.kind is OperatorKind.RECURRENT and goal is not Goal.SIZE:
        return _recurrent(operator, model, isa, goal)
    if isa in _X86_FORMS and goal is not Goal.SIZE:
        return _of_x86(operator, model, form)
    return f"no kernel for {operator.kind}"


def _recurrent(operator: Operator, model: Model, isa: InstructionSet, goal: Goal) -> Pick | str:
    if isa is InstructionSet.ARMV7E_M:
        return "the kernel for float32 is longer on armv7e-m"
    reason = real_recurrent.refusal(operator, model, bounded=goal is not Goal.SPEED)
    work = {} if reason else real_recurrent.work(operator, model)
    return reason or Pick(kernel=Driver.REAL_RECURRENT, form=form_of(isa), work=work)


def _of_x86(operator: Operator, model: Model, form: KernelForm) -> Pick | str:
    """The kernels that have a form for x86-64 and none for other instruction sets."""
    if real_norms.refusal(operator, model) is None:
        return Pick(kernel=Driver.REAL_NORM, form=form, work=real_norms.work(operator, model))
    for kernel, room in _OF_DEFINED_WORK:
        if room.refusal(operator, model) is None:
            return Pick(kernel=kernel, form=form, work=defined(operator, model))
    if places.refusal(operator, model) is None:
        kernel = Driver.MUL if operator.kind is OperatorKind.MUL else Driver.SUM
        return Pick(kernel=kernel, form=form, work=defined(operator, model))
    reason = matmul.refusal(operator, model)
    return reason or Pick(kernel=Driver.MATMUL, form=form, work=matmul.work(operator, model))


def _sum(operator: Operator, model: Model, before: Pick) -> Pick:
    count = prod(model.tensors[operator.output].shape)
    real = _REAL_SUMS.get(before.kernel) if before.kernel else None
    if real is not None:
        return Pick(kernel=real, form=before.form, work={WorkUnit.REAL_SUM: count})
    work = rounded({WorkUnit.SUM: count}, operator.arithmetic)
    return Pick(kernel=Driver.SUM, form=before.form, work=work)


def _before(operator: Operator, model: Model) -> Operator | None:
    """The operator in whose call this one is: of its operands, the one that is made last."""
    if operator.facts.structure is not Structure.BROADCAST:
        return None
    makers = [model.makers[name] for name in operator.inputs if name in model.makers]
    able = [one for one in makers if joinable(one, operator, model)]
    return max(able, key=lambda one: model.numbers[one.id], default=None)


def defined(operator: Operator, model: Model) -> Work:
    """The work of an operator in C from its definition."""
    out, each = prod(model.tensors[operator.output].shape), operator.facts.element_work
    real = operator.arithmetic is Arithmetic.FLOAT
    element = WorkUnit.REAL_ELEMENT if real else WorkUnit.ELEMENT
    counted = model.macs_per_output(operator)
    if operator.loop_operations:
        product = WorkUnit.REAL_DEFINED if real else WorkUnit.DEFINED
        return {product: out * counted, WorkUnit.ELEMENT: operator.loop_operations}
    if counted:
        product = WorkUnit.REAL_DEFINED if real else WorkUnit.DEFINED
        return {product: out * counted * (_WIDENED if widens(operator, model) else 1.0), element: out * each}
    elements = sum(prod(model.tensors[name].shape) for name in operator.inputs)
    moved = real and operator.facts.moves
    return {WorkUnit.REAL_MOVED if moved else element: max(elements, out) * each}
