"""TVM, imported without what it does not need here.

Tests: `tests/relax/test_tvm_import.py`.
"""

import sys
from importlib import import_module
from typing import Any


def import_tvm() -> None:
    """Import TVM, but not PyTorch with it.

    TVM imports PyTorch wherever it is installed, which takes three times as long as TVM itself. Only the
    reader of `.pt2` files needs it, and imports it then. A PyTorch that is imported already stays as it is.
    """
    modules: dict[str, Any] = sys.modules
    if "torch" in modules:
        return
    modules["torch"] = None  # an import of it fails as if it were not installed
    try:
        import_module("tvm")
    finally:
        del modules["torch"]
