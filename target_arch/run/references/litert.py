"""LiteRT's reference kernels: the reference of TFLite models."""

import struct
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from attrs import field, frozen

from target_arch.plan.inputs.cut import WHOLE, ModelCut
from target_arch.relax.readers.tflite.cut import cut_tflite
from target_arch.relax.readers.tflite_operators.walk.codes import builtin_code
from target_arch.run.references.indices.uses import Use, highest_indices, index_limits
from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_RULE,
    FLOAT_TOLERANCE,
    Array,
    Frame,
    Input,
    Reference,
    Shape,
    Shapes,
    cannot_run,
    fixed_shape,
    limits,
    package_missing,
    unreadable,
)
from target_arch.run.references.repaired import repaired
from target_arch.run.references.tflite_facts import is_exact, needs_optimized, needs_tflite_micro
from target_arch.run.references.tflite_micro import tflite_micro

_NAMES = {
    False: "LiteRT reference kernels (OpResolverType.BUILTIN_REF)",
    True: "LiteRT optimized kernels (OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)",
}
"""By whether the reference kernels of a model are wrong."""


def litert(model: Path, shapes: Shapes = (), cut: ModelCut = WHOLE) -> Reference:
    """The built-in reference kernels, not the optimized ones (but for models with a SUM of integers) nor
    XNNPACK: quantized models must agree in every bit.

    ToolMissing without `ai-edge-litert`, DiagnosticError for a file it cannot read.
    """
    content = _content(model, cut)
    if needs_tflite_micro(content):
        return tflite_micro(model, content)
    interpreter = _open(model, content, shapes, keeping_all=False)
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    highest = highest_indices(_uses(content))
    exact = is_exact(content)

    def answer(frame: Frame) -> tuple[Frame, ...]:
        try:
            for details, value in zip(inputs, frame, strict=True):
                interpreter.set_tensor(details["index"], value)
            interpreter.invoke()
        except (ValueError, RuntimeError) as error:
            raise cannot_run(model, "LiteRT", error) from error
        return (tuple(_output(interpreter, details) for details in outputs),)

    return Reference(
        name=_NAMES[needs_optimized(content)],
        rule="every bit equal" if exact else FLOAT_RULE,
        inputs=tuple(_input(details, highest.get(str(details["index"]))) for details in inputs),
        units=tuple(1.0 for _ in outputs),
        allowed=0.0 if exact else FLOAT_TOLERANCE,
        relative=0.0 if exact else FLOAT_RELATIVE,
        answer=answer,
        inside=_Inside(model=model, content=content, shapes=tuple(shapes)),
        reset=interpreter.reset_all_variables,
        rounds=not exact,
    )


def _output(interpreter: Any, details: Mapping[str, Any]) -> Array:
    """The value of an output. LiteRT gives none for one that this run left empty: it is read by its shape."""
    try:
        found: Array = interpreter.get_tensor(details["index"])
    except ValueError:
        now = next(each for each in interpreter.get_output_details() if each["index"] == details["index"])
        if 0 not in now["shape"]:
            raise
        return np.zeros(now["shape"], details["dtype"])
    return found


@frozen(kw_only=True, eq=False, slots=False)
class _Inside:
    """The tensors of a model, from an interpreter that keeps all of them. Names that several tensors have are
    left out.
    """

    model: Path
    content: bytes = field(repr=False)
    shapes: tuple[Shape, ...]

    @cached_property
    def _interpreter(self) -> Any:
        return _open(self.model, self.content, self.shapes, keeping_all=True)

    def __call__(self, frame: Frame) -> Mapping[str, Array]:
        interpreter = self._interpreter
        try:
            for details, value in zip(interpreter.get_input_details(), frame, strict=True):
                interpreter.set_tensor(details["index"], value)
            interpreter.invoke()
        except (ValueError, RuntimeError) as error:
            raise cannot_run(self.model, "LiteRT", error) from error
        found: dict[str, Array | None] = {}
        for details in interpreter.get_tensor_details():
            name = details["name"]
            found[name] = None if name in found else _value(interpreter, details["index"])
        return {name: value for name, value in found.items() if value is not None}


def _value(interpreter: Any, index: int) -> Array | None:
    """The elements of a tensor; None for one without elements of its own, as a resource."""
    try:
        return np.array(interpreter.get_tensor(index))
    except ValueError:
        return None


