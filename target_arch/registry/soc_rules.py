"""The rules between a SoC and its backends: they exist, and options and buffers are the backend's own."""

from collections.abc import Iterator, Mapping

from target_arch.backend.contract import Backend, Option
from target_arch.diagnostics import listed, name_hint
from target_arch.plan.kernels import Codegen
from target_arch.soc.faults import Fault, Path
from target_arch.soc.model import TargetArch

_FOR_CORES = (Codegen.C, Codegen.LLVM)
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def unknown_backend(arch: TargetArch, known: tuple[str, ...]) -> Fault:
    """The fault of a target_arch whose backend does not exist."""
    return Fault(
        rule="unknown-backend",
        path=("target_arch", arch.name, "backend"),
        message=f"backend `{arch.backend}` is not installed",
        hint=name_hint(arch.backend, known, "there are"),
    )


def arch_faults(arch: TargetArch, backend: Backend) -> Iterator[Fault]:
    """Every fault of one target_arch's description in the use of its backend."""
    yield from _option_faults(arch, {option.name: option for option in backend.options})
    yield from _buffer_faults(arch, backend.needs_buffers)
    yield from _core_faults(arch, backend)


def _option_faults(arch: TargetArch, options: Mapping[str, Option]) -> Iterator[Fault]:
    for name, value in sorted(arch.options.items()):
        path: Path = ("target_arch", arch.name, "options", name)
        if name not in options:
            message = f"backend `{arch.backend}` has no option `{name}`"
            hint = name_hint(name, options, "its options")
            yield Fault(rule="unknown-option", path=path, message=message, hint=hint, at_key=True)
        elif not _fits(value, options[name].default):
            wanted = _TYPES[type(options[name].default)]
            message = f"option `{name}` of backend `{arch.backend}` is {wanted}, not `{_toml(value)}`"
            hint = f"{options[name].help}; default `{_toml(options[name].default)}`"
            yield Fault(rule="option-type", path=path, message=message, hint=hint)
        elif not options[name].takes(value):
            message = f"option `{name}` of backend `{arch.backend}` must be above 0, not `{_toml(value)}`"
            hint = f"{options[name].help}; default `{_toml(options[name].default)}`"
            yield Fault(rule="option-range", path=path, message=message, hint=hint)


def _buffer_faults(arch: TargetArch, needed: tuple[str, ...]) -> Iterator[Fault]:
    missing = [name for name in needed if name not in arch.buffers]
    if missing:
        message = f"backend `{arch.backend}` needs {listed(missing)} mapped to memories of `{arch.name}`"
        example = ", ".join(f'{name} = "…"' for name in needed)
        hint = f"buffers = {{ {example} }}"
        path: Path = ("target_arch", arch.name, "buffers") if arch.buffers else ("target_arch", arch.name)
        yield Fault(rule="unmapped-buffer", path=path, message=message, hint=hint, at_key=True)
    for name in sorted(set(arch.buffers) - set(needed)):
        message = f"backend `{arch.backend}` has no buffer `{name}`"
        hint = name_hint(name, needed, "its buffers")
        path = ("target_arch", arch.name, "buffers", name)
        yield Fault(rule="unknown-buffer", path=path, message=message, hint=hint, at_key=True)


def _core_faults(arch: TargetArch, backend: Backend) -> Iterator[Fault]:
    if arch.cores is not None and backend.codegen not in _FOR_CORES:
        message = f"backend `{arch.backend}` of `{arch.name}` has no cores: it makes no C functions"
        hint = "leave `cores` out, or name a backend that makes functions, such as `c`"
        path: Path = ("target_arch", arch.name, "cores")
        yield Fault(rule="no-cores", path=path, message=message, hint=hint, at_key=True)


def _fits(value: object, default: object) -> bool:
    """A whole number may stand for a number; true and false are not numbers."""
    if isinstance(default, float) and not isinstance(value, bool):
        return isinstance(value, int | float)
    return type(value) is type(default)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
