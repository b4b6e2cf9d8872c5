"""PyTorch: the reference of exported programs."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_RULE,
    FLOAT_TOLERANCE,
    Frame,
    Input,
    Reference,
    limits,
    package_missing,
    unreadable,
)


def pytorch(model: Path) -> Reference:
    """The exported program, run eagerly.

    ToolMissing without `torch`, DiagnosticError for a file it cannot read.
    """
    try:
        import torch
    except ImportError as error:
        raise package_missing("torch", "torch") from error
    try:
        # Asked first: torch logs a traceback of its own for what is no archive.
        with zipfile.ZipFile(model):
            program = torch.export.load(str(model))
    except (zipfile.BadZipFile, RuntimeError, ValueError, OSError, KeyError) as error:
        raise unreadable(model, "PyTorch", error) from error
    module = program.module()
    names = set(program.graph_signature.user_inputs)
    values = [
        node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in names
    ]

    def answer(frame: Frame) -> tuple[Frame, ...]:
        with torch.no_grad():
            result = module(*(torch.from_numpy(value) for value in frame))
        results = result if isinstance(result, (tuple, list)) else (result,)
        return (tuple(value.numpy() for value in results),)

    inputs = tuple(
        _input(name, value) for name, value in zip(program.graph_signature.user_inputs, values, strict=True)
    )
    return Reference(
        name=f"PyTorch {torch.__version__}",
        rule=FLOAT_RULE,
        inputs=inputs,
        units=tuple(1.0 for _ in program.graph_signature.user_outputs),
        allowed=FLOAT_TOLERANCE,
        relative=FLOAT_RELATIVE,
        answer=answer,
    )


def _input(name: str, value: Any) -> Input:
    dtype = np.dtype(str(value.dtype).removeprefix("torch."))
    low, high = limits(dtype)
    return Input(
        name=name, shape=tuple(int(extent) for extent in value.shape), dtype=dtype, low=low, high=high
    )
