"""The command line: `target-arch check x.toml` and its sisters.

Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 the result is not right, 2 the input is wrong,
3 a needed tool is missing, 4 a defect or the system ended the process, 130 interrupted. A command imports
its imports when it runs, so that `check` starts fast.
Tests: `tests/cli`.
"""

from target_arch.cli.main import main

__all__ = ["main"]
