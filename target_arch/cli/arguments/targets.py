"""The SoC that a model is planned for: a SoC file, of which `--target` selects target_archs, or a SoC that
`--target` alone builds from the defaults of the backends.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from target_arch.api.soc import described
from target_arch.backend.contract import Backend, Option
from target_arch.cli.arguments.target_text import TargetArgument, Word, parsed, refused
from target_arch.diagnostics import Diagnostic, DiagnosticError, Place, name_hint, refusal
from target_arch.plan.kernels import Codegen
from target_arch.registry import Backends, PlugIns
from target_arch.registry.default_soc import HOST_DEVICE, WantedArch, default_soc
from target_arch.soc import SoC, TargetArch, check_soc
from target_arch.soc.faults import Fault
from target_arch.soc.schema.kinds import CLOCK, IDENTIFIER, SIZE_IN_BYTES, Kind, OneOf
from target_arch.soc.words import InstructionSet

Value = int | float | str | bool
Given = tuple[str, str, str]
"""target_arch, option and value as text, from `--<target_arch>-<option> VALUE`."""

DEFAULT_HOST = "c"
"""The backend of the host if no target can be the host."""

_PLACE = "command line"
_TRUTH = {"true": True, "false": False}
_KINDS: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number"}
_ISA = OneOf(words=tuple(InstructionSet))
_MOST_CORES = 64
_MOST_DIGITS = 20
_OF_THE_HOST = "those of the host share its memory; describe others in a SoC file"


@frozen(kw_only=True)
class Selection:
    """The SoC with every option set, the target_archs that `--target` selects (none: all), and the plug-ins
    that were found.
    """

    soc: SoC
    targets: tuple[str, ...] = ()
    plug_ins: PlugIns = field(repr=False)


def selection(options: argparse.Namespace, plug_ins: PlugIns) -> Selection | None:
    """The selection by `--soc` and `--target`; None where neither is given. Raises DiagnosticError."""
    targets = parsed(options.target)
    if options.soc is not None:
        return _selected(targets, described(options.soc, plug_ins), plug_ins)
    if targets:
        return Selection(soc=built(targets, plug_ins.backends), plug_ins=plug_ins)
    return None


def configured(options: argparse.Namespace) -> Selection:
    """The selection with every option of the command line, for a command that needs one. Raises
    DiagnosticError.
    """
    if options.selection is None:
        said = "neither `--soc` nor `--target` says what to plan for"
        raise refusal("no-soc", _PLACE, said, "`--soc zynq_edge`, or `--target c` for a host alone")
    return _with_options(options.selection, options.backend_options)


def built(targets: Sequence[TargetArgument], backends: Backends) -> SoC:
    """The SoC of these targets, named by backend. Raises DiagnosticError with every mistake."""
    wrong: list[Diagnostic] = []
    wanted = [each for target in targets if (each := _wanted(target, backends, wrong)) is not None]
    _raise(wrong)
    host = _host(targets, wanted, backends)
    _raise(_idle_cores(targets, wanted, host))
    soc = default_soc(wanted, host)
    _raise(check_soc(soc))
    return soc


def typed(text: str, option: Option, arch: str, place: Place) -> Value:
    """The text as a value of the option's type. Raises DiagnosticError at `place`."""
    try:
        if isinstance(option.default, bool):
            return _TRUTH[text.lower()]
        value = type(option.default)(text)
    except (KeyError, ValueError):
        said = f"option `{option.name}` of `{arch}` is {_KINDS[type(option.default)]}, not `{text}`"
        found = Diagnostic(rule="option-type", place=place, message=said, hint=option.help)
        raise DiagnosticError([found]) from None
    if not option.takes(value):
        said = f"option `{option.name}` of `{arch}` must be above 0, not `{text}`"
        raise DiagnosticError([Diagnostic(rule="option-range", place=place, message=said, hint=option.help)])
    return value


