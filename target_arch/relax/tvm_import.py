"""TVM, imported without its parts that are not needed here.

Tests: `tests/relax/test_tvm_import.py`.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Any

_UNNEEDED = ("torch", "tvm.runtime.disco")
"""PyTorch takes three times as long as TVM; only the reader of `.pt2` files needs it, and imports it itself.
TVM's distributed runtime is not part of the wheel: TVM finds out by an exception of native code, whose trace
through all symbols takes a fifth of the import."""
_LATE = ("tvm.s_tir.dlight", "tvm.s_tir.meta_schedule")
"""Schedules for GPUs, and the search for schedules: a fifth of the import. They are loaded where somebody
asks them for something."""
_AUTOLOAD = "TVM_DEVICE_BACKEND_AUTOLOAD"
"""The variable by which TVM leaves out what it has in Python for devices, a third of the import;
`relax/c/cuda.py` loads its part."""


def import_tvm() -> None:
    """Import TVM, but not the modules it can do without; one that is imported already stays as it is."""
    if "tvm" in sys.modules:
        return
    with _hidden(), _late(), _without_devices(), _functions_listed_once():
        import_module("tvm")


@contextmanager
def _hidden() -> Iterator[None]:
    """An import of an unneeded module fails as if it were not installed."""
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    hidden = [name for name in _UNNEEDED if name not in modules]
    modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del modules[name]


class _LateFinder(MetaPathFinder):
    """Finds modules that are loaded at the first look at what is in them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in _LATE else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def _late() -> Iterator[None]:
    """An import of a late module does not load it yet."""
    finder = _LateFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@contextmanager
def _without_devices() -> Iterator[None]:
    """A value that the user has set stays."""
    if _AUTOLOAD in os.environ:
        yield
        return
    os.environ[_AUTOLOAD] = "0"
    try:
        yield
    finally:
        del os.environ[_AUTOLOAD]


@contextmanager
def _functions_listed_once() -> Iterator[None]:
    """Each of TVM's modules lists all native functions, one by one: again only where there are more."""
    registry: Any = import_module("tvm_ffi.registry")
    listing = registry.list_global_func_names
    known: list[str] = []

    def listed() -> list[str]:
        count = registry.get_global_func("ffi.FunctionListGlobalNamesFunctor")()(-1)
        if count != len(known):
            known[:] = listing()
        return known

    registry.list_global_func_names = listed
    try:
        yield
    finally:
        registry.list_global_func_names = listing
