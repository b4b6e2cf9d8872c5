"""The command `tune`."""

import argparse
import shlex

from target_arch.cli.arguments.options import compile_options
from target_arch.cli.arguments.targets import configured
from target_arch.cli.text.output import data, json_data, progress, write_text
from target_arch.diagnostics import refusal
from target_arch.plan.tuning import tuning_text

_LOOPBACK = "127.0.0.1"


def tune(options: argparse.Namespace) -> int:
    """Tune the C kernels of a compilation, write the records, and print the gains."""
    from target_arch.api.tuning import tune_kernels

    chosen = configured(options)
    report = tune_kernels(
        options.model,
        chosen.soc,
        target_arch=options.target_arch,
        trials=options.trials,
        seed=options.seed,
        compiler=options.cc,
        flags=tuple(shlex.split(options.cflags)),
        scratch=options.scratch,
        tracker=_tracker(options.tracker),
        key=options.key,
        said=progress,
        **compile_options(options, chosen),
    )
    if options.output is not None:
        write_text(options.output, tuning_text(report.tuning))
    if options.format == "json":
        json_data(report.to_json())
    else:
        data(str(report))
    return 0


def _tracker(given: str | None) -> tuple[str, int] | None:
    """HOST:PORT, or the PORT of a tracker on this computer."""
    if given is None:
        return None
    host, _, port = given.rpartition(":")
    if not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536):
        raise refusal("bad-tracker", "command line", f"`--tracker {given}` is not HOST:PORT or PORT")
    return host or _LOOPBACK, int(port)
