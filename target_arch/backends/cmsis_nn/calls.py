"""The C function that calls the library for one operator, and the constants it needs beyond the operator's
own.

Functions are named after a hash of their text, as all kernels are.
"""

import hashlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from attrs import evolve, frozen

from target_arch.backends.cmsis_nn.folder import HEADER
from target_arch.backends.cmsis_nn.host import FUNCTIONS, MATRICES, WIDE_FUNCTIONS, HostLibrary
from target_arch.plan.arithmetic import Requantization, activation_range, any_requantization
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind

Dims = tuple[int, int, int, int]
_PARAMETERS: Mapping[str, str] = {
    OperatorKind.CONV2D: "cmsis_nn_conv_params",
    OperatorKind.DEPTHWISE_CONV2D: "cmsis_nn_dw_conv_params",
    OperatorKind.DENSE: "cmsis_nn_fc_params",
    OperatorKind.AVG_POOL2D: "cmsis_nn_pool_params",
    OperatorKind.MAX_POOL2D: "cmsis_nn_pool_params",
}
_LINE = 106
_POOL_ARGUMENTS = "&input, x, &filter, &output, out"
_HALF = 16
"""Bits of a multiplier that scales sums of 64 bits; the library takes it in the upper half of 32."""


@frozen(kw_only=True)
class Geometry:
    """The sizes of an operator as the calling convention defines them. Pairs are (width, height)."""

    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    multiplier: int
    input: Dims
    filter: Dims
    output: Dims

    @property
    def numbers(self) -> tuple[int, ...]:
        """The sizes in the order that `shim.c` expects."""
        flat = (*self.stride, *self.padding, *self.dilation, self.multiplier)
        return (*flat, *self.input, *self.filter, *self.output)


@frozen(kw_only=True)
class LibraryCall:
    """The function, its packed constants (after the operator's own operands), and the bytes of its scratch,
    its last parameter, if it needs any.
    """

    function: CFunction
    packed: tuple[Tensor, ...]
    scratch: int


def is_wide(operator: Operator, model: Model) -> bool:
    """Whether an operator is of int16 values."""
    return model.tensors[operator.inputs[0]].dtype == "int16"


def function_of(operator: Operator, model: Model) -> str:
    """The function of the library that computes an operator."""
    if operator.kind is OperatorKind.MATMUL:
        return MATRICES
    return (WIDE_FUNCTIONS if is_wide(operator, model) else FUNCTIONS)[operator.kind]


def scaling_of(operator: Operator, model: Model) -> Requantization:
    """The scaling of a sum of products as the library takes it: it makes 16 bits of the multipliers of sums
    of 64 bits itself.
    """
    scaling = any_requantization(operator, model)
    if not is_wide(operator, model) or operator.kind is OperatorKind.DENSE:
        return scaling
    return evolve(
        scaling,
        multipliers=tuple(multiplier << _HALF for multiplier in scaling.multipliers),
        shifts=tuple(shift - _HALF for shift in scaling.shifts),
    )


def geometry(operator: Operator, model: Model) -> Geometry:
    """The sizes of an operator of a kind in FUNCTIONS."""
    attributes: Any = operator.attributes
    x, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    strides = tuple(attributes.get("strides", (1, 1)))
    padding = tuple(attributes.get("padding", (0, 0, 0, 0)))
    dilation = tuple(attributes.get("dilation", (1, 1)))
    weights = model.tensors[operator.constants[0]].shape if operator.constants else ()
    multiplier = 1
    if operator.kind is OperatorKind.DENSE:
        o, i = weights
        rows = prod(x) // i
        return Geometry(
            stride=(1, 1), padding=(0, 0), dilation=(1, 1), multiplier=1,
            input=(rows, 1, 1, i), filter=(i, 1, 1, o), output=(rows, 1, 1, o),
        )  # fmt: skip
    if operator.kind is OperatorKind.CONV2D:
        filter_ = weights
    elif operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        filter_, multiplier = (1, *weights), weights[2] // x[3]
    else:
        filter_ = (1, *attributes["kernel"], 1)
    return Geometry(
        stride=(strides[1], strides[0]),
        padding=(padding[1], padding[0]),
        dilation=(dilation[1], dilation[0]),
        multiplier=multiplier,
        input=_four(x),
        filter=_four(filter_),
        output=_four(out),
    )


def library_call(operator: Operator, model: Model, library: HostLibrary, core: str) -> LibraryCall:
    """The call that computes an operator that `support.library_refusal` accepts."""
    sizes = geometry(operator, model)
    wide = is_wide(operator, model)
    needed = library.scratch(operator.kind, sizes.numbers, core, wide=wide)
    packed = tuple(_packed(operator, model, library, needed))
    scratch = 0 if operator.kind is OperatorKind.DENSE else needed
    lines = (*_context(operator, needed), *_parameters(operator, model, sizes), *_sizes(operator, sizes))
    lines = (
        *lines,
        *_biases(operator, wide=wide),
        *wrapped(_call(operator, function_of(operator, model)), 4),
    )
    shapes = f"x {list(sizes.input)}, out {list(sizes.output)}"
    function = c_function(operator.kind, _names(operator, packed, scratch, wide=wide), lines, shapes)
    return LibraryCall(function=function, packed=packed, scratch=scratch)


