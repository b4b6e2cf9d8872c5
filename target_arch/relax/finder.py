"""From an imported Relax program to the planner's model: cover, quantization, layout, names.

`find_operators` is what the importers call with the standard patterns; whoever has further patterns (a
plug-in) calls it again on the same program.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from target_arch.backend.contract import Pattern
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.relax.cover import cover
from target_arch.relax.graph import dtype_of
from target_arch.relax.layout import Layout
from target_arch.relax.patterns.matcher import Draft
from target_arch.relax.program import Program, function_of

_KEEPS_QUANTIZATION = ("reshape", "transpose", "avg_pool2d", "max_pool2d")
_SHAPELESS = ("quantize", "dequantize", "requantize", "relu", "dense")


def find_operators(
    program: Program, patterns: Iterable[Pattern], name: str, source: str, outputs: tuple[str, ...]
) -> tuple[Model, Program]:
    """The model that `patterns` make of a program, and the program with the functions of its `relax`
    operators.

    Where several patterns fit, the largest wins, then the earlier one. `outputs` are the authors' names of
    the outputs. Raises DiagnosticError where one tensor is read with two quantizations.
    """
    graph = program.graph
    drafts = cover(graph, patterns)
    layout = Layout(graph=graph, quantizations=_quantizations(drafts, source), names=program.constant_names)
    inputs = _names([str(var.name) for var in graph.function.params], "input", ())
    found = layout.run(drafts, inputs, _names(list(outputs), "output", inputs))
    operators, tensors = _without_reshapes(layout.operators, layout.tensors, found)
    functions = {
        operator.id: function_of(graph, draft)
        for operator, draft in zip(layout.operators, layout.owners, strict=True)
        if draft is not None and operator.kind == "relax"
    }
    model = Model(
        name=identifier(name, "model"),
        source=source,
        inputs=inputs,
        outputs=found,
        tensors=tensors,
        operators=tuple(operators),
    )
    return model, evolve(program, functions=functions)


def identifier(name: str, otherwise: str) -> str:
    """The name as a C identifier, as near as can be; `otherwise` where nothing is left of it."""
    text = re.sub(r"[^0-9a-zA-Z]+", "_", name).strip("_")
    if not text:
        return otherwise
    return f"{otherwise}_{text}" if text[0].isdigit() else text


def _names(wanted: list[str], otherwise: str, taken: tuple[str, ...]) -> tuple[str, ...]:
    """Identifiers, each once."""
    found: list[str] = []
    for name in wanted:
        base = text = identifier(name, otherwise)
        count = 1
        while text in found or text in taken:
            count += 1
            text = f"{base}_{count}"
        found.append(text)
    return tuple(found)


def _quantizations(drafts: tuple[Draft, ...], source: str) -> dict[Any, Quantization]:
    """What the composites know of the activations, and what follows for those that only pass values on."""
    known: dict[Any, Quantization] = {}
    for draft in drafts:
        for var, quantization in draft.quantizations.items():
            if known.setdefault(var, quantization) != quantization:
                raise DiagnosticError([_two_quantizations(var, source)])
    passing = [draft for draft in drafts if draft.kind in _KEEPS_QUANTIZATION]
    for draft in passing:
        _pass_on(known, draft.inputs[0], draft.output)
    for draft in reversed(passing):
        _pass_on(known, draft.output, draft.inputs[0])
    for draft in passing:
        _pass_on(known, draft.inputs[0], draft.output)
    return known


def _pass_on(known: dict[Any, Quantization], one: Any, other: Any) -> None:
    if one in known and other not in known and not dtype_of(other).startswith("float"):
        known[other] = known[one]


def _two_quantizations(var: Any, source: str) -> Diagnostic:
    return Diagnostic(
        rule="two-quantizations",
        place=source,
        message=f"tensor `{var.name}` is written with one scale or zero point and read with another",
        hint="quantize the model again, with one pair of parameters for each tensor",
    )


def _without_reshapes(
    operators: list[Operator], tensors: Mapping[str, Tensor], outputs: tuple[str, ...]
) -> tuple[list[Operator], dict[str, Tensor]]:
    """Let an operator that does not care for its output's shape write the shape its only reader wants."""
    readers: dict[str, int] = {}
    for operator in operators:
        for name in operator.inputs:
            readers[name] = readers.get(name, 0) + 1
    writer = {operator.output: operator for operator in operators}
    kept, found = list(operators), dict(tensors)
    for operator in operators:
        source = operator.inputs[0] if operator.inputs else ""
        before = writer.get(source)
        if operator.kind != "reshape" or before is None or readers[source] != 1 or source in outputs:
            continue
        if before.kind not in _SHAPELESS:
            continue
        kept.remove(operator)
        kept[kept.index(before)] = evolve(before, output=operator.output)
        writer[operator.output] = evolve(before, output=operator.output)
        del found[source]
    return kept, found
