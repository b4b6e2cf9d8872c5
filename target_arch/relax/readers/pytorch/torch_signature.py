"""The tensors that go into an exported program and come out, one after the other. Imports PyTorch.

Numbers, texts and None among inputs are part of the program, whose tensors may stand in tuples, lists and
dictionaries, and in keywords. What it writes into its buffers and inputs is no output.

Tests: `tests/relax/readers/pytorch/test_torch_signature.py`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from target_arch.relax.ir.errors import model_error


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


def keep_tensors(path: Path, program: Any) -> None:
    """Take everything else out of the inputs and outputs of a program.

    Raises DiagnosticError where a result depends on a buffer that the program changes.
    """
    _refuse_memory(path, program)
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


def _refuse_memory(path: Path, program: Any) -> None:
    signature = program.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    names = {spec.arg.name: spec.target for spec in signature.input_specs if spec.target in changed}
    results = set(tensor_outputs(program))
    for node in program.graph.find_nodes(op="placeholder"):
        if node.name in names and results & set(_fed(node)):
            message = (
                f"results depend on the buffer `{names[node.name]}`, which the program changes as it runs"
            )
            hint = "make it an input, its new value an output, and the two a state"
            raise model_error("unsupported-model", path, message, hint)


def _fed(node: Any) -> Iterator[str]:
    """The names of a node and of all that are computed from it."""
    waiting, known = [node], {node}
    while waiting:
        found = waiting.pop()
        yield found.name
        users = [user for user in found.users if user.op != "output" and user not in known]
        known.update(users)
        waiting += users


def _given(program: Any) -> list[Any]:
    from torch.export.graph_signature import InputKind

    return [spec for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]


def _is_tensor(spec: Any) -> bool:
    from torch.export.graph_signature import TensorArgument

    return isinstance(spec.arg, TensorArgument)


def _is_result(spec: Any) -> bool:
    from torch.export.graph_signature import OutputKind

    return spec.kind is OutputKind.USER_OUTPUT and _is_tensor(spec)
