"""Exported programs in PyTorch's core operators. Imports PyTorch."""

from collections.abc import Iterator
from typing import Any

_WHOLE = ("hardsigmoid", "hardswish", "take")
"""Operators that stay as they are: the frontend has fewer parts for two of them, which are known here as a
kind; `take` is one that PyTorch does not always take apart.
"""
_RECURRENT = ("gru", "lstm", "rnn_relu", "rnn_tanh")
"""Layers that are loops here, where PyTorch has the operators of every step."""


def decomposed(program: Any) -> Any:
    """The program in core operators; the names of its nodes are the same each time. Raises whatever PyTorch
    does.
    """
    import torch

    from target_arch.relax.readers.pytorch.torch_distinct import distinct_decomposed

    table = torch.export.default_decompositions()
    for operator in _whole(program):
        table.pop(operator)
    try:
        return distinct_decomposed(program, table.materialize())
    except Exception:
        # NotPlain, or one of PyTorch's, which says it better about the whole program if it fails there, too.
        return program.run_decompositions(table)


def _whole(program: Any) -> Iterator[Any]:
    import torch

    for name in _WHOLE:
        yield getattr(torch.ops.aten, name).default
    for name in _RECURRENT:
        operator = getattr(torch.ops.aten, name).input
        if not any(_has_projection(node) for node in program.graph.nodes if node.target is operator):
            yield operator


def _has_projection(node: Any) -> bool:
    """Whether the outputs of an LSTM are products of its hidden values, which no cell here has."""
    states = node.args[1]
    if not isinstance(states, list | tuple):
        return False
    return bool(states[0].meta["val"].shape[-1] != states[1].meta["val"].shape[-1])
