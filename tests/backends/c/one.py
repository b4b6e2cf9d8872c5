"""Models of one operator, the C they become, and what plain numpy integers say about them."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.plan import arithmetic
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Attribute, Model, Operator, Quantization, Tensor
from target_arch.relax.lower.operators import lower_operator

Array = np.ndarray[Any, Any]
FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2")
LIBRARY = ("-fPIC", "-shared")
SANITIZE = ("-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")
INCLUDES = "#include <math.h>\n#include <stdint.h>\n"

Compile = Callable[[tuple[CFunction, ...]], ctypes.CDLL]


def compiler(folder: Path, gcc: str, clang: str) -> Compile:
    """A function that builds C functions with gcc, UBSan in them, and loads the library. It asks clang for
    warnings alone: a library of it, which nobody would load, takes three times as long.
    """

    def build(functions: tuple[CFunction, ...]) -> ctypes.CDLL:
        texts = {function.name: function.text for function in functions}
        source = folder / f"{'_'.join(texts)[:60]}_{len(list(folder.iterdir()))}.c"
        source.write_text(INCLUDES + "\n".join(texts.values()))
        library = source.with_suffix(".so")
        subprocess.run([clang, *FLAGS, "-fsyntax-only", str(source)], check=True)
        command = [gcc, *FLAGS, *LIBRARY, *SANITIZE, str(source), "-o", str(library), "-lm"]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))

    return build


@frozen(kw_only=True, eq=False)
class Values:
    """A tensor and, for a constant, what it holds."""

    tensor: Tensor
    data: Array | None = None


def quantized(
    name: str, shape: tuple[int, ...], scale: float | list[float], zero_point: int, dtype: str = "int8"
) -> Tensor:
    """An activation of 8-bit values. A list of scales is one per index of axis 0."""
    scales = scale if isinstance(scale, list) else [scale]
    return Tensor(
        name=name,
        shape=shape,
        dtype=dtype,
        quantization=Quantization(
            scale=tuple(arithmetic.float32(value) for value in scales),
            zero_point=(zero_point,) * len(scales),
            axis=0 if isinstance(scale, list) else None,
        ),
    )


def real(name: str, shape: tuple[int, ...]) -> Tensor:
    """A float32 activation."""
    return Tensor(name=name, shape=shape, dtype="float32")


def constant(tensor: Tensor, data: Array) -> Tensor:
    """The tensor with values."""
    return Tensor(
        name=tensor.name,
        shape=tensor.shape,
        dtype=tensor.dtype,
        quantization=tensor.quantization,
        data=np.ascontiguousarray(data.astype(tensor.dtype)).tobytes(),
    )


def one_operator(
    kind: str,
    rule: str,
    inputs: list[Tensor],
    out: Tensor,
    constants: tuple[Tensor, ...] = (),
    relax_ops: tuple[str, ...] = (),
    **attributes: Attribute,
) -> Model:
    """A model of one operator."""
    operator = Operator(
        id="op",
        kind=kind,
        arithmetic=rule,
        inputs=tuple(tensor.name for tensor in inputs),
        constants=tuple(tensor.name for tensor in constants),
        output=out.name,
        attributes=attributes,
        relax_ops=relax_ops,
    )
    tensors = {tensor.name: tensor for tensor in (*inputs, *constants, out)}
    return Model(
        name="one",
        source="made",
        inputs=operator.inputs,
        outputs=(out.name,),
        tensors=tensors,
        operators=(operator,),
    )


class Chain:
    """A model as compiled C functions, called one after the other on buffers of exactly the right size."""

    def __init__(self, model: Model, build: Compile) -> None:
        self._model = model
        self._lowered = [lower_operator(operator, model) for operator in model.operators]
        self._library = build(tuple(piece.function for piece in self._lowered))

    def __call__(self, *inputs: Array) -> Array:
        tensors = self._model.tensors
        values = {name: array_of(tensor) for name, tensor in tensors.items() if tensor.data is not None}
        values.update(zip(self._model.inputs, map(np.ascontiguousarray, inputs), strict=True))
        for operator, piece in zip(self._model.operators, self._lowered, strict=True):
            assert not piece.scratch, "scratch would raise the peak above inputs and output"
            packed = [array_of(constant.tensor(operator)) for constant in piece.packed]
            out = np.full(tensors[operator.output].shape, 0x55, tensors[operator.output].dtype)
            operands = [values[name] for name in (*operator.inputs, *operator.constants)]
            arrays = [*operands, *packed, out]
            call(self._library, piece.function.name, *arrays)
            for pair in piece.function.in_place:
                assert in_place(self._library, piece.function.name, arrays, *pair).tobytes() == out.tobytes()
            values[operator.output] = out
        return values[self._model.outputs[0]]


def run(model: Model, build: Compile, *inputs: Array) -> Array:
    """What a model's C makes of inputs."""
    return Chain(model, build)(*inputs)


def call(library: ctypes.CDLL, name: str, *arrays: Array) -> None:
    """Call a C function with pointers to arrays."""
    getattr(library, name)(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))


def in_place(library: ctypes.CDLL, name: str, arrays: list[Array], written: int, read: int) -> Array:
    """What the function writes to a parameter that overwrites one that it reads."""
    place = arrays[read].copy()
    call(library, name, *(place if n in (written, read) else array for n, array in enumerate(arrays)))
    return place


def array_of(tensor: Tensor) -> Array:
    """A constant as an array."""
    assert tensor.data is not None
    return np.frombuffer(bytearray(tensor.data), dtype=tensor.dtype).reshape(tensor.shape)


def finished(r: arithmetic.Requantization, accumulators: Array, dtype: str) -> Array:
    """Accumulators through the reference requantizer, the last axis is the channel."""
    out = np.empty(accumulators.shape, dtype)
    for index in np.ndindex(*accumulators.shape):
        out[index] = r.apply(int(accumulators[index]), index[-1])
    return out


def windows(
    x: Array, kernel: tuple[int, int], padding: tuple[int, ...], strides: tuple[int, int], fill: Any
) -> Array:
    """[N, OH, OW, KH, KW, C]: the padded image under every position of a kernel."""
    top, left, bottom, right = padding
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(1, 2))
    return np.moveaxis(views[:, :: strides[0], :: strides[1]], 3, 5)
