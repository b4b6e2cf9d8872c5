"""Replays regions, row by row: a second opinion, which shares nothing with the backend that made them
but the order of their turns. And their calls: they have the tensors, the scratch and the place for the output
that the rows need.
"""

from collections.abc import Iterator, Mapping

from target_arch.diagnostics import Diagnostic
from target_arch.plan.kernels import Access, Call, Kernel
from target_arch.plan.model import Model
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.regions.channels import Channels
from target_arch.plan.regions.stripes import Producer, Stripes, TensorRows, Turn
from target_arch.stages.errors import CheckError
from target_arch.stages.regions import replay_channels


def check_stripes(graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> None:
    """Raise CheckError for rows that are read where they are not, and outputs that are not complete."""
    found = [
        Diagnostic(
            rule="wrong-stripe", place=f"function {function} of partition {partition.id}", message=fault
        )
        for partition in graph.partitions
        if partition.id in kernels
        for function, plan in kernels[partition.id].stripes.items()
        for fault in _region_faults(kernels[partition.id], function, plan, graph.model)
    ]
    if found:
        raise CheckError(tuple(found))


def _region_faults(kernel: Kernel, function: str, plan: Stripes | Channels, model: Model) -> Iterator[str]:
    yield from faults(plan) if isinstance(plan, Stripes) else replay_channels.faults(plan)
    calls = [action for action in kernel.actions if isinstance(action, Call) and action.function == function]
    if not calls:
        yield "no call runs it"
    for call in calls:
        yield from _call_faults(kernel, call, plan, model)


def _call_faults(kernel: Kernel, call: Call, plan: Stripes | Channels, model: Model) -> Iterator[str]:
    """Tensors of other sizes than the images, too little scratch, and an output over what is still read. One
    function may serve several regions, so tensors are known by their order, not by name.
    """
    own = {buffer.name: buffer.bytes for buffer in kernel.buffers}
    given, output, over = _images(plan)
    reads = [operand for operand in call.operands if operand.access == Access.READ][: len(given)]
    writes = [operand for operand in call.operands if operand.access.writes and operand.of not in own]
    sizes = [model.tensors[each.of].bytes for each in (*reads, *writes) if each.of in model.tensors]
    if sizes != [*given, output]:
        yield f"its call for `{call.operator}` has tensors of {sizes} B, its rows {[*given, output]} B"
        return
    scratch = sum(own[operand.of] for operand in call.operands if operand.of in own)
    if scratch < plan.scratch:
        yield f"its call for `{call.operator}` has {scratch:,} B of scratch, it needs {plan.scratch:,} B"
    allowed = set() if over is None else {reads[over].of}
    for name in sorted({*writes[0].over} - allowed):
        yield f"its call for `{call.operator}` may write over `{name}`, which is still read"


def _images(plan: Stripes | Channels) -> tuple[list[int], int, int | None]:
    """The bytes of the tensors that are given, and of the output; and the one it may be written over."""
    over = None if plan.over is None else plan.given.index(plan.over)
    return [image.bytes for image in plan.given], plan.output.bytes, over


def faults(plan: Stripes) -> list[str]:
    """All that is wrong with stripes."""
    return [*_layout_faults(plan), *_Replay(plan).faults()]


def _layout_faults(plan: Stripes) -> Iterator[str]:
    """Lines of two tensors that share bytes, or are outside the scratch."""
    held = sorted((p.offset, p.offset + p.held * p.image.row_bytes, p.image.name) for p in plan.producers)
    end = 0
    for start, after, name in held:
        if start < end and after > start:
            yield f"the lines of `{name}` begin below byte {end}, where others end"
        if after > plan.scratch:
            yield f"the lines of `{name}` end at byte {after} of {plan.scratch}"
        end = max(end, after)


class _Replay:
    """The rows of each tensor that are there, and how many bytes of the input the output has overwritten."""

    def __init__(self, plan: Stripes) -> None:
        self._plan = plan
        self._first = {image.name: 0 for image in plan.given}
        self._end = {image.name: image.rows for image in plan.given}
        for producer in plan.producers:
            self._first[producer.image.name] = self._end[producer.image.name] = 0
        self._lost = 0

    def faults(self) -> Iterator[str]:
        """The faults, in the order of time."""
        placed = 0
        for turn in self._plan.turns:
            yield from self._made(turn)
            if turn.producer.image == self._plan.output:
                placed = turn.placed
                if self._plan.over is not None and turn.producer.held:
                    self._lost = placed * self._plan.output.row_bytes
        if placed != self._plan.output.rows:
            yield f"{placed} of {self._plan.output.rows} rows of `{self._plan.output.name}` are made"

    def _made(self, turn: Turn) -> Iterator[str]:
        producer, name = turn.producer, turn.producer.image.name
        direct = producer.image == self._plan.output and not producer.held
        if turn.start != self._end[name] or turn.end < turn.start:
            yield f"rows {turn.start} to {turn.end} of `{name}` follow row {self._end[name]}"
        if direct and self._plan.over is not None and turn.end > turn.start:
            self._lost = turn.end * producer.image.row_bytes
        for row in range(turn.start, turn.end):
            yield from self._read(producer, row)
        self._end[name] = turn.end
        if producer.held and turn.end > turn.start:
            self._first[name] = max(turn.kept, self._first[name])
            if turn.end - self._first[name] > producer.held:
                yield f"{turn.end - self._first[name]} rows of `{name}` are there, {producer.held} have room"
        elif not producer.held and not direct:
            yield f"`{name}` has no lines"

    def _read(self, producer: Producer, row: int) -> Iterator[str]:
        for window in producer.reads:
            image = window.tensor
            start = row * window.stride - window.before
            for needed in range(max(start, 0), min(start + window.height, image.rows)):
                if not self._there(image, needed):
                    yield f"row {row} of `{producer.image.name}` reads row {needed} of `{image.name}`"

    def _there(self, image: TensorRows, row: int) -> bool:
        if image == self._plan.over and row * image.row_bytes < self._lost:
            return False
        return self._first[image.name] <= row < self._end[image.name]
