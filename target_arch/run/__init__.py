"""Bundles on disk: write, build with the machine's C compiler, execute, and compare with the reference.

The names below are imported when they are asked for: a compilation writes a bundle and builds none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from target_arch.run.bundles.manifest import read_manifest
    from target_arch.run.bundles.write import write_bundle
    from target_arch.run.executables.executable import Executable, build
    from target_arch.run.execute.programs import (
        Profile,
        run_frames,
        run_on_machine,
        run_self_test,
        self_test_on_machine,
    )
    from target_arch.run.references.find import reference_for, self_test
    from target_arch.run.tools.toolchain import Compiler, ToolMissing, find_compiler
    from target_arch.run.verification.result import Verification
    from target_arch.run.verification.verify import OperatorCheck, verify, verify_models

__all__ = [
    "Compiler",
    "Executable",
    "OperatorCheck",
    "Profile",
    "ToolMissing",
    "Verification",
    "build",
    "find_compiler",
    "read_manifest",
    "reference_for",
    "run_frames",
    "run_on_machine",
    "run_self_test",
    "self_test",
    "self_test_on_machine",
    "verify",
    "verify_models",
    "write_bundle",
]

_PLACES = {
    "bundles.manifest": ("read_manifest",),
    "bundles.write": ("write_bundle",),
    "executables.executable": ("Executable", "build"),
    "execute.programs": (
        "Profile",
        "run_frames",
        "run_on_machine",
        "run_self_test",
        "self_test_on_machine",
    ),
    "references.find": ("reference_for", "self_test"),
    "tools.toolchain": ("Compiler", "ToolMissing", "find_compiler"),
    "verification.result": ("Verification",),
    "verification.verify": ("OperatorCheck", "verify", "verify_models"),
}


def __getattr__(name: str) -> Any:
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{place}"), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
