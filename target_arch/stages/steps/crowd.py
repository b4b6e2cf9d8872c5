"""The operators that crowd a memory which overflows."""

import numpy as np

from target_arch.plan.model import Model
from target_arch.plan.steps import Copy, Dispatch, StepOrder
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.memory.packing.live_sums import live_sums
from target_arch.stages.memory.packing.sharing import choices, rectangles


def running(steps: StepOrder, refusal: DoesNotFitError) -> tuple[str, ...]:
    """The operators that run while more bytes are live than the pool has, in the order of the steps; where
    holes are in the way and not bytes, the one at the step of the refusal. A copy belongs to the next
    operator of its partition.
    """
    buffers = [buffer for buffer in steps.buffers if buffer.arena == refusal.pool]
    shared = rectangles(buffers, next(choices(buffers), {}))
    live = live_sums((((b.first, b.last), b.bytes) for b in shared), max(len(steps.steps), refusal.step))
    over = frozenset(np.flatnonzero(live > refusal.available).tolist()) or {refusal.step}
    following: dict[str, str] = {}
    found: list[str] = []
    for number, step in reversed(list(enumerate(steps.steps))):
        if isinstance(step, Dispatch):
            following[step.partition] = step.operator
        if number in over and isinstance(step, Dispatch | Copy) and step.partition in following:
            found.append(following[step.partition])
    return tuple(dict.fromkeys(reversed(found)))


def touching(model: Model, steps: StepOrder, refusal: DoesNotFitError) -> tuple[str, ...]:
    """The operators that make or read the buffers alive at the step of the refusal, in the order of the
    model.
    """
    tensors = {buffer.name: buffer.tensor for buffer in steps.buffers}
    alive = {tensors.get(name) for name, _ in refusal.alive}
    return tuple(op.id for op in model.operators if alive.intersection((*op.inputs, op.output)))
