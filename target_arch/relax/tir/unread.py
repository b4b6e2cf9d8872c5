"""Removes stores to a kernel's own buffers that are never read.

Constants that a kernel clamps to can make a stage superfluous: a rectifier whose zero point is the highest
value gives that value whatever comes in, and the product that it would scale is left over. C compilers
refuse variables that nothing reads.

Tests: `tests/relax/lower/test_unread.py`.
"""

from typing import Any

import tvm_ffi
from tvm import ir, tirx


def without_unread(function: Any) -> Any:
    """The function without its own buffers that are only written, and without the stores to them."""
    while unread := _own(function) - _read(function):
        function = function.with_body(_without(function.body, unread))
    return function


def _without(body: Any, buffers: set[Any]) -> Any:
    def kept(statement: Any) -> Any:
        return tirx.Evaluate(0) if statement.buffer in buffers else statement

    return tvm_ffi.structural_map(body, ((tirx.BufferStore, tirx.AllocBuffer), kept))


def _own(function: Any) -> set[Any]:
    found: set[Any] = set()
    tvm_ffi.structural_walk(function.body, (tirx.AllocBuffer, lambda node: found.add(node.buffer)))
    return found


def _read(function: Any) -> set[Any]:
    """Buffers whose elements are loaded, or whose address is taken."""
    found: set[Any] = set()
    loads = (ir.TensorLoad, lambda node: found.add(node.source))
    addresses = (ir.Call, lambda node: found.update(each for each in node.args if isinstance(each, ir.Var)))
    tvm_ffi.structural_walk(function.body, (loads, addresses))
    return found
