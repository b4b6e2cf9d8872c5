"""The input of a bundle's self-test, read from its C.

Tests: `tests/run/execute/test_own_vector.py`.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_arch.diagnostics import refusal
from target_arch.emit.programs.test_vectors import VECTORS
from target_arch.emit.text.names import header_stem
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import TensorEntry

_ARRAY = re.compile(r"^static const \w+ (\w*input_\d+)\[\] = \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]+(?:\.[0-9a-f]+)?(?:p[+-]\d+)?|\d+)")


def own_vector(directory: Path, manifest: Manifest) -> list[NDArray[Any]]:
    """The inputs of all models, in their order. DiagnosticError where a model has no vector."""
    missing = [model.self_test.missing for model in manifest.models if model.self_test.reference is None]
    if missing:
        text = f"the bundle has no test vector of its own: {'; '.join(map(str, missing))}"
        raise refusal("no-input", directory, text, "give a file for each model input")
    arrays = dict(_ARRAY.findall((directory / VECTORS).read_text(encoding="utf-8")))
    several = len(manifest.models) > 1
    return [
        _tensor(tensor, arrays[f"{header_stem(model.name)}_input_{number}" if several else f"input_{number}"])
        for model in manifest.models
        for number, tensor in enumerate(model.inputs)
    ]


def _tensor(tensor: TensorEntry, text: str) -> NDArray[Any]:
    """The tensor of these literals of C; floats without an exponent are their bits."""
    words = [word for word in text.replace("\n", " ").split(",") if word.strip()]
    dtype = np.dtype(tensor.dtype)
    if dtype.kind != "f":
        return np.array([_whole(word) for word in words]).astype(dtype).reshape(tensor.shape)
    if any("p" in word for word in words):
        numbers = (_NUMBER.findall(word)[0] for word in words)
        return np.array([float.fromhex(number) for number in numbers], dtype=dtype).reshape(tensor.shape)
    bits = [int(_NUMBER.findall(word)[0], 16) for word in words]
    return np.array(bits, dtype=f"u{dtype.itemsize}").view(dtype).reshape(tensor.shape)


def _whole(word: str) -> int:
    """A whole number; the least one of a type is written as a difference."""
    return sum(map(int, _NUMBER.findall(word)))
