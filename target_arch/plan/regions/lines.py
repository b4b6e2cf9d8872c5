"""The lines of tensors that a region computes in each of its turns: the text in C follows from it, and the
checker replays it.

A line is what the region's innermost cut counts: a row, a column of an image of one row, or a channel of all
pixels. What a range of lines needs of another tensor is said by windows alone.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from attrs import evolve, frozen

from target_arch.plan.operators.window import Window
from target_arch.plan.regions.cut import Axis, AxisCut, AxisPart

SUM_BYTES = 4
"""Bytes of a sum that waits for more lines."""


@frozen(kw_only=True)
class TensorLines:
    """A tensor as lines of so many bytes. Under an outer cut they are those of `part`, elements of the outer
    axis that are there.
    """

    name: str
    lines: int
    line_bytes: int
    part: AxisPart | None = None

    @property
    def bytes(self) -> int:
        return self.lines * self.line_bytes

    @property
    def whole(self) -> "TensorLines":
        """The same with all elements of the outer axis."""
        if self.part is None:
            return self
        return evolve(self, line_bytes=self.line_bytes * self.part.of // self.part.count, part=None)

    def __str__(self) -> str:
        return f"{self.name} ({self.lines} x {self.line_bytes} B)"


@frozen(kw_only=True)
class LineWindow:
    """The lines of a tensor that a line of an output needs, `along` the axis of the innermost cut; under an
    outer cut also the elements `across`, along its axis.
    """

    tensor: TensorLines
    along: Window
    across: Window | None = None

    @classmethod
    def equal(cls, tensor: TensorLines) -> "LineWindow":
        """The line with the same number, of a tensor with as many lines as the output."""
        return cls(tensor=tensor, along=Window.equal(tensor.lines))

    def __str__(self) -> str:
        lines, name = self.along, self.tensor.name
        if lines.plain:
            return f"y of {name}"
        if lines.kernel == lines.extent and not lines.stride:
            return f"all {lines.extent} of {name}"
        return f"{lines.reach} of {name} from {lines.stride} y{-lines.before:+d} on"


@frozen(kw_only=True)
class Producer:
    """Operators that make the lines of one tensor, in their turn in each step; without operators they are
    copied.

    It makes `each` lines, or as many as it can from those that are there. `held` is how many lines at most
    are in the scratch from `offset` on: those that are still needed, and behind them the new ones. Where it
    is 0 they are in their place in the output.

    One that `accumulates` takes in `each` lines in a turn of the first tensor that it reads, and makes its
    own of `held` lines of sums, from `offset` on, once all are in.
    """

    operators: tuple[str, ...]
    reads: tuple[LineWindow, ...]
    image: TensorLines
    each: int
    held: int = 0
    offset: int = 0
    accumulates: bool = False

    @property
    def steps(self) -> int:
        """The lines that its turns count: its own, or those that it takes in."""
        return self.reads[0].tensor.lines if self.accumulates else self.image.lines

    @property
    def bytes(self) -> int:
        """The bytes of the scratch that it needs."""
        return self.held * self.image.line_bytes * (SUM_BYTES if self.accumulates else 1)

    def __str__(self) -> str:
        name = "+".join(self.operators) or "a copy"
        does = f"sums up {self.steps} to" if self.accumulates else "makes"
        place = f", {self.held} held at {self.offset}" if self.held else ""
        reads = ", ".join(map(str, self.reads))
        return f"{name} {does} {self.image}, {self.each} a turn{place}: {reads}"


@frozen
class Turn:
    """The producer of that `number` makes lines `start` to `end`, or takes them in. Before it does, lines
    below `kept` of its tensor are given up in the scratch; afterwards, the lines of the output below `placed`
    are in their place.
    """

    number: int
    kept: int
    start: int
    end: int
    placed: int


@frozen(kw_only=True, slots=False)
class Pass:
    """All turns over the lines of the tensors: each producer in turn makes some, until the last one's are
    complete.

    `given` are the tensors that it finds whole. The last producer's tensor is the output. Where `over` is one
    of those given, the output is in its place; where its producer then has `held` lines, and does not
    accumulate, a line waits in the scratch until the bytes of its place are no longer needed.
    """

    given: tuple[TensorLines, ...]
    producers: tuple[Producer, ...]
    over: TensorLines | None = None
    scratch: int = 0

    @property
    def output(self) -> TensorLines:
        """The tensor that is left."""
        return self.producers[-1].image

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """All that happens, in order. The output is never complete where producers wait for one another."""
        return tuple(self._turns())

    def laid(
        self, producers: Sequence[Producer], scratch: int, given: tuple[TensorLines, ...] | None = None
    ) -> "Pass":
        """The pass with producers that hold lines elsewhere, or more of them; where the output takes no
        place, lines may have other bytes, too, those `given` as well. Its turns are the same.
        """
        given = self.given if given is None else given
        other = evolve(self, producers=tuple(producers), scratch=scratch, given=given)
        vars(other)["turns"] = self.turns
        return other

    def _turns(self) -> Iterator[Turn]:
        last = len(self.producers) - 1
        reads, readers = self._reads(), [self._readers(p.image) for p in self.producers]
        over = self._readers(self.over) if self.over else []
        made, placed, before = [0] * len(self.producers), 0, [-1]
        while made[last] < self.producers[last].steps and made != before:
            before = made.copy()
            for number, producer in enumerate(self.producers):
                start = made[number]
                kept = placed if number == last else min(_needed(readers[number], made, start), start)
                end = min(start + producer.each, producer.steps)
                for source, window in reads[number]:
                    if source is not None:
                        end = min(end, window.along.ready(made[source]))
                made[number] = end
                if number == last:
                    placed = self._placed(made, over)
                yield Turn(number, kept, start, end, placed)

    def _reads(self) -> list[list[tuple[int | None, LineWindow]]]:
        """By producer its windows, each with the number of the producer whose lines it sees."""
        numbers = {producer.image.name: number for number, producer in enumerate(self.producers)}
        return [[(numbers.get(w.tensor.name), w) for w in producer.reads] for producer in self.producers]

    def _readers(self, image: TensorLines) -> list[tuple[int, Window]]:
        """The readers of a tensor: number and window."""
        return [
            (number, window.along)
            for number, producer in enumerate(self.producers)
            for window in producer.reads
            if window.tensor.name == image.name
        ]

    def _placed(self, made: Sequence[int], readers: Sequence[tuple[int, Window]]) -> int:
        """How many lines of the output may be in their place, of those that are made: all of them once it is
        complete, as nothing is needed then. The readers are those of `over`.
        """
        last, done, over = self.producers[-1], made[-1], self.over
        if last.accumulates:
            return last.image.lines if done == last.steps else 0
        if over is None or done == last.steps:
            return done
        needed = _needed(readers, made, over.lines)
        return done if needed == over.lines else min(done, needed * over.line_bytes // self.output.line_bytes)

    def __str__(self) -> str:
        parts = [image for image in (*self.given, *(p.image for p in self.producers)) if image.part]
        head = ", ".join(f"{image.name} {image.part}" for image in parts)
        return "".join(f"  {line}\n" for line in ((head,) if head else ()) + tuple(map(str, self.producers)))


def _needed(readers: Sequence[tuple[int, Window]], made: Sequence[int], none: int) -> int:
    """The first line of a tensor that its readers still need; without readers `none`."""
    return min((window.needed_from(made[number]) for number, window in readers), default=none)


@frozen(kw_only=True)
class RegionPlan:
    """A call that computes lines in turns, as the innermost of its `cuts` says: in one pass, or in one for
    each part of the outer cut. These follow one another in the same scratch; what two of them need is
    computed in both, and the output takes the place of nothing that is given.
    """

    cuts: tuple[AxisCut, ...]
    passes: tuple[Pass, ...]

    @property
    def axis(self) -> Axis:
        """The direction of its lines."""
        return self.cuts[-1].axis

    @property
    def given(self) -> tuple[TensorLines, ...]:
        """The tensors that it finds whole."""
        return self.passes[0].given

    @property
    def output(self) -> TensorLines:
        """The tensor that is left, whole."""
        return self.passes[0].output.whole

    @property
    def over(self) -> TensorLines | None:
        """The given tensor whose place the output takes."""
        return self.passes[0].over

    @property
    def scratch(self) -> int:
        """The bytes that each pass uses, one after the other."""
        return max(one.scratch for one in self.passes)

    def __str__(self) -> str:
        place = f" over {self.over.name}" if self.over else ""
        patches = "" if len(self.passes) == 1 else f" in each of {len(self.passes)} patches"
        head = f"{self.cuts[-1]}{patches}, {self.scratch} B of scratch, output {self.output}{place}\n"
        return head + "".join(map(str, self.passes))
