"""Every value on the way of models through the program, kept."""

from typing import TYPE_CHECKING

from attrs import field, fields, frozen

from target_arch.pipeline.request import CompileRequest, ModelsRequest
from target_arch.plan.bundle import BundleFiles
from target_arch.plan.lowered import Lowered
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import ModelEntry
from target_arch.plan.memory import Arena
from target_arch.plan.model_pools import ModelPools

if TYPE_CHECKING:
    from target_arch.plan.workloads.answers import TimedTasks


@frozen(kw_only=True, repr=False)
class CompiledModel(Lowered):
    """A lowered model with both ends of the way: the request, and the bundle with the model's entry in its
    manifest.
    """

    request: CompileRequest
    manifest: ModelEntry
    bundle: BundleFiles

    @classmethod
    def of(
        cls, lowered: Lowered, request: CompileRequest, manifest: ModelEntry, bundle: BundleFiles
    ) -> "CompiledModel":
        """The compilation that ended in this bundle."""
        known = {each.name: getattr(lowered, each.name) for each in fields(Lowered)}
        return cls(**known, request=request, manifest=manifest, bundle=bundle)

    @property
    def capacities(self) -> dict[Arena, int]:
        """The capacity of every arena of the plan, in bytes."""
        return {arena: self.request.soc.memory(arena.memory).size for arena in self.plan.peaks}

    def __repr__(self) -> str:
        return f"<compilation of {self.model.name}: {len(self.graph.partitions)} partitions>"


@frozen(kw_only=True)
class ModelsCompilation:
    """The compilation of every model (the bundle of each is that of all), and their memory together; of a
    workload its tasks.
    """

    request: ModelsRequest = field(repr=False)
    models: tuple[CompiledModel, ...]
    pools: ModelPools = field(repr=False)
    manifest: Manifest = field(repr=False)
    bundle: BundleFiles = field(repr=False)
    timed: "TimedTasks | None" = None
