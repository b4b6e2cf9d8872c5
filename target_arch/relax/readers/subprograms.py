"""A Relax module as functions that run one after the other: what a loop runs in each trip."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.model import Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.errors import reason_of
from target_arch.relax.ir.graph import FileFacts
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.relax.lower.fallback import NotLegalizedError
from target_arch.relax.operators.finder import find_operators
from target_arch.relax.readers.frontend import imported
from target_arch.relax.repeated.straight import Straight, straight
from target_arch.relax.site import NotConverted


class NoSubprogram(ValueError):
    """A module has an operator without a function; the text says which."""


def subprogram(
    name: str, module: Any, arithmetic: Arithmetic, facts: FileFacts, results: int, *, halves: bool = False
) -> Straight:
    """The function `main` of a module, with so many results; `name` is that of the part of a model that it
    is, `halves` as for `imported`. Raises NoSubprogram.
    """
    names = tuple(f"result{number}" for number in range(results))
    try:
        read = imported(Path(name), module, arithmetic, names, {}, facts, halves=halves)
        return straight(*find_operators(read.program, standard_patterns(), name, name, names))
    except DiagnosticError as error:
        raise NoSubprogram(f"of its {name}, {error.diagnostics[0].message}") from None
    except (NotLegalizedError, ValueError) as error:
        raise NoSubprogram(f"an operator of its {name} has no function: {reason_of(error)}") from None


def tflite_subprogram(module: Any, quantizations: Mapping[Any, Quantization], results: int) -> Straight:
    """That of a module that a TFLite subgraph became; `quantizations` are the grids of its expressions.
    NotConverted for an operator without a function.
    """
    facts = FileFacts(quantizations=quantizations)
    try:
        return subprogram("subgraphs", module, Arithmetic.TFLITE, facts, results)
    except NoSubprogram as error:
        raise NotConverted(str(error)) from None
