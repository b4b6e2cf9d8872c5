"""A run of steps on memories of bytes, as unfavourable as a chip may be.

A call writes bytes that nothing but its function, its words and the bytes that it reads say. Where it may not
write one operand over another, by its kernel, it writes before it reads. A copy to where it reads loses the
bytes that both have. Asynchronous steps happen when they are started, or when they are waited for. Memories
hold anything at first; `init` fills constants, first values of states and residents in.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from random import Random

from target_arch.plan.kernels import Call, Kernel, Operand, Slice
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import Arena, BufferKind
from target_arch.plan.model import Tensor
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Wait

RUNS = 2
"""One after the other: the second one finds the states that the first one left."""


class NoRun(Exception):
    """The steps cannot be executed: what they name does not exist."""


def outcomes(result: Lowered, seed: int) -> list[list[bytes]]:
    """The outputs, and then the states, of runs with each timing."""
    return [Chip(result, late, seed).runs() for late in timings(seed)]


def timings(seed: int) -> tuple[Callable[[], bool], ...]:
    """Whether an asynchronous step happens as late as it may: always, never, and at random."""
    random = Random(seed)
    return (
        lambda: True,
        lambda: False,
        lambda: random.random() < 0.5,
        lambda: random.random() < 0.2,
    )


class Chip:
    """Memories of bytes, with the constants and states of a bundle that `init` has put there: its own, or
    `memory`, of which others may have bytes, too.
    """

    def __init__(
        self,
        result: Lowered,
        late: Callable[[], bool],
        seed: int,
        memory: Mapping[Arena, bytearray | memoryview] | None = None,
    ) -> None:
        self._result, self._late, self._seed = result, late, seed
        self._random = Random(seed)
        self._buffers = {buffer.name: buffer for buffer in result.steps.buffers}
        self._memory = memory if memory is not None else self._own_memory()
        self._pending: list[tuple[Event, Copy | Dispatch]] = []
        self._tensors: dict[str, Tensor] = {**result.graph.model.tensors, **_packed(result.kernels.values())}
        self._begin()

    def runs(self) -> list[bytes]:
        """The outputs of each run, then its states."""
        return [part for number in range(RUNS) for part in (*self.run(number), *self.states())]

    def run(self, number: int) -> list[bytes]:
        """The outputs of a run with the inputs of that number."""
        self.inputs(number, self._result.steps.inputs)
        for _ in self.course():
            pass
        return self.outputs(self._result.steps.outputs)

    def course(self) -> Iterator[None]:
        """The steps of a run, between any two of which others may use the memories."""
        for step in self._result.steps.steps:
            if isinstance(step, Wait):
                self.wait(step.event)
            elif isinstance(step, Copy | Dispatch):
                self.start(step)
            yield
        self.settle()

    def inputs(self, number: int, pairs: Sequence[tuple[str, str]]) -> None:
        """The caller puts its inputs, in the model's order, where the bundle says."""
        names = self._result.graph.model.inputs
        for place, (tensor, (_, name)) in enumerate(zip(names, pairs, strict=False)):
            values = Random(self._seed + 100 * number + place).randbytes(self._tensors[tensor].bytes)
            self._write(self._whole(name), values)

    def outputs(self, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
        """What the caller reads where the bundle says."""
        names = [name for _, name in pairs]
        return [self._read(self._whole(name)) for name in names[: len(self._result.graph.model.outputs)]]

    def states(self) -> list[bytes]:
        """The next values of the model's states."""
        nexts = {each.tensor: each.next for each in self._result.steps.states}
        names = (nexts[state.tensor] for state in self._result.graph.model.states)
        return [self._read(self._whole(name)) for name in names]

    def start(self, step: Copy | Dispatch) -> None:
        """A step is started: it happens at once, or when it is waited for."""
        behind = step.event is not None and any(e.timeline == step.event.timeline for e, _ in self._pending)
        if step.event is not None and (behind or self._late()):
            self._pending.append((step.event, step))
        else:
            self._execute(step)

    def wait(self, event: Event) -> None:
        """What the timeline does up to the event happens."""
        self._finish(lambda other: other.timeline == event.timeline and other.value <= event.value)

    def settle(self) -> None:
        """Everything that was started happens."""
        self._finish(lambda event: True)

    def _own_memory(self) -> Mapping[Arena, bytearray]:
        sizes: dict[Arena, int] = {}
        for buffer in self._result.steps.buffers:
            end = self._result.plan.offsets[buffer.name] + buffer.bytes
            sizes[buffer.arena] = max(end, sizes.get(buffer.arena, 0))
        return {arena: bytearray(self._random.randbytes(size)) for arena, size in sizes.items()}

    def _begin(self) -> None:
        """Constants are there, and the first values of states."""
        for buffer in self._result.steps.buffers:
            tensor = self._tensors.get(buffer.tensor or "")
            if buffer.kind is BufferKind.CONSTANT and tensor is not None and tensor.data is not None:
                self._write(self._whole(buffer.name), tensor.data)
        for each in self._result.steps.states:
            now = self._whole(each.now)
            initial = bytes(now.bytes) if each.initial is None else self._read(self._whole(each.initial))
            self._write(now, initial)
        for step in self._result.steps.steps:
            if isinstance(step, Fill):
                self._execute(step.copy)

    def _finish(self, over: Callable[[Event], bool]) -> None:
        done = [pair for pair in self._pending if over(pair[0])]
        self._pending = [pair for pair in self._pending if not over(pair[0])]
        for _, step in done:
            self._execute(step)

    def _execute(self, step: Copy | Dispatch) -> None:
        if isinstance(step, Copy):
            moved = bytearray(self._read(step.source))
            if self._meet(step.source, step.target):
                moved = bytearray(self._random.randbytes(len(moved)))
            self._write(step.target, moved)
            return
        parts = [operand.touched(self._buffers[operand.of].bytes) for operand in step.operands]
        call = _called(self._result.kernels.get(step.partition), step)
        if call is not None and call.copies:
            read = next(number for number, o in enumerate(step.operands) if o.access.reads)
            written = next(number for number, o in enumerate(step.operands) if o.access.writes)
            source, target = parts[read], parts[written]
            if not (self._meet(source, target) and self._safe(read, written, parts, call)):
                self._execute(Copy(source=source, target=target, engine=""))
            return
        operands = [self._operand(number, step, parts, call) for number in range(len(parts))]
        digest = blake2b(f"{step.function} {step.words}".encode())
        for each in operands:
            digest.update(b"|" if each is None else each)
        for number, (operand, part) in enumerate(zip(step.operands, parts, strict=True)):
            if operand.access.writes:
                self._write(part, Random(digest.digest() + bytes((number,))).randbytes(part.bytes))

    def _operand(self, number: int, step: Dispatch, parts: list[Slice], call: Call | None) -> bytes | None:
        """What a call reads, where it may have written before."""
        if not step.operands[number].access.reads:
            return None
        found = bytearray(self._read(parts[number]))
        for other, (operand, part) in enumerate(zip(step.operands, parts, strict=True)):
            if other == number or not operand.access.writes or self._safe(number, other, parts, call):
                continue
            lost = {*self._places(part)}
            for k, place in enumerate(self._places(parts[number])):
                if place in lost:
                    found[k] ^= 1 + self._random.randrange(255)
        return bytes(found)

    def _safe(self, number: int, other: int, parts: list[Slice], call: Call | None) -> bool:
        """True where the call may write the other operand over this one."""
        if not self._meet(parts[number], parts[other]):
            return True
        allowed = call is not None and _may(call.operands[other], call.operands[number])
        return allowed and self._start_of(parts[number]) == self._start_of(parts[other])

    def _meet(self, one: Slice, other: Slice) -> bool:
        """True where two slices have bytes of an arena in common."""
        if self._buffers[one.of].arena != self._buffers[other.of].arena:
            return False
        start, begin = self._start_of(one), self._start_of(other)
        if start + one.end - one.offset <= begin or begin + other.end - other.offset <= start:
            return False
        return bool({*self._places(one)} & {*self._places(other)})

    def _start_of(self, part: Slice) -> int:
        return self._result.plan.offsets[part.of] + part.offset

    def _places(self, part: Slice) -> list[tuple[Arena, int]]:
        arena, start = self._buffers[part.of].arena, self._start_of(part)
        rows = (start + row * part.stride for row in range(part.rows))
        return [(arena, row + k) for row in rows for k in range(part.row_bytes)]

    def _whole(self, name: str) -> Slice:
        if name not in self._buffers:
            raise NoRun(name)
        return Slice(of=name, offset=0, row_bytes=self._buffers[name].bytes)

    def _read(self, part: Slice) -> bytes:
        memory, start = self._memory[self._buffers[part.of].arena], self._start_of(part)
        rows = (start + row * part.stride for row in range(part.rows))
        return b"".join(bytes(memory[row : row + part.row_bytes]) for row in rows)

    def _write(self, part: Slice, data: bytes | bytearray) -> None:
        memory, start = self._memory[self._buffers[part.of].arena], self._start_of(part)
        for row in range(part.rows):
            at = start + row * part.stride
            memory[at : at + part.row_bytes] = data[row * part.row_bytes : (row + 1) * part.row_bytes]


def _packed(kernels: Iterable[Kernel]) -> dict[str, Tensor]:
    return {tensor.name: tensor for kernel in kernels for tensor in kernel.constants}


def _called(kernel: Kernel | None, step: Dispatch) -> Call | None:
    """The call of the kernel that a step makes."""
    calls = (each for each in kernel.actions if isinstance(each, Call)) if kernel is not None else ()
    wanted = (step.function, step.words, len(step.operands))
    return next(
        (
            each
            for each in calls
            if (each.function, each.words, len(each.operands)) == wanted
            and each.operator in ("", step.operator)
        ),
        None,
    )


def _may(written: Operand, read: Operand) -> bool:
    return read.of in written.over and not read.access.writes
