"""The operator library `acme`: a gain, in every format."""

from typing import TYPE_CHECKING, Any

from target_arch.backend.operators import OperatorLibrary

if TYPE_CHECKING:
    from target_arch.relax.site import Site


def _gain(site: "Site") -> Any:
    """The operand times the attribute `factor`; one of its forms is refused, and three fail."""
    from tvm import relax

    from target_arch.relax.site import NotConverted, constant

    factor = float(site.attributes.get("factor", 1.0))
    if factor < 0:
        raise NotConverted("a negative factor")
    if factor == 11:
        raise RuntimeError("louder")
    if factor == 12:
        return relax.op.reshape(site.operand(0), (-1,))
    if factor == 13:
        return site.operand(0), site.operand(0)
    return relax.op.multiply(site.operand(0), constant(factor, "float32"))


def _declare() -> None:
    import torch

    if not hasattr(torch.ops.acme, "gain"):
        torch.library.define("acme::gain", "(Tensor x, float factor) -> Tensor")
        torch.library.register_fake("acme::gain", lambda x, factor: torch.empty_like(x))


operators = OperatorLibrary(
    name="acme",
    description="a gain",
    converters={
        ("onnx", "com.acme.Gain"): _gain,
        ("pytorch", "acme::gain"): _gain,
        ("tflite", "AcmeGain"): _gain,
    },
    declare=_declare,
)
