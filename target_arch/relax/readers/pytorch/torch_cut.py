"""Exported programs from nodes to nodes. Imports PyTorch."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from target_arch.diagnostics import refusal
from target_arch.plan.inputs.cut import ModelCut, ModelPart, OperatorTensors, TensorGraph
from target_arch.relax.readers.pytorch.torch_signature import tensor_inputs, tensor_outputs


def cut_program(path: Path, program: Any, cut: ModelCut) -> Any:
    """The part of a program in core operators that a cut names, in core operators. Names are those of its
    nodes; its inputs are tensors, one after the other. The graph of the program is changed.

    Raises DiagnosticError, as `TensorGraph.part` does, and where the program has open dimensions.
    """
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    updates = _updates(program)
    part = _graph(program, calls, updates).part(str(path), cut)
    if _is_open(program, part.inputs):
        text = "a program with open dimensions cannot be cut"
        raise refusal("wrong-cut", path, text, "export it with fixed shapes")
    return _rebuilt(
        program, part, [updates[number - len(calls)] for number in part.steps if number >= len(calls)]
    )


def _is_open(program: Any, begin: Sequence[str]) -> bool:
    """Whether an input of the program, or a tensor at which a part begins, has no fixed shape."""
    names = {*tensor_inputs(program), *begin}
    values = [node.meta["val"] for node in program.graph.nodes if node.name in names]
    return any(not isinstance(extent, int) for value in values for extent in value.shape)


def _updates(program: Any) -> list[Any]:
    """The outputs of the program that are new values of its buffers."""
    from torch.export.graph_signature import OutputKind

    return [spec for spec in program.graph_signature.output_specs if spec.kind is OutputKind.BUFFER_MUTATION]


def _graph(program: Any, calls: Sequence[Any], updates: Sequence[Any]) -> TensorGraph:
    buffers = {spec.target: spec.arg.name for spec in program.graph_signature.input_specs}
    steps = [OperatorTensors(reads=_names(node.all_input_nodes), writes=(node.name,)) for node in calls]
    steps += [OperatorTensors(reads=(spec.arg.name,), writes=(buffers[spec.target],)) for spec in updates]
    no_tensors = [node.name for node in calls if not hasattr(node.meta.get("val"), "shape")]
    return TensorGraph(
        inputs=tensor_inputs(program),
        outputs=tensor_outputs(program),
        steps=steps,
        hidden=frozenset((*no_tensors, *buffers.values())),
    )


def _names(nodes: Iterable[Any]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)


def _rebuilt(program: Any, part: ModelPart, updates: Sequence[Any]) -> Any:
    """The program with the graph and the signature of a part; `updates` are those of its buffers."""
    from torch.export.exported_program import ExportedProgram
    from torch.export.graph_signature import (
        ExportGraphSignature,
        InputKind,
        InputSpec,
        OutputKind,
        OutputSpec,
        TensorArgument,
    )

    graph, old = program.graph, program.graph_signature
    values = graph.output_node().args[0]
    named = dict(zip((spec.arg.name for spec in old.output_specs), values, strict=True))
    nodes = {node.name: node for node in graph.nodes}
    results = [named[spec.arg.name] for spec in updates] + [nodes[name] for name in part.outputs]
    graph.output_node().args = (tuple(results),)
    starts = [nodes[name] for name in part.inputs if nodes[name].op != "placeholder"]
    _begin(graph, starts)
    stored = [spec for spec in old.input_specs if spec.kind is not InputKind.USER_INPUT]
    _drop_inputs(graph, {*part.inputs, *(spec.arg.name for spec in stored)})
    own = [_spec(InputSpec, InputKind.USER_INPUT, TensorArgument(name=name)) for name in part.inputs]
    ends = [_spec(OutputSpec, OutputKind.USER_OUTPUT, TensorArgument(name=name)) for name in part.outputs]
    _order_inputs(graph, [spec.arg.name for spec in (*stored, *own)])
    examples, call = _called_with(graph, part)
    return ExportedProgram(
        root=program.graph_module,
        graph=graph,
        graph_signature=ExportGraphSignature(input_specs=[*stored, *own], output_specs=[*updates, *ends]),
        state_dict=program.state_dict,
        range_constraints={},
        module_call_graph=[call],
        example_inputs=(examples, {}),
        constants=program.constants,
        verifiers=[program.verifier],
    )


def _spec(of: Any, kind: Any, argument: Any) -> Any:
    return of(kind=kind, arg=argument, target=None)


def _begin(graph: Any, starts: Sequence[Any]) -> None:
    """Inputs in place of nodes, under their names."""
    inputs = []
    for node in starts:
        with graph.inserting_before(next(iter(graph.nodes))):
            inputs.append(graph.placeholder(f"{node.name}_cut"))
        inputs[-1].meta = dict(node.meta)
        node.replace_all_uses_with(inputs[-1])
    graph.eliminate_dead_code()
    for node, each in zip(starts, inputs, strict=True):
        each.name = each.target = node.name


def _drop_inputs(graph: Any, kept: set[str]) -> None:
    for node in graph.find_nodes(op="placeholder"):
        if node.name not in kept:
            graph.erase_node(node)


def _order_inputs(graph: Any, names: Sequence[str]) -> None:
    """Placeholders in the order of the signature, before everything else."""
    by_name = {node.name: node for node in graph.find_nodes(op="placeholder")}
    for name in reversed(names):
        first = next(iter(graph.nodes))
        if first is not by_name[name]:
            first.prepend(by_name[name])


def _called_with(graph: Any, part: ModelPart) -> tuple[tuple[Any, ...], Any]:
    """Inputs of the part, and what the program says of its call: tensors in, a tuple of tensors out."""
    import torch
    from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
    from torch.utils import _pytree as trees

    values = {node.name: node.meta["val"] for node in graph.find_nodes(op="placeholder")}
    examples = tuple(torch.zeros(tuple(values[name].shape), dtype=values[name].dtype) for name in part.inputs)
    outputs = tuple(torch.zeros(()) for _ in part.outputs)
    signature = ModuleCallSignature(
        inputs=[],
        outputs=[],
        in_spec=trees.tree_flatten((examples, {}))[1],
        out_spec=trees.tree_flatten(outputs)[1],
        forward_arg_names=None,
    )
    return examples, ModuleCallEntry(fqn="", signature=signature)
