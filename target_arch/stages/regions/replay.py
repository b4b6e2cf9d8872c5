"""Replays regions: a second opinion, which shares nothing with the backend that made them but the order of
their turns. And their calls: they have the tensors, the scratch and the place for the output that the lines
need.
"""

from collections.abc import Iterator, Mapping

from attrs import frozen

from target_arch.diagnostics import Diagnostic
from target_arch.plan.kernels import Access, Call, Kernel
from target_arch.plan.model import Model
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.regions.cut import Axis
from target_arch.plan.regions.lines import LineWindow, Pass, Producer, RegionPlan, TensorLines, Turn
from target_arch.stages.errors import CheckError


def check_stripes(graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> None:
    """Raise CheckError for lines that are read where they are not, and outputs that are not complete."""
    found = [
        Diagnostic(
            rule="wrong-stripe", place=f"function {function} of partition {partition.id}", message=fault
        )
        for partition in graph.partitions
        if partition.id in kernels
        for function, plan in kernels[partition.id].stripes.items()
        for fault in (*faults(plan), *_calls_faults(kernels[partition.id], function, plan, graph.model))
    ]
    if found:
        raise CheckError(tuple(found))


def faults(plan: RegionPlan) -> Iterator[str]:
    """All that is wrong with a plan: its parts of the output, and the turns of each pass, in order."""
    end, parted = 0, plan.passes[0].output.part is not None
    for one in plan.passes:
        yield from _Replay(plan.axis, one).faults()
        yield from _part_faults(one)
        name, part = one.output.name, one.output.part
        if (part is not None) != parted or one.output.whole != plan.output:
            yield f"a pass makes `{one.output}`, which is no part of `{plan.output}`"
        if part is not None:
            if part.start != end:
                yield f"{plan.cuts[0].axis} {part} of `{name}` follow {plan.cuts[0].axis.one} {end}"
            end = part.end
    last = plan.passes[-1].output.part
    if last is not None and end != last.of:
        yield f"{end} {plan.cuts[0].axis} of `{plan.output.name}` are made"
    if not parted and len(plan.passes) > 1:
        yield f"`{plan.output.name}` is made {len(plan.passes)} times"


def _part_faults(one: Pass) -> Iterator[str]:
    """Elements of the outer axis that are read and are not there, and given tensors that are not whole."""
    for image in one.given:
        if image.part is not None and image.part != image.part.whole:
            yield f"only {image.part} of `{image.name}` are known"
    for producer in one.producers:
        for window in producer.reads:
            made, there, across = producer.image.part, window.tensor.part, window.across
            if made is None and there is None:
                continue
            if made is None or there is None or across is None or across.extent != there.of:
                yield f"`{producer.image.name}` reads `{window.tensor.name}`, and nothing says which part"
                continue
            needed = across.needed(made.range)
            if needed.start < there.start or needed.stop > there.end:
                parts = f"{needed.start} to {needed.stop}"
                yield f"`{producer.image.name}` reads {parts} of `{window.tensor.name}`, not {there}"


@frozen
class _Held:
    """Lines `first` to `end` of a tensor in the scratch, at bytes `start` to `after`."""

    first: int
    end: int
    start: int
    after: int


class _Replay:
    """The lines of each tensor that are in the scratch, those that each producer has made, and those of the
    output that are in their place.
    """

    def __init__(self, axis: Axis, one: Pass) -> None:
        self._axis, self._pass = axis, one
        self._given = {image.name: image for image in one.given}
        self._held: dict[str, _Held] = {}
        self._done = {producer.image.name: 0 for producer in one.producers}
        self._placed = 0

    def faults(self) -> Iterator[str]:
        """The faults, in the order of time."""
        yield from self._shapes()
        for turn in self._pass.turns:
            yield from self._turn(turn)
        last = self._pass.producers[-1]
        done = self._done[last.image.name]
        if last.accumulates and done != last.steps:
            read = last.reads[0].tensor.name
            yield f"{done} of {last.steps} {self._axis} of `{read}` are in `{last.image.name}`"
        elif self._placed != last.image.lines:
            yield f"{self._placed} of {last.image.lines} {self._axis} of `{last.image.name}` are made"

    def _shapes(self) -> Iterator[str]:
        """All windows are over tensors that there are, and the output has the bytes of what it overwrites."""
        images = {**self._given, **{p.image.name: p.image for p in self._pass.producers}}
        for number, producer in enumerate(self._pass.producers):
            for window in producer.reads:
                yield from _window_faults(producer, window, images)
            if not producer.held and (producer.accumulates or number + 1 < len(self._pass.producers)):
                yield f"`{producer.image.name}` has no place"
        yield from self._output()

    def _output(self) -> Iterator[str]:
        *before, last = self._pass.producers
        over, out = self._pass.over, last.image
        for producer in before:
            if producer.accumulates:
                yield f"`{producer.image.name}` is summed up, and is not the output"
        waits = over is not None and self._axis is not Axis.CHANNELS
        if last.held and not last.accumulates and not waits:
            yield f"`{out.name}` stays in the scratch"
        if last.accumulates:
            for window in last.reads[1:]:
                if not _alike(window.tensor, out):
                    yield f"`{window.tensor}` has other elements than `{out}`, to which it is added"
        elif over is not None and self._axis is Axis.CHANNELS and not _alike(over, out):
            yield f"`{out}` has other channels than `{over}`, whose place it takes"

    def _turn(self, turn: Turn) -> Iterator[str]:
        by = self._pass.producers[turn.number]
        name, last = by.image.name, by is self._pass.producers[-1]
        if turn.start != self._done[name] or turn.end < turn.start:
            done = self._done[name]
            yield f"{self._axis} {turn.start} to {turn.end} of `{name}` follow {self._axis.one} {done}"
        if last and not by.held:
            self._placed = turn.end
        for number in range(turn.start, turn.end):
            yield from self._read(by, number)
        if turn.end > turn.start and by.held:
            yield from self._kept(turn)
        self._done[name] = turn.end
        if last and by.held:
            self._placed = turn.placed

    def _read(self, by: Producer, number: int) -> Iterator[str]:
        for window in by.reads:
            image, needed = window.tensor, window.along.needed(range(number, number + 1))
            missing = self._missing(image, needed) if needed else None
            if missing is not None:
                yield (
                    f"{self._axis.one} {number} of `{by.image.name}` reads {self._axis.one} {missing} of "
                    f"`{image.name}`"
                )

    def _missing(self, image: TensorLines, needed: range) -> int | None:
        """The first of these lines that is not there, or is overwritten by the output."""
        if image.name in self._given:
            over, out = self._pass.over, self._pass.output
            lost = over is not None and image.name == over.name
            start = needed.start * image.line_bytes
            return needed.start if lost and start < self._placed * out.line_bytes else None
        held = self._held.get(image.name)
        if held is None or needed.start < held.first:
            return needed.start
        return held.end if held.end < needed.stop else None

    def _kept(self, turn: Turn) -> Iterator[str]:
        """Lines that are kept in the scratch move to the front, behind them are the new ones; sums stay."""
        by = self._pass.producers[turn.number]
        name = by.image.name
        before = self._held.get(name)
        if by.accumulates:
            first = end = by.image.lines
            if turn.start and before is None:
                yield f"the sums of `{name}` are overwritten"
            if by.held < end:
                yield f"{by.held} sums for {end} {self._axis} of `{name}`"
            size = by.bytes
        else:
            first, end = max(turn.kept, before.first if before else turn.start), turn.end
            if end - first > by.held:
                yield f"{end - first} {self._axis} of `{name}` are there, {by.held} have room"
            size = (end - first) * by.image.line_bytes
        yield from self._put(by, _Held(first, end, by.offset, by.offset + size))

    def _put(self, by: Producer, held: _Held) -> Iterator[str]:
        """Bytes of the scratch are taken; what else was there is gone."""
        name = by.image.name
        if held.after > self._pass.scratch:
            yield f"`{name}` ends at byte {held.after} of {self._pass.scratch}"
        for other, old in list(self._held.items()):
            if old.start < held.after and held.start < old.after:
                if other in {window.tensor.name for window in by.reads}:
                    yield f"`{name}` is written over `{other}`, which it is made from"
                del self._held[other]
        self._held[name] = held


def _alike(one: TensorLines, other: TensorLines) -> bool:
    """Whether two tensors have as many lines of as many bytes."""
    return (one.lines, one.line_bytes) == (other.lines, other.line_bytes)


def _window_faults(
    producer: Producer, window: LineWindow, images: Mapping[str, TensorLines]
) -> Iterator[str]:
    """A window of a tensor that is not there like that, or over other lines than it has."""
    image, along = window.tensor, window.along
    if images.get(image.name) != image:
        yield f"`{producer.image.name}` reads `{image}`, which is not there"
    if (along.extent, along.out) != (image.lines, producer.steps):
        yield (
            f"{along.out} windows over {along.extent} lines make {producer.steps} of `{producer.image}` "
            f"from `{image}`"
        )


def _calls_faults(kernel: Kernel, function: str, plan: RegionPlan, model: Model) -> Iterator[str]:
    calls = [action for action in kernel.actions if isinstance(action, Call) and action.function == function]
    if not calls:
        yield "no call runs it"
    for call in calls:
        yield from _call_faults(kernel, call, plan, model)


def _call_faults(kernel: Kernel, call: Call, plan: RegionPlan, model: Model) -> Iterator[str]:
    """Tensors of other sizes than the images, too little scratch, and an output over what is still read. One
    function may serve several regions, so tensors are known by their order, not by name.
    """
    own = {buffer.name: buffer.bytes for buffer in kernel.buffers}
    given, output = [image.bytes for image in plan.given], plan.output.bytes
    reads = [operand for operand in call.operands if operand.access == Access.READ][: len(given)]
    writes = [operand for operand in call.operands if operand.access.writes and operand.of not in own]
    sizes = [model.tensors[each.of].bytes for each in (*reads, *writes) if each.of in model.tensors]
    if sizes != [*given, output]:
        yield f"its call for `{call.operator}` has tensors of {sizes} B, its lines {[*given, output]} B"
        return
    scratch = sum(own[operand.of] for operand in call.operands if operand.of in own)
    if scratch < plan.scratch:
        yield f"its call for `{call.operator}` has {scratch:,} B of scratch, it needs {plan.scratch:,} B"
    allowed = set() if plan.over is None else {reads[plan.given.index(plan.over)].of}
    for name in sorted({*writes[0].over} - allowed):
        yield f"its call for `{call.operator}` may write over `{name}`, which is still read"
