"""Indices of PyTorch that count from the end, made to count from the start.

TVM's frontend hands them on as they are, and its `take` then reads before the start of the tensor. So they
are changed in the decomposed program, before the frontend sees it.
"""

from pathlib import Path
from typing import Any

from target_arch.relax.ir.errors import model_error

_SELECT = ("aten.select.int", "aten.select_copy.int")
_INDEX = ("aten.index.Tensor", "aten._unsafe_index.Tensor")
_COPIES = ("aten.clone.default", "aten.alias.default", "aten.lift_fresh_copy.default", "aten.detach_.default")


def count_from_start(path: Path, program: Any) -> None:
    """Change every constant index of the program. Raises DiagnosticError for one tensor that counts in
    several ways.
    """
    names = {
        spec.arg.name: spec.target
        for spec in program.graph_signature.input_specs
        if spec.target in program.constants
    }
    extents: dict[str, set[int]] = {}
    for node in program.graph.nodes:
        if str(node.target) in _SELECT:
            x, dimension, index = node.args
            extent = _shape(x)[dimension]
            node.args = (x, dimension, index + extent if index < 0 else index)
        elif str(node.target) in _INDEX:
            for axis, tensor in enumerate(node.args[1]):
                name = names.get(_source(tensor)) if tensor is not None else None
                if name is not None and _counts_from_end(program.constants[name]):
                    extents.setdefault(name, set()).add(_shape(node.args[0])[axis])
    for name, found in extents.items():
        if len(found) > 1:
            message = f"operator `aten.index` takes elements from the end of several tensors by `{name}`"
            raise model_error("unsupported-operator", path, message, "use indices that count from the start")
        value = program.constants[name]
        program.constants[name] = value + (value < 0).to(value.dtype) * found.pop()


def _counts_from_end(tensor: Any) -> bool:
    """Whether it is of whole numbers and has one below zero."""
    import torch

    return tensor.dtype in (torch.int64, torch.int32) and bool((tensor < 0).any())


def _source(node: Any) -> str:
    """The name of the value that the node is a plain copy of."""
    while str(node.target) in _COPIES:
        node = node.args[0]
    return str(node.name)


def _shape(node: Any) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)
