"""`python -m target_arch` is `target-arch`."""

import gc
import sys

_OBJECTS = 50_000
"""New objects after which Python looks for reference cycles. Most of what a command makes lives until it
ends: after every 700, Python's own number, the search takes a tenth of a compilation and finds nothing."""


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
