"""From an imported Relax program to the planner's model: cover, quantization, layout, names.

The importers call `find_operators` with the standard patterns; a plug-in with patterns of its own calls it
again on the same program.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from target_arch.backend.contract import Pattern
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.model import Bounded, Model, Quantization, identifier, model_name
from target_arch.plan.operators.facts import Lowering
from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.operators.cover import cover
from target_arch.relax.operators.layout import Layout
from target_arch.relax.operators.program import RelaxProgram, function_of
from target_arch.relax.operators.states import StatePair, with_states
from target_arch.relax.operators.tidy import named, without_reshapes
from target_arch.relax.operators.values import Values
from target_arch.relax.patterns.matcher import Draft


def find_operators(
    program: RelaxProgram,
    patterns: Iterable[Pattern],
    name: str,
    source: str,
    outputs: tuple[str, ...],
    states: Sequence[StatePair] = (),
    bounded: Sequence[tuple[int, int, int]] = (),
) -> tuple[Model, RelaxProgram]:
    """The model that `patterns` make of a program, and the program with the functions of its `relax`
    operators.

    Where several patterns fit, the largest wins, then the earlier one. `outputs` are the authors' names of
    the outputs, `states` the inputs and outputs that are states, `bounded` the numbers of an output, of its
    axis, and of the output that says how much there is along it. Raises DiagnosticError where one tensor is
    read with two quantizations.
    """
    graph = program.graph
    drafts = cover(graph, patterns)
    values = Values(graph=graph, quantizations=_quantizations(drafts, graph.quantizations, source))
    inputs = _names([str(var.name) for var in graph.function.params], "input", ())
    found = Layout(values, program.constant_names).run(drafts, inputs)
    operators, tensors = without_reshapes(values.operators, values.tensors, found)
    called = _called(found, inputs, _names(list(outputs), "output", inputs))
    operators, tensors, ids = named(operators, tensors, inputs, called)
    functions = {
        ids[operator.id]: function_of(graph, draft)
        for operator, draft in zip(values.operators, values.owners, strict=True)
        if draft is not None and operator.lowering is Lowering.TVM
    }
    computed = {
        ids[operator.id]: draft.output
        for operator, draft in zip(values.operators, values.owners, strict=True)
        if draft is not None and operator.id in ids
    }
    results = tuple(called.get(name, name) for name in found)
    for number, axis, count in bounded:
        bound = Bounded(axis=axis, count=results[count])
        tensors[results[number]] = evolve(tensors[results[number]], bounded=bound)
    model = Model(
        name=model_name(name),
        source=source,
        inputs=inputs,
        outputs=results,
        tensors=tensors,
        operators=tuple(operators),
    )
    return with_states(model, states, results), evolve(program, functions=functions, results=computed)


def _called(found: tuple[str, ...], inputs: tuple[str, ...], wanted: tuple[str, ...]) -> dict[str, str]:
    """The wanted names of the output tensors; an input that is returned keeps its own, the first of two names
    wins.
    """
    called: dict[str, str] = {}
    for name, new in zip(found, wanted, strict=True):
        if name not in inputs:
            called.setdefault(name, new)
    return called


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


def _quantizations(
    drafts: tuple[Draft, ...], stated: Mapping[Any, Quantization], source: str
) -> dict[Any, Quantization]:
    """Quantizations of activations that the composites state, then those that the model file states, and
    those that follow through operators that only pass values on.
    """
    known: dict[Any, Quantization] = {}
    for draft in drafts:
        for var, quantization in draft.quantizations.items():
            if known.setdefault(var, quantization) != quantization:
                raise DiagnosticError([_two_quantizations(var, source)])
    for draft in drafts:
        for var in (*draft.inputs, draft.output):
            if var in stated:
                known.setdefault(var, stated[var])
    passing = [draft for draft in drafts if draft.facts.keeps_quantization]
    for draft in passing:
        _pass_on(known, draft.inputs[0], draft.output)
    for draft in reversed(passing):
        for read in draft.inputs:
            _pass_on(known, draft.output, read)
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
