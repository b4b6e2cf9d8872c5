"""The parts of the work of an operator, by units, which fitted costs are prices of."""

from collections.abc import Mapping
from math import prod

from target_arch.backend.contract import Backend, Question, WorkPart
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.soc.costs import unit_of_kind


def work_parts(question: Question, backend: Backend) -> Mapping[str, WorkPart]:
    """The work of an operator that the backend supports, by unit: the backend's own units, or those of any
    kind of operator.
    """
    own = None if backend.work is None else backend.work(question)
    return _of_kind(question, backend.cost(question)) if own is None else own


def _of_kind(question: Question, seconds: float) -> dict[str, WorkPart]:
    """Multiply-accumulates, bytes of all operands, elements of the output and one call, and, of a
    convolution, the bytes that its windows gather; each with the operator's kind and element type in its
    name. The backend's estimate is that of the first of them that there is.
    """
    operator, model = question.operator, question.model
    operands = (*operator.inputs, *operator.constants, operator.output)
    macs = model.macs(operator)
    counts = {
        "product": macs,
        "byte": sum(model.tensors[name].bytes for name in operands),
        "element": prod(model.tensors[operator.output].shape),
        "operation": operator.loop_operations,
        "call": 1,
    }
    if operator.kind is OperatorKind.CONV2D:
        counts["gathered byte"] = macs // model.tensors[operator.output].shape[-1]
    some = [(unit, count) for unit, count in counts.items() if count]
    kind, dtype = str(operator.kind), model.tensors[operator.output].dtype
    return {
        unit_of_kind(kind, dtype, unit): WorkPart(count=float(count), seconds=0.0 if number else seconds)
        for number, (unit, count) in enumerate(some)
    }
