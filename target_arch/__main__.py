"""`python -m target_arch` is `target-arch`."""

import sys


def start() -> int:
    """Run the command that the arguments of this process name, and return its exit code."""
    try:
        from target_arch.cli.process import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(start())
