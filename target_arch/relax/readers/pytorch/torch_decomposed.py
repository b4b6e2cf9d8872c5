"""Exported programs in PyTorch's core operators. Imports PyTorch."""

from typing import Any

_WHOLE = ("hardsigmoid", "hardswish", "take")
"""Operators that stay as they are: the frontend has fewer parts for two of them, which are known here as a
kind; `take` is one that PyTorch does not always take apart.
"""


def decomposed(program: Any) -> Any:
    """The program in core operators; the names of its nodes are the same each time."""
    import torch

    table = torch.export.default_decompositions()
    for name in _WHOLE:
        table.pop(getattr(torch.ops.aten, name).default)
    return program.run_decompositions(table)