def _with_options(chosen: Selection, given: Iterable[Given]) -> Selection:
    """With `--<target_arch>-<option>` set. Raises DiagnosticError."""
    soc = chosen.soc
    for name, option, text in given:
        arch = soc.arch(name)
        known = _options(chosen.plug_ins.backends[arch.backend])
        soc = _with(soc, arch, {option: typed(text, known[option], name, _PLACE)})
    return evolve(chosen, soc=soc)


def _selected(targets: Sequence[TargetArgument], soc: SoC, plug_ins: PlugIns) -> Selection:
    wrong: list[Diagnostic] = []
    known = [arch.name for arch in soc.archs]
    for target in targets:
        name = target.name.text
        if name not in known:
            said = f"SoC `{soc.name}` has no target_arch `{name}`"
            wrong.append(
                refused(target.name, said, "unknown-target-arch", name_hint(name, known, "there are"))
            )
            continue
        arch = soc.arch(name)
        options = _options(plug_ins.backends[arch.backend])
        for key, value in target.settings:
            if key.text not in options:
                said = f"target_arch `{name}` (backend `{arch.backend}`) has no option `{key.text}`"
                wrong.append(
                    refused(key, said, "unknown-option", name_hint(key.text, options, "its options"))
                )
                continue
            set_to = _typed(value, options[key.text], name, wrong)
            soc = _with(soc, soc.arch(name), {key.text: set_to})
    _raise(wrong)
    return Selection(soc=soc, targets=tuple(target.name.text for target in targets), plug_ins=plug_ins)


def _wanted(target: TargetArgument, backends: Backends, wrong: list[Diagnostic]) -> WantedArch | None:
    """One target with its settings; mistakes in them are added to `wrong`."""
    name = target.name.text
    if not IDENTIFIER.fullmatch(name):
        wrong.append(refused(target.name, f"`{name}` is not a C identifier", "bad-identifier"))
        return None
    kind = next((value for key, value in target.settings if key.text == "backend"), target.name)
    if kind.text not in backends:
        hint = name_hint(kind.text, backends.names, "there are")
        wrong.append(refused(kind, f"there is no backend `{kind.text}`", "unknown-backend", hint))
        return None
    backend = backends[kind.text]
    default = backend.default_arch
    if default is None:
        said = f"backend `{kind.text}` does not say what its hardware is like by default"
        wrong.append(
            refused(kind, said, "no-default-arch", "describe it in a SoC file, and give that by `--soc`")
        )
        return None
    options, memories = _options(backend), [memory.name for memory in default.every_memory]
    made = WantedArch(name=name, backend=kind.text, default=default)
    for key, value in target.settings:
        if key.text == "clock":
            made = evolve(made, clock=_quantity(value, key, CLOCK, wrong))
        elif key.text == "isa":
            made = evolve(made, isa=_instruction_set(value, key, wrong))
        elif key.text == "cores":
            made = evolve(made, cores=_cores(value, key, made, backend, wrong))
        elif key.text in memories:
            size = _quantity(value, key, SIZE_IN_BYTES, wrong)
            made = evolve(made, sizes={**made.sizes, key.text: size})
        elif key.text in options:
            set_to = _typed(value, options[key.text], name, wrong)
            made = evolve(made, options={**made.options, key.text: set_to})
        elif key.text not in ("backend", "host"):
            said = f"`{key.text}` is no option and no memory of backend `{kind.text}`"
            hint = name_hint(
                key.text, {*options, *memories, "backend", "clock", "cores", "host", "isa"}, "there are"
            )
            wrong.append(refused(key, said, "unknown-option", hint))
    return made


