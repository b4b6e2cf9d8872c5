"""The steps, replayed on buffers: every call of a kernel is made once, in the kernel's order, and reads the
bytes that it reads in the kernel; outputs and next states are those of the model.

Buffers are bytes of their own here; that those which share bytes are never live together is a rule of its own
(`check.rules.sharing`).
"""

from collections.abc import Iterable, Iterator

from target_arch.plan.kernels import Operand
from target_arch.plan.memory import Arena, BufferKind, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, Fill, StepOrder
from target_arch.soc.model import SoC
from target_arch.stages.check.meaning.kernels import Meaning, MeantCall, MeantOperand
from target_arch.stages.check.meaning.numbers import Content, Runs, same
from target_arch.stages.check.rules.faults import Fault


class StepReplay:
    """A run of the steps, compared with the meaning of the kernels."""

    def __init__(self, soc: SoC, order: StepOrder, plan: MemoryPlan, meaning: Meaning) -> None:
        self._soc, self._order, self._meaning = soc, order, meaning
        self._numbers = meaning.numbers.continued()
        self._places = plan.offsets
        self._arenas: dict[Arena, int] = {}
        """The alignment of each: that of the buffer in it that has the most."""
        for buffer in order.buffers:
            self._arenas[buffer.arena] = max(buffer.alignment, self._arenas.get(buffer.arena, 1))
        self._buffers = {buffer.name: buffer for buffer in order.buffers}
        self._next = dict.fromkeys(meaning.calls, 0)
        self._copies = {
            name: [meant for meant in calls if meant.call.copies] for name, calls in meaning.calls.items()
        }
        self._contents: dict[str, Content] = {}

    def begin(self) -> Iterator[Fault]:
        """The content of the buffers before the first step."""
        model = self._meaning.model
        if tuple(name for name, _ in self._order.inputs) != model.inputs:
            yield (
                "wrong-input",
                f"the inputs are not those of the model, in its order: {_listed(model.inputs)}",
            )
        there = {name: tensor for tensor, name in self._order.inputs}
        there |= {each.now: each.tensor for each in self._order.states}
        for buffer in self._order.buffers:
            constant = buffer.kind is BufferKind.CONSTANT
            held = buffer.tensor if constant else there.get(buffer.name)
            tensor = self._meaning.tensor(held) if held is not None else None
            if tensor is not None and tensor.bytes == buffer.bytes and constant == (tensor.data is not None):
                first = self._meaning.at_first(tensor.name)
            else:
                first = self._numbers.take(buffer.bytes, f"nothing in {buffer.name}")
                if constant or held is not None:
                    yield "wrong-content", f"`{buffer.name}` holds no tensor of its size: `{held}`"
            self._contents[buffer.name] = Content(buffer.bytes, first)

    def step(self, step: Copy | Dispatch | Fill) -> Iterator[Fault]:
        """The faults of a step, which is then done."""
        if isinstance(step, Fill):
            step = step.copy
        if isinstance(step, Copy):
            self._contents[step.target.of].write(
                step.target, self._contents[step.source.of].read(step.source)
            )
            return
        meant = self._meant(step)
        if meant is None:
            yield "wrong-call", f"the kernel of `{step.partition}` does not call `{step.function}` here"
        elif meant.call.copies:
            yield from self._copied(step, meant)
        else:
            yield from self._called(step, meant)

    def end(self) -> Iterator[Fault]:
        """Everything that is missing or wrong when the last step is over."""
        for partition, calls in self._meaning.calls.items():
            for meant in calls[self._next[partition] :]:
                if not meant.call.copies:
                    said = f"`{meant.call.function}` of `{partition}` for `{meant.call.operator}`"
                    yield "missing-call", f"{said} is never called"
        model = self._meaning.model
        if tuple(name for name, _ in self._order.outputs) != model.outputs:
            said = f"the outputs are not those of the model, in its order: {_listed(model.outputs)}"
            yield "wrong-output", said
        for name, buffer in self._order.outputs:
            yield from self._kept("wrong-output", f"output `{name}`", name, buffer)
        nexts = {each.tensor: each.next for each in self._order.states}
        for state in model.states:
            said = f"the next value of `{state.tensor}`"
            yield from self._kept("wrong-state", said, state.next, nexts.get(state.tensor, ""))

    def _kept(self, rule: str, what: str, tensor: str, buffer: str) -> Iterator[Fault]:
        if buffer not in self._contents or self._meaning.tensor(tensor) is None:
            yield rule, f"{what} is in no buffer"
            return
        found, wanted = self._contents[buffer].whole, self._meaning.at_last(tensor)
        if not same(found, wanted):
            yield rule, f"{what} is {self._told(wanted)}, `{buffer}` holds {self._told(found)}"

    def _meant(self, step: Dispatch) -> MeantCall | None:
        """The call of the kernel that a step makes: the next one, or a plain copy, which may be left out."""
        calls = self._meaning.calls.get(step.partition, ())
        copies = self._copies.get(step.partition, ())
        copy = next((meant for meant in copies if _is_call(step, meant)), None)
        if copy is not None:
            return copy
        number = self._next.get(step.partition, 0)
        while number < len(calls) and calls[number].call.copies:
            number += 1
        if number == len(calls) or not _is_call(step, calls[number]):
            return None
        self._next[step.partition] = number + 1
        return calls[number]

    def _called(self, step: Dispatch, meant: MeantCall) -> Iterator[Fault]:
        if step.instance != self._meaning.instances[step.partition]:
            yield (
                "wrong-call",
                f"partition `{step.partition}` is for `{self._meaning.instances[step.partition]}`",
            )
        for number, (operand, wanted) in enumerate(zip(step.operands, meant.operands, strict=True)):
            yield from self._operand(number, operand, wanted)
            yield from _over(number, step, meant)
        for operand, wanted in zip(step.operands, meant.operands, strict=True):
            part = operand.touched(self._buffers[operand.of].bytes)
            if wanted.written is not None and part.bytes == wanted.part.bytes:
                self._contents[operand.of].write(part, wanted.written)

    def _operand(self, number: int, operand: Operand, wanted: MeantOperand) -> Iterator[Fault]:
        part = operand.touched(self._buffers[operand.of].bytes)
        shapes = [(p.row_bytes, p.rows, p.stride if p.rows > 1 else 0) for p in (part, wanted.part)]
        said = f"operand {number}, `{part}`"
        if operand.access is not wanted.operand.access:
            yield "wrong-operand", f"{said}, is `{operand.access}`, in the kernel `{wanted.operand.access}`"
        elif shapes[0] != shapes[1]:
            yield "wrong-operand", f"{said}; the kernel has `{wanted.part}` there"
        elif wanted.read is not None:
            found = self._contents[operand.of].read(part)
            if not same(found, wanted.read):
                yield "wrong-operand", f"{said}, holds {self._told(found)}, not {self._told(wanted.read)}"
        buffer = self._buffers[operand.of]
        alignment = wanted.least if self._soc.is_of_cores(buffer.memory) else wanted.alignment
        start = self._places[operand.of] + part.offset - wanted.part.offset
        if start % alignment or self._arenas[buffer.arena] % alignment:
            yield "misaligned", f"{said}, is not aligned to {alignment} B"

    def _copied(self, step: Dispatch, meant: MeantCall) -> Iterator[Fault]:
        """A plain copy moves whatever is there, as many bytes as its function was made for."""
        sizes = [operand.touched(self._buffers[operand.of].bytes) for operand in step.operands]
        wanted = [each.part for each in meant.operands]
        found = [(o.access, part.row_bytes, part.rows) for o, part in zip(step.operands, sizes, strict=True)]
        if found != [
            (each.operand.access, part.row_bytes, part.rows)
            for each, part in zip(meant.operands, wanted, strict=True)
        ]:
            yield (
                "wrong-operand",
                f"a copy of {_listed(map(str, sizes))}, in the kernel {_listed(map(str, wanted))}",
            )
            return
        for number in range(len(step.operands)):
            yield from _over(number, step, meant)
        source = next(n for n, operand in enumerate(step.operands) if operand.access.reads)
        runs = self._contents[step.operands[source].of].read(sizes[source])
        for operand, part in zip(step.operands, sizes, strict=True):
            if operand.access.writes:
                self._contents[operand.of].write(part, runs)

    def _told(self, runs: Runs) -> str:
        return self._numbers.told(runs)


def _is_call(step: Dispatch, meant: MeantCall) -> bool:
    call = meant.call
    alike = (step.function, step.words, len(step.operands)) == (call.function, call.words, len(call.operands))
    return alike and call.operator in ("", step.operator)


def _over(number: int, step: Dispatch, meant: MeantCall) -> Iterator[Fault]:
    """Operands that a written one may take the place of, where the kernel does not say so."""
    operand, wanted = step.operands[number], meant.operands[number].operand
    for other, under in zip(step.operands, meant.operands, strict=True):
        if other.of in operand.over and other.access.reads and under.operand.of not in wanted.over:
            yield "unsafe-in-place", f"`{operand.of}` may not be written over `{other.of}` in the kernel"
    if operand.over and operand.smaller and not wanted.smaller:
        yield "unsafe-in-place", f"`{operand.of}` may not be smaller than what it is written over"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
