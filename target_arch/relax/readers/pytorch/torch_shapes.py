"""Open dimensions of an exported program get the extents that were asked for: it is exported once more."""

from pathlib import Path
from typing import Any

from target_arch.plan.inputs.shapes import Extent, InputShapes, ModelInput, Shape
from target_arch.relax.ir.errors import model_error
from target_arch.relax.quiet import quiet
from target_arch.relax.readers.frontend import FAILURES


def with_input_shapes(path: Path, program: Any, wanted: InputShapes) -> Any:
    """The program for inputs of the shapes that were asked for.

    Raises DiagnosticError where an input stays open, and where the program does not take these shapes.
    """
    values = _inputs(program)
    declared = [ModelInput(name=name, extents=_extents(value)) for name, value in values.items()]
    shapes = wanted.fixed(str(path), declared)
    if all(isinstance(extent, int) for one in declared for extent in one.extents or ()):
        return program
    return _exported(path, program, values, shapes)


def _inputs(program: Any) -> dict[str, Any]:
    names = set(program.graph_signature.user_inputs)
    return {
        node.name: node.meta["val"]
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in names and hasattr(node.meta.get("val"), "shape")
    }


def _extents(value: Any) -> tuple[Extent, ...]:
    return tuple(extent if isinstance(extent, int) else str(extent) for extent in value.shape)


def _exported(path: Path, program: Any, values: dict[str, Any], shapes: dict[str, Shape]) -> Any:
    import torch
    from torch.utils import _pytree as pytree

    tensors = [torch.zeros(shapes[name], dtype=value.dtype) for name, value in values.items()]
    remaining = iter(tensors)
    examples, structure = pytree.tree_flatten(program.example_inputs or (tuple(tensors), {}))
    leaves = [next(remaining) if isinstance(each, torch.Tensor) else each for each in examples]
    try:
        with quiet():
            args, kwargs = pytree.tree_unflatten(leaves, structure)
            return torch.export.export(program.module(), args, kwargs, strict=False)
    except (*FAILURES, StopIteration):
        given = ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in shapes.items())
        message = f"the program does not take inputs of these shapes: {given}"
        raise model_error("input-shape", path, message, "export it with these shapes") from None
