"""Functions of int16 values: the oracle has LiteRT's result for every value."""

from pathlib import Path

import numpy as np
import pytest

from conformance.tflite_files import TfliteFile
from target_arch.relax.importer import import_model
from target_arch.run.exact.oracle import exact_outputs
from target_arch.run.references.find import reference_for


@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 2.0**-15, 0.00031, 0.0013])
@pytest.mark.parametrize("code", ["LOGISTIC", "TANH", "EXP"])
def test_every_value(code: str, scale: float, tmp_path: Path) -> None:
    file = TfliteFile()
    shape = (1, 2**16)
    x, y = file.input(shape, "int16", scale), file.output(shape, "int16", 2.0**-15)
    file.operator(code, [x], [y], version=3 if code != "EXP" else 2)
    path = tmp_path / "function.tflite"
    path.write_bytes(file.content())
    model, _ = import_model(path)
    frame = np.arange(-(2**15), 2**15).astype(np.int16).reshape(shape)
    found = exact_outputs(model, (frame,))
    assert found is not None
    np.testing.assert_array_equal(found[0].ravel(), reference_for(path).answer((frame,))[0][0].ravel())
