"""Everything that comes from plug-ins, in one value: backends, load processes, operator libraries, planners,
policies and ports.

All six are found in the same way: by an entry-point group, in a `--backend-dir`, or added in Python
(`plug_ins.ports.add(port)`).
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from target_arch.backend import load_process, planner, policy, port
from target_arch.backend.contract import Backend
from target_arch.backend.load_process import LoadProcessKind
from target_arch.backend.planner import Algorithm
from target_arch.backend.policy import Policy
from target_arch.backend.port import PortKind
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.registry.backends import BACKENDS, Backends, in_words
from target_arch.registry.lookup.errors import PlugInError, raise_all
from target_arch.registry.lookup.guard import Guard
from target_arch.registry.lookup.sources import checked_folders, installed
from target_arch.registry.lookup.table import PlugInKind, PlugInTable, discovered
from target_arch.registry.operators import OPERATORS, OperatorLibraries
from target_arch.registry.system_rules import (
    division_faults,
    kind_faults,
    order_faults,
    port_faults,
    process_faults,
)
from target_arch.registry.validate_systems import (
    load_process_complaints,
    planner_complaints,
    policy_complaints,
    port_complaints,
)
from target_arch.soc.faults import Fault
from target_arch.soc.model import SoC

_T = TypeVar("_T")


def _with_guard(word: str, hook: str, value: _T) -> _T:
    """The value with one of its functions guarded."""
    foreign: Any = value
    guarded: _T = evolve(foreign, **{hook: Guard(getattr(value, hook), hook, foreign.name, word)})
    return guarded


PORTS = PlugInKind[PortKind](
    word="port",
    rule="port",
    group=port.ENTRY_POINT_GROUP,
    folder="ports",
    export="port",
    type=PortKind,
    complaints=port_complaints,
    guarded=partial(_with_guard, "port", "files"),
)
LOAD_PROCESSES = PlugInKind[LoadProcessKind](
    word="load process",
    rule="load-process",
    group=load_process.ENTRY_POINT_GROUP,
    folder="load_processes",
    export="load_process",
    type=LoadProcessKind,
    complaints=load_process_complaints,
    guarded=partial(_with_guard, "load process", "files"),
)
POLICIES = PlugInKind[Policy](
    word="policy",
    rule="policy",
    group=policy.ENTRY_POINT_GROUP,
    folder="policies",
    export="policy",
    type=Policy,
    complaints=policy_complaints,
    guarded=partial(_with_guard, "policy", "wishes"),
)
PLANNERS = PlugInKind[Algorithm](
    word="planner",
    rule="planner",
    group=planner.ENTRY_POINT_GROUP,
    folder="planners",
    export="planner",
    type=Algorithm,
    complaints=planner_complaints,
    guarded=partial(_with_guard, "planner", "pack"),
)


@frozen(kw_only=True)
class PlugIns:
    """The tables of plug-ins."""

    backends: Backends = field(repr=False)
    load_processes: PlugInTable[LoadProcessKind] = field(repr=False)
    operators: OperatorLibraries = field(repr=False)
    planners: PlugInTable[Algorithm] = field(repr=False)
    policies: PlugInTable[Policy] = field(repr=False)
    ports: PlugInTable[PortKind] = field(repr=False)

    @classmethod
    def discover(cls, folders: Iterable[Path] = ()) -> "PlugIns":
        """The installed plug-ins, and the plug-ins in the given folders. Imports nothing.

        Raises PlugInError for names with two sources, and for folders that cannot be read or are empty.
        """
        every, known = checked_folders(folders), installed()
        return cls(
            backends=Backends(discovered(BACKENDS, every, known)),
            load_processes=PlugInTable(LOAD_PROCESSES, discovered(LOAD_PROCESSES, every, known)),
            operators=OperatorLibraries(discovered(OPERATORS, every, known)),
            planners=PlugInTable(PLANNERS, discovered(PLANNERS, every, known)),
            policies=PlugInTable(POLICIES, discovered(POLICIES, every, known)),
            ports=PlugInTable(PORTS, discovered(PORTS, every, known)),
        )

    def load_folders(self) -> "PlugIns":
        """Import and check every plug-in in the folders, whether or not it is used.

        Raises PlugInError with every fault.
        """
        refused = []
        for table in (
            self.backends,
            self.load_processes,
            self.operators,
            self.planners,
            self.policies,
            self.ports,
        ):
            try:
                table.load_folders()
            except PlugInError as error:
                refused.append(error)
        raise_all(refused)
        return self

    def faults(self, soc: SoC) -> tuple[Fault, ...]:
        """Every fault in the SoC's use of plug-ins, for a caller that can locate it in a file.

        Raises PlugInError for a plug-in that exists and cannot be used.
        """
        return (*self.backends.faults(soc), *self.system_faults(soc))

    def system_faults(self, soc: SoC) -> tuple[Fault, ...]:
        """As `faults`, but for the description of each target_arch in the use of its backend."""
        return (
            *process_faults(soc, self.load_processes),
            *port_faults(soc, self.ports),
            *order_faults(soc, self.policies.names),
            *kind_faults(soc, self._kinds(soc)),
            *division_faults(soc),
        )

    def _kinds(self, soc: SoC) -> Iterator[str]:
        """The kinds of operators of this program and of the SoC's backends, if any rule names one."""
        if soc.require or soc.prefer or soc.forbid or soc.divide:
            yield from OperatorKind
            for name in {arch.backend for arch in soc.archs} & {*self.backends.names}:
                yield from (pattern.name for pattern in self.backends[name].patterns)

    def backends_for(self, soc: SoC) -> Mapping[str, Backend]:
        """target_arch name → backend. Raises PlugInError with all faults of the SoC at once."""
        faults = self.system_faults(soc)
        if faults:
            wrong = (*self.backends.faults(soc), *faults)
            raise PlugInError(soc.name, (f"SoC `{soc.name}`",), in_words(wrong, soc))
        return self.backends.backends_for(soc)
