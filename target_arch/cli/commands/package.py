"""`package`: a bundle in the layout of another tool."""

import argparse
from pathlib import Path

from target_arch.cli.text.output import data, write_file


def package(options: argparse.Namespace) -> int:
    """Write the archive."""
    from target_arch.api.bundle import Bundle

    made = Bundle(directory=options.bundle).packaged(options.layout)
    path: Path = options.output or Path(made.name)
    write_file(path, made.content)
    data(str(path))
    return 0
