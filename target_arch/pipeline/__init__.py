"""The way of models through the program: from a request to a bundle.

`compile.py` is the table of contents: each of its lines is a stage. A request (`request.py`) is resolved
against its SoC (`resolve.py`), backends lower partitions (`lowerer.py`), every value on the way is kept
(`compilation.py`).
"""

from target_arch.pipeline.compilation import CompiledModel, ModelsCompilation
from target_arch.pipeline.compile import compile_model, compile_models
from target_arch.pipeline.explanation import explain_model, explain_shares, explain_turns, partition_model
from target_arch.pipeline.request import CompileRequest, ModelsRequest

__all__ = [
    "CompileRequest",
    "CompiledModel",
    "ModelsCompilation",
    "ModelsRequest",
    "compile_model",
    "compile_models",
    "explain_model",
    "explain_shares",
    "explain_turns",
    "partition_model",
]
