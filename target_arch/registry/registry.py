"""SoCs by name, and in each of them target_archs by name or DLDevice."""

from collections.abc import Iterator, Mapping

from target_arch.backend.contract import Backend
from target_arch.diagnostics import Diagnostic
from target_arch.registry.backends import Backends
from target_arch.registry.lookup.errors import PlugInError, UnknownNameError
from target_arch.registry.target_instance import TargetInstance
from target_arch.soc.model import DLDevice, SoC


class SocTargets(Mapping[str, TargetInstance]):
    """The target_archs of one SoC, by instance name.

    `["fpga_conv2d[1]"]` is one instance; the bare name of a target_arch with several stands for the first.
    """

    def __init__(self, soc: SoC, backends: Mapping[str, Backend]) -> None:
        self.soc = soc
        self._targets = {
            instance.name: TargetInstance(soc=soc, instance=instance, backend=backends[instance.arch.name])
            for instance in soc.instances
        }

    def __getitem__(self, name: str) -> TargetInstance:
        """Raises UnknownNameError, which is a KeyError."""
        for candidate in (name, f"{name}[0]"):
            if candidate in self._targets:
                return self._targets[candidate]
        raise UnknownNameError("target_arch", name, self._targets)

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)

    def instances_of(self, arch: str) -> tuple[TargetInstance, ...]:
        """Every instance of a target_arch. Raises UnknownNameError."""
        found = tuple(target for target in self.values() if target.instance.arch.name == arch)
        if not found:
            raise UnknownNameError("target_arch", arch, [described.name for described in self.soc.archs])
        return found

    def register_tvm_targets(self) -> tuple[str, ...]:
        """Make every instance a tag of TVM, as in `tvm.target.Target("zynq_edge/dsp_cpu")`, and return the
        tags. Their keys are `TargetInstance.tvm_keys`, and TVM's own. Imports TVM.
        """
        from target_arch.relax import vdevice

        return tuple(
            vdevice.register_tag(f"{self.soc.name}/{target.name}", target.tvm_kind, target.tvm_keys)
            for target in self.values()
        )

    def of_device(self, device: DLDevice | tuple[int, int]) -> TargetInstance:
        """The target_arch behind a DLDevice, or behind DLPack's two numbers. Raises UnknownNameError."""
        for target in self.values():
            own = target.dl_device
            if device in (own, (own.code, own.id)):
                return target
        raise UnknownNameError("device", str(device), [str(target.dl_device) for target in self.values()])


class Registry(Mapping[str, SocTargets]):
    """`Registry.from_soc(soc)["zynq_edge"]["dsp_cpu"]`."""

    def __init__(self, backends: Backends | None = None) -> None:
        """Without `backends`: those that are installed."""
        self.backends = Backends.discover() if backends is None else backends
        self._socs: dict[str, SocTargets] = {}

    @classmethod
    def from_soc(cls, *socs: SoC, backends: Backends | None = None) -> "Registry":
        """A registry of these SoCs. Raises PlugInError."""
        registry = cls(backends)
        for soc in socs:
            registry.add_soc(soc)
        return registry

    def add(self, backend: Backend) -> None:
        """Register a backend for the SoCs that are added after it. Raises PlugInError."""
        self.backends.add(backend)

    def add_soc(self, soc: SoC) -> SocTargets:
        """Join a SoC with its backends. Raises PlugInError, also where another SoC of that name is known."""
        known = self._socs.get(soc.name)
        if known is not None and known.soc != soc:
            message = f"a different SoC `{soc.name}` is registered already"
            found = Diagnostic(
                rule="duplicate-soc", place="registry", message=message, hint="rename one of them"
            )
            raise PlugInError(soc.name, (), (found,))
        self._socs[soc.name] = SocTargets(soc, self.backends.backends_for(soc))
        return self._socs[soc.name]

    def __getitem__(self, name: str) -> SocTargets:
        """Raises UnknownNameError, which is a KeyError."""
        if name not in self._socs:
            raise UnknownNameError("SoC", name, self._socs)
        return self._socs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._socs)

    def __len__(self) -> int:
        return len(self._socs)
