"""Operators of PyTorch that TVM's frontend accepts but computes differently, refused by name."""

from pathlib import Path
from typing import Any

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.frontend import HINT


def refuse_misread(path: Path, program: Any) -> None:
    """DiagnosticError at the first such operator of a decomposed program."""
    for node in program.graph.nodes:
        name = str(node.target)
        if name.startswith("aten.upsample_nearest"):
            _refuse_uneven(path, node)
        elif name == "aten.elu.default" and any(scale != 1 for scale in node.args[2:]):
            said = f"scales its result or its argument, by {', '.join(map(str, node.args[2:]))}"
            raise _refused(path, node, said, HINT)
        elif name in ("aten.add.Tensor", "aten.sub.Tensor") and node.kwargs.get("alpha", 1) != 1:
            said = f"multiplies its second operand by {node.kwargs['alpha']}"
            raise _refused(path, node, said, "write that multiplication as one of its own")
        elif name == "aten.grid_sampler_2d.default":
            raise _refused(path, node, "is not supported", HINT)


def _refuse_uneven(path: Path, node: Any) -> None:
    """PyTorch takes the element at or before the exact place, the frontend the one nearest to the middle.
    They agree where all elements are repeated equally often.
    """
    before, after = (value.meta["val"].shape[2:] for value in (node.args[0], node))
    if any(large % small for large, small in zip(after, before, strict=True)):
        sizes = " to ".join("x".join(map(str, shape)) for shape in (before, after))
        hint = "scale to a multiple of the size, or use the mode `nearest-exact` or `bilinear`"
        raise _refused(path, node, f"scales {sizes}, which is no whole multiple", hint)


def _refused(path: Path, node: Any, said: str, hint: str) -> DiagnosticError:
    operator = str(node.target).removeprefix("aten.").partition(".")[0]
    message = f"operator `{operator}`, node `{node.name}`, {said}"
    return model_error("unsupported-operator", path, message, hint)
