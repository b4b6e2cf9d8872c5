"""`completion`: a script with which a shell completes the arguments of `target-arch`."""

import argparse
from pathlib import Path

from target_arch.cli.arguments.parser import parser
from target_arch.cli.text.output import data

_FILES = ("soc", "models", "output")
"""Arguments that take a file beside a name."""


def completion(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    from shtab import FILE, complete

    whole, commands = parser()
    for action in (action for command in commands.values() for action in command._actions):
        if action.type is Path or action.dest in _FILES:
            vars(action)["complete"] = FILE
    data(complete(whole, shell=options.shell))
    return 0
