"""The command that makes a bundle, of one model or of several."""

import argparse

from target_arch.cli.commands.models import dump, only_model, planned, summary
from target_arch.cli.commands.several import compile_several
from target_arch.cli.text.output import data, failure


def compile(options: argparse.Namespace) -> int:
    """Write a bundle and say what it is."""
    from target_arch.emit import MANIFEST
    from target_arch.run import write_bundle

    if options.dump and options.format == "json":
        said = "`--dump` prints text, `--format=json` is for programs"
        raise failure("bad-format", "command line", said, "the manifest has all of it; leave one of them out")
    if len(options.models) > 1:
        return compile_several(options)
    made = planned(only_model(options))
    write_bundle(made.bundle, options.output)
    if options.format == "json":
        data(made.bundle.files[MANIFEST].decode())
        return 0
    dump(made, options.dump)
    data(summary(made) + f"bundle in {options.output}: {len(made.bundle.files)} files\n")
    return 0
