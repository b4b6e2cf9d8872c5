"""Tensors that a program computes from numbers alone, as places and masks: PyTorch computes them now.

Imports PyTorch.
"""

from collections.abc import Mapping
from typing import Any

import torch
from tvm import relax

from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.readers.pytorch.torch_operators.call import dtype_name
from target_arch.relax.site import constant

_MOST = 2**16
"""Elements of a tensor that is computed now; a larger one is not worth its bytes in the program."""


def lifted(program: Any) -> dict[str, Any]:
    """The tensors that are written in the program itself, by the names of their nodes."""
    kind = torch.export.graph_signature.InputKind.CONSTANT_TENSOR
    specs = program.graph_signature.input_specs
    return {spec.arg.name: program.constants[spec.target] for spec in specs if spec.kind is kind}


class KnownValues:
    """The values of nodes that depend on nothing but those of `constants`."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self._values: dict[Any, Any] = {}
        self._constants = constants

    def knows(self, node: Any) -> bool:
        """Whether the value of a node is computed, now that those before it were asked for."""
        operands = node.all_input_nodes
        if not all(self._known(each) for each in operands) or not _small(node):
            return False
        arguments = torch.fx.node.map_arg((node.args, node.kwargs), self._value)
        with torch.no_grad():
            self._values[node] = node.target(*arguments[0], **arguments[1])
        return True

    def follows(self, node: Any) -> bool:
        """The same where those before it were not asked for."""
        behind, found = [node], set[Any]()
        while behind:
            one = behind.pop()
            if one.op == "placeholder":
                if one.name not in self._constants:
                    return False
            elif one not in found:
                found.add(one)
                behind += one.all_input_nodes
        return all(self.knows(each) for each in node.graph.nodes if each in found)

    def _known(self, node: Any) -> bool:
        return node in self._values or (node.op == "placeholder" and node.name in self._constants)

    def _value(self, node: Any) -> Any:
        return self._values[node] if node in self._values else self._constants[node.name]

    def constants(self, node: Any) -> Any:
        """The value of a known node as a constant of Relax, or a list of them."""
        value = self._value(node)
        return [_constant(each) for each in value] if isinstance(value, tuple | list) else _constant(value)


def _small(node: Any) -> bool:
    value = node.meta.get("val")
    listed = value if isinstance(value, tuple | list) else [value]
    return all(
        isinstance(each, torch.Tensor)
        and all(isinstance(extent, int) for extent in each.shape)
        and each.numel() <= _MOST
        for each in listed
    )


def _constant(value: Any) -> Any:
    """None in place of an element type that has no form."""
    dtype = dtype_name(value.dtype)
    return constant(value.numpy(), dtype) if dtype in DTYPE_BYTES else relax.const(0.0, "float64")
