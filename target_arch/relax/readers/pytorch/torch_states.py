"""Buffers that a program reads and changes: states, with the values in the file before the first run.

Tests: `tests/relax/readers/pytorch/test_torch_states.py`.
"""

from collections.abc import Iterator
from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class HeldBuffer:
    """A buffer that became an input, by the name of its node, and the bytes of its first value."""

    node: str
    initial: bytes = field(repr=False)


def held_buffers(program: Any) -> tuple[HeldBuffer, ...]:
    """Make inputs of the changed buffers that results depend on, and outputs of their new values, both after
    all others and in one order. The buffers are taken out of the program's own tensors.
    """
    from torch.export.graph_signature import InputKind, InputSpec, OutputKind, OutputSpec

    signature, output = program.graph_signature, program.graph.output_node()
    changed = _on_which_results_depend(program)
    if not changed:
        return ()
    inputs = {spec.target: spec for spec in signature.input_specs if spec.target in changed}
    outputs = list(zip(signature.output_specs, output.args[0], strict=True))
    stored = {**program.state_dict, **program.constants}
    held = tuple(
        HeldBuffer(node=spec.arg.name, initial=stored[name].detach().contiguous().numpy().tobytes())
        for name, spec in inputs.items()
    )
    signature.input_specs[:] = [spec for spec in signature.input_specs if spec.target not in changed] + [
        InputSpec(kind=InputKind.USER_INPUT, arg=spec.arg, target=None) for spec in inputs.values()
    ]
    others = [(spec, value) for spec, value in outputs if spec.target not in changed]
    by_target = {spec.target: (spec, value) for spec, value in outputs if spec.target in changed}
    later = [
        (OutputSpec(kind=OutputKind.USER_OUTPUT, arg=spec.arg, target=None), value)
        for spec, value in (by_target[name] for name in inputs)
    ]
    signature.output_specs[:] = [spec for spec, _ in others + later]
    output.args = (tuple(value for _, value in others + later),)
    # The table is that of the program as it was loaded, too.
    program._constants = {name: value for name, value in program.constants.items() if name not in inputs}
    return held


def _on_which_results_depend(program: Any) -> set[str]:
    """The changed buffers, by name, that results depend on, now or in a later run."""
    new_values = _new_values(program)
    sources = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs}
    placeholders = {
        sources[node.name]: node
        for node in program.graph.find_nodes(op="placeholder")
        if sources.get(node.name) in new_values
    }
    fed = {name: set(_fed(node)) for name, node in placeholders.items()}
    wanted, found = set(_results(program)), set[str]()
    while True:
        more = {name for name in fed if name not in found and wanted & fed[name]}
        if not more:
            return found
        found |= more
        wanted |= {new_values[name] for name in more}


def _new_values(program: Any) -> dict[str, str]:
    """The nodes of new values by the names of buffers and parameters."""
    from torch.export.graph_signature import OutputKind

    kinds = (OutputKind.BUFFER_MUTATION, getattr(OutputKind, "PARAMETER_MUTATION", None))
    return {spec.target: spec.arg.name for spec in program.graph_signature.output_specs if spec.kind in kinds}


def _results(program: Any) -> Iterator[str]:
    from torch.export.graph_signature import OutputKind

    for spec in program.graph_signature.output_specs:
        if spec.kind is OutputKind.USER_OUTPUT and hasattr(spec.arg, "name"):
            yield spec.arg.name


def _fed(node: Any) -> Iterator[str]:
    """The names of a node and of all that are computed from it."""
    waiting, known = [node], {node}
    while waiting:
        found = waiting.pop()
        yield found.name
        users = [user for user in found.users if user.op != "output" and user not in known]
        known.update(users)
        waiting += users
