"""The rows that a region computes in each of its steps: the text in C follows from it, and the checker
replays it.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from attrs import frozen

from target_arch.plan.operators.window import Window


@frozen(kw_only=True)
class TensorRows:
    """A tensor as rows."""

    name: str
    rows: int
    row_bytes: int

    @property
    def bytes(self) -> int:
        return self.rows * self.row_bytes


@frozen(kw_only=True)
class RowWindow:
    """The rows of a tensor that a row of an output needs."""

    tensor: TensorRows
    along: Window

    @classmethod
    def equal(cls, tensor: TensorRows) -> "RowWindow":
        """The row with the same number, of a tensor with as many rows as the output."""
        return cls(tensor=tensor, along=Window(extent=tensor.rows, out=tensor.rows))

    def __str__(self) -> str:
        rows = self.along
        return f"{rows.reach} rows of {self.tensor.name} from {rows.stride} y{-rows.before:+d} on"


@frozen(kw_only=True)
class Producer:
    """Operators that make the rows of one tensor, in their turn in each step.

    It makes `each` rows, or as many as it can from those that are there. `held` is how many rows at most are
    in the scratch from `offset` on: those that are still needed, and behind them the new ones. Where it is 0
    the tensor has a buffer of its own.
    """

    operators: tuple[str, ...]
    reads: tuple[RowWindow, ...]
    image: TensorRows
    each: int
    held: int = 0
    offset: int = 0

    def __str__(self) -> str:
        lines = f", {self.held} held at {self.offset}" if self.held else ""
        reads = ", ".join(map(str, self.reads))
        return f"{'+'.join(self.operators)} makes {self.image.rows} rows, {self.each} a step{lines}: {reads}"


@frozen
class Turn:
    """A producer makes rows `start` to `end`. Before it does, rows below `kept` of its tensor are given up in
    the scratch; afterwards, the rows of the output below `placed` are in their place.
    """

    producer: Producer
    kept: int
    start: int
    end: int
    placed: int


@frozen(kw_only=True, slots=False)
class Stripes:
    """A call, step by step: each producer in turn makes rows, until the last one's are complete.

    `given` are the tensors that it finds whole. The last producer's tensor is the output. Where `over` is one
    of those given, the output is in its place; where its producer then has `held` rows, a row waits in the
    scratch until the bytes of its place are no longer needed.
    """

    given: tuple[TensorRows, ...]
    producers: tuple[Producer, ...]
    over: TensorRows | None = None
    scratch: int = 0

    @property
    def output(self) -> TensorRows:
        """The tensor that is left."""
        return self.producers[-1].image

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """All that happens, in order. The output is never complete where producers wait for one another."""
        return tuple(self._turns())

    def _turns(self) -> Iterator[Turn]:
        last = len(self.producers) - 1
        rows = self.output.rows
        reads, readers = self._reads(), [self._readers(p.image) for p in self.producers]
        over = [] if self.over is None else self._readers(self.over)
        made, placed, before = [0] * len(self.producers), 0, [-1]
        while made[last] < rows and made != before:
            before = made.copy()
            for number, producer in enumerate(self.producers):
                start = made[number]
                kept = placed if number == last else min(_needed(readers[number], made), start)
                end = min(start + producer.each, producer.image.rows)
                for source, window in reads[number]:
                    if source is not None:
                        end = min(end, window.along.ready(made[source]))
                made[number] = end
                if number == last:
                    placed = end if self.over is None else self._placed(self.over, _needed(over, made), end)
                yield Turn(producer, kept, start, end, placed)

    def _reads(self) -> list[list[tuple[int | None, RowWindow]]]:
        """By producer its windows, each with the number of the producer whose rows it sees."""
        numbers = {producer.image.name: number for number, producer in enumerate(self.producers)}
        return [[(numbers.get(w.tensor.name), w) for w in producer.reads] for producer in self.producers]

    def _readers(self, image: TensorRows) -> list[tuple[int, Window]]:
        """The readers of a tensor: number and window."""
        return [
            (number, window.along)
            for number, producer in enumerate(self.producers)
            for window in producer.reads
            if window.tensor.name == image.name
        ]

    def _placed(self, over: TensorRows, needed: int, made: int) -> int:
        """How many rows of the output may be in their place, of those that are made: all of them once it is
        complete, as nothing is needed then.
        """
        if needed == over.rows or made == self.output.rows:
            return made
        return min(made, needed * over.row_bytes // self.output.row_bytes)

    def __str__(self) -> str:
        place = f" over {self.over.name}" if self.over else ""
        head = f"{self.scratch} B of lines, output {self.output.name}{place}"
        return "\n".join((head, *(f"  {producer}" for producer in self.producers))) + "\n"


def _needed(readers: Sequence[tuple[int, Window]], made: Sequence[int]) -> int:
    """The first row of a tensor that its readers still need."""
    return min([window.needed_from(made[number]) for number, window in readers])
