"""CUDA devices, described only: a SoC with one is checked, shown and numbered; the host serves the models.

Its code generator is not part of this version, so it takes no operator and says so.
"""

from target_arch.backend.contract import Backend, LoweringRequest, Question
from target_arch.plan.kernels import Kernel

REASON = "the CUDA code generator is not part of this version"


def supports(question: Question) -> str | None:
    """Always the reason above."""
    return REASON


def cost(question: Question) -> float:
    """Infinite, since nothing is taken."""
    return float("inf")


def lower(request: LoweringRequest) -> Kernel:
    """Raises NotImplementedError: `supports` takes nothing, so the pipeline never asks."""
    raise NotImplementedError(REASON)


backend = Backend(
    name="cuda",
    description="CUDA devices, described but not yet programmed",
    codegen="cuda",
    patterns=(),
    supports=supports,
    cost=cost,
    lower=lower,
    contract=2,
)
