"""The cost of an operator on a CUDA device: a launch, the turns that one thread takes one after the other,
and the work of all threads.

A thread computes one element of the result (or one row of it), so a layer with few and long sums leaves most
of a device idle for as long as a sum takes.
"""

from math import prod

from target_arch.backend.contract import Backend, Question, WorkPart
from target_arch.backends.cuda.support import LAUNCH, RATE, TURN
from target_arch.backends.plain_c.cost import work
from target_arch.plan.operators.facts import Structure
from target_arch.plan.windows import windows_of

CLOCK = 1e9
"""Hertz, where the description gives no clock."""

_ROWS = frozenset({Structure.ROWS, Structure.STATISTICS})


def seconds(question: Question, backend: Backend) -> float:
    """Seconds from the dispatch of an operator to the end of its last thread."""
    return sum(part.seconds for part in parts(question, backend).values())


def parts(question: Question, backend: Backend) -> dict[str, WorkPart]:
    """The work of an operator by its units: the launch, turns of a thread by what they do, and all work."""
    operator, model = question.operator, question.model
    clock = question.instance.arch.clock or CLOCK
    dtype = model.tensors[operator.output].dtype
    counts = {
        "launch": (1.0, float(question.option(backend, LAUNCH.name)) * 1e-6),
        f"turn, {operator.facts.structure.name.lower()} of {dtype}": (
            float(_turns(question)), float(question.option(backend, TURN.name)) * 1e-9,
        ),
        f"work of {dtype}": (
            work(operator, model), 1 / (float(question.option(backend, RATE.name)) * clock),
        ),
    }  # fmt: skip
    return {
        unit: WorkPart(count=count, seconds=count * each) for unit, (count, each) in counts.items() if count
    }


def _turns(question: Question) -> int:
    """How many products, or elements of a window or row, a thread takes one after the other."""
    operator, model = question.operator, question.model
    structure = operator.facts.structure
    if structure in _ROWS:
        return model.tensors[operator.output].shape[-1]
    found = windows_of(operator, model) if structure is Structure.POOL else None
    if found is not None:
        return prod(window.kernel for window in found)
    return model.macs_per_output(operator)
