"""An operator of a core with a memory of its own, some rows at a time: it computes rows that have arrived
while others are on their way to it, or from it.

The moves are steps of their own, and each waits only for the bytes that it carries. So an instance that makes
the input in tiles computes the next tile meanwhile.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import frozen

from target_arch.backend.contract import Backend, LoweringRequest, Question
from target_arch.backends.plain_c.cost import CLOCK, seconds
from target_arch.backends.plain_c.kernels.text import Parameter, function, parameter
from target_arch.backends.plain_c.kernels.weighted import as_int8
from target_arch.backends.plain_c.region import regions_of
from target_arch.backends.plain_c.regions.linewise import ROWS_HEADER, Rowwise, TurnNames
from target_arch.backends.tiling import Link, link, moves
from target_arch.plan.kernels import Access, Call, CFunction, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.model import Model
from target_arch.plan.regions.lines import TensorLines
from target_arch.soc.words import OperandRule

_COUNTS = (2, 3, 4, 6, 8)
"""Pieces to choose from."""
_ALIGNMENT = 16


@frozen(kw_only=True)
class _Flow:
    """A unit whose images are moved over these links, in pieces of the output's rows."""

    unit: Rowwise
    model: Model
    memory: str
    inward: Link
    outward: Link

    def borders(self, count: int) -> list[tuple[int, int]] | None:
        """First and last row of each piece; None where a piece would not begin at aligned bytes."""
        rows = self.unit.unit.image.lines
        edges = [number * rows // count for number in range(count + 1)]
        reads = (
            (w.tensor, w.along.needed_until(edge), self.inward)
            for w in self.unit.unit.reads
            for edge in edges[1:]
        )
        writes = ((self.unit.unit.image, edge, self.outward) for edge in edges)
        for image, row, over in (*reads, *writes):
            if row < image.lines and row * image.line_bytes % over.alignment:
                return None
        return None if rows < count else list(pairwise(edges))

    def turns(self, count: int) -> Counter[int]:
        """How many pieces there are, by their rows."""
        return Counter(last - first for first, last in self.borders(count) or ())

    def seconds(self, count: int, computing: float) -> float:
        """The time from the first move to the end of the last one, where nothing else moves."""
        given = sum(window.tensor.bytes for window in self.unit.unit.reads)
        made, reads = self.unit.unit.image.bytes, len(self.unit.unit.reads)
        one = self.inward.seconds(given // count, reads) + self.outward.seconds(made // count, 1)
        return one + max(computing, (count - 1) * one)


def kernel_in_flight(request: LoweringRequest, backend: Backend) -> Kernel | None:
    """The kernel of a partition of one operator, or of one and the addition after it, if its time with rows
    in flight is less than with whole images, by estimate; else None.
    """
    flow = _flow(request)
    if flow is None:
        return None
    alone, clock = _computing(request, backend), request.instance.arch.clock or CLOCK
    times = {
        count: alone + flow.unit.more(flow.turns(count)) / clock for count in _COUNTS if flow.borders(count)
    }
    best = min(times, key=lambda count: flow.seconds(count, times[count]), default=1)
    if best == 1 or flow.seconds(best, times[best]) >= flow.seconds(1, alone):
        return None
    return _kernel(request, flow, best, times[best])


def _flow(request: LoweringRequest) -> _Flow | None:
    arch = request.instance.arch
    if arch.host or arch.operands is not OperandRule.IN_AND_OUT:
        return None
    memory = request.instance.memory[0]
    inward, outward = (link(request.soc, memory, inward=side) for side in (True, False))
    if inward is None or outward is None:
        return None
    units = regions_of(request).rows.units(request.partition.operators)
    if units is None or len(units) != 1:
        return None
    room = min(request.budget.guaranteed(each.id, memory) for each in request.partition.operators)
    if sum(image.bytes for image in (*_given(units[0]), units[0].unit.image)) > room:
        return None
    return _Flow(unit=units[0], model=request.model, memory=memory, inward=inward, outward=outward)


def _computing(request: LoweringRequest, backend: Backend) -> float:
    """The seconds of the operators without stripes."""
    return sum(
        seconds(
            Question(
                operator=operator,
                model=request.model,
                instance=request.instance,
                soc=request.soc,
                goal=request.goal,
            ),
            backend,
        )
        for operator in request.partition.operators
    )


def _kernel(request: LoweringRequest, flow: _Flow, count: int, computing: float) -> Kernel:
    unit, borders = flow.unit, flow.borders(count)
    assert borders is not None
    calls = [_function(flow, span) for span in borders]
    images = (*_given(unit), unit.unit.image)
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        functions=(*unit.functions(flow.turns(count)), *calls),
        constants=unit.packed,
        buffers=tuple(
            LocalBuffer(name=_local(image), bytes=image.bytes, memory=flow.memory, alignment=_ALIGNMENT)
            for image in images
        ),
        actions=tuple(_actions(flow, borders, calls, request.partition.operators[-1].id)),
        notes=(f"{unit.unit.image.name}: {count} pieces of rows in flight",),
        seconds=computing,
    )


def _given(unit: Rowwise) -> tuple[TensorLines, ...]:
    return tuple({window.tensor.name: window.tensor for window in unit.unit.reads}.values())


def _local(image: TensorLines) -> str:
    return f"{image.name}.rows"


def _actions(
    flow: _Flow, borders: Sequence[tuple[int, int]], calls: Sequence[CFunction], operator: str
) -> Iterator[Move | Call]:
    """The next piece is on its way before the call for this one, whose result leaves during the next call."""
    yield from _arriving(flow, 0, borders[0][1])
    for number, (span, made) in enumerate(zip(borders, calls, strict=True)):
        if number + 1 < len(borders):
            yield from _arriving(flow, span[1], borders[number + 1][1])
        yield _call(flow, span, made, operator)
        image = flow.unit.unit.image
        yield from _moved(_local(image), image.name, image, span, flow.outward)


def _arriving(flow: _Flow, since: int, until: int) -> Iterator[Move]:
    """The rows of inputs for the output's rows below `until` that are not there for those below `since`."""
    needed: dict[TensorLines, tuple[int, int]] = {}
    for window in flow.unit.unit.reads:
        there = window.along.needed_until(since) if since else 0
        before, after = needed.get(window.tensor, (window.tensor.lines, 0))
        needed[window.tensor] = (min(there, before), max(window.along.needed_until(until), after))
    for image, span in needed.items():
        yield from _moved(image.name, _local(image), image, span, flow.inward)


def _moved(source: str, target: str, image: TensorLines, span: tuple[int, int], over: Link) -> Iterator[Move]:
    first, last = (row * image.line_bytes for row in span)
    if first < last:
        leaving = Slice(of=source, offset=first, row_bytes=last - first)
        yield from moves(leaving, leaving.renamed(target), over)


def _call(flow: _Flow, span: tuple[int, int], made: CFunction, operator: str) -> Call:
    unit = flow.unit
    reads = []
    for image in _given(unit):
        there = _there(flow, image, span) * image.line_bytes
        reads.append(Operand(of=_local(image), access=Access.READ, bytes=there))
    constants = (Operand(of=name, access=Access.READ) for name in unit.constants)
    row, (first, end) = unit.unit.image.line_bytes, span
    written = Operand(
        of=_local(unit.unit.image), access=Access.WRITE, offset=first * row, bytes=(end - first) * row
    )
    return Call(function=made.name, operands=(*reads, *constants, written), operator=operator)


def _function(flow: _Flow, span: tuple[int, int]) -> CFunction:
    """The C of some rows. Its parameters: the inputs, the constants, and the first of these rows."""
    unit, model = flow.unit, flow.model
    given, image = _given(unit), unit.unit.image
    out = model.tensors[image.name]
    parameters = (
        *(parameter(f"x{number}", model.tensors[each.name]) for number, each in enumerate(given)),
        *(Parameter(name=f"{each.name}0", dtype=each.dtype) for each in unit.inside),
        parameter("out", out, written=True),
    )
    names = TurnNames(
        own="made",
        reads=tuple(f"rows{given.index(window.tensor)}" for window in unit.unit.reads),
        place="made_at",
        suffix="0",
    )
    lines = [
        _rows(
            f"rows{number}",
            f"{as_int8(model.tensors[each.name])}x{number}",
            each,
            0,
            _there(flow, each, span),
        )
        for number, each in enumerate(given)
    ]
    lines += [
        f"int8_t *const made_at = {as_int8(out, written=True)}out;",
        _rows("made", "made_at", image, span[0], span[0]),
        f"const int32_t to = {span[1]};",
        *unit.constant(names),
        *unit.call(names),
    ]
    return function("rows", parameters, lines, (ROWS_HEADER, *unit.headers))


def _there(flow: _Flow, image: TensorLines, span: tuple[int, int]) -> int:
    """The rows of an input that have arrived when these of the output are computed."""
    return max(
        window.along.needed_until(span[1]) for window in flow.unit.unit.reads if window.tensor == image
    )


def _rows(name: str, at: str, image: TensorLines, first: int, done: int) -> str:
    return f"const ta_rows {name} = {{{at}, {image.line_bytes}, {image.lines}, {first}, {done}}};"
