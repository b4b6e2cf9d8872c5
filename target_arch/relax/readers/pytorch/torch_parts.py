"""The core operators that one operator of PyTorch becomes, by tracing it alone. Imports PyTorch."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from attrs import field, frozen
from torch.fx import Graph, Proxy
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    get_proxy_slot,
    track_tensor,
)
from torch.fx.node import map_arg
from torch.utils import _pytree as trees


class NotPlain(Exception):
    """Only PyTorch itself can take this apart; the text says what."""


@frozen(kw_only=True, eq=False)
class TracedOperator:
    """The nodes that an operator became, in order, those that it reads, and its results: nodes, in lists if
    it gives several. `memories` has a number for each result: that of the read node in whose memory it is,
    or a higher one.
    """

    nodes: Sequence[Any]
    reads: Sequence[Any]
    results: Any
    memories: Sequence[int]

    def repeated(self, graph: Any, reads: Sequence[Any]) -> Any:
        """The results of the same nodes once more, at the end of a graph, of other nodes."""
        made = dict(zip(self.reads, reads, strict=True))
        for each in self.nodes:
            args, kwargs = map_arg((each.args, each.kwargs), made.__getitem__)
            name = graph._target_to_str(_name(each.target))
            made[each] = graph.create_node("call_function", each.target, args, kwargs, name=name)
            made[each].meta = dict(each.meta)
        return trees.tree_map(made.get, self.results)


def _name(target: Any) -> str:
    """The name that PyTorch gives to a node."""
    packet = getattr(target, "overloadpacket", target)
    return str(packet.__name__)


@frozen(kw_only=True, eq=False)
class Tracing:
    """Operators become nodes at the end of a graph, by the decompositions of a table."""

    graph: Any = field(factory=Graph)
    table: Mapping[Any, Any]
    _tracer: Any = field(factory=PythonKeyTracer, init=False)

    def __attrs_post_init__(self) -> None:
        self._tracer.graph, self._tracer.root = self.graph, torch.nn.Module()

    def parts(self, target: Any, args: Any, kwargs: Any, reads: Sequence[Any]) -> TracedOperator:
        """Add the parts of an operator, whose arguments have the nodes that it reads. Raises NotPlain where
        one of them writes into a tensor, or is no operator.
        """
        given = {each: _alike(each.meta["val"]) for each in reads}
        for read, value in given.items():
            track_tensor(value, Proxy(read, self._tracer), constant=None, tracer=self._tracer)
        before = len(self.graph.nodes)
        with ProxyTorchDispatchMode(self._tracer, "real", decomposition_table=self.table):
            args, kwargs = map_arg((args, kwargs), given.__getitem__)
            found = target(*args, **kwargs)
        nodes = list(self.graph.nodes)[before:]
        for number, each in enumerate(nodes):
            _make_functional(each, nodes[:number])
        numbers = {_memory(value): number for number, value in enumerate(given.values())}
        tensors = [each for each in trees.tree_leaves(found) if isinstance(each, torch.Tensor)]
        return TracedOperator(
            nodes=nodes,
            reads=list(reads),
            results=trees.tree_map(self._node, found),
            memories=[numbers.setdefault(_memory(each), len(numbers)) for each in tensors],
        )

    def _node(self, value: Any) -> Any:
        if value is None:
            return None
        held = get_proxy_slot(value, self._tracer, None) if isinstance(value, torch.Tensor) else None
        if held is None:
            raise NotPlain(f"the result {value}")
        return held.proxy.node


def _alike(value: Any) -> Any:
    """A tensor of the same shape, strides and type, in a memory of its own."""
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)


def _memory(value: Any) -> int:
    return int(value.untyped_storage()._cdata)


def _make_functional(node: Any, before: Sequence[Any]) -> None:
    """A node that writes into one that it alone reads gives a new tensor instead."""
    if node.op != "call_function":
        raise NotPlain(f"`{node.target}`")
    target = functional(node.target)
    if target is node.target:
        return
    if node.args[0] not in before or len(node.args[0].users) > 1:
        raise NotPlain(f"`{node.target}`")
    node.target = target
    node._rename(_name(target))


def functional(target: Any) -> Any:
    """The operator that gives what this one writes into its first operand; itself if it writes nothing.
    Raises NotPlain for one that writes otherwise.
    """
    schema = getattr(target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return target
    name = _name(target)
    packet = getattr(torch.ops.aten, name.removesuffix("_"), None) if name.endswith("_") else None
    found = getattr(packet, target._overloadname, None)
    written = [each for each in schema.arguments if each.alias_info and each.alias_info.is_write]
    if target.namespace != "aten" or found is None or written != [schema.arguments[0]]:
        raise NotPlain(f"`{target}`")
    return found
