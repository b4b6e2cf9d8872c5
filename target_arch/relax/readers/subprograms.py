"""A Relax module as functions that run one after the other: what a loop runs in each trip."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.model import Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.graph import FileFacts
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.relax.lower.fallback import NotLegalizedError
from target_arch.relax.operators.finder import find_operators
from target_arch.relax.readers.frontend import imported
from target_arch.relax.readers.tflite_operators.site import Unreadable
from target_arch.relax.repeated.straight import Straight, straight


def tflite_subprogram(module: Any, quantizations: Mapping[Any, Quantization], results: int) -> Straight:
    """The function `main` of a module that a TFLite subgraph became, with so many results; `quantizations`
    are the grids of its expressions. Unreadable for an operator without a function.
    """
    names = tuple(f"result{number}" for number in range(results))
    facts = FileFacts(quantizations=quantizations)
    try:
        read = imported(Path("subgraph"), module, Arithmetic.TFLITE, names, {}, facts)
        found = find_operators(read.program, standard_patterns(), "subgraph", "subgraph", names)
        return straight(*found)
    except DiagnosticError as error:
        raise Unreadable(f"of its subgraphs, {error.diagnostics[0].message}") from None
    except (NotLegalizedError, ValueError) as error:
        raise Unreadable(f"an operator of its subgraphs has no function: {error}") from None