def _host(targets: Sequence[TargetArgument], wanted: list[WantedArch], backends: Backends) -> str:
    """The name of the host, which is added to `wanted` where it is only a backend."""
    words = [value for target in targets for key, value in target.settings if key.text == "host"]
    for word in words[1:]:
        if word.text != words[0].text:
            _raise([refused(word, f"the host is `{words[0].text}` already")])
    names = [each.name for each in wanted]
    able = [each.name for each in wanted if _can_be_host(each, backends)]
    if not words and able:
        return able[0]
    host = words[0].text if words else DEFAULT_HOST
    at = words[0] if words else targets[0].name
    if host not in names:
        word = evolve(at, text=host)
        wrong: list[Diagnostic] = []
        added = _wanted(TargetArgument(name=word), backends, wrong)
        _raise(wrong)
        assert added is not None
        wanted.append(added)
        able += [added.name] if _can_be_host(added, backends) else []
    if host not in able:
        _raise([refused(at, f"`{host}` cannot be the host: that is a `{HOST_DEVICE}` with memories, and C")])
    return host


def _can_be_host(wanted: WantedArch, backends: Backends) -> bool:
    return _may_be_host(wanted, backends[wanted.backend])


def _may_be_host(wanted: WantedArch, backend: Backend) -> bool:
    default = wanted.default
    is_cpu = default.device == HOST_DEVICE and bool(default.memories)
    return is_cpu and backend.codegen == Codegen.C


def _cores(value: Word, key: Word, wanted: WantedArch, backend: Backend, wrong: list[Diagnostic]) -> int:
    """The number of cores of a target that can be a host; 1 where it is wrong."""
    if not _may_be_host(wanted, backend):
        said = f"backend `{backend.name}` has no cores: they execute functions of the host's program"
        wrong.append(refused(key, said, "no-cores", "leave `cores` out"))
        return 1
    number = _whole(value.text)
    if number is None or not 1 <= number <= _MOST_CORES:
        said = f"`cores` is a number from 1 to {_MOST_CORES}, not `{value.text}`"
        wrong.append(refused(value, said, "out-of-range"))
        return 1
    return number


def _whole(text: str) -> int | None:
    """The number that these digits are; None of anything else, and of more digits than any size has."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _idle_cores(
    targets: Sequence[TargetArgument], wanted: Sequence[WantedArch], host: str
) -> list[Diagnostic]:
    """Cores of targets that are not the host."""
    several = {each.name for each in wanted if each.cores > 1 and each.name != host}
    return [
        refused(key, f"`{target.name.text}` has `cores`, and the host is `{host}`", "no-cores", _OF_THE_HOST)
        for target in targets
        for key, _ in target.settings
        if key.text == "cores" and target.name.text in several
    ]


def _quantity(value: Word, key: Word, kind: Kind, wrong: list[Diagnostic]) -> int:
    """A size or a clock; a bare number is bytes, as in a SoC file. 0 where it is wrong."""
    number = _whole(value.text)
    return _read(value, key, kind, value.text if number is None else number, wrong) or 0


def _instruction_set(value: Word, key: Word, wrong: list[Diagnostic]) -> InstructionSet:
    """The instruction set of that name; the one without vectors where there is none."""
    return InstructionSet(_read(value, key, _ISA, value.text, wrong) or InstructionSet.GENERIC)


def _read(value: Word, key: Word, kind: Kind, given: str | int, wrong: list[Diagnostic]) -> Any:
    """The value, read as a SoC file's; None where it is wrong."""
    faults: list[Fault] = []
    read = kind.read((key.text,), given, faults)
    wrong += [refused(value, fault.message, fault.rule, fault.hint) for fault in faults]
    return read


def _typed(value: Word, option: Option, arch: str, wrong: list[Diagnostic]) -> Value:
    try:
        return typed(value.text, option, arch, value.span)
    except DiagnosticError as error:
        wrong += error.diagnostics
        return option.default


def _options(backend: Backend) -> dict[str, Option]:
    return {option.name: option for option in backend.options}


def _with(soc: SoC, arch: TargetArch, options: Mapping[str, Value]) -> SoC:
    changed = evolve(arch, options={**arch.options, **options})
    return evolve(soc, archs=tuple(changed if each.name == arch.name else each for each in soc.archs))


def _raise(wrong: Sequence[Diagnostic]) -> None:
    if wrong:
        raise DiagnosticError(wrong)
