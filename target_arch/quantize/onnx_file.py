"""ONNX models, quantized by onnxruntime's static quantizer.

A model is first optimized as onnxruntime advises (`quant_pre_process`): normalizations go into the
convolutions before them. Tests: `tests/quantize/test_onnx_file.py`.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from target_arch.diagnostics import refusal
from target_arch.quantize.data import LabelledFrames
from target_arch.quantize.library import file_answer, library_missing
from target_arch.quantize.precision import Precision, Precisions, QuantizableLayer
from target_arch.quantize.score import Answer
from target_arch.relax.quiet import quiet
from target_arch.run.references.reference import Frame, unreadable

_WEIGHTED = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""Operators whose second input may be weights."""
_CHOICES = (Precision.FLOAT, Precision.INT8, Precision.INT8_TENSOR, Precision.INT4)
_OPSET = 13
"""The least with a scale for each channel."""
_METHODS = {"min and max": "MinMax", "percentile": "Percentile", "entropy": "Entropy"}
"""Settings, and what onnxruntime calls them."""
_VALUES = 1 << 27
"""Histograms are made of every value of every tensor: of so many at once, which fit into memory."""


@define(kw_only=True, eq=False)
class OnnxQuantizer:
    """A calibrated ONNX model. `ranges` are those of its tensors by setting, as onnxruntime has them."""

    float_model: Path
    layers: tuple[QuantizableLayer, ...]
    groups: Mapping[str, int] = field(repr=False)
    """The layer, by number, whose precision a node has."""
    weights: tuple[tuple[str, int], ...] = field(repr=False)
    """The tensor with the weights of each layer, and its axis of output channels."""
    ranges: Mapping[str, Any] = field(repr=False)
    library: str = "onnxruntime"

    @property
    def settings(self) -> tuple[str, ...]:
        """Ways to find the ranges of activations."""
        return tuple(self.ranges)

    @property
    def recipes(self) -> Mapping[str, Precisions]:
        """None: onnxruntime has settings alone; see `library.py`."""
        return {}

    def quantized(self, precisions: Precisions, setting: str) -> bytes:
        """The content of the file with these precisions; see `library.py`."""
        from onnxruntime.quantization import QDQQuantizer, QuantType

        others = {
            Precision.INT8_TENSOR: lambda axis: {"quant_type": QuantType.QInt8},
            Precision.INT4: lambda axis: {"quant_type": QuantType.QInt4, "axis": axis},
        }
        overrides = {
            name: [others[precision](axis)]
            for (name, axis), precision in zip(self.weights, precisions, strict=True)
            if precision in others
        }
        floats = [name for name, layer in self.groups.items() if precisions[layer] is Precision.FLOAT]
        model = _loaded(self.float_model)
        with _silent():
            quantizer = QDQQuantizer(
                model,
                True,
                False,
                QuantType.QInt8,
                QuantType.QInt8,
                self.ranges[setting],
                [],
                floats,
                _every_kind(),
                {"TensorQuantOverrides": overrides, "UseQDQContribOps": Precision.INT4 in precisions},
            )
            if len(floats) < len(self.groups):
                quantizer.quantize_model()
                quantizer.model.topological_sort()
        content: bytes = quantizer.model.model.SerializeToString(deterministic=True)
        return content

    def answer(self, content: bytes, folder: Path) -> Answer:
        """The outputs of a model, in floats; see `library.py`."""
        return file_answer(content, folder, self.float_model.suffix)


def onnx_quantizer(model: Path, data: LabelledFrames, folder: Path) -> OnnxQuantizer:
    """The model, calibrated with the frames; files that it needs go into the folder, and stay.

    ToolMissing without onnxruntime, DiagnosticError for a model that has nothing to quantize.
    """
    try:
        import onnxruntime.quantization  # noqa: F401
    except ImportError as error:
        raise library_missing("onnxruntime") from error
    prepared = _prepared(model, folder)
    graph = _loaded(prepared).graph
    layers, groups, weights = _layers(graph)
    if not layers:
        said = f"there is nothing to quantize: no {', '.join(_WEIGHTED[:-1])} or {_WEIGHTED[-1]} with weights"
        raise refusal("nothing-to-quantize", model, said)
    names = [value.name for value in graph.input]
    with _silent():
        ranges = {setting: _ranges(prepared, names, data, setting, folder) for setting in _METHODS}
    return OnnxQuantizer(float_model=prepared, layers=layers, groups=groups, weights=weights, ranges=ranges)


def require_float_onnx(model: Path) -> None:
    """DiagnosticError for a model that has quantized operators, or cannot be read."""
    from google.protobuf.message import DecodeError

    try:
        kinds = {node.op_type for node in _loaded(model).graph.node}
    except (DecodeError, OSError, ValueError) as error:
        raise unreadable(model, "onnx", error) from error
    quantized = sorted(kind for kind in kinds if "Linear" in kind or kind.endswith("Integer"))
    if quantized:
        said = f"the model is quantized already: it has `{quantized[0]}`"
        raise refusal("already-quantized", model, said, "give the float model that it was made from")


