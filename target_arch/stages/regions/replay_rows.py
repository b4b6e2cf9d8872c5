"""Replays rows: all must be there when they are read, in the lines that the scratch has, and the output must
not overwrite what is still read.
"""

from collections.abc import Iterator

from target_arch.plan.regions.stripes import Producer, Stripes, TensorRows, Turn


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
            for needed in window.along.needed(range(row, row + 1)):
                if not self._there(image, needed):
                    yield f"row {row} of `{producer.image.name}` reads row {needed} of `{image.name}`"

    def _there(self, image: TensorRows, row: int) -> bool:
        if image == self._plan.over and row * image.row_bytes < self._lost:
            return False
        return self._first[image.name] <= row < self._end[image.name]
