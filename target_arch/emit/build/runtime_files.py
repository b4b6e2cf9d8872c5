"""The files of the C runtime that a bundle carries: headers, core, one port, drivers and simulators."""

from collections.abc import Mapping
from pathlib import Path

from target_arch.backend.contract import Backend
from target_arch.emit.model.inputs import EmitInputs
from target_arch.resources import runtime_c


def runtime_files(inputs: EmitInputs, several: bool = False) -> Mapping[str, str]:
    """Path in the bundle → text; with what runs `several` models."""
    root = runtime_c()
    files = _tree(root / "include", "include")
    files |= _tree(root / "core", "runtime/core")
    if several:
        files |= _tree(root / "models", "runtime/models")
    files |= _tree(root / "ports" / inputs.port, f"runtime/ports/{inputs.port}")
    for backend in _backends(inputs):
        files |= {f"runtime/{path}": text for path, text in backend.runtime.files().items()}
        if inputs.port == "host":
            files |= {f"runtime/{path}": text for path, text in backend.runtime.simulator().items()}
    return files


def _backends(inputs: EmitInputs) -> tuple[Backend, ...]:
    """Each backend once, in the order of the target_archs."""
    return tuple({backend.name: backend for _, backend in sorted(inputs.backends.items())}.values())


def _tree(root: Path, prefix: str) -> dict[str, str]:
    return {
        f"{prefix}/{path.relative_to(root).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.suffix in {".c", ".h"}
    }
