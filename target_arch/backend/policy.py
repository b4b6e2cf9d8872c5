"""The contract of lowering-order policies: a named wish in which order partitions are lowered.

Found by the entry-point group `target_arch.policies`, in the folder `policies` of a `--backend-dir`, or added
in Python; asked for by `--lowering-order NAME` or the table `[lowering]` of a SoC file.
"""

from collections.abc import Callable, Mapping

from attrs import frozen

from target_arch.plan.kernels import Codegen
from target_arch.plan.partitions import PartitionGraph
from target_arch.soc.model import SoC

ENTRY_POINT_GROUP = "target_arch.policies"


@frozen(kw_only=True)
class Wishes:
    """The answer of a policy: the reason for each partition's position, and pairs (earlier, later).

    `ranks` decide between partitions that are free at the same time: the lowest first, by default in
    execution order.
    """

    reasons: Mapping[str, str]
    edges: tuple[tuple[str, str], ...] = ()
    ranks: Mapping[str, int] | None = None


@frozen(kw_only=True)
class Policy:
    """A lowering order by name. `wishes` sees the partitions, the SoC and each instance's codegen."""

    name: str
    description: str
    wishes: Callable[[PartitionGraph, SoC, Mapping[str, Codegen]], Wishes]

    def __str__(self) -> str:
        return f"{self.name}: {self.description}\n"
