"""Which inputs decide over the course of a model: what a branch or loop is chosen by."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from target_arch.diagnostics import listed
from target_arch.relax.readers.onnx.graph import TensorKind

_CHOOSING = ("If", "Loop")


class Course:
    """The operators of a graph by their results."""

    def __init__(self, graph: Any, types: Mapping[str, TensorKind]) -> None:
        self._makers = {name: node for node in graph.node for name in node.output if name}
        self._inputs = {value.name for value in graph.input}
        self._types = types

    def hint(self, node: Any) -> str:
        """What to add so that the course of a branch or loop is known, where that follows from inputs of one
        element; empty otherwise.
        """
        if node.op_type not in _CHOOSING:
            return ""
        deciding = sorted(set(self._deciding(node.input[0])))
        if not deciding or not all(map(self._is_single, deciding)):
            return ""
        flags = " ".join(f"--input-value {name}=NUMBER" for name in deciding)
        return f"its course follows from {listed(deciding)}, which `{flags}` makes constant"

    def _deciding(self, name: str) -> Iterator[str]:
        """The inputs of the model that a tensor is computed from."""
        waiting, seen = [name], set[str]()
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if one in self._inputs:
                yield one
            if one in self._makers:
                waiting += [each for each in self._makers[one].input if each]

    def _is_single(self, name: str) -> bool:
        kind = self._types.get(name)
        return kind is not None and kind.shape is not None and prod(kind.shape) == 1
