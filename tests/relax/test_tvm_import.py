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


ROOMS = """
import sys
import target_arch.run, target_arch.stages, target_arch.emit
print("tvm" in sys.modules, "torch" in sys.modules)
"""


def printed(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout


def test_tvm_comes_without_torch() -> None:
    assert printed(SCRIPT) == "True False\n"


def test_rooms_beside_relax_come_without_both() -> None:
    """A command imports some of them before it imports TVM, which would bring PyTorch along."""
    assert printed(ROOMS) == "False False\n"
