"""The tensors that go into an exported program and come out, one after the other. Imports PyTorch.

Numbers, texts and None among inputs are part of the program, whose tensors may stand in tuples, lists and
dictionaries, and in keywords. What it writes into its buffers and inputs is no output.

Tests: `tests/relax/readers/pytorch/test_torch_signature.py`.
"""

from collections.abc import Sequence
from typing import Any


def tensor_inputs(program: Any) -> tuple[str, ...]:
    """The names of the nodes of its inputs."""
    return tuple(spec.arg.name for spec in _given(program) if _is_tensor(spec))


def tensor_outputs(program: Any) -> tuple[str, ...]:
    """The names of the nodes of its results."""
    return tuple(spec.arg.name for spec in program.graph_signature.output_specs if _is_result(spec))


def leaves(program: Any, tensors: Sequence[Any]) -> list[Any]:
    """All of its inputs, where the tensors are these."""
    remaining = iter(tensors)
    return [next(remaining) if _is_tensor(spec) else spec.arg.value for spec in _given(program)]


def called(program: Any, module: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The results of the program's module, each a tensor, for these inputs, which it may change."""
    import torch
    from torch.utils import _pytree as trees

    arguments, keywords = trees.tree_unflatten(leaves(program, tensors), program.call_spec.in_spec)
    results = trees.tree_leaves(module(*arguments, **keywords))
    return tuple(each for each in results if isinstance(each, torch.Tensor))


def keep_tensors(program: Any) -> None:
    """Take everything else out of the inputs and outputs of a program."""
    signature, graph = program.graph_signature, program.graph
    output = graph.output_node()
    wanted = [_is_result(spec) for spec in signature.output_specs]
    results = tuple(value for value, keep in zip(output.args[0], wanted, strict=True) if keep)
    output.args = (results,)
    signature.output_specs[:] = [spec for spec in signature.output_specs if _is_result(spec)]
    graph.eliminate_dead_code()
    left_out = {spec.arg.name for spec in _given(program) if not _is_tensor(spec)}
    for node in graph.find_nodes(op="placeholder"):
        if node.name in left_out and not node.users:
            graph.erase_node(node)
    signature.input_specs[:] = [spec for spec in signature.input_specs if spec.arg.name not in left_out]


def _given(program: Any) -> list[Any]:
    from torch.export.graph_signature import InputKind

    return [spec for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]


def _is_tensor(spec: Any) -> bool:
    from torch.export.graph_signature import TensorArgument

    return isinstance(spec.arg, TensorArgument)


def _is_result(spec: Any) -> bool:
    from torch.export.graph_signature import OutputKind

    return spec.kind is OutputKind.USER_OUTPUT and _is_tensor(spec)