def c_function(kind: str, names: Sequence[tuple[str, str]], lines: Sequence[str], shapes: str) -> CFunction:
    """The function of these lines for an operator, with parameters of these types and names."""
    body = "".join(f"    {line}\n" for line in lines)
    signature = ", ".join(f"{type}{name}" for type, name in names)
    digest = hashlib.sha256((signature + body).encode()).hexdigest()[:8]
    name = f"library_{kind}_{digest}"
    head = "\n".join(wrapped(f"int {name}({signature})", len(name) + 12))
    return CFunction(
        name=name,
        parameters=tuple(type for type, _ in names),
        text=f"/* {kind}: {shapes} */\n{head}\n{{\n{body}}}\n",
        headers=(HEADER,),
        fails=True,
    )


def wrapped(text: str, indent: int) -> list[str]:
    """Lines of C, broken at commas only."""
    glued = re.sub(r"(?<!,) ", "\0", text)
    lines = textwrap.wrap(glued, _LINE, subsequent_indent=" " * indent, break_long_words=False)
    return [line.replace("\0", " ") for line in lines]


def _four(shape: tuple[int, ...]) -> Dims:
    n, h, w, c = shape
    return n, h, w, c


def _packed(operator: Operator, model: Model, library: HostLibrary, needed: int) -> Iterator[Tensor]:
    if operator.kind is OperatorKind.DENSE:
        if needed:
            weights, bias = (model.tensors[name].data or b"" for name in operator.constants)
            sums = library.sums(weights, bias, any_requantization(operator, model).input_offset)
            yield _constant(operator, "kernel_sum", np.frombuffer(sums, "<i4"))
    elif operator.constants:
        r = scaling_of(operator, model)
        channels = model.tensors[operator.output].shape[-1]
        for suffix, values in (("multiplier", r.multipliers), ("shift", r.shifts)):
            yield _constant(operator, suffix, np.resize(np.array(values, "<i4"), channels))


def _constant(operator: Operator, suffix: str, values: Any) -> Tensor:
    name = f"{operator.id}.{suffix}"
    return Tensor(name=name, shape=values.shape, dtype="int32", data=values.tobytes())


def _names(
    operator: Operator, packed: tuple[Tensor, ...], scratch: int, *, wide: bool
) -> list[tuple[str, str]]:
    """C type and name of every parameter."""
    value, sum = ("int16_t", "int64_t") if wide else ("int8_t", "int32_t")
    weights = [("const int8_t *", "w"), (f"const {sum} *", "bias")] if operator.constants else []
    own = [("const int32_t *", tensor.name.rpartition(".")[2]) for tensor in packed]
    last = [("uint8_t *", "scratch")] if scratch else []
    return [(f"const {value} *", "x"), *weights, *own, (f"{value} *", "out"), *last]


def _context(operator: Operator, needed: int) -> Iterator[str]:
    """The convention declares its context non-const, although sums of weights are only read."""
    if needed == 0:
        buffer = "NULL"
    elif operator.kind is OperatorKind.DENSE:
        buffer = "(void *)kernel_sum"
    else:
        buffer = "scratch"
    yield f"const cmsis_nn_context context = {{{buffer}, {needed}}};"


def _parameters(operator: Operator, model: Model, sizes: Geometry) -> Iterator[str]:
    tiles = [f".stride = {_pair(sizes.stride)}", f".padding = {_pair(sizes.padding)}"]
    fields: list[str] = []
    if operator.constants:
        r = scaling_of(operator, model)
        low, high = r.activation_min, r.activation_max
        fields = [f".input_offset = {r.input_offset}", f".output_offset = {r.output_offset}"]
        yield from _scaling(operator, r)
        tiles.append(f".dilation = {_pair(sizes.dilation)}")
    else:
        low, high = activation_range(operator, model)
    if operator.kind is OperatorKind.DENSE:
        tiles = [".filter_offset = 0"]
    if operator.kind is OperatorKind.DEPTHWISE_CONV2D:
        fields.append(f".ch_mult = {sizes.multiplier}")
    every = (*fields, *tiles, f".activation = {_pair((low, high))}")
    yield f"const {_PARAMETERS[operator.kind]} parameters = {{"
    yield from (f"    {each}," for each in every)
    yield "};"


def _scaling(operator: Operator, r: Requantization) -> Iterator[str]:
    if operator.kind is OperatorKind.DENSE:
        values = f"{{{r.multipliers[0]}, {r.shifts[0]}}}"
        yield f"const cmsis_nn_per_tensor_quant_params scaling = {values};"
        return
    yield "const cmsis_nn_per_channel_quant_params scaling = {(int32_t *)multiplier, (int32_t *)shift};"


def _sizes(operator: Operator, sizes: Geometry) -> Iterator[str]:
    named = [("input", sizes.input), ("filter", sizes.filter), ("output", sizes.output)]
    if operator.constants:
        named.append(("biases", (1, 1, 1, sizes.output[3])))
    for name, dims in named:
        yield f"const cmsis_nn_dims {name} = {{{', '.join(map(str, dims))}}};"


def _biases(operator: Operator, *, wide: bool) -> Iterator[str]:
    """The biases of a convolution of int16 values, which may be of two types."""
    if wide and operator.kind is OperatorKind.CONV2D:
        yield "const cmsis_nn_bias_data typed = {bias, 0};"


def _call(operator: Operator, function: str) -> str:
    scaling, arguments = "", _POOL_ARGUMENTS
    if operator.constants:
        bias = "&typed" if function == WIDE_FUNCTIONS[OperatorKind.CONV2D] else "bias"
        scaling, arguments = "&scaling, ", f"&input, x, &filter, w, &biases, {bias}, &output, out"
    return f"return {function}(&context, &parameters, {scaling}{arguments});"


def _pair(values: tuple[int, int]) -> str:
    return f"{{{values[0]}, {values[1]}}}"
