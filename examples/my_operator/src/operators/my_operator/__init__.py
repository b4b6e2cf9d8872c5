"""Operators of my_operator, in models of all three formats.

`decay` is an echo along the last dimension, y[t] = x[t] + factor * y[t - 1]: `my_operator` as a custom
operator of TFLite, `my_operator.Decay` in ONNX (domain `my_operator`), `my_operator::decay` in PyTorch.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from target_arch.backend.operators import OperatorLibrary

if TYPE_CHECKING:
    from target_arch.relax.site import Site


def decay(site: "Site") -> Any:
    """Return the Relax expression of the result, whatever the format of the model."""
    from tvm import tirx  # only models with this operator need TVM here

    from target_arch.relax.site import NotConverted

    x, factor = site.operand(0), float(site.attributes.get("factor", 0.5))
    if site.dtype(0) != "float32":
        raise NotConverted(f"elements of type {site.dtype(0)}, only float32 is supported")
    shape = site.shape(0)
    if not shape:
        raise NotConverted("a tensor without dimensions")

    def write(out: Any, x: Any) -> None:
        _echo(out, x, shape, tirx.const(factor, "float32"))

    return site.written(shape, "float32", write, x, name="decay")


def _echo(out: Any, x: Any, shape: Sequence[int], factor: Any) -> None:
    """Write the loops: the first element of each row, then each of the others from the one before."""
    from tvm.script.ir_builder import tirx as ib

    with ib.grid(*shape[:-1], 1, 1) as places:
        row = list(places)[: len(shape) - 1]
        ib.buffer_store(out, x[(*row, 0)], [*row, 0])
        with ib.serial(1, shape[-1]) as t:
            ib.buffer_store(out, x[(*row, t)] + factor * out[(*row, t - 1)], [*row, t])


def declare() -> None:
    """Tell PyTorch the operator: its arguments, and the shape of its result."""
    import torch

    if hasattr(torch.ops.my_operator, "decay"):
        return
    torch.library.define("my_operator::decay", "(Tensor x, float factor=0.5) -> Tensor")
    torch.library.register_fake("my_operator::decay", lambda x, factor=0.5: torch.empty_like(x))


operators = OperatorLibrary(
    name="my_operator",
    description="an echo along the last dimension",
    converters={
        ("onnx", "my_operator.Decay"): decay,
        ("pytorch", "my_operator::decay"): decay,
        ("tflite", "my_operator"): decay,
    },
    declare=declare,
)
