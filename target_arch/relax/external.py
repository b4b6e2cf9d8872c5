"""Functions outside of a Relax module: TVM's builds hand partitions to a code generator of ours.

`relax.transform.RunCodegen` calls `relax.ext.<name>` with the functions whose attribute `Codegen` is that
name. They become functions of Python, registered under their names: so TVM's virtual machine finds them.
Tests: `tests/docs/test_with_tvm.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
import tvm_ffi

Run = Callable[[list[Any]], Sequence[Any]]
"""The outputs of a function as arrays, in order, for its inputs in order."""


def register_codegen(name: str, prepared: Callable[[str, Any], Run]) -> None:
    """Register the code generator `relax.ext.<name>`, in place of one of that name. `prepared` is called with
    the name of each function, and a module whose `main` it is.
    """

    def codegen(functions: Sequence[Any], options: object, names: object) -> list[Any]:
        for function in functions:
            symbol = str(function.attrs["global_symbol"])
            main = function.without_attr("Codegen").with_attr("global_symbol", "main")
            run = prepared(symbol, tvm.IRModule({"main": main}))
            _register_call(symbol, len(function.params), run)
        return []

    tvm_ffi.register_global_func(f"relax.ext.{name}", codegen, override=True)


def _register_call(symbol: str, inputs: int, run: Run) -> None:
    """Make `run` the function of that name: of so many inputs, then the tensors that its outputs go to."""

    def call(*tensors: Any) -> None:
        results = run([np.array(tensor.numpy()) for tensor in tensors[:inputs]])
        for tensor, result in zip(tensors[inputs:], results, strict=True):
            tensor.copyfrom(np.ascontiguousarray(result))

    tvm_ffi.register_global_func(symbol, call, override=True)
