"""onnxruntime: the reference of ONNX models."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import define, field, frozen

from target_arch.diagnostics import refusal
from target_arch.plan.inputs.cut import WHOLE, ModelCut
from target_arch.run.references.indices.onnx_uses import MOVING, uses
from target_arch.run.references.indices.uses import highest_indices, index_limits
from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_RULE,
    FLOAT_TOLERANCE,
    Array,
    Frame,
    Input,
    LayerRule,
    Reference,
    Shape,
    Shapes,
    cannot_run,
    fixed_shape,
    limits,
    package_missing,
    quantized_limits,
    unreadable,
)
from target_arch.run.references.saturation import without_saturation

_QDQ_RULE = "no farther than its optimized and unoptimized modes are from each other, plus one step"

NO_VALUES: Mapping[str, float] = MappingProxyType({})


def ort(
    model: Path, shapes: Shapes = (), values: Mapping[str, float] = NO_VALUES, cut: ModelCut = WHOLE
) -> Reference:
    """Quantized models are computed with and without graph optimizations, others without. Inputs with one of
    the `values` are constants; of a model that is cut, the part is computed.

    ToolMissing without `onnxruntime`, DiagnosticError for a file it cannot read.
    """
    content = model.read_bytes()
    whole = _whole(model, content)
    parsed = _parsed(model, content if whole is None else whole)
    if cut:
        from target_arch.relax.readers.onnx.cut import cut_onnx

        cut_onnx(model, parsed, cut)
    graph = parsed.graph
    _fix(graph, values, shapes)
    mapped = any(node.op_type == "ZipMap" for node in graph.node)
    if mapped:
        from target_arch.relax.readers.onnx.rewriting.classical import without_maps

        without_maps(parsed)
    if without_saturation(parsed) or values or cut or mapped:
        content = parsed.SerializeToString()
    elif whole is not None:
        content = whole
    parsed = _without_weights(parsed)
    graph = parsed.graph
    quantized = any("Linear" in node.op_type for node in graph.node)
    sessions = _sessions(model, content, optimized=quantized)
    names = [value.name for value in sessions[0].get_inputs()]

    def answer(frame: Frame) -> tuple[Frame, ...]:
        feed = dict(zip(names, frame, strict=True))
        try:
            return tuple(tuple(session.run(None, feed)) for session in sessions)
        except _failures() as error:
            raise cannot_run(model, "onnxruntime", error) from error

    return Reference(
        name=f"onnxruntime {_version()}",
        rule=_QDQ_RULE if quantized else FLOAT_RULE,
        inputs=tuple(_inputs(model, parsed, names, shapes)),
        units=tuple(_step(graph, output.name) or 1.0 for output in graph.output),
        allowed=1.0 if quantized else FLOAT_TOLERANCE,
        relative=0.0 if quantized else FLOAT_RELATIVE,
        modes=("unoptimized", "optimized") if quantized else ("unoptimized",),
        answer=answer,
        inside=_Inside(model=model, content=content, names=tuple(names)),
        layers=LayerRule(steps=1, judges=quantized),
        rounds=not quantized,
        varied=_Varied(model=model, content=content, names=tuple(names)),
        reals=tuple(_is_real(graph, output) for output in graph.output) if quantized else (),
    )


_LARGE = 1 << 16
"""Elements above which a constant is a weight, and no scale."""


def _without_weights(parsed: Any) -> Any:
    """The model without the data of its weights, of which onnxruntime has copies. It is another message:
    protobuf gives memory back with the whole of one.
    """
    import onnx

    for tensor in parsed.graph.initializer:
        if prod(tensor.dims) > _LARGE:
            tensor.ClearField("raw_data")
    rest = onnx.ModelProto()
    rest.CopyFrom(parsed)
    return rest


def _fix(graph: Any, values: Mapping[str, float], shapes: Shapes) -> None:
    """Constants in place of inputs, all elements of which are one number; `shapes` are the others'."""
    import onnx

    constants = {value.name for value in graph.initializer}
    fixed = [value for value in graph.input if value.name in values]
    others = [value for value in graph.input if value.name not in (*values, *constants)]
    extents = {
        dimension.dim_param: extent
        for value, shape in zip(others, shapes, strict=False)
        for dimension, extent in zip(value.type.tensor_type.shape.dim, shape, strict=False)
    }
    for value in fixed:
        kind = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        shape = [each.dim_value or extents.get(each.dim_param, 1) for each in kind.shape.dim]
        elements = np.full(shape, values[value.name], dtype)
        graph.initializer.append(onnx.numpy_helper.from_array(elements, value.name))
        graph.input.remove(value)


