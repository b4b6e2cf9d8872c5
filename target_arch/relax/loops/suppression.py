"""Boxes that stay of those that overlap, as functions of C: ONNX's and TFLite's operators.

Of equal scores the first one is better, as in onnxruntime. Sources: onnxruntime
`object_detection/non_max_suppression.cc`, LiteRT `kernels/internal/reference/non_max_suppression.h`.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local

_NONE = -1
_CORNERS = ((0, 2), (1, 3))


def _real(value: float) -> Any:
    return tirx.const(value, "float32")


def _whole(value: int, dtype: str = "int32") -> Any:
    return tirx.const(value, dtype)


@frozen(kw_only=True)
class Overlap:
    """How far two boxes overlap. `boxes(i, k)` are their numbers: two opposite corners, or, `centred`, the
    centre and the sizes.
    """

    boxes: Callable[[Any, int], Any]
    centred: bool = False

    def _ends(self, i: Any, axis: int) -> tuple[Any, Any]:
        first, second = (self.boxes(i, k) for k in _CORNERS[axis])
        if self.centred:
            half = second / _real(2.0)
            return first - half, first + half
        return tirx.min(first, second), tirx.max(first, second)

    def write(self, share: Any, i: Any, j: Any) -> None:
        """`share` is what boxes i and j have in common, of their union; 0 where one is empty."""
        sides, areas = local("sides", (8,), "float32"), local("areas", (4,), "float32")
        for place, box in enumerate((i, j)):
            for axis in (0, 1):
                for end, value in enumerate(self._ends(box, axis)):
                    ib.buffer_store(sides, value, [4 * place + 2 * axis + end])
            at = 4 * place
            area = (sides[at + 1] - sides[at]) * (sides[at + 3] - sides[at + 2])
            ib.buffer_store(areas, area, [place])
        common = []
        for axis in (0, 2):
            first = tirx.max(sides[axis], sides[4 + axis])
            common.append(tirx.max(tirx.min(sides[axis + 1], sides[axis + 5]) - first, _real(0.0)))
        ib.buffer_store(areas, common[0] * common[1], [2])
        ib.buffer_store(areas, areas[0] + areas[1] - areas[2], [3])
        known = tirx.all(areas[0] > _real(0.0), areas[1] > _real(0.0), areas[3] > _real(0.0))
        ib.buffer_store(share, _real(0.0), [0])
        with ib.If(known), ib.Then():
            ib.buffer_store(share, areas[2] / areas[3], [0])


def choose(
    anchors: int,
    most: Any,
    overlap: Overlap,
    limit: Any,
    score: Callable[[Any], Any],
    among: Callable[[Any], Any],
    leave: Callable[[Any, Any], None],
) -> None:
    """`leave(rank, box)` for the boxes that stay of those `among` which are chosen, the best first, `most`
    at most. A box goes that shares more than `limit` of a union with a better one.
    """
    active, state = local("active", (anchors,), "bool"), local("state", (2,), "int32")
    share = local("share", (1,), "float32")
    best, rank = 0, 1
    with ib.serial(0, anchors) as i:
        ib.buffer_store(active, among(i), [i])
    ib.buffer_store(state, _whole(0), [best])
    ib.buffer_store(state, _whole(0), [rank])
    with ib.While(tirx.all(state[best] >= 0, state[rank] < most)):
        ib.buffer_store(state, _whole(_NONE), [best])
        with ib.serial(0, anchors) as i, ib.If(active[i]), ib.Then():
            better = score(i) > score(tirx.max(state[best], 0))
            with ib.If(tirx.any(state[best] < 0, better)), ib.Then():
                ib.buffer_store(state, i.astype("int32"), [best])
        with ib.If(state[best] >= 0), ib.Then():
            ib.buffer_store(active, tirx.const(False, "bool"), [state[best]])
            leave(state[rank], state[best])
            ib.buffer_store(state, state[rank] + 1, [rank])
            with ib.serial(0, anchors) as j, ib.If(active[j]), ib.Then():
                overlap.write(share, state[best], j)
                with ib.If(share[0] > limit), ib.Then():
                    ib.buffer_store(active, tirx.const(False, "bool"), [j])


@frozen(kw_only=True)
class BoxesOfClasses:
    """ONNX's operator: of each image and class the boxes that stay, as rows of image, class and box; behind
    `rows` rows there is one that begins with their number. The limit, the least score and the most boxes of a
    class are operands, as is how many boxes there are, where that depends on values.
    """

    boxes: tuple[int, ...]
    classes: int
    rows: int
    centred: bool
    scored: bool
    counted: bool

    def write(self, out: Any, boxes: Any, scores: Any, most: Any, limit: Any, *others: Any) -> None:
        """All rows; zeros behind the last one."""
        images, anchors = self.boxes[0], self.boxes[1]
        least = others[0] if self.scored else None
        there = others[-1] if self.counted else None
        with ib.grid(self.rows + 1, 3) as (i, k):
            ib.buffer_store(out, _whole(0, "int64"), [i, k])
        with ib.grid(images, self.classes) as (image, category):

            def score(i: Any) -> Any:
                return scores[image, category, i]

            def among(i: Any) -> Any:
                above = score(i) > least[0] if least is not None else tirx.const(True, "bool")
                return above if there is None else tirx.all(above, i < there[0].astype("int32"))

            def leave(rank: Any, box: Any) -> None:
                row = out[self.rows, 0].astype("int32")
                for place, value in enumerate((image, category, box)):
                    ib.buffer_store(out, value.astype("int64"), [row, place])
                ib.buffer_store(out, out[self.rows, 0] + _whole(1, "int64"), [self.rows, 0])

            overlap = Overlap(boxes=lambda i, k: boxes[image, i, k], centred=self.centred)
            wanted = tirx.max(tirx.min(most[0], _whole(anchors, "int64")), _whole(0, "int64"))
            choose(anchors, wanted.astype("int32"), overlap, limit[0], score, among, leave)


@frozen(kw_only=True)
class SofterBoxes:
    """TFLite's operators: `most` boxes at most that stay, their scores, and their number, in one array. With
    a `sigma`, boxes that overlap with better ones get lower scores instead of none. The limit, from which on
    a box goes, and the least score are operands.
    """

    anchors: int
    most: int
    sigma: float

    def write(self, out: Any, boxes: Any, scores: Any, limit: Any, least: Any) -> None:
        """All results; zeros behind the last box."""
        score, begin = local("score", (self.anchors,), "float32"), local("begin", (self.anchors,), "int32")
        state, before = local("state", (2,), "int32"), local("before", (1,), "float32")
        best, count = 0, 1
        with ib.serial(0, 2 * self.most + 1) as i:
            ib.buffer_store(out, _real(0.0), [i])
        with ib.serial(0, self.anchors) as i:
            ib.buffer_store(score, scores[i], [i])
            ib.buffer_store(begin, tirx.Select(scores[i] > least[0], _whole(0), _whole(_NONE)), [i])
        ib.buffer_store(state, _whole(0), [best])
        ib.buffer_store(state, _whole(0), [count])
        with ib.While(tirx.all(state[best] >= 0, state[count] < self.most)):
            ib.buffer_store(state, _whole(_NONE), [best])
            with ib.serial(0, self.anchors) as i, ib.If(begin[i] >= 0), ib.Then():
                better = score[i] > score[tirx.max(state[best], 0)]
                with ib.If(tirx.any(state[best] < 0, better)), ib.Then():
                    ib.buffer_store(state, i.astype("int32"), [best])
            with ib.If(state[best] >= 0), ib.Then():
                ib.buffer_store(before, score[state[best]], [0])
                self._lower(out, boxes, score, begin, state, limit, least)
                with (
                    ib.If(tirx.all(begin[state[best]] >= 0, tirx.EQ(score[state[best]], before[0]))),
                    ib.Then(),
                ):
                    ib.buffer_store(out, state[best].astype("float32"), [state[count]])
                    ib.buffer_store(out, before[0], [self.most + state[count]])
                    ib.buffer_store(begin, _whole(_NONE), [state[best]])
                    ib.buffer_store(state, state[count] + 1, [count])
                with ib.If(score[state[best]] <= least[0]), ib.Then():
                    ib.buffer_store(begin, _whole(_NONE), [state[best]])
        ib.buffer_store(out, state[count].astype("float32"), [2 * self.most])

    def _lower(
        self, out: Any, boxes: Any, score: Any, begin: Any, state: Any, limit: Any, least: Any
    ) -> None:
        """Lower the score of the best box by those that were chosen since it was the best before, the last
        one first; it goes where it overlaps too far with one.
        """
        best, count = 0, 1
        other, share = local("other", (2,), "int32"), local("share", (1,), "float32")
        overlap = Overlap(boxes=lambda i, k: boxes[i, k])
        at, gone = 0, 1
        ib.buffer_store(other, state[count] - 1, [at])
        ib.buffer_store(other, _whole(0), [gone])
        with ib.While(tirx.all(tirx.EQ(other[gone], 0), other[at] >= begin[state[best]])):
            overlap.write(share, state[best], out[other[at]].astype("int32"))
            with ib.If(share[0] >= limit[0]), ib.Then():
                ib.buffer_store(other, _whole(2), [gone])
            if self.sigma > 0:
                decay = tirx.exp(_real(-0.5 / self.sigma) * share[0] * share[0])
                softer = tirx.Select(tirx.EQ(other[gone], 0), score[state[best]] * decay, score[state[best]])
                ib.buffer_store(score, softer, [state[best]])
                stops = tirx.all(tirx.EQ(other[gone], 0), score[state[best]] <= least[0])
                ib.buffer_store(other, tirx.Select(stops, _whole(1), other[gone]), [gone])
            ib.buffer_store(other, other[at] - 1, [at])
        goes = tirx.EQ(other[gone], 2)
        ib.buffer_store(begin, tirx.Select(goes, _whole(_NONE), state[count]), [state[best]])
