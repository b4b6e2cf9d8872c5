"""The command `calibrate`."""

import argparse

from target_arch.cli.arguments.options import compile_options
from target_arch.cli.arguments.targets import configured
from target_arch.cli.text.output import data, json_data, progress, write_text


def calibrate(options: argparse.Namespace) -> int:
    """Measure models, write the cost file, and print how far its fit is off."""
    from target_arch.api.calibration import calibrate_costs

    chosen = configured(options)
    wanted = compile_options(options, chosen)
    wanted["port"] = options.port
    report = calibrate_costs(
        options.models,
        chosen.soc,
        probes=options.probes,
        update=options.update,
        said=progress,
        **wanted,
    )
    if options.output is not None:
        write_text(options.output, report.cost_file)
    if options.format == "json":
        json_data(report.to_json())
    else:
        data(str(report))
    return 0
