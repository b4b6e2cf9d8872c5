"""The command that shows the weights files of a bundle, and replaces them."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.cli.commands.bundles import compiled_again
from target_arch.cli.text.output import data, progress, shown

if TYPE_CHECKING:
    from target_arch.api.bundle import Bundle
    from target_arch.api.compilation import Compilation


def weights(options: argparse.Namespace) -> int:
    """Print the table of weights, or put those of another model or bundle in their place."""
    from target_arch.api.bundle import Bundle

    bundle = Bundle(directory=options.bundle)
    if options.new is not None:
        bundle.replace_weights(_new(bundle, options).files)
    shown(bundle.weights, options.format)
    if options.new is not None and options.format != "json":
        data(f"weights in {options.bundle} are those of {options.new}")
    return 0


def _new(bundle: "Bundle", options: argparse.Namespace) -> "Bundle | Compilation":
    """The bundle in a folder, or the compilation of a model as the old one was compiled."""
    from target_arch.api.bundle import Bundle

    if Path(options.new).is_dir():
        return Bundle(directory=options.new)
    progress(f"planning {options.new}")
    return compiled_again(bundle, argparse.Namespace(**vars(options), models=[options.new]))
