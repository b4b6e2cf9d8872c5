"""The oracle of a softmax, and the table that kernels read, beside LiteRT's reference kernel."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.tflite_files import TfliteFile
from conformance.tflite_operators import reference
from target_arch.plan.softmax import exponentials_in_fixed_point
from target_arch.relax.importer import import_model
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.run.exact.oracle import exact, exact_outputs
from tests.backends.c.one import one_operator, quantized

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

GRIDS = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 65536, -32768)}
KWS = 0.14469251036643982
"""A scale at which LiteRT's two kernels differ in some values."""


def softmax(x: str, out: str, shape: tuple[int, ...], scale: float, beta: float = 1.0) -> Any:
    """An operator on its own."""
    source = quantized("x", shape, scale, 3, dtype=x)
    return one_operator(
        "softmax", "tflite", [source], quantized("out", shape, *GRIDS[out], dtype=out), beta=beta
    )


def litert(values: Any, out: str, scale: float, beta: float) -> Any:
    """LiteRT's reference kernel."""
    file = TfliteFile()
    x = file.input(values.shape, values.dtype.name, scale, 3)
    y = file.output(values.shape, out, *GRIDS[out])
    file.operator("SOFTMAX", [x], [y], ("SoftmaxOptions", {"beta": beta}), 2)
    kernel = reference(file.content())
    assert kernel is not None
    kernel.set_tensor(kernel.get_input_details()[0]["index"], values)
    kernel.invoke()
    return kernel.get_tensor(kernel.get_output_details()[0]["index"])


@pytest.mark.parametrize(
    ("x", "out", "scale", "beta"),
    [
        ("int8", "int8", KWS, 1.0),
        ("uint8", "uint8", 0.02, 3.7),
        ("int8", "int16", 0.3, 1.0),
        ("uint8", "int16", 1e-5, 0.5),
        ("int8", "int8", 60.0, 2.0),
    ],
)
def test_the_oracle_is_litert(x: str, out: str, scale: float, beta: float) -> None:
    limits, rng = np.iinfo(x), np.random.default_rng(7)
    drawn = rng.normal(limits.min + 128, 40, (300, 12))
    values = np.clip(drawn, limits.min, limits.max).astype(x)
    model = softmax(x, out, values.shape, scale, beta)
    found = exact(model.operators[0], model, {"x": values})
    np.testing.assert_array_equal(found, litert(values, out, scale, beta))


@pytest.mark.parametrize(
    ("scale", "beta", "spread"), [(1e-4, 1.0, 20000), (2e-3, 0.7, 3000), (1e-6, 1.0, 9000)]
)
def test_the_oracle_of_int16_is_litert(tmp_path: Path, scale: float, beta: float, spread: float) -> None:
    shape = (40, 30)
    values = np.clip(np.random.default_rng(3).normal(0, spread, shape), -32768, 32767).astype(np.int16)
    file = TfliteFile()
    x, y = file.input(shape, "int16", scale), file.output(shape, "int16", 2.0**-15)
    file.operator("SOFTMAX", [x], [y], ("SoftmaxOptions", {"beta": beta}), 2)
    path = tmp_path / "softmax.tflite"
    path.write_bytes(file.content())
    model, _ = import_model(path, None, standard_patterns())
    assert [each.kind for each in model.operators] == ["softmax"]
    outputs = exact_outputs(model, [values])
    kernel = reference(file.content())
    assert kernel is not None
    kernel.set_tensor(kernel.get_input_details()[0]["index"], values)
    kernel.invoke()
    assert outputs is not None
    np.testing.assert_array_equal(outputs[0], kernel.get_tensor(kernel.get_output_details()[0]["index"]))


def test_no_value_for_a_row_in_which_litert_stops() -> None:
    model = softmax("int8", "int8", (1, 600), 0.1)
    operator = model.operators[0]
    equal = np.zeros((1, 600), np.int8)
    assert exact(operator, model, {"x": equal}) is None
    equal[0, 511:] = -128
    assert exact(operator, model, {"x": equal}) is not None


def test_exponentials_end_where_five_bits_of_the_exponent_do() -> None:
    """A distance of 1 is a half shifted by 27: 15 of them are sure to fit 31 bits."""
    model = softmax("int8", "int8", (1, 2), 1.0)
    table = exponentials_in_fixed_point(model.operators[0], model)
    assert table[0] == 2**31 - 1
    assert table[1] / 2**31 == pytest.approx(math.exp(-1), abs=1e-6)
    assert table[15] > 0 == table[16]
    wide = softmax("int8", "int8", (1, 2), 1e9)
    assert exponentials_in_fixed_point(wide.operators[0], wide)[:2] == (2**31 - 1, 0)
