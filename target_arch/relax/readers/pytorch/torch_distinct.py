"""Exported programs in core operators, where nodes that are alike are taken apart once.

PyTorch's `run_decompositions` traces every node twice, through four layers of dispatch. But a net repeats
its blocks: most nodes differ from an earlier one only in the tensors that they read, and have the same parts.
The result computes what PyTorch's does, and nodes have the same names, except behind operators that write
into a tensor: PyTorch has nodes more there, which give a tensor another name. Imports PyTorch.

Tests: `tests/relax/readers/pytorch/test_torch_distinct.py`.
"""

import operator as operators
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from attrs import define, field
from torch._dispatch.python import enable_python_dispatcher
from torch._export.utils import _is_preservable_cia_op
from torch._guards import detect_fake_mode
from torch.export.exported_program import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, OutputSpec
from torch.fx.node import map_arg
from torch.utils import _pytree as trees

from target_arch.relax.readers.pytorch.torch_parts import NotPlain, TracedOperator, Tracing, functional


def distinct_decomposed(program: Any, table: Mapping[Any, Any]) -> Any:
    """The program in core operators, by the decompositions of a table. Raises NotPlain for one with open
    shapes or control flow, one that changes its inputs or buffers, and one with an operator that writes into
    a tensor that is read later by another name.
    """
    made = _Decomposition(tracing=Tracing(table=table))
    with torch.no_grad(), enable_python_dispatcher(), _fake_mode(program):
        for node in program.graph.nodes:
            made.take(node)
    made.tracing.graph.eliminate_dead_code()
    return _exported(program, made)


def _fake_mode(program: Any) -> Any:
    """Return the mode of PyTorch in which tensors have no values."""
    values = trees.tree_leaves([node.meta.get("val") for node in program.graph.nodes])
    tensors = [each for each in values if isinstance(each, torch.Tensor)]
    if any(not isinstance(extent, int) for each in tensors for extent in each.shape):
        raise NotPlain("open shapes")
    found = detect_fake_mode(tensors)
    if found is None:
        raise NotPlain("no tensors")
    return found


@define(eq=False, kw_only=True)
class _Decomposition:
    """A graph on its way into core operators. `values` has what each of its nodes became: a node, or a list
    of them. Each of those is in a memory, by number; one is `stale` after an operator wrote into it.
    """

    tracing: Tracing
    values: dict[Any, Any] = field(factory=dict)
    _memory: dict[Any, int] = field(factory=dict)
    _memories: int = 0
    _given: set[int] = field(factory=set)
    _stale: set[int] = field(factory=set)
    _known: dict[Any, TracedOperator] = field(factory=dict)

    def take(self, node: Any) -> None:
        """Take the next node of the program."""
        if node.op == "placeholder":
            self.values[node] = self._placeholder(node)
        elif node.op == "output":
            self.tracing.graph.output(map_arg(node.args[0], self._read))
        elif node.target is operators.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]
        elif isinstance(node.target, torch._ops.OpOverload):
            self.values[node] = self._operator(node)
        else:
            raise NotPlain(f"`{node.target}`")

    def _placeholder(self, node: Any) -> Any:
        made = self.tracing.graph.create_node("placeholder", node.target, name=node.name)
        made.name, made.meta = node.name, dict(node.meta)
        self._memory[made] = self._new_memory()
        self._given.add(self._memory[made])
        return made

    def _new_memory(self) -> int:
        self._memories += 1
        return self._memories

    def _read(self, node: Any) -> Any:
        made = self.values[node]
        if not isinstance(made, torch.fx.Node) or not isinstance(made.meta.get("val"), torch.Tensor):
            raise NotPlain(f"`{node}`, which is no tensor")
        if self._memory[made] in self._stale:
            raise NotPlain("an operator that writes into a tensor that is read later by another name")
        return made

    def _operator(self, node: Any) -> Any:
        """Return the results of an operator."""
        target = functional(node.target)
        if target not in self.tracing.table and _is_preservable_cia_op(target):
            # It stays whole, and tracing would take it apart.
            raise NotPlain(f"`{target}`")
        args, kwargs = map_arg((node.args, node.kwargs), self._read)
        reads = list(dict.fromkeys(self.values[each] for each in node.all_input_nodes))
        key = _likeness(target, args, kwargs, reads)
        parts = self._known.get(key)
        if parts is None:
            parts = self._known[key] = self.tracing.parts(target, args, kwargs, reads)
            results = parts.results
        else:
            results = parts.repeated(self.tracing.graph, reads)
        self._remember(results, parts.memories, reads)
        if target is not node.target:
            self._overwrite(node.args[0], results)
        return results

    def _remember(self, results: Any, numbers: Sequence[int], reads: Sequence[Any]) -> None:
        known = {number: self._memory[each] for number, each in enumerate(reads)}
        leaves = [each for each in trees.tree_leaves(results) if each is not None]
        for each, number in zip(leaves, numbers, strict=True):
            if number not in known:
                known[number] = self._new_memory()
            self._memory[each] = known[number]

    def _overwrite(self, node: Any, result: Any) -> None:
        """The tensor of a node has new values."""
        before = self.values[node]
        if self._memory[before] in self._given:
            raise NotPlain("an operator that changes an input or a buffer")
        old, new = before.meta["val"], result.meta["val"]
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise NotPlain("an operator that converts what it writes")
        self._stale.add(self._memory[before])
        self.values[node] = result


def _likeness(target: Any, args: Any, kwargs: Any, reads: Sequence[Any]) -> Any:
    """Equal for operators that have the same parts."""
    values = [each.meta["val"] for each in reads]
    facts = [(str(x.dtype), tuple(x.shape), x.stride(), str(x.device)) for x in values]
    places = {each: f"%{number}" for number, each in enumerate(reads)}
    return target, repr(facts), repr(map_arg((args, kwargs), places.__getitem__))


def _exported(program: Any, made: _Decomposition) -> Any:
    """The program with another graph for the same inputs and outputs."""
    graph, signature = made.tracing.graph, program.graph_signature
    names = [getattr(each, "name", None) for each in graph.output_node().args[0]]
    outputs = [
        OutputSpec(kind=spec.kind, arg=_renamed(spec.arg, name), target=spec.target)
        for spec, name in zip(signature.output_specs, names, strict=True)
    ]
    return ExportedProgram(
        root=torch.nn.Module(),
        graph=graph,
        graph_signature=ExportGraphSignature(input_specs=list(signature.input_specs), output_specs=outputs),
        state_dict=program.state_dict,
        range_constraints=dict(program.range_constraints),
        module_call_graph=list(program.module_call_graph),
        example_inputs=program.example_inputs,
        constants=dict(program.constants),
    )


def _renamed(argument: Any, name: str | None) -> Any:
    return argument if name is None else type(argument)(name=name)
