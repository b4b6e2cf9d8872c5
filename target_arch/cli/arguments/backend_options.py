"""The second phase of the command line: `--<target_arch>-<option> VALUE` of the SoC that the first one finds.

The options of a target_arch depend on its backend, so `--soc`, `--target` and `--backend-dir` are read first;
then the parser of the command learns the options of every target_arch, and `--help` shows them. Without a SoC
there are none to show.
"""

import argparse
import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from target_arch.backend.contract import Option
from target_arch.cli.arguments.command_parser import CommandParser
from target_arch.cli.arguments.found_names import tell_names
from target_arch.cli.arguments.soc_argument import found
from target_arch.cli.arguments.targets import Selection, selection
from target_arch.diagnostics import DiagnosticError, name_hint, refusal
from target_arch.registry import PlugIns
from target_arch.soc import SoC, TargetArch

_HELP = ("-h", "--help")
_METAVARS: dict[type, str] = {bool: "true|false", int: "INTEGER", float: "NUMBER", str: "TEXT"}


class _Unreadable(Exception):
    """The first phase cannot read its options; the second one reports why."""


class _First(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Unreadable(message)


def first_phase(arguments: Sequence[str]) -> argparse.Namespace | None:
    """`soc`, `target` and `backend_dir` of a command line; None where they cannot be read."""
    reading = _First(add_help=False, allow_abbrev=False)
    reading.add_argument("--soc")
    reading.add_argument("--target", action="append", default=[])
    reading.add_argument("--backend-dir", type=Path, action="append", default=[])
    try:
        return reading.parse_known_args(arguments)[0]
    except _Unreadable:
        return None


def second_phase(to: argparse.ArgumentParser, arguments: Sequence[str]) -> Selection | None:
    """Add the options of its target_archs to a command. Returns the SoC and the target_archs, if any are
    given.

    Raises DiagnosticError, unless only help is asked for.
    """
    early = first_phase(arguments)
    if early is None:
        return None
    if any(each in arguments for each in _HELP):
        with contextlib.suppress(DiagnosticError):
            plug_ins = PlugIns.discover(early.backend_dir)
            tell_names(to, plug_ins)
            chosen = selection(early, plug_ins)
            if chosen is not None:
                _learn(to, chosen)
                to.epilog = None
        return None
    chosen = selection(early, found(early))
    if chosen is not None:
        _learn(to, chosen)
    return chosen


def unknown(rest: Sequence[str], chosen: Selection | None, command: CommandParser) -> None:
    """Refuse arguments that no parser knows. Raises DiagnosticError for the first of them."""
    if not rest:
        return
    flag = rest[0].partition("=")[0]
    soc = None if chosen is None else chosen.soc
    arch = next((each for each in _longest_first(soc) if flag.startswith(f"--{each}-")), None)
    if arch is None or chosen is None or soc is None:
        hint = command.flag_hint(flag) or command.help_hint()
        raise refusal("unknown-argument", "command line", f"unknown argument `{flag}`", hint)
    option = flag.removeprefix(f"--{arch}-").replace("-", "_")
    backend = soc.arch(arch).backend
    known = [each.name for each in chosen.plug_ins.backends[backend].options]
    said = f"target_arch `{arch}` (backend `{backend}`) has no option `{option}`"
    raise refusal("unknown-option", "command line", said, name_hint(option, known, "its options"))


def _learn(to: argparse.ArgumentParser, chosen: Selection) -> None:
    """The options of every target_arch; help shows those of the ones that `--target` selects."""
    group = to.add_argument_group(f"options of the target_archs of {chosen.soc.name}")
    for arch in chosen.soc.archs:
        shown = not chosen.targets or arch.host or arch.name in chosen.targets
        _add(group, arch, chosen.plug_ins.backends[arch.backend].options, shown=shown)


def _add(group: Any, arch: TargetArch, options: Iterable[Option], *, shown: bool) -> None:
    """Every option, written with `_`, which help shows, or with `-`."""
    for option in options:
        now = arch.options.get(option.name, option.default)
        default = str(now).lower() if isinstance(now, bool) else now
        said = f"{option.help} (default: {default})".replace("%", "%%")
        for name in dict.fromkeys((option.name, option.name.replace("_", "-"))):
            group.add_argument(
                f"--{arch.name}-{name}",
                action=_Append,
                dest="backend_options",
                default=[],
                const=(arch.name, option.name),
                metavar=_METAVARS[type(option.default)],
                help=said if shown and name == option.name else argparse.SUPPRESS,
            )


class _Append(argparse.Action):
    """Appends (target_arch, option, text); values are typed later, with better messages than argparse's."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        assert self.const is not None
        held = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*held, (*self.const, values)])


def _longest_first(soc: SoC | None) -> list[str]:
    names = [] if soc is None else [arch.name for arch in soc.archs]
    return sorted(names, key=lambda name: (-len(name), name))
