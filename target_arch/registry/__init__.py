"""Tables of plug-ins, and the target_archs of SoCs joined with their backends.

`PlugIns` finds and checks backends, load processes, operator libraries, planners, policies and ports;
`Registry` joins backends with SoC descriptions. A plug-in is imported when it is first needed, TVM only when
a `relax.VDevice` or a target is asked for.
Tests: `tests/registry`.
"""

from target_arch.registry.backends import Backends
from target_arch.registry.lookup.errors import PlugInError, UnknownNameError
from target_arch.registry.lookup.guard import HookError
from target_arch.registry.lookup.table import PlugInTable
from target_arch.registry.operators import OperatorLibraries
from target_arch.registry.plug_ins import PlugIns
from target_arch.registry.registry import Registry, SocTargets
from target_arch.registry.target_instance import TargetInstance

__all__ = [
    "Backends",
    "HookError",
    "OperatorLibraries",
    "PlugInError",
    "PlugInTable",
    "PlugIns",
    "Registry",
    "SocTargets",
    "TargetInstance",
    "UnknownNameError",
]
