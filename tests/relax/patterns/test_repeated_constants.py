"""Matrices that the dimensions before them only repeat."""

import numpy as np
import pytest
from tvm import relax

from target_arch.plan.model import Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.graph import read_graph
from target_arch.relax.patterns.constants import Constant, constant_of

MATRIX = np.arange(6, dtype=np.int8).reshape(2, 3)
REPEATED = np.broadcast_to(MATRIX, (4, 5, 2, 3))


def grid(axis: int | None, extent: int = 1) -> Quantization:
    return Quantization(scale=(0.5,) * extent, zero_point=(0,) * extent, axis=axis)


def test_what_is_only_repeated_is_a_matrix() -> None:
    for given, axis in ((None, None), (grid(None), None), (grid(3, 3), 1), (grid(2, 2), 0)):
        found = Constant(values=REPEATED, quantization=given).matrix()
        assert found is not None
        assert np.array_equal(found.values, MATRIX)
        assert (found.quantization is None) == (given is None)
        assert found.quantization is None or found.quantization.axis == axis


def test_what_is_no_matrix() -> None:
    other = REPEATED.copy()
    other[3, 4, 1, 2] += 1
    assert Constant(values=other).matrix() is None
    assert Constant(values=MATRIX[0]).matrix() is None
    assert Constant(values=REPEATED, quantization=grid(1, 5)).matrix() is None


def repeated(scales: int, axis: int) -> Constant | None:
    """What is found behind a repetition of the matrix, quantized along that axis."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((4, 5, 2, 3), "float32"))
    scale = relax.const(np.arange(1, 1 + scales, dtype=np.float32))
    with builder.function("main", [x]):
        with builder.dataflow():
            stored = relax.const(MATRIX if scales > 1 else MATRIX[:1])
            zeros = relax.const(np.zeros(scales, np.int8))
            real = builder.emit(relax.op.dequantize(stored, scale, zeros, axis=axis))
            whole = builder.emit(relax.op.broadcast_to(real, (4, 5, 2, 3)))
            output = builder.emit_output(relax.op.add(x, whole))
        builder.emit_func_output(output)
    graph = read_graph(builder.get(), Arithmetic.ONNX)
    (constant,) = (var for var in graph.variables if graph.operators[var] == "broadcast_to")
    return constant_of(graph, constant)


@pytest.mark.parametrize(("scales", "axis"), [(2, 0), (3, 1)])
def test_a_grid_of_each_channel_is_repeated_with_the_channels(scales: int, axis: int) -> None:
    found = repeated(scales, axis)
    assert found is not None
    assert found.quantization is not None
    assert found.quantization.axis == axis + 2
    steps = np.arange(1.0, 1 + scales).reshape((-1, 1) if axis == 0 else (1, -1))
    assert np.array_equal(found.real, np.broadcast_to(MATRIX * steps, (4, 5, 2, 3)))


def test_one_grid_is_that_of_all_repetitions() -> None:
    found = repeated(1, 0)
    assert found is not None
    assert found.quantization == Quantization(scale=(1.0,), zero_point=(0,))
