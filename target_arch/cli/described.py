"""SoC files as the commands take them: read, joined with backends, with what the command line sets on top."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import evolve

from target_arch.backend.contract import Backend, Option
from target_arch.cli.output import failure
from target_arch.diagnostics import Diagnostic, DiagnosticError, in_order, name_hint
from target_arch.registry import Backends
from target_arch.resources import soc_configs
from target_arch.soc import SoC, TargetArch, read_soc, shipped_socs
from target_arch.soc.faults import Fault
from target_arch.soc.positions import Positions

Value = int | float | str | bool
Settings = Sequence[tuple[str, str, str]]
"""target_arch, option, value as text."""

_PLACE = "command line"
_TRUTH = {"true": True, "false": False}


def found(options: argparse.Namespace) -> Backends:
    """The backends that are installed, and those of every `--backend-dir`, which are checked at once."""
    return Backends.discover(options.backend_dir).load_folders()


def described(name_or_file: str, backends: Backends) -> SoC:
    """The SoC of a file, whose backends are all there and get what they need. Raises DiagnosticError."""
    soc = read_soc(name_or_file)
    faults = backends.faults(soc)
    if faults:
        raise DiagnosticError(_placed(faults, name_or_file))
    return soc


def chosen(options: argparse.Namespace, backends: Backends) -> tuple[SoC, tuple[str, ...]]:
    """The SoC a model is planned for, options set; and the names `--target` restricts it to, none for all."""
    soc = described(options.soc, backends)
    targets, settings = _targets(options.target)
    for name in targets:
        _known(soc, name)
    settings = (*settings, *_backend_options(options.backend_options, soc))
    return _with_options(soc, backends.backends_for(soc), settings), targets


def target_of(soc: SoC, name: str) -> str:
    """The name of a target_arch or of one of its instances, known to the SoC. Raises DiagnosticError."""
    known = {*(arch.name for arch in soc.archs), *(instance.name for instance in soc.instances)}
    if name not in known:
        text = f"SoC `{soc.name}` has no target_arch `{name}`"
        raise failure("unknown-target-arch", _PLACE, text, name_hint(name, known, "there are"))
    return name


def _placed(faults: Iterable[Fault], name_or_file: str) -> tuple[Diagnostic, ...]:
    """The faults at their places in the file. It was read a moment ago, so it is there and is TOML."""
    path = Path(name_or_file)
    shown = str(path)
    if name_or_file in shipped_socs() and not path.is_file():
        path, shown = soc_configs() / f"{name_or_file}.toml", f"soc_configs/{name_or_file}.toml"
    positions = Positions(shown, path.read_text(encoding="utf-8-sig"))
    return in_order(
        Diagnostic(
            rule=fault.rule,
            place=positions.key(fault.path) if fault.at_key else positions.value(fault.path),
            message=fault.message,
            hint=fault.hint,
        )
        for fault in faults
    )


def _targets(given: Iterable[str]) -> tuple[tuple[str, ...], Settings]:
    """`--target a,x=1,b` → the names a and b, and option x of a."""
    names: list[str] = []
    settings: list[tuple[str, str, str]] = []
    for text in given:
        own: str | None = None
        for part in text.split(","):
            option, equals, value = part.partition("=")
            if not equals:
                own = part
                names.append(part)
            elif own is None:
                raise failure("bad-target", _PLACE, f"`--target {text}` sets `{option}` of no target_arch")
            else:
                settings.append((own, option, value))
    return tuple(dict.fromkeys(names)), settings


def _backend_options(given: Sequence[str], soc: SoC) -> Settings:
    """`--accelerator-lanes 8` and `--accelerator-lanes=8` → option lanes of accelerator."""
    found: list[tuple[str, str, str]] = []
    rest = list(given)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        arch = next((arch for arch in _longest_first(soc) if flag.startswith(f"--{arch.name}-")), None)
        if arch is None:
            text = f"unknown argument `{flag}`"
            hint = "options of a target_arch are written --<target_arch>-<option>"
            raise failure("unknown-argument", _PLACE, text, hint)
        if not equals and not rest:
            raise failure("unknown-argument", _PLACE, f"`{flag}` needs a value")
        option = flag.removeprefix(f"--{arch.name}-").replace("-", "_")
        found.append((arch.name, option, value if equals else rest.pop(0)))
    return found


def _longest_first(soc: SoC) -> list[TargetArch]:
    return sorted(soc.archs, key=lambda arch: (-len(arch.name), arch.name))


def _with_options(soc: SoC, backends: Mapping[str, Backend], settings: Settings) -> SoC:
    for name, option_name, text in settings:
        arch = _known(soc, name)
        options = {option.name: option for option in backends[name].options}
        if option_name not in options:
            said = f"target_arch `{name}` (backend `{arch.backend}`) has no option `{option_name}`"
            raise failure("unknown-option", _PLACE, said, name_hint(option_name, options, "its options"))
        value = _parsed(text, options[option_name], name)
        changed = evolve(arch, options={**arch.options, option_name: value})
        soc = evolve(soc, archs=tuple(changed if each.name == name else each for each in soc.archs))
    return soc


def _known(soc: SoC, name: str) -> TargetArch:
    names = [arch.name for arch in soc.archs]
    if name not in names:
        text = f"SoC `{soc.name}` has no target_arch `{name}`"
        raise failure("unknown-target-arch", _PLACE, text, name_hint(name, names, "there are"))
    return soc.arch(name)


def _parsed(text: str, option: Option, arch: str) -> Value:
    """The text as a value of the option's type."""
    try:
        if isinstance(option.default, bool):
            return _TRUTH[text.lower()]
        return type(option.default)(text)
    except (KeyError, ValueError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(option.default)]
        said = f"option `{option.name}` of `{arch}` is {kind}, not `{text}`"
        raise failure("option-type", _PLACE, said, option.help) from None
