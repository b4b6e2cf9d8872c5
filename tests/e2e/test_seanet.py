"""Models with int16 activations of TFLite Micro's suite: the outputs are the suite's own, bit for bit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from target_arch.plan.model import Model, Tensor
from target_arch.relax.importer import import_model
from tests.backends.c.one import Array, Chain, compiler

SAMPLE = ("add/add0", "conv/conv0", "leaky_relu/leaky_relu0", "sub/sub0", "transpose_conv/transpose_conv0")


def values(path: Path) -> Array:
    return np.array(path.read_text().replace(",", " ").split(), np.int64)


def input_of(tensor: Tensor, files: list[Path]) -> Array:
    """The suite's values of an input: the first file of its type and size."""
    for path in files:
        found = values(path)
        if path.stem.endswith(tensor.dtype) and found.size == np.prod(tensor.shape):
            files.remove(path)
            return found.astype(tensor.dtype).reshape(tensor.shape)
    raise AssertionError(f"no values for {tensor}")


@pytest.mark.parametrize("name", SAMPLE)
def test_the_golden_output(name: str, shared: Path, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    folder = shared / "real_models" / "seanet"
    model: Model = import_model(folder / f"{name}.tflite")[0]
    files = sorted(folder.glob(f"{name}_input*.csv"))
    given = [input_of(model.tensors[each], files) for each in model.inputs]
    (golden,) = folder.glob(f"{name}_golden*.csv")
    build = compiler(tmp_path, needs_tool("gcc"), needs_tool("clang"))
    np.testing.assert_array_equal(Chain(model, build)(*given).ravel(), values(golden))