def one_frame_onnx(model: Path, folder: Path) -> Path:
    """The model with 1 for every first dimension of an input that is open: itself where there is none, else a
    file in the folder.
    """
    import onnx

    loaded = _loaded(model)
    constants = {each.name for each in loaded.graph.initializer}
    inputs = (value for value in loaded.graph.input if value.name not in constants)
    firsts = [dimension for value in inputs for dimension in value.type.tensor_type.shape.dim[:1]]
    names = {dimension.dim_param for dimension in firsts if not dimension.dim_value}
    if not names:
        return model
    for value in (*loaded.graph.input, *loaded.graph.output):
        for dimension in value.type.tensor_type.shape.dim[:1]:
            if not dimension.dim_value and dimension.dim_param in names:
                dimension.dim_value = 1
    onnx.save(loaded, folder / model.name)
    return folder / model.name


def _loaded(file: Path) -> Any:
    import onnx

    return onnx.load(file)


def _prepared(model: Path, folder: Path) -> Path:
    """The model as onnxruntime optimizes it, with a name for every node."""
    import onnx
    from onnxruntime.quantization.shape_inference import quant_pre_process

    loaded, raised, prepared = _loaded(model), folder / "raised.onnx", folder / "float.onnx"
    if next((each.version for each in loaded.opset_import if not each.domain), _OPSET) < _OPSET:
        loaded = onnx.version_converter.convert_version(loaded, _OPSET)
    onnx.save(loaded, raised)
    with _silent():
        quant_pre_process(raised, prepared, skip_symbolic_shape=True)
    named = _loaded(prepared)
    for number, node in enumerate(named.graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    onnx.save(named, prepared)
    return prepared


def _layers(
    graph: Any,
) -> tuple[tuple[QuantizableLayer, ...], dict[str, int], tuple[tuple[str, int], ...]]:
    """The layers, the layer of every node by its name, and the tensors with the weights."""
    constants = {each.name: each for each in graph.initializer}
    made_in: dict[str, int] = {}
    layers, groups, weights = [], {}, []
    for node in graph.node:
        if node.op_type in _WEIGHTED and node.input[1] in constants:
            tensor = constants[node.input[1]]
            weights.append((tensor.name, _channel_axis(node)))
            layers.append(
                QuantizableLayer(
                    name=node.name,
                    kind=node.op_type,
                    weights=int(np.prod(tensor.dims, dtype=np.int64)),
                    choices=_CHOICES,
                )
            )
            group = len(layers) - 1
        else:
            group = max((made_in.get(name, 0) for name in node.input), default=0)
        groups[node.name] = group
        made_in.update(dict.fromkeys(node.output, group))
    return tuple(layers), groups, tuple(weights)


def _channel_axis(node: Any) -> int:
    """The axis of a layer's weights that its output channels are along."""
    if node.op_type == "Gemm":
        return 0 if any(each.name == "transB" and each.i for each in node.attribute) else 1
    return 0 if node.op_type == "Conv" else 1


def _ranges(model: Path, names: Sequence[str], data: LabelledFrames, setting: str, folder: Path) -> Any:
    """The ranges of all tensors, as onnxruntime's calibrator of that setting finds them."""
    from onnxruntime.quantization import CalibrationMethod, create_calibrator

    method = CalibrationMethod[_METHODS[setting]]
    calibrator = create_calibrator(
        model, None, augmented_model_path=str(folder / "augmented.onnx"), calibrate_method=method
    )
    step = len(data.frames) if method is CalibrationMethod.MinMax else max(_VALUES // _values_of(model), 1)
    for first in range(0, len(data.frames), step):
        calibrator.collect_data(_reader(names, data.frames[first : first + step]))
    return calibrator.compute_data()


def _values_of(model: Path) -> int:
    """The elements of all tensors of a run."""
    import onnx

    graph = onnx.shape_inference.infer_shapes(_loaded(model)).graph
    tensors = (value.type.tensor_type.shape.dim for value in (*graph.input, *graph.value_info, *graph.output))
    return sum(int(np.prod([max(extent.dim_value, 1) for extent in each])) for each in tensors)


def _reader(names: Sequence[str], frames: Sequence[Frame]) -> Any:
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types here
        """Feeds the frames one by one."""

        def __init__(self) -> None:
            self._frames: Iterator[Frame] = iter(frames)

        def get_next(self) -> dict[str, Any] | None:
            frame = next(self._frames, None)
            return None if frame is None else dict(zip(names, frame, strict=True))

    return Reader()


def _every_kind() -> list[str]:
    """All operators that onnxruntime quantizes, as its `quantize_static` takes them by default."""
    from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

    return list({**QLinearOpsRegistry, **QDQRegistry})


@contextmanager
def _silent() -> Iterator[None]:
    """Without what onnxruntime prints and logs."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with quiet():
            yield
    finally:
        logging.disable(before)
