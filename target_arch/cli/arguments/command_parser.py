"""A parser that refuses as commands do: one line says what is wrong, and one has a hint. Argparse would print
all of the usage before.
"""

import argparse
from typing import NoReturn

from target_arch.diagnostics import nearest, refusal


class CommandParser(argparse.ArgumentParser):
    """The parser of the command line, or of one command."""

    def error(self, message: str) -> NoReturn:
        """Raises DiagnosticError."""
        raise refusal("bad-argument", "command line", message, self.help_hint())

    def help_hint(self) -> str:
        """Where the arguments are listed."""
        return f"`{self.prog} --help` lists the arguments"

    def flag_hint(self, flag: str) -> str | None:
        """The place of a flag that stands before the command, else the known one that is most like it."""
        flags = [each for action in self._actions for each in action.option_strings]
        if flag in flags:
            return f"write it behind `{self.prog}`"
        by_word = {each.lstrip("-"): each for each in flags}
        near = nearest(flag.lstrip("-"), by_word)
        return None if near is None else f"did you mean `{by_word[near]}`?"
