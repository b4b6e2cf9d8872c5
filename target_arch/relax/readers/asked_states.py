"""Inputs and outputs of a model that its user says are states."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_arch.diagnostics import DiagnosticError, name_hint
from target_arch.plan.model import identifier
from target_arch.relax.ir.errors import model_error
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.operators.states import StatePair
from target_arch.relax.readers.source import Imported


def asked_states(path: Path, imported: Imported, states: Mapping[str, str]) -> Iterator[StatePair]:
    """A pair for each input, named as in the file or as in C, and the output that is its next value.

    Raises DiagnosticError (`wrong-state`) for unknown names, an output that is named twice, and pairs of
    different shape or type.
    """
    graph = imported.program.graph
    inputs = [str(var.name) for var in graph.function.params]
    taken: set[int] = set()
    for source, target in states.items():
        first = _number(path, "input", source, inputs)
        second = _number(path, "output", target, imported.outputs)
        one, other = _described(graph.function.params[first]), _described(graph.outputs[second])
        if one != other:
            message = f"state `{source}` is {one}, its next value `{target}` is {other}"
            raise model_error("wrong-state", path, message, "both have one shape and type")
        if second in taken:
            message = f"output `{target}` is the next value of two states"
            raise model_error("wrong-state", path, message)
        taken.add(second)
        yield StatePair(input=first, output=second, asked=True)


def _number(path: Path, what: str, name: str, known: Sequence[str]) -> int:
    """The number of the input or output with that name."""
    for form in (str, _identifier):
        names = [form(each) for each in known]
        if form(name) in names:
            return names.index(form(name))
    raise _unknown(path, what, name, known)


def _unknown(path: Path, what: str, name: str, known: Sequence[str]) -> DiagnosticError:
    message = f"the model has no {what} `{name}`"
    return model_error("wrong-state", path, message, name_hint(name, known, "it has"))


def _identifier(name: str) -> str:
    return identifier(name, "")


def _described(value: Any) -> str:
    return f"{dtype_of(value)}{list(shape_of(value))}"
