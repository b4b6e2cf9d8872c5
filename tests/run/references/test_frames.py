"""Random inputs of a reference."""

import numpy as np
import pytest

from target_arch.run.references.reference import Input, Reference


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32"])
def test_inputs_without_dimensions_are_arrays(dtype: str) -> None:
    """PyTorch takes no numbers of NumPy."""
    scalar = Input(name="x", shape=(), dtype=np.dtype(dtype), low=0.0, high=1.0)
    reference = Reference(name="", rule="", inputs=(scalar,), units=(), allowed=0.0, answer=lambda frame: ())
    ((value,),) = reference.frames(1, seed=0)
    assert isinstance(value, np.ndarray)
    assert (value.shape, value.dtype) == ((), np.dtype(dtype))
