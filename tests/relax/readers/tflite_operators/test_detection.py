"""TFLite_Detection_PostProcess on random boxes, every bit as LiteRT's."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import field, frozen

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

import target_arch
from conformance.tflite_files import Array, TfliteFile
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.manifest.model import BoundedEntry
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.litert import litert
from target_arch.soc.files.soc_file import read_soc
from tests.relax.readers.tflite_operators.refusals import reasons
from tests.slow import slow_except

CODE = "TFLite_Detection_PostProcess"


@frozen(kw_only=True)
class Detector:
    """The tail of a detector: `background` is 1 where a score of no class comes first, `spread` are the
    classes of each box; `open` leaves the shapes of its outputs out of the file, `ties` makes scores equal.
    """

    anchors: int = 41
    classes: int = 4
    background: int = 1
    most: int = 9
    spread: int = 1
    dtype: str = "float32"
    open: bool = False
    ties: bool = False
    options: Mapping[str, Any] = field(factory=dict)

    def file(self, rng: np.random.Generator) -> TfliteFile:
        file = TfliteFile()
        real = self.dtype == "float32"
        boxes = file.input((1, self.anchors, 4), self.dtype, *(() if real else (0.05, 120)))
        scores = file.input((1, self.anchors, self.classes + self.background), self.dtype, *self.grid)
        middles, sizes = rng.uniform(0, 1, (self.anchors, 2)), rng.uniform(0.1, 0.5, (self.anchors, 2))
        values = np.concatenate([middles, sizes], axis=1) * (1 if real else 250)
        anchors = file.tensor(values.shape, self.dtype, *self.grid, data=values)
        shapes: list[tuple[int, ...]] = [(1, self.rows, 4), (1, self.rows), (1, self.rows), (1,)]
        outputs = [file.output(() if self.open else shape, "float32") for shape in shapes]
        file.operator(CODE, [boxes, scores, anchors], outputs, custom=self.settings | dict(self.options))
        return file

    @property
    def grid(self) -> tuple[Any, ...]:
        return () if self.dtype == "float32" else (1 / 256, 0)

    @property
    def rows(self) -> int:
        return self.most * self.spread

    @property
    def settings(self) -> dict[str, Any]:
        scales = {f"{name}_scale": scale for name, scale in zip("yxhw", (10.0, 9.0, 5.0, 3.0), strict=True)}
        return {
            "num_classes": self.classes,
            "max_detections": self.most,
            "max_classes_per_detection": self.spread,
            "nms_score_threshold": 0.3,
            "nms_iou_threshold": 0.4,
            **scales,
        }

    def frame(self, rng: np.random.Generator) -> tuple[Array, Array]:
        shapes = (1, self.anchors, 4), (1, self.anchors, self.classes + self.background)
        if self.dtype != "float32":
            return rng.integers(60, 200, shapes[0]).astype("uint8"), rng.integers(0, 256, shapes[1]).astype(
                "uint8"
            )
        scores = rng.integers(0, 10, shapes[1]) / 10 if self.ties else rng.uniform(0, 1, shapes[1])
        return rng.normal(0, 2, shapes[0]).astype("f4"), scores.astype("f4")


REGULAR = {"use_regular_nms": True}
DETECTORS = {
    "fast": Detector(ties=True),
    "of uint8 values": Detector(dtype="uint8", background=0),
    "three classes of each box": Detector(spread=3),
    "shapes left open": Detector(open=True),
    "regular": Detector(classes=1, options=REGULAR),
    "few of each class": Detector(most=7, options=REGULAR | {"detections_per_class": 2}),
}


@pytest.mark.parametrize("name", slow_except(["regular"], DETECTORS))
def test_boxes_are_bit_equal(name: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    rng, detector = np.random.default_rng(len(name)), DETECTORS[name]
    path = tmp_path / "m.tflite"
    path.write_bytes(detector.file(rng).content())
    frames = [detector.frame(rng) for _ in range(6)]
    reference = litert(path)
    theirs = [[np.array(each) for each in reference.answer(frame)[0]] for frame in frames]
    made = compile_model(CompileRequest(model_path=path, soc=read_soc("zynq_edge")))
    write_bundle(made.bundle, tmp_path / "bundle")
    given = [b"".join(value.tobytes() for value in frame) for frame in frames]
    answers = run_frames(build(tmp_path / "bundle"), tuple(given))
    found = [_found(np.frombuffer(answer, "f4"), detector) for answer in answers]
    assert found == [_found(np.concatenate([each.ravel() for each in frame]), detector) for frame in theirs]
    assert max(map(len, found)) > 2


def test_verify_compares_what_counts(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    path = tmp_path / "m.tflite"
    path.write_bytes(Detector().file(np.random.default_rng(0)).content())
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    outputs = bundle.manifest.models[0].outputs
    count = BoundedEntry(axis=1, count=outputs[3].name)
    assert [each.bounded for each in outputs] == [count, count, count, None]
    (result,) = bundle.verify(path, count=20).values()
    assert result.passed, str(result)


def _found(answer: Array, detector: Detector) -> list[tuple[Any, ...]]:
    """The boxes that were found: LiteRT leaves other rows as they were."""
    rows = detector.rows
    boxes, classes, scores = (
        answer[: 4 * rows].reshape(rows, 4),
        answer[4 * rows : 5 * rows],
        answer[5 * rows : -1],
    )
    spread = 1 if "use_regular_nms" in detector.options else detector.spread
    return [(*boxes[row].tolist(), classes[row], scores[row]) for row in range(int(answer[-1]) * spread)]


REFUSED = {
    "its boxes are float32, its anchors int8": Detector(),
    "its option `nms_iou_threshold` is missing": Detector(options={"nms_iou_threshold": ""}),
    "6 scores of each box, but 4 classes": Detector(background=2),
    "values of type int8": Detector(dtype="int8"),
    "its options are out of range": Detector(options={"max_detections": 0}),
}


@pytest.mark.parametrize("why", REFUSED)
def test_other_detectors_are_refused(why: str, tmp_path: Path) -> None:
    file = REFUSED[why].file(np.random.default_rng(0))
    if "anchors int8" in why:
        file = _with_narrow_anchors()
    assert reasons(file.content(), tmp_path) == [f"`{CODE}` once, at `t3`: {why}"]


def _with_narrow_anchors() -> TfliteFile:
    file, detector = TfliteFile(), Detector()
    boxes, scores = file.input((1, 41, 4), "float32"), file.input((1, 41, 5), "float32")
    anchors = file.tensor((41, 4), "int8", 0.1, 0, data=np.ones((41, 4)))
    outputs = [file.output(shape, "float32") for shape in ((1, 9, 4), (1, 9), (1, 9), (1,))]
    file.operator(CODE, [boxes, scores, anchors], outputs, custom=detector.settings)
    return file
