"""`python -m target_arch` is `target-arch`."""

import sys

from target_arch.cli import main

sys.exit(main())
