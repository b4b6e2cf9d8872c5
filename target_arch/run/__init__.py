"""Bundles on disk: write, build with the machine's C compiler, execute, and compare with the reference."""

from target_arch.run.build import Executable, build
from target_arch.run.execute import Profile, run_frames, run_on_machine, run_self_test, self_test_on_machine
from target_arch.run.references import reference_for, self_test
from target_arch.run.toolchain import Compiler, ToolMissing, find_compiler
from target_arch.run.verification import Verification
from target_arch.run.verify import verify
from target_arch.run.verify_models import verify_models
from target_arch.run.write import models_in, read_manifest, tensors_in, write_bundle

__all__ = [
    "Compiler",
    "Executable",
    "Profile",
    "ToolMissing",
    "Verification",
    "build",
    "find_compiler",
    "models_in",
    "read_manifest",
    "reference_for",
    "run_frames",
    "run_on_machine",
    "run_self_test",
    "self_test",
    "self_test_on_machine",
    "tensors_in",
    "verify",
    "verify_models",
    "write_bundle",
]
