"""One instance of a target_arch of a SoC, joined with the backend that programs it."""

from typing import Any

from attrs import field, frozen

from target_arch.backend.contract import Backend
from target_arch.plan.kernels import Codegen
from target_arch.registry.lookup.errors import UnknownNameError
from target_arch.soc.model import CopyPath, DLDevice, Instance, LoadProcess, SoC
from target_arch.soc.words import DLDeviceType, InstructionSet

_TVM_KINDS = {
    DLDeviceType.CPU: "c",
    DLDeviceType.CUDA: "cuda",
    DLDeviceType.CUDA_HOST: "c",
    DLDeviceType.OPENCL: "opencl",
    DLDeviceType.VULKAN: "vulkan",
    DLDeviceType.METAL: "metal",
    DLDeviceType.EXT_DEV: "ext_dev",
    DLDeviceType.HEXAGON: "hexagon",
}


@frozen(kw_only=True)
class TargetInstance:
    """One instance, such as `dsp_cpu`, with everything derived from it."""

    soc: SoC = field(repr=False)
    instance: Instance
    backend: Backend = field(repr=False)

    @property
    def name(self) -> str:
        """The instance's name: that of the target_arch, with an index where there are several."""
        return self.instance.name

    @property
    def dl_device(self) -> DLDevice:
        """The pair of DLPack that stands for this instance at run time."""
        return self.instance.device

    @property
    def codegen(self) -> Codegen:
        """The kind of code that its backend emits."""
        return self.backend.codegen

    @property
    def load(self) -> LoadProcess:
        """How it gets its program."""
        return self.instance.arch.load

    @property
    def memories(self) -> tuple[str, ...]:
        """Every memory it reads and writes itself, its operands' preferred ones first."""
        preferred = (*self.instance.memory, *self.instance.buffers.values())
        observed = (
            memory.name
            for memory in self.soc.memories
            if memory.replica_of is None and self.soc.observes(self.instance.arch.name, memory.name)
        )
        return tuple(dict.fromkeys((*preferred, *observed)))

    @property
    def memory_scopes(self) -> tuple[str, ...]:
        """How TVM code refers to its memories: `global.<memory>`, then `local.<buffer>_buffer`."""
        tensors = (f"global.{name}" for name in self.memories)
        return (*tensors, *(f"local.{buffer}_buffer" for buffer in sorted(self.instance.buffers)))

    def copies_to(self, memory: str) -> tuple[CopyPath, ...]:
        """The declared paths from its memories straight to another. Raises UnknownNameError."""
        self._require(memory)
        return tuple(
            path for path in self.soc.copies if path.source in self.memories and path.target == memory
        )

    def copies_from(self, memory: str) -> tuple[CopyPath, ...]:
        """The declared paths from another memory straight to its own. Raises UnknownNameError."""
        self._require(memory)
        return tuple(
            path for path in self.soc.copies if path.source == memory and path.target in self.memories
        )

    @property
    def tvm_kind(self) -> str:
        """The kind of its TVM target."""
        return _TVM_KINDS[self.dl_device.type]

    @property
    def tvm_keys(self) -> tuple[str, ...]:
        """The keys of its tag, beside TVM's own: its name, its memory scopes, its instruction set and the
        bits of its vectors, and its clock, as far as they are known.
        """
        clock, isa = self.instance.arch.clock, self.instance.arch.isa
        facts = (
            ("isa-", "" if isa is InstructionSet.GENERIC else str(isa)),
            ("vector-bits-", str(isa.vector_bits or "")),
            ("clock-", f"{clock:.0f}Hz" if clock else ""),
        )
        return (self.name, *self.memory_scopes, *(f"{key}{value}" for key, value in facts if value))

    @property
    def tvm_target(self) -> Any:
        """Its `tvm.target.Target`. Imports TVM."""
        from target_arch.relax import vdevice

        return vdevice.tvm_target(self.tvm_kind)

    def vdevices(self) -> tuple[Any, ...]:
        """Its `relax.VDevice`s, one for each memory its operands may be put in. Imports TVM."""
        from target_arch.relax import vdevice

        return tuple(vdevice.vdevices(self.instance, self.tvm_kind))

    def _require(self, memory: str) -> None:
        known = [described.name for described in self.soc.memories]
        if memory not in known:
            raise UnknownNameError("memory", memory, known)

    def __str__(self) -> str:
        lines = [
            f"{self.name} ({self.dl_device}, {self.codegen} by {self.backend.name}, {self.load.process})",
            f"  scopes {', '.join(self.memory_scopes)}",
        ]
        return "\n".join(lines) + "\n"