@frozen(kw_only=True, eq=False, slots=False)
class _Inside:
    """The tensors of a model, all of them outputs of the unoptimized mode."""

    model: Path
    content: bytes = field(repr=False)
    names: tuple[str, ...]

    def __call__(self, frame: Frame) -> Mapping[str, Array]:
        session = self._session
        wanted = [value.name for value in session.get_outputs()]
        try:
            found = session.run(wanted, dict(zip(self.names, frame, strict=True)))
        except _failures() as error:
            raise cannot_run(self.model, "onnxruntime", error) from error
        named = zip(wanted, found, strict=True)
        return {name: value for name, value in named if isinstance(value, np.ndarray)}

    @cached_property
    def _session(self) -> Any:
        import onnx

        opened = onnx.load_model_from_string(self.content)
        there = {value.name for value in opened.graph.output}
        made = dict.fromkeys(name for node in opened.graph.node for name in node.output if name)
        opened.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name not in there)
        return _sessions(self.model, opened.SerializeToString(), optimized=False)[0]


@define(kw_only=True, eq=False)
class _Varied:
    """The unoptimized mode of a model whose real constants are changed in the last digit: at random, the same
    for the same `seed`.
    """

    model: Path
    content: bytes = field(repr=False)
    names: tuple[str, ...]
    _made: dict[int, Any] = field(factory=dict, init=False, repr=False)

    def __call__(self, frame: Frame, seed: int) -> Frame:
        if seed not in self._made:
            self._made[seed] = self._session(seed)
        try:
            return tuple(self._made[seed].run(None, dict(zip(self.names, frame, strict=True))))
        except _failures() as error:
            raise cannot_run(self.model, "onnxruntime", error) from error

    def _session(self, seed: int) -> Any:
        import onnx

        changed, generator = onnx.load_model_from_string(self.content), np.random.default_rng(seed)
        for tensor in changed.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                value = onnx.numpy_helper.to_array(tensor)
                ends = np.where(generator.integers(0, 2, value.shape) == 0, -np.inf, np.inf)
                moved = np.nextafter(value, ends.astype(np.float32))
                moved = np.where((value == 0) | ~np.isfinite(moved), value, moved)
                tensor.CopyFrom(onnx.numpy_helper.from_array(moved, tensor.name))
        return _sessions(self.model, changed.SerializeToString(), optimized=False)[0]


def _version() -> str:
    import onnxruntime

    return str(onnxruntime.__version__)


_FATAL = 4
"""Severity of what onnxruntime logs itself: whatever it refuses is an exception, too."""


def _sessions(model: Path, content: bytes, *, optimized: bool) -> list[Any]:
    """Without graph optimizations, then, if `optimized`, with all of them; one thread each, so that sums have
    one order.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise package_missing("onnxruntime", "verify") from error
    levels = onnxruntime.GraphOptimizationLevel
    sessions = []
    for level in (levels.ORT_DISABLE_ALL, *((levels.ORT_ENABLE_ALL,) if optimized else ())):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.intra_op_num_threads = 1
        options.log_severity_level = _FATAL
        try:
            sessions.append(
                onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            )
        except _failures() as error:
            raise unreadable(model, "onnxruntime", error) from error
    return sessions


def _failures() -> tuple[type[Exception], ...]:
    """The exceptions of onnxruntime for a model that it cannot read or run."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return (
        state.EPFail, state.Fail, state.InvalidArgument, state.InvalidGraph, state.InvalidProtobuf,
        state.NoModel, state.NotImplemented, state.RuntimeException, RuntimeError, ValueError,
    )  # fmt: skip


