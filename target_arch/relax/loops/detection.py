"""Boxes of an object detector: decoded, and chosen where they overlap, as functions of C.

Equal scores are ordered as TFLite Micro does, whose order is defined: by anchors, then by classes.
Sources: LiteRT `kernels/detection_postprocess.cc`, TFLite Micro `kernels/detection_postprocess.cc`.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.site import local

_NONE = -1
_COORDINATES = 4


def real(value: float) -> Any:
    """A float32 constant."""
    return tirx.const(value, "float32")


def _whole(value: int) -> Any:
    return tirx.const(value, "int32")


@frozen(kw_only=True)
class Corners:
    """Boxes by their two corners [anchors, 4], from their centres and sizes relative to anchors; `scales` of
    y, x, height and width.
    """

    anchors: int
    scales: tuple[float, ...]

    def write(self, out: Any, encodings: Any, anchors: Any) -> None:
        """All boxes, computed in doubles and rounded once."""
        middle, half = local("middle", (1,), "float32"), local("half", (1,), "float32")

        def wide(value: Any) -> Any:
            return value.astype("float64")

        with ib.serial(0, self.anchors) as i:
            for axis in (0, 1):
                scale, extent = (tirx.const(self.scales[axis + side], "float64") for side in (0, 2))
                size = wide(anchors[i, axis + 2])
                centre = wide(encodings[0, i, axis]) / scale * size + wide(anchors[i, axis])
                ib.buffer_store(middle, centre.astype("float32"), [0])
                grown = tirx.exp(wide(encodings[0, i, axis + 2]) / extent)
                ib.buffer_store(half, (tirx.const(0.5, "float64") * grown * size).astype("float32"), [0])
                ib.buffer_store(out, middle[0] - half[0], [i, axis])
                ib.buffer_store(out, middle[0] + half[0], [i, axis + 2])


@frozen(kw_only=True)
class Suppression:
    """The choice of at most `most` boxes: of boxes that overlap by more than `overlap` (intersection over
    union), the best alone stays.

    With `per_class`, each class chooses so many at most, and the best of all classes stay; else each anchor
    has its best class, and its `categories` best ones are results. A row of scores has `offset` scores before
    those of the classes. The results are one array of `rows` boxes, classes, scores, and their number; rows
    without a box are zeros.
    """

    anchors: int
    classes: int
    offset: int
    most: int
    rows: int
    threshold: float
    overlap: float
    per_class: int
    categories: int
    spread: int
    """Rows from the results of one box to those of the next."""

    def write(self, out: Any, boxes: Any, scores: Any) -> None:
        """All results."""
        with ib.serial(0, self._count + 1) as i:
            ib.buffer_store(out, real(0.0), [i])
        if self.per_class:
            self._best_of_all_classes(out, boxes, scores)
        else:
            self._best_class_of_anchors(out, boxes, scores)

    @property
    def _classes(self) -> int:
        """Where the classes begin."""
        return _COORDINATES * self.rows

    @property
    def _scores(self) -> int:
        return (_COORDINATES + 1) * self.rows

    @property
    def _count(self) -> int:
        return (_COORDINATES + 2) * self.rows

    def _best_class_of_anchors(self, out: Any, boxes: Any, scores: Any) -> None:
        best = local("scores", (self.anchors,), "float32")
        with ib.serial(0, self.anchors) as i:
            ib.buffer_store(best, scores[0, i, self.offset], [i])
            with ib.serial(1, self.classes) as c:
                ib.buffer_store(best, tirx.max(best[i], scores[0, i, self.offset + c]), [i])
        taken, found = local("taken", (self.classes,), "bool"), local("found", (1,), "int32")

        def leave(rank: Any, anchor: Any) -> None:
            with ib.serial(0, self.classes) as c:
                ib.buffer_store(taken, tirx.const(False, "bool"), [c])
            with ib.serial(0, self.categories) as n:
                _best(
                    found,
                    self.classes,
                    lambda c: tirx.Not(taken[c]),
                    lambda c: scores[0, anchor, self.offset + c],
                )
                ib.buffer_store(taken, tirx.const(True, "bool"), [found[0]])
                row = rank * self.spread + n
                self._box(out, boxes, row, anchor)
                ib.buffer_store(out, found[0].astype("float32"), [self._classes + row])
                ib.buffer_store(out, scores[0, anchor, self.offset + found[0]], [self._scores + row])
            ib.buffer_store(out, (rank + 1).astype("float32"), [self._count])

        self._chosen(boxes, lambda i: best[i], min(self.most, self.anchors), leave)

    def _best_of_all_classes(self, out: Any, boxes: Any, scores: Any) -> None:
        kept, state = local("kept", (self.most,), "int32"), local("place", (2,), "int32")
        count, place = 0, 1
        ib.buffer_store(state, _whole(0), [count])
        with ib.serial(0, self.classes) as c:

            def score(i: Any) -> Any:
                return scores[0, i, self.offset + c]

            def leave(_: Any, anchor: Any) -> None:
                """A place after those of equal scores; the last one leaves where there are too many."""
                ib.buffer_store(state, _whole(0), [place])
                with ib.serial(0, self.most) as r:
                    before = tirx.all(r < state[count], out[self._scores + r] >= score(anchor))
                    with ib.If(before), ib.Then():
                        ib.buffer_store(state, state[place] + 1, [place])
                with ib.If(state[place] < self.most), ib.Then():
                    with ib.serial(1, self.most) as step:
                        r = self.most - step
                        with ib.If(tirx.all(r > state[place], r <= state[count])), ib.Then():
                            ib.buffer_store(kept, kept[r - 1], [r])
                            for first in (self._classes, self._scores):
                                ib.buffer_store(out, out[first + r - 1], [first + r])
                    ib.buffer_store(kept, anchor, [state[place]])
                    ib.buffer_store(out, c.astype("float32"), [self._classes + state[place]])
                    ib.buffer_store(out, score(anchor), [self._scores + state[place]])
                    ib.buffer_store(state, tirx.min(state[count] + 1, self.most), [count])

            self._chosen(boxes, score, min(self.most, self.per_class, self.anchors), leave)
        with ib.serial(0, self.most) as r, ib.If(r < state[count]), ib.Then():
            self._box(out, boxes, r, kept[r])
        ib.buffer_store(out, state[count].astype("float32"), [self._count])

    def _box(self, out: Any, boxes: Any, row: Any, anchor: Any) -> None:
        with ib.serial(0, _COORDINATES) as k:
            ib.buffer_store(out, boxes[anchor, k], [row * _COORDINATES + k])

    def _chosen(
        self, boxes: Any, score: Callable[[Any], Any], most: int, leave: Callable[[Any, Any], None]
    ) -> None:
        """`leave(rank, anchor)` for the boxes that stay, the best first."""
        active, best = local("active", (self.anchors,), "bool"), local("best", (1,), "int32")
        areas = local("areas", (3,), "float32")
        with ib.serial(0, self.anchors) as i:
            ib.buffer_store(active, score(i) >= real(self.threshold), [i])
        ib.buffer_store(best, _whole(0), [0])
        with ib.serial(0, most) as rank, ib.If(best[0] != _NONE), ib.Then():
            _best(best, self.anchors, lambda i: active[i], score)
            with ib.If(best[0] != _NONE), ib.Then():
                ib.buffer_store(active, tirx.const(False, "bool"), [best[0]])
                leave(rank, best[0])
                with ib.serial(0, self.anchors) as j, ib.If(active[j]), ib.Then():
                    overlapping = self._overlap(areas, boxes, best[0], j)
                    with ib.If(overlapping), ib.Then():
                        ib.buffer_store(active, tirx.const(False, "bool"), [j])

    def _overlap(self, areas: Any, boxes: Any, i: Any, j: Any) -> Any:
        """Whether two boxes overlap by too much."""
        for place, box in enumerate((i, j)):
            height, width = (boxes[box, axis + 2] - boxes[box, axis] for axis in (0, 1))
            ib.buffer_store(areas, height * width, [place])
        common = [
            tirx.max(
                tirx.min(boxes[i, axis + 2], boxes[j, axis + 2]) - tirx.max(boxes[i, axis], boxes[j, axis]),
                real(0.0),
            )
            for axis in (0, 1)
        ]
        ib.buffer_store(areas, common[0] * common[1], [2])
        share = areas[2] / (areas[0] + areas[1] - areas[2])
        return tirx.all(areas[0] > real(0.0), areas[1] > real(0.0), share > real(self.overlap))


def _best(found: Any, count: int, among: Callable[[Any], Any], value: Callable[[Any], Any]) -> None:
    """`found` is the first of the greatest values, -1 where there is none."""
    ib.buffer_store(found, _whole(_NONE), [0])
    with ib.serial(0, count) as i:
        known = value(tirx.max(found[0], 0))
        with ib.If(tirx.all(among(i), tirx.any(found[0] < 0, value(i) > known))), ib.Then():
            ib.buffer_store(found, i.astype("int32"), [0])
