"""The kernel that an operator gets, and its work: one answer for costs, lowering and explanations. Nothing is
packed.

A product sum and the addition after it are one call, where nothing else reads the value between them and the
addition follows at once.
"""

from enum import StrEnum
from math import prod

from attrs import field, frozen

from target_arch.backend.goal import Goal
from target_arch.backends.plain_c.kernels import depthwise, products, reals, sums
from target_arch.backends.plain_c.kernels.forms import Form, Part, Work, form_of
from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic, Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.soc.words import InstructionSet


class Kernel(StrEnum):
    """The code of an operator: a driver of `runtime_c/kernels`, by its header, or the call before."""

    PRODUCTS = "s8_conv2d"
    DEPTHWISE = "s8_depthwise"
    REALS = "f32_conv2d"
    SUM = "s8_add"
    REAL_SUM = "f32_conv2d before it"


@frozen(kw_only=True)
class Pick:
    """The kernel of an operator and the work of its call; or the reason why it has none, and the work of its
    definition in TE.
    """

    kernel: Kernel | None
    form: Form
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
        found: Pick | str = f"no kernel for {operator.kind}"
    elif goal is Goal.SIZE:
        found = "kernels are larger"
    elif operator.arithmetic is Arithmetic.FLOAT:
        found = _real(operator, after, model, isa, goal)
    else:
        found = _integer(operator, after, model, isa, goal)
    if isinstance(found, Pick):
        return found
    return Pick(kernel=None, form=form, work=defined(operator, model), reason=found)


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
            return Pick(kernel=Kernel.DEPTHWISE, form=form, work=work)
    else:
        reason = products.refusal(operator, model, layout, bounded=goal is not Goal.SPEED)
        if reason is None and products.proven(operator, model):
            work = products.work(operator, model, layout, form.tile)
            return Pick(kernel=Kernel.PRODUCTS, form=form, work=work)
    return reason or "its sums may take more than 31 bits"


def _real(
    operator: Operator, after: Operator | None, model: Model, isa: InstructionSet, goal: Goal
) -> Pick | str:
    """A Cortex-M7 has no form for float32: the portable one takes a quarter more instructions than the
    definition.
    """
    if isa is InstructionSet.ARMV7E_M:
        return "the kernel for float32 is longer on armv7e-m"
    if after is not None and reals.sum_after(after, operator.output, model) is None:
        return f"no kernel for {after.kind} after it"
    reason = reals.refusal(operator, model, bounded=goal is not Goal.SPEED)
    if reason is not None:
        return reason
    form = form_of(isa)
    return Pick(kernel=Kernel.REALS, form=form, work=reals.work(operator, model, form.real))


def _sum(operator: Operator, model: Model, before: Pick) -> Pick:
    count = prod(model.tensors[operator.output].shape)
    if before.kernel is Kernel.REALS:
        return Pick(kernel=Kernel.REAL_SUM, form=before.form, work={Part.REAL_SUM: count})
    return Pick(kernel=Kernel.SUM, form=before.form, work={Part.SUM: count})


def _before(operator: Operator, model: Model) -> Operator | None:
    """The operator in whose call this one is: of its operands, the one that is made last."""
    if operator.facts.structure is not Structure.BROADCAST:
        return None
    makers = [model.makers[name] for name in operator.inputs if name in model.makers]
    able = [one for one in makers if model.uses[one.output] == 1 and joinable(one, operator, model)]
    return max(able, key=lambda one: model.numbers[one.id], default=None)


def defined(operator: Operator, model: Model) -> Work:
    """The work of an operator in C from its definition."""
    out, each = prod(model.tensors[operator.output].shape), operator.facts.element_work
    real = operator.arithmetic is Arithmetic.FLOAT
    element = Part.REAL_ELEMENT if real else Part.ELEMENT
    counted = model.macs_per_output(operator)
    if counted:
        return {Part.REAL_DEFINED if real else Part.DEFINED: out * counted, element: out * each}
    elements = sum(prod(model.tensors[name].shape) for name in operator.inputs)
    return {element: max(elements, out) * each}
