"""The probes of a step order: for every tensor that an operator writes, where it is complete."""

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from target_arch.plan.kernels import Access, Slice
from target_arch.plan.memory import Alias, Buffer, BufferKind
from target_arch.plan.model import Model
from target_arch.plan.steps import Copy, Dispatch, Probe, Step, StepOrder

_COMPUTED = (BufferKind.OUTPUT, BufferKind.ACTIVATION, BufferKind.NEXT)


@frozen(kw_only=True)
class _Touch:
    """Bytes of a buffer that a step reads or writes, and where its operand, or its end of a copy, begins."""

    step: int
    operand: int
    where: Slice
    base: int


def probes(model: Model, order: StepOrder) -> tuple[Probe, ...]:
    """In the order in which tensors are complete; those that one step completes in the order of their
    operators, since what replaces a tensor is then in the bytes of its aliases. A tensor that no step writes
    has none.

    A tensor that a step reads before it is complete is observed, but not replaced.
    """
    buffers = {buffer.name: buffer for buffer in order.buffers}
    writes, reads = _touches(order, buffers, writes=True), _touches(order, buffers, writes=False)
    found: dict[str, list[Probe]] = {}
    for buffer in order.buffers:
        for part in _tensors(buffer):
            probe = _probe(part, writes.get(buffer.name, ()), reads.get(buffer.name, ()))
            if probe is not None and buffer.kind in _COMPUTED and part.tensor in model.tensors:
                found.setdefault(part.tensor, []).append(probe)
    every = (each for tensor in sorted(found) for each in _one_observed(found[tensor]))
    place = {operator.output: number for number, operator in enumerate(model.operators)}
    return tuple(sorted(every, key=lambda probe: (probe.step, place.get(probe.tensor, -1), probe.tensor)))


def _one_observed(of_tensor: Sequence[Probe]) -> Iterator[Probe]:
    first, *others = sorted(of_tensor, key=lambda probe: probe.step)
    replaced = all(probe.replaced for probe in of_tensor)
    yield evolve(first, replaced=replaced)
    for other in others:
        yield evolve(other, observed=False, replaced=replaced)


def _tensors(buffer: Buffer) -> Iterator[Alias]:
    """The tensors that are bytes of a buffer, its own first."""
    if buffer.tensor is not None:
        yield Alias(tensor=buffer.tensor, offset=0, bytes=buffer.bytes)
    yield from buffer.aliases


def _probe(part: Alias, writes: Sequence[_Touch], reads: Sequence[_Touch]) -> Probe | None:
    own = [touch for touch in writes if _meets(touch, part)]
    if not own:
        return None
    last = own[-1]
    early = [touch for touch in reads if _meets(touch, part) and touch.step <= last.step]
    return Probe(
        tensor=part.tensor,
        step=last.step,
        operand=last.operand,
        skip=last.base - part.offset,
        bytes=part.bytes,
        observed=True,
        replaced=not early,
    )


def _meets(touch: _Touch, part: Alias) -> bool:
    return touch.where.offset < part.offset + part.bytes and part.offset < touch.where.end


def _touches(order: StepOrder, buffers: dict[str, Buffer], *, writes: bool) -> dict[str, list[_Touch]]:
    """The bytes of each buffer that steps read or write, in their order."""
    found: dict[str, list[_Touch]] = {}
    for number, step in enumerate(order.steps):
        for touch in _of_step(number, step, buffers, writes=writes):
            found.setdefault(touch.where.of, []).append(touch)
    return found


def _of_step(number: int, step: Step, buffers: dict[str, Buffer], *, writes: bool) -> Iterator[_Touch]:
    if isinstance(step, Copy):
        where = step.target if writes else step.source
        yield _Touch(step=number, operand=0, where=where, base=where.offset)
    elif isinstance(step, Dispatch):
        for index, operand in enumerate(step.operands):
            # A call that reads what it also writes adds to a result of its own.
            if operand.access.writes if writes else operand.access is Access.READ:
                where = operand.touched(buffers[operand.of].bytes)
                yield _Touch(step=number, operand=index, where=where, base=operand.offset)
