"""TVM is imported without PyTorch, which the reader of `.pt2` files imports by itself."""

import subprocess
import sys

SCRIPT = """
import sys
from target_arch.relax.tvm_import import import_tvm
import_tvm()
import_tvm()
print("tvm" in sys.modules, "torch" in sys.modules)
"""


def test_tvm_comes_without_torch() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True)
    assert done.stdout == "True False\n"