def _content(model: Path, cut: ModelCut) -> bytes:
    content = model.read_bytes()
    try:
        return cut_tflite(model, content, cut)
    except (struct.error, IndexError) as error:
        raise unreadable(model, "LiteRT", error) from error


def _open(model: Path, content: bytes, shapes: Shapes, *, keeping_all: bool) -> Any:
    """The interpreter, ready to run; see `litert`."""
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise package_missing("ai-edge-litert", "verify") from error
    optimized = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    try:
        kernels = optimized if needs_optimized(content) else OpResolverType.BUILTIN_REF
        interpreter = Interpreter(
            model_content=repaired(content),
            experimental_op_resolver_type=kernels,
            experimental_preserve_all_tensors=keeping_all,
        )
        _resize(interpreter, shapes)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError, OSError, struct.error) as error:
        raise unreadable(model, "LiteRT", error) from error
    return interpreter


def _resize(interpreter: Any, shapes: Shapes) -> None:
    """Give inputs with open dimensions the shapes that are wanted."""
    for number, details in enumerate(interpreter.get_input_details()):
        signature = [None if extent < 0 else int(extent) for extent in details["shape_signature"]]
        shape = fixed_shape(shapes, number, signature)
        if shape is not None and shape != tuple(details["shape"]):
            interpreter.resize_tensor_input(details["index"], shape)


def _uses(content: bytes) -> Iterator[Use]:
    """The operators of the first subgraph; tensors are called by their numbers."""
    model = tflite.Model.GetRootAsModel(content, 0)
    graph = model.Subgraphs(0)
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        code = model.OperatorCodes(operator.OpcodeIndex())
        kind = builtin_code(code)
        reads = [operator.Inputs(index) for index in range(operator.InputsLength())]
        extents = {}
        if kind in _INDEXING:
            indices, table = _INDEXING[kind]
            extents[str(reads[indices])] = _extent(graph.Tensors(reads[table]), operator, kind)
        if kind == tflite.BuiltinOperator.WHILE:
            extents = {str(each): _TRIPS for each in reads if _counts(graph.Tensors(each))}
        yield Use(
            reads=tuple(str(each) for each in reads[:1]),
            writes=tuple(str(operator.Outputs(index)) for index in range(operator.OutputsLength())),
            extents=extents,
            passes=kind in _PASSING,
        )


_TRIPS = 10
"""Whole numbers that a loop gets are less, since they may be its trips."""


def _counts(tensor: Any) -> bool:
    """Whether a tensor is one whole number."""
    whole = tensor.Type() in (tflite.TensorType.INT32, tflite.TensorType.INT64)
    return whole and all(tensor.Shape(number) == 1 for number in range(tensor.ShapeLength()))


_INDEXING = {
    tflite.BuiltinOperator.GATHER: (1, 0),
    tflite.BuiltinOperator.GATHER_ND: (1, 0),
    tflite.BuiltinOperator.EMBEDDING_LOOKUP: (0, 1),
}
"""Operators that index: the numbers of the inputs that are indices, and of those that they index."""
_PASSING = (
    tflite.BuiltinOperator.CAST,
    tflite.BuiltinOperator.EXPAND_DIMS,
    tflite.BuiltinOperator.RESHAPE,
    tflite.BuiltinOperator.SQUEEZE,
)


def _extent(table: Any, operator: Any, kind: int) -> int:
    """The extent of the dimension that is indexed; of several, the least."""
    shape = [int(table.Shape(index)) for index in range(table.ShapeLength())]
    if kind == tflite.BuiltinOperator.GATHER_ND:
        return min(shape)
    if kind == tflite.BuiltinOperator.EMBEDDING_LOOKUP or operator.BuiltinOptions() is None:
        return shape[0]
    options = tflite.GatherOptions()
    options.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
    return shape[int(options.Axis())]


def _input(details: Mapping[str, Any], highest: int | None) -> Input:
    dtype = np.dtype(details["dtype"])
    low, high = limits(dtype, quantized=len(details["quantization_parameters"]["scales"]) > 0)
    if dtype.kind in "iu":
        low, high = index_limits(highest, (low, high))
    shape = tuple(int(extent) for extent in details["shape"])
    return Input(name=details["name"], shape=shape, dtype=dtype, low=low, high=high)
