"""The table of backends, which program the target_archs of a SoC."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from target_arch.backend.contract import ENTRY_POINT_GROUP, Backend
from target_arch.diagnostics import Diagnostic
from target_arch.registry.default_soc import WantedArch, default_soc
from target_arch.registry.lookup.errors import PlugInError
from target_arch.registry.lookup.guard import guarded
from target_arch.registry.lookup.sources import Source, checked_folders, installed
from target_arch.registry.lookup.table import PlugInKind, PlugInTable, discovered
from target_arch.registry.soc_rules import arch_faults, unknown_backend
from target_arch.registry.validate import complaints
from target_arch.soc.faults import Fault, dotted
from target_arch.soc.model import SoC

BACKENDS = PlugInKind[Backend](
    word="backend",
    rule="backend",
    group=ENTRY_POINT_GROUP,
    folder="",
    export="backend",
    type=Backend,
    complaints=complaints,
    guarded=guarded,
)


class Backends(PlugInTable[Backend]):
    """The backends that were found, and the faults in a SoC's use of them."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        super().__init__(BACKENDS, sources)

    @classmethod
    def discover(cls, folders: Iterable[Path] = ()) -> "Backends":
        """The backends that are installed, and the ones in the given folders. Imports nothing.

        Raises PlugInError for names with two sources, and for folders that cannot be read or are empty.
        """
        return cls(discovered(BACKENDS, checked_folders(folders), installed()))

    def default_soc(self, *names: str, host: str = "c") -> SoC:
        """The SoC of these backends, each as it is by default, in order; the host comes last where it is not
        named.

        Raises PlugInError for a backend that is not there, or that has no default.
        """
        wanted = []
        for name in dict.fromkeys((*names, host)):
            default = self[name].default_arch
            if default is None:
                message = f"backend `{name}` does not say what its hardware is like by default"
                found = Diagnostic(rule="no-default-arch", place=self.origin(name), message=message)
                raise PlugInError(name, (self.origin(name),), (found,))
            wanted.append(WantedArch(name=name, backend=name, default=default))
        return default_soc(wanted, host)

    def faults(self, soc: SoC) -> tuple[Fault, ...]:
        """The faults in the SoC's use of its backends, for a caller that can locate them in a file.

        Raises PlugInError for a backend that exists and cannot be used.
        """
        found: list[Fault] = []
        for arch in soc.archs:
            if arch.backend not in self:
                found.append(unknown_backend(arch, self.names))
            else:
                found += arch_faults(arch, self[arch.backend])
        return tuple(found)

    def backends_for(self, soc: SoC) -> Mapping[str, Backend]:
        """target_arch name → backend. Raises PlugInError with all faults at once."""
        faults = self.faults(soc)
        if faults:
            names = {soc.arch(str(fault.path[1])).backend: None for fault in faults}
            raise PlugInError(next(iter(names)), (f"SoC `{soc.name}`",), in_words(faults, soc))
        return {arch.name: self[arch.backend] for arch in soc.archs}


def in_words(faults: Iterable[Fault], soc: SoC) -> Iterator[Diagnostic]:
    """Faults of a description that came from no file, or from one that is not at hand."""
    for fault in faults:
        place = f"SoC `{soc.name}`, {dotted(fault.path)}"
        yield Diagnostic(rule=fault.rule, place=place, message=fault.message, hint=fault.hint)
