"""TFLite_Detection_PostProcess: the boxes of an object detector."""

import math
from collections.abc import Mapping
from typing import Any

from tvm import relax

from target_arch.plan.arithmetic import float32
from target_arch.relax.loops.detection import Corners, Suppression
from target_arch.relax.readers.tflite_operators.site import TFLiteOperand, TFLiteOperator
from target_arch.relax.site import NotConverted

_PER_CLASS = 100
"""Detections of each class where the options do not say."""


def detections(site: TFLiteOperator) -> Any:
    """Boxes, classes, scores and their number, of floats or uint8 values."""
    encodings, predictions, anchors = (site.tensor(index) for index in range(3))
    if encodings.dtype != anchors.dtype:
        raise NotConverted(f"its boxes are {encodings.dtype}, its anchors {anchors.dtype}")
    if encodings.shape[0] != 1:
        raise NotConverted("more than one image")
    options = site.custom
    chosen = _suppression(options, encodings.shape[1], predictions.shape[2])
    shapes = ((1, chosen.rows, 4), (1, chosen.rows), (1, chosen.rows), (1,))
    for out, shape in zip(site.outputs, shapes, strict=True):
        if out.shape not in ((), shape) and math.prod(out.shape) != math.prod(shape):
            raise NotConverted(f"output `{out.name}` has not {math.prod(shape)} elements")
    scales = tuple(float32(_number(options, f"{name}_scale")) for name in "yxhw")
    corners = Corners(anchors=chosen.anchors, scales=scales)
    boxes = site.written(
        (chosen.anchors, 4),
        "float32",
        corners.write,
        _real(site, encodings),
        _real(site, anchors),
        name="corners",
    )
    size = sum(map(math.prod, shapes))
    whole = site.written((size,), "float32", chosen.write, boxes, _real(site, predictions), name="detections")
    found, first = [], 0
    for shape in shapes:
        part = relax.op.strided_slice(whole, [0], [first], [first + math.prod(shape)])
        found.append(relax.op.reshape(site.builder.emit(part), shape))
        first += math.prod(shape)
    return found


def _suppression(options: Mapping[str, Any], anchors: int, columns: int) -> Suppression:
    classes, most = int(_number(options, "num_classes")), int(_number(options, "max_detections"))
    spread = int(_number(options, "max_classes_per_detection"))
    regular = bool(options.get("use_regular_nms", False))
    overlap = float32(_number(options, "nms_iou_threshold"))
    if columns - classes not in (0, 1):
        raise NotConverted(f"{columns} scores of each box, but {classes} classes")
    if not 0 < overlap <= 1 or min(classes, most, spread) < 1:
        raise NotConverted("its options are out of range")
    per_class = int(options.get("detections_per_class", _PER_CLASS))
    if regular and per_class < 1:
        raise NotConverted("its options are out of range")
    return Suppression(
        anchors=anchors,
        classes=classes,
        offset=columns - classes,
        most=most,
        rows=most * spread,
        threshold=float32(_number(options, "nms_score_threshold")),
        overlap=overlap,
        per_class=per_class if regular else 0,
        categories=min(spread, classes),
        spread=spread,
    )


def _number(options: Mapping[str, Any], name: str) -> float:
    if not isinstance(options.get(name), int | float):
        raise NotConverted(f"its option `{name}` is missing")
    return float(options[name])


def _real(site: TFLiteOperator, operand: TFLiteOperand) -> Any:
    """The reals of a tensor of floats or of uint8 values."""
    if operand.dtype == "float32":
        return operand.expr
    if operand.dtype != "uint8":
        raise NotConverted(f"values of type {operand.dtype}")
    grid = relax.const(operand.scale, "float32"), relax.const(operand.zero_point, "int32")
    return site.builder.emit(relax.op.dequantize(operand.expr, *grid, 0))
