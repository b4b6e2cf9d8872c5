"""One call from arguments to exit code; every error a user can cause ends here as a message."""

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from itertools import pairwise

from target_arch.cli import signals
from target_arch.cli.arguments.backend_options import second_phase, unknown
from target_arch.cli.arguments.command_parser import CommandParser
from target_arch.cli.arguments.option_texts import with_negative_values
from target_arch.cli.arguments.parser import command_of, late_words, parser
from target_arch.cli.text.output import (
    QUIET,
    PrintedFailure,
    as_json,
    discard_stdout,
    flush,
    json_data,
    message,
    progress,
    rendered,
)
from target_arch.diagnostics import DiagnosticError, name_hint, refusal

DONE = 0
NOT_RIGHT = 1
WRONG_INPUT = 2
TOOL_MISSING = 3

_OTHER_CODES = (
    ("target_arch.run.tools.toolchain", "ToolMissing", TOOL_MISSING),
    ("target_arch.stages.errors", "SolverMissingError", TOOL_MISSING),
    ("target_arch.backend.lowering", "NotInstalled", TOOL_MISSING),
    ("target_arch.stages.errors", "CheckError", NOT_RIGHT),
)
"""Module, error class, exit code. A module that is not imported cannot have raised."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `--help` and `--version` leave through SystemExit."""
    given = with_negative_values(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(*parser(), given)
    except DiagnosticError as error:
        if signals.received:
            raise signals.Interrupted from error
        if wants_traceback(given) and error.__cause__ is not None:
            message("".join(traceback.format_exception(error.__cause__)))
        message(rendered(error))
        if _wants_json(given):
            failure: PrintedFailure = {"diagnostics": as_json(error.diagnostics)}
            json_data(failure)
        return _exit_code(error)
    except BrokenPipeError:
        # The reader of stdout has closed it. Python would complain once more when it flushes stdout at exit.
        discard_stdout()
        return DONE


def wants_traceback(arguments: Sequence[str]) -> bool:
    """Whether the user asks for Python's text of a failure, too."""
    return "--traceback" in arguments or bool(os.environ.get("TARGET_ARCH_TRACEBACK"))


def _run(
    parsing: CommandParser,
    commands: Mapping[str, CommandParser],
    arguments: Sequence[str],
) -> int:
    command = command_of(arguments)
    _refuse_unknown(arguments, commands)
    chosen = None
    if command is not None and command.takes_backend_options:
        chosen = second_phase(commands[command.name], arguments)
    options, rest = parsing.parse_known_args(arguments)
    assert command is not None
    if command.late:
        words, rest = late_words(rest)
        vars(options)[command.late] += words
    unknown(rest, chosen, commands[command.name])
    options.selection = chosen
    if options.quiet:
        os.environ[QUIET] = "1"
    options.backend_options = getattr(options, "backend_options", [])
    progress.begin()
    code = command.function()(options)
    flush()
    return code


def _refuse_unknown(arguments: Sequence[str], commands: Mapping[str, object]) -> None:
    """DiagnosticError for a first word that is no command."""
    if arguments and not arguments[0].startswith("-") and arguments[0] not in commands:
        text = f"there is no command `{arguments[0]}`"
        raise refusal("unknown-command", "command line", text, name_hint(arguments[0], commands, "there are"))


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether the output is for a program. It then has the diagnostics, too."""
    return "--format=json" in arguments or ("--format", "json") in pairwise(arguments)


def _exit_code(error: DiagnosticError) -> int:
    for module, name, code in _OTHER_CODES:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return code
    return WRONG_INPUT
