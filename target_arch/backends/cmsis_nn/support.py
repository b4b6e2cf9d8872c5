"""Which operators the library takes, and why not the others."""

from collections.abc import Iterator

import numpy as np

from target_arch.backend.contract import Backend, Question
from target_arch.backends.cmsis_nn.calls import geometry, is_wide, scaling_of
from target_arch.backends.cmsis_nn.host import (
    CORES,
    FUNCTIONS,
    HostLibrary,
    host_library,
)
from target_arch.backends.plain_c import support
from target_arch.backends.plain_c.kernels.matrices import unpaired
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.arithmetic import (
    Rounding,
    any_requantization,
    counts_in_multiplier,
    requantization,
)
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import beyond_plain
from target_arch.soc.model import Instance

_TILE = 4
"""Outputs of a channel that the library's depthwise convolution of int16 computes together, of one image."""


def refusal(question: Question, backend: Backend) -> str | None:
    """The reason why not, or None. With the option `fallback`, operators the library lacks become plain C."""
    plain = support.refusal(question)
    if plain is not None:
        return plain
    lacking = library_refusal(question.operator, question.model, question.instance, backend)
    return None if question.option(backend, "fallback") else lacking


def library_refusal(operator: Operator, model: Model, instance: Instance, backend: Backend) -> str | None:
    """Why an operator is no call of the library; None where it is one."""
    core = backend.option(instance, "core")
    if core not in CORES:
        raise _bad_core(instance.name, core)
    matrices = operator.kind is OperatorKind.MATMUL
    if operator.kind not in FUNCTIONS and not matrices:
        return f"the library has no {operator.kind}"
    if operator.arithmetic != Arithmetic.TFLITE:
        return f"arithmetic is {operator.arithmetic}, the library rounds as TFLite does"
    wide = is_wide(operator, model) and not matrices
    other = next(_other_types(operator, model, wide=wide), None)
    if other is not None:
        return other
    library = host_library(backend.option(instance, "library"))
    if wide and not library.has_wide:
        return "the library has no functions of int16"
    return _refusal_of_kind(operator, model, library, wide=wide)


def _refusal_of_kind(operator: Operator, model: Model, library: HostLibrary, *, wide: bool) -> str | None:
    """Why an operator of a kind and of types that libraries have is no call of this one."""
    if operator.kind is OperatorKind.MATMUL:
        return unpaired(operator, model) if library.has_matrices else f"the library has no {operator.kind}"
    if not operator.facts.weighted:
        return _pool_refusal(operator, model)
    reason = _products_refusal(operator, model, wide=wide)
    if reason is not None:
        return reason
    return _wide_refusal(operator, model) if wide else _narrow_refusal(operator, model, library)


def _other_types(operator: Operator, model: Model, *, wide: bool) -> Iterator[str]:
    values, weights = ("int16", "int8") if wide else ("int8", "int8")
    wanted = {
        **dict.fromkeys((*operator.inputs, operator.output), values),
        **dict.fromkeys(operator.constants[:1], weights),
        **dict.fromkeys(operator.constants[1:], "int64" if wide else "int32"),
    }
    for name, dtype in wanted.items():
        if model.tensors[name].dtype != dtype:
            yield f"`{name}` is {model.tensors[name].dtype}, the library takes {dtype}"


def _pool_refusal(operator: Operator, model: Model) -> str | None:
    if counts_in_multiplier(operator):
        return "a mean that scales, the library's pool divides"
    if operator.attributes.get("count_include_pad", False):
        return "padding counts in the mean, the library leaves it out"
    x, out = (model.tensors[name].quantization for name in (operator.inputs[0], operator.output))
    same = x is not None and out is not None and (x.scale, x.zero_point) == (out.scale, out.zero_point)
    return None if same else "input and output of a pool are quantized unlike each other"


def _products_refusal(operator: Operator, model: Model, *, wide: bool) -> str | None:
    """Why a sum of products is not one of the library's, whatever it rounds like."""
    if any(model.tensors[name].data is None for name in operator.constants):
        return "weights or bias are computed at run time, the library takes constants"
    other = beyond_plain(operator, model, wide=wide)
    if other is not None:
        return f"{other}, the library takes none"
    if operator.kind is OperatorKind.DENSE and not any_requantization(operator, model).uniform:
        return "a scale per output, the library's fully connected layer has one"
    return None


def _narrow_refusal(operator: Operator, model: Model, library: HostLibrary) -> str | None:
    scaling, answer = requantization(operator, model), library.rounding[operator.kind]
    if answer != scaling.rounding:
        times = {Rounding.TFLITE: "twice"}
        return (
            f"the library rounds {operator.kind} {times.get(answer, 'once')}, "
            f"TFLite {times.get(scaling.rounding, 'once')}"
        )
    return None


def _wide_refusal(operator: Operator, model: Model) -> str | None:
    """Why the library computes an operator of int16 values otherwise, or would overflow: it adds products in
    32 bits and scales with 16 bits of the multiplier.
    """
    scaling = scaling_of(operator, model)
    if any(multiplier % (1 << 16) for multiplier in scaling.multipliers):
        return "the library scales with 16 bits of the multiplier, TFLite with 31"
    sizes = geometry(operator, model)
    if sizes.multiplier % _TILE == 0 and sizes.input[0] > 1:
        return f"several images with {sizes.multiplier} outputs of a channel, the library computes one"
    sums = largest_sums(operator, model)
    if max(sums) >= 2**31:
        return "sums of products may be beyond 32 bits, in which the library adds them"
    biases = np.frombuffer(model.tensors[operator.constants[1]].data or b"", "<i8")
    shifts = np.resize(scaling.shifts, len(sums))
    results = (
        (most + abs(int(bias))) * 2.0 ** int(shift)
        for most, bias, shift in zip(sums, biases, shifts, strict=True)
    )
    return (
        "results may be beyond 32 bits, in which the library rounds them" if max(results) >= 2**31 else None
    )


def largest_sums(operator: Operator, model: Model) -> tuple[int, ...]:
    """The largest sum of products, without bias, that each channel may have for any int16 values."""
    tensor = model.tensors[operator.constants[0]]
    weights = np.frombuffer(tensor.data or b"", "<i1").reshape(tensor.shape).astype(np.int64)
    channel = -1 if operator.kind is OperatorKind.DEPTHWISE_CONV2D else 0
    channels = np.moveaxis(np.abs(weights), channel, 0).reshape(tensor.shape[channel], -1)
    return tuple(int(each) << 15 for each in channels.sum(axis=1))


def _bad_core(arch: str, core: str) -> DiagnosticError:
    diagnostic = Diagnostic(
        rule="bad-core",
        place=f"target_arch {arch}",
        message=f"option `core` is `{core}`, which no size function of the library is for",
        hint=f"there are {', '.join(f'`{name}`' for name in CORES)}",
    )
    return DiagnosticError([diagnostic])
