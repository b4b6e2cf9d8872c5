"""`python -m target_arch` is `target-arch`."""

import gc
import sys

_OBJECTS = 400_000
"""New objects after which Python looks for reference cycles. Most of what a command makes lives until it
ends: after every 700, Python's own number, the search takes a tenth of a compilation and finds nothing, after
every 50,000 one of 20 parts of it, and after so many half of that, with 20 MiB more."""


def start() -> int:
    """Run the command that the arguments of this process name, and return its exit code."""
    gc.set_threshold(_OBJECTS)
    try:
        from target_arch.cli.process import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(start())
