"""A function has as many operands as the runtime passes on."""

import re
from pathlib import Path

from target_arch.plan.kernels import MOST_OPERANDS

RUNTIME = Path(__file__).parents[3] / "runtime_c" / "include" / "target_arch" / "runtime.h"


def test_the_limit_is_the_runtimes() -> None:
    assert re.search(rf"define TA_MAX_OPERANDS {MOST_OPERANDS}u\b", RUNTIME.read_text())
