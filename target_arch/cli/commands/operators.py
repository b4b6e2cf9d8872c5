"""The command that lists a model's operators."""

import argparse

from attrs import asdict

from target_arch.cli.arguments.options import model_options
from target_arch.cli.text.output import data, json_data, message, progress, rendered


def operators(options: argparse.Namespace) -> int:
    """Print every operator of a model with its count, first place, and why it has no form, and how much of
    the model is opaque; 1 if the model cannot be imported.
    """
    progress(f"reading {options.model}")
    from target_arch.api.inventory import operators as listed

    found = listed(options.model, backend_dirs=options.backend_dir, **model_options(options))
    if options.format == "json":
        json_data([asdict(use) for use in found.uses])
    else:
        wide = max((len(use.name) for use in found.uses), default=0)
        long = max((len(use.first) for use in found.uses), default=0)
        for use in found.uses:
            form = "" if use.reason is None else f"no form: {use.reason}"
            data(f"{use.count:6}  {use.name:<{wide}}  {use.first:<{long}}  {form}".rstrip() + "\n")
        if found.opaque is not None:
            data(f"{found.opaque}\n")
    if found.refusal is not None:
        message(rendered(found.refusal))
    return 0 if found.refusal is None else 1
