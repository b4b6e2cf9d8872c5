"""Which backends there are, and the target_archs a SoC makes of them.

`Backends` finds and checks plug-ins; `Registry` joins them with SoC descriptions. Backends are imported when
they are first needed, TVM only by what asks for a `relax.VDevice` or a target. Tests: `tests/registry`.
"""

from target_arch.registry.backends import Backends
from target_arch.registry.errors import BackendError, UnknownNameError
from target_arch.registry.guard import HookError
from target_arch.registry.registry import Registry, SocTargets
from target_arch.registry.target_arch import TargetArch

__all__ = [
    "BackendError",
    "Backends",
    "HookError",
    "Registry",
    "SocTargets",
    "TargetArch",
    "UnknownNameError",
]
