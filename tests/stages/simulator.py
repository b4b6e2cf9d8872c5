"""Executes a step order on memories of bytes, with asynchronous steps that finish as early or as late as they
may.

Every operator computes `out[i] = salt + sum((k + 3) * in_k[i mod len])` modulo 251, so that a tile of equally
long tensors is the tile of the result, and any byte that is not where it should be changes the output. A
buffer that begins to live holds random bytes, whatever was there before: one that calls of one device alone
touch begins when the first of them is executed, as calls before it may need its bytes until then.
"""

from collections.abc import Callable, Mapping
from random import Random
from zlib import crc32

from attrs import evolve

from target_arch.plan.kernels import Slice
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.steps import Copy, Dispatch, Event, Load, StepOrder, Wait

Bytes = bytes | bytearray
COPYING = ("reshape", "concat", "store")
"""Kinds of operators whose calls copy bytes."""


def compute(operator: str, inputs: list[Bytes], size: int) -> bytes:
    """What an operator makes of its operands, in their order."""
    salt = crc32(operator.encode())
    return bytes(
        (salt + sum((k + 3) * data[i % len(data)] for k, data in enumerate(inputs))) % 251
        for i in range(size)
    )


def reference(model: Model, inputs: Mapping[str, bytes]) -> dict[str, bytes]:
    """The outputs of a model, and the next values of its states, whose present ones are among the inputs."""
    known: dict[str, Bytes] = dict(inputs)
    known |= {name: tensor.data for name, tensor in model.tensors.items() if tensor.data is not None}
    for op in model.operators:
        operands = [known[name] for name in (*op.inputs, *op.constants)]
        if op.kind in COPYING:
            known[op.output] = b"".join(operands)
        else:
            known[op.output] = compute(op.id, operands, model.tensors[op.output].bytes)
    return {name: bytes(known[name]) for name in model.kept}


def random_inputs(model: Model, seed: int) -> dict[str, bytes]:
    random = Random(seed)
    return {name: random.randbytes(model.tensors[name].bytes) for name in model.inputs}


class Simulator:
    """`late` tells for each asynchronous step whether it happens when it is waited for, or at once."""

    def __init__(
        self, steps: StepOrder, plan: MemoryPlan, model: Model, late: Callable[[], bool], seed: int = 0
    ) -> None:
        self._order, self._plan, self._model, self._late = steps, plan, model, late
        self._buffers = {buffer.name: buffer for buffer in steps.buffers}
        self._kinds = {operator.id: operator.kind for operator in model.operators}
        random = self._random = Random(seed)
        self._beginning: dict[int | Event | None, list[str]] = {}
        kept = {"constant", "input", "state"}
        in_place = {over for over, _ in plan.in_place}
        for buffer in steps.buffers:
            if buffer.kind not in kept and buffer.name not in in_place:
                first = steps.steps[buffer.calls.first] if buffer.calls else None
                begins = first.event if isinstance(first, Dispatch) else buffer.first
                self._beginning.setdefault(begins, []).append(buffer.name)
        self._arenas = {
            buffer.arena: bytearray(random.randbytes(plan.peaks[buffer.arena])) for buffer in steps.buffers
        }
        self._pending: list[tuple[Event, Copy | Dispatch]] = []

    def reset(self) -> None:
        """Give every state zeros."""
        for state in self._order.states:
            self._write(self._rest(state.now, 0), bytes(self._buffers[state.now].bytes))

    def run(self, inputs: Mapping[str, bytes], skipped: int | None = None) -> dict[str, bytes]:
        """The outputs of one run. The step number `skipped` has no effect but its event."""
        for buffer in self._order.buffers:
            data = (
                self._model.tensors[buffer.tensor].data
                if buffer.kind == "constant" and buffer.tensor
                else None
            )
            if data is not None:
                self._write(Slice(of=buffer.name, offset=0, row_bytes=buffer.bytes), data)
        for tensor, name in self._order.inputs:
            self._write(Slice(of=name, offset=0, row_bytes=len(inputs[tensor])), inputs[tensor])
        for number, step in enumerate(self._order.steps):
            self._begin(number)
            if isinstance(step, Wait):
                self._complete(step.event)
            elif not isinstance(step, Load) and number != skipped:
                self._start(step)
        return {
            tensor: self._read(Slice(of=name, offset=0, row_bytes=self._buffers[name].bytes))
            for tensor, name in self._order.outputs
        }

    def _start(self, step: Copy | Dispatch) -> None:
        behind = step.event is not None and any(e.timeline == step.event.timeline for e, _ in self._pending)
        if step.event is not None and (behind or self._late()):
            self._pending.append((step.event, step))
        else:
            self._execute(step)

    def _complete(self, event: Event) -> None:
        done = [p for p in self._pending if p[0].timeline == event.timeline and p[0].value <= event.value]
        self._pending = [pair for pair in self._pending if pair not in done]
        for _, step in done:
            self._execute(step)

    def _begin(self, when: int | Event | None) -> None:
        for name in self._beginning.get(when, ()):
            self._write(self._rest(name, 0), self._random.randbytes(self._buffers[name].bytes))

    def _execute(self, step: Copy | Dispatch) -> None:
        self._begin(step.event)
        if isinstance(step, Copy):
            self._write(step.target, self._read(step.source))
            return
        sizes = {operand.of: self._buffers[operand.of].bytes for operand in step.operands}
        touched = [(operand.access, operand.touched(sizes[operand.of])) for operand in step.operands]
        reads = [self._read(part) for access, part in touched if "r" in access]
        for access, part in touched:
            if "w" in access:
                copying = self._kinds.get(step.operator) in COPYING
                self._write(part, reads[0] if copying else compute(step.operator, reads, part.row_bytes))

    def _rest(self, name: str, offset: int) -> Slice:
        return Slice(of=name, offset=offset, row_bytes=self._buffers[name].bytes - offset)

    def _read(self, part: Slice) -> bytes:
        arena, start = self._arenas[self._buffers[part.of].arena], self._plan.offsets[part.of] + part.offset
        rows = (start + row * part.stride for row in range(part.rows))
        return b"".join(bytes(arena[row : row + part.row_bytes]) for row in rows)

    def _write(self, part: Slice, data: bytes) -> None:
        arena, start = self._arenas[self._buffers[part.of].arena], self._plan.offsets[part.of] + part.offset
        for row in range(part.rows):
            at = start + row * part.stride
            arena[at : at + part.row_bytes] = data[row * part.row_bytes : (row + 1) * part.row_bytes]


def without_wait(steps: StepOrder, number: int) -> StepOrder:
    """The order without one of its waits."""
    return evolve(steps, steps=(*steps.steps[:number], *steps.steps[number + 1 :]))
