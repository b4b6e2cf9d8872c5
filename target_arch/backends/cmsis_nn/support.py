"""Which operators the library takes, and why not the others."""

from collections.abc import Iterator, Mapping

from target_arch.backend.contract import Backend, Question
from target_arch.backends.cmsis_nn.host import CORES, FUNCTIONS, host_library
from target_arch.backends.plain_c import support
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.arithmetic import Rounding, counts_in_multiplier, requantization
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.products import beyond_plain
from target_arch.soc.model import Instance


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
    if operator.kind not in FUNCTIONS:
        return f"the library has no {operator.kind}"
    if operator.arithmetic != Arithmetic.TFLITE:
        return f"arithmetic is {operator.arithmetic}, the library rounds as TFLite does"
    other = next(_other_types(operator, model), None)
    if other is not None:
        return other
    if not operator.facts.weighted:
        return _pool_refusal(operator, model)
    return _weighted_refusal(operator, model, host_library(backend.option(instance, "library")).rounding)


def _other_types(operator: Operator, model: Model) -> Iterator[str]:
    for name in (*operator.inputs, *operator.constants[:1], operator.output):
        if model.tensors[name].dtype != "int8":
            yield f"`{name}` is {model.tensors[name].dtype}, the library takes int8"


def _pool_refusal(operator: Operator, model: Model) -> str | None:
    if counts_in_multiplier(operator):
        return "a mean that scales, the library's pool divides"
    if operator.attributes.get("count_include_pad", False):
        return "padding counts in the mean, the library leaves it out"
    x, out = (model.tensors[name].quantization for name in (operator.inputs[0], operator.output))
    same = x is not None and out is not None and (x.scale, x.zero_point) == (out.scale, out.zero_point)
    return None if same else "input and output of a pool are quantized unlike each other"


def _weighted_refusal(operator: Operator, model: Model, rounding: Mapping[str, Rounding]) -> str | None:
    if any(model.tensors[name].data is None for name in operator.constants):
        return "weights or bias are computed at run time, the library takes constants"
    other = beyond_plain(operator, model)
    if other is not None:
        return f"{other}, the library takes none"
    scaling = requantization(operator, model)
    if operator.kind is OperatorKind.DENSE and not scaling.uniform:
        return "a scale per output, the library's fully connected layer has one"
    found = rounding[operator.kind]
    if found != scaling.rounding:
        times = {Rounding.TFLITE: "twice"}
        return (
            f"the library rounds {operator.kind} {times.get(found, 'once')}, "
            f"TFLite {times.get(scaling.rounding, 'once')}"
        )
    return None


def _bad_core(arch: str, core: str) -> DiagnosticError:
    diagnostic = Diagnostic(
        rule="bad-core",
        place=f"target_arch {arch}",
        message=f"option `core` is `{core}`, which no size function of the library is for",
        hint=f"there are {', '.join(f'`{name}`' for name in CORES)}",
    )
    return DiagnosticError([diagnostic])
