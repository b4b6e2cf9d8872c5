"""LiteRT's reference kernels: the reference of TFLite models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

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


def litert(model: Path, shapes: Shapes = ()) -> Reference:
    """The built-in reference kernels, not the optimized ones nor XNNPACK: quantized models must agree in
    every bit.

    ToolMissing without `ai-edge-litert`, DiagnosticError for a file it cannot read.
    """
    interpreter = _open(model, shapes, keeping_all=False)
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    quantized = any(
        len(details["quantization_parameters"]["scales"]) for details in interpreter.get_tensor_details()
    )

    def answer(frame: Frame) -> tuple[Frame, ...]:
        try:
            for details, value in zip(inputs, frame, strict=True):
                interpreter.set_tensor(details["index"], value)
            interpreter.invoke()
        except (ValueError, RuntimeError) as error:
            raise cannot_run(model, "LiteRT", error) from error
        return (tuple(interpreter.get_tensor(details["index"]) for details in outputs),)

    return Reference(
        name="LiteRT reference kernels (OpResolverType.BUILTIN_REF)",
        rule="every bit equal" if quantized else FLOAT_RULE,
        inputs=tuple(_input(details) for details in inputs),
        units=tuple(1.0 for _ in outputs),
        allowed=0.0 if quantized else FLOAT_TOLERANCE,
        relative=0.0 if quantized else FLOAT_RELATIVE,
        answer=answer,
        inside=_Inside(model=model, shapes=tuple(shapes)),
        reset=interpreter.reset_all_variables,
    )


@frozen(kw_only=True, eq=False)
class _Inside:
    """The tensors of a model, from an interpreter that keeps all of them. Names that several tensors have are
    left out.
    """

    model: Path
    shapes: tuple[Shape, ...]
    _interpreter: list[Any] = field(factory=list, init=False, repr=False)

    def __call__(self, frame: Frame) -> Mapping[str, Array]:
        if not self._interpreter:
            self._interpreter.append(_open(self.model, self.shapes, keeping_all=True))
        (interpreter,) = self._interpreter
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
    """What a tensor holds; None for one without elements of its own, as a resource."""
    try:
        return np.array(interpreter.get_tensor(index))
    except ValueError:
        return None


def _open(model: Path, shapes: Shapes, *, keeping_all: bool) -> Any:
    """The interpreter, ready to run; see `litert`."""
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise package_missing("ai-edge-litert", "verify") from error
    try:
        interpreter = Interpreter(
            model_content=repaired(model.read_bytes()),
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=keeping_all,
        )
        _resize(interpreter, shapes)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError, OSError) as error:
        raise unreadable(model, "LiteRT", error) from error
    return interpreter


def _resize(interpreter: Any, shapes: Shapes) -> None:
    """Give inputs with open dimensions the shapes that are wanted."""
    for number, details in enumerate(interpreter.get_input_details()):
        signature = [None if extent < 0 else int(extent) for extent in details["shape_signature"]]
        shape = fixed_shape(shapes, number, signature)
        if shape is not None and shape != tuple(details["shape"]):
            interpreter.resize_tensor_input(details["index"], shape)


def _input(details: Mapping[str, Any]) -> Input:
    dtype = np.dtype(details["dtype"])
    low, high = limits(dtype)
    shape = tuple(int(extent) for extent in details["shape"])
    return Input(name=details["name"], shape=shape, dtype=dtype, low=low, high=high)