def _whole(model: Path, content: bytes) -> bytes | None:
    """The model with its external data inside; None where it has none. onnxruntime looks for data in the
    current folder.
    """
    from onnx.external_data_helper import uses_external_data

    if b"location" not in content:
        return None
    import onnx

    try:
        parsed = onnx.load_model_from_string(content)
        if not any(uses_external_data(value) for value in parsed.graph.initializer):
            return None
        onnx.load_external_data_for_model(parsed, str(model.resolve().parent))
        return bytes(parsed.SerializeToString())
    except Exception as error:
        # protobuf, ONNX's checker, the system: each has exceptions of its own.
        raise unreadable(model, "onnx", error) from error


def _parsed(model: Path, content: bytes) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        return onnx.load_model_from_string(content)
    except (DecodeError, ValueError) as error:
        raise unreadable(model, "onnx", error) from error


def _inputs(model: Path, parsed: Any, names: list[str], shapes: Shapes) -> Iterator[Input]:
    """The inputs; of those that are initializers, too, as old files list them, only the values count."""
    import onnx

    graph = parsed.graph
    values = [value for value in graph.input if value.name in names]
    fixed = {value.name: _shape(model, value, number, shapes) for number, value in enumerate(values)}
    highest = highest_indices(uses(parsed, fixed))
    for value in values:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        quantization = _quantization(graph, value.name) if dtype.kind == "f" else None
        low, high = quantized_limits(*quantization) if quantization else limits(dtype)
        if dtype.kind in "iu":
            low, high = index_limits(highest.get(value.name), (low, high))
        step = quantization[0] if quantization else 0.0
        yield Input(name=value.name, shape=fixed[value.name], dtype=dtype, low=low, high=high, step=step)


def _shape(model: Path, value: Any, number: int, shapes: Shapes) -> Shape:
    tensor = value.type.tensor_type
    if tensor.HasField("shape"):
        extents = [extent.dim_value if extent.dim_value > 0 else None for extent in tensor.shape.dim]
        shape = fixed_shape(shapes, number, extents)
    else:
        shape = shapes[number] if number < len(shapes) else None
    if shape is None:
        raise refusal("dynamic-shape", model, f"input `{value.name}` has no fixed shape", None)
    return shape


def _quantization(graph: Any, name: str) -> tuple[float, int, np.dtype[Any]] | None:
    """Scale, zero point and type of the quantization that follows a float input, if one does."""
    for node in graph.node:
        if node.op_type == "QuantizeLinear" and node.input[0] == name:
            scale = _constant(graph, node.input[1])
            zero_point = _constant(graph, node.input[2]) if len(node.input) > 2 else np.zeros((), np.uint8)
            if scale is not None and zero_point is not None and scale.size == 1:
                return float(scale.item()), int(zero_point.item()), zero_point.dtype
    return None


def _step(graph: Any, name: str) -> float | None:
    """The step of an output that was dequantized, and perhaps moved; None for any other."""
    for node in reversed(graph.node):
        if name not in node.output:
            continue
        if node.op_type == "DequantizeLinear":
            scale = _constant(graph, node.input[1])
            return float(scale.item()) if scale is not None and scale.size == 1 else 1.0
        if node.op_type in MOVING:
            name = node.input[0]
    return None


def _is_real(graph: Any, output: Any) -> bool:
    """Whether an output is a float that was computed as such."""
    import onnx

    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(output.type.tensor_type.elem_type))
    return dtype.kind == "f" and _step(graph, output.name) is None


def _constant(graph: Any, name: str) -> Any:
    """The array an initializer that is no weight, or a Constant node, holds; or None."""
    from onnx import numpy_helper

    for tensor in graph.initializer:
        if tensor.name == name and prod(tensor.dims) <= _LARGE:
            return numpy_helper.to_array(tensor)
    for node in graph.node:
        if node.op_type == "Constant" and name in node.output:
            return numpy_helper.to_array(node.attribute[0].t)
    return None
