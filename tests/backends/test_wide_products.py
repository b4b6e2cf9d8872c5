"""Sums of products beyond the plain form (`plan.products`): the C of their definition has the bits of the
oracle, and no kernel and no engine is given one that it would compute wrongly.
"""

from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.backend.contract import Backend
from target_arch.backends import conv2d_engine, gemm_npu, gemm_vta
from target_arch.backends.cores.hvx.forms import hvx_form
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.backends.plain_c.regions.convolution import convolution as striped
from target_arch.backends.plain_c.regions.convolution_channels import weighted_block
from target_arch.backends.plain_c.regions.real_convolution import real_convolution
from target_arch.backends.plain_c.regions.units import rowwise
from target_arch.backends.plain_c.regions.windows import across_of, window_of
from target_arch.backends.quantized import refusal as engine_refusal
from target_arch.plan import arithmetic
from target_arch.plan.model import Quantization
from target_arch.plan.products import beyond_plain
from target_arch.plan.regions.cut import Axis
from target_arch.run.exact.oracle import exact
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Compile, compiler, run
from tests.backends.engines import bench
from tests.backends.wide_products import SPECIAL, WHY, frame_of, special

OWN_KERNELS = {"groups": Driver.GROUPED, "groups of one pixel": Driver.GROUPED}
"""Kernels of forms beyond the plain one; stripes and blocks of channels take none of these."""

LINES = (Axis.ROWS, Axis.COLUMNS)


@pytest.fixture
def build(tmp_path: Path, needs_tool: Callable[[str], str]) -> Compile:
    return compiler(tmp_path, needs_tool("gcc"), needs_tool("clang"))


@pytest.mark.parametrize("form", SPECIAL)
def test_the_definition_has_the_bits_of_the_oracle(form: str, build: Compile) -> None:
    for rule in ("tflite", "onnx") if "int16" not in form else ("tflite",):
        model = special(form, rule)
        frame = frame_of(model)
        expected = exact(model.operators[0], model, {"x": frame})
        assert expected is not None
        assert len(np.unique(expected)) > 3
        np.testing.assert_array_equal(run(model, build, frame), expected)


@pytest.mark.parametrize("form", SPECIAL)
def test_a_grid_that_no_sum_reaches_leaves_zero_points(form: str, build: Compile) -> None:
    """As behind a ReLU that lets nothing through: every factor is 0, and TVM leaves the sums out."""
    model = special(form)
    far = Quantization(scale=(1e12,), zero_point=(0,))
    y = evolve(model.tensors["y"], quantization=far)
    far_away = evolve(model, tensors={**model.tensors, y.name: y})
    assert set(arithmetic.any_requantization(far_away.operators[0], far_away).multipliers) == {0}
    result = run(far_away, build, frame_of(far_away))
    np.testing.assert_array_equal(result, np.zeros_like(result))


@pytest.mark.parametrize("scale", [1e-9, 3e-14])
@pytest.mark.parametrize("form", SPECIAL)
def test_a_grid_that_every_sum_exceeds_saturates(form: str, scale: float, build: Compile) -> None:
    """As of a tensor that was 0 in every calibrated frame: factors of 2^15 and more."""
    model = special(form)
    near = Quantization(scale=(scale,), zero_point=model.tensors["y"].quantization.zero_point)
    tensors = {**model.tensors, "y": evolve(model.tensors["y"], quantization=near)}
    # Without biases some sums are 0.
    bias = model.tensors["b"]
    tensors["b"] = evolve(bias, data=bytes(bias.bytes))
    closer = evolve(model, tensors=tensors)
    frame = frame_of(closer)
    frame[..., : frame.shape[-1] // 2] = 0
    expected = exact(closer.operators[0], closer, {"x": frame})
    assert expected is not None
    assert {*np.unique(expected)} >= {np.iinfo(expected.dtype).min, np.iinfo(expected.dtype).max}
    np.testing.assert_array_equal(run(closer, build, frame), expected)


@pytest.mark.parametrize("form", SPECIAL)
def test_kernels_and_engines_refuse_it(form: str) -> None:
    model = special(form)
    (operator,) = model.operators
    assert beyond_plain(operator, model) == WHY[form]
    with pytest.raises(ValueError, match=r"^`op`: "):
        arithmetic.requantization(operator, model)
    assert engine_refusal(operator, model) is not None
    assert hvx_form(operator, model) is None
    for isa in InstructionSet:
        assert pick(operator, None, model, isa).kernel == OWN_KERNELS.get(form)
        assert all(striped(operator, None, model, axis, isa) is None for axis in LINES)
        assert weighted_block(operator, model, isa) is None


@pytest.mark.parametrize("form", SPECIAL)
@pytest.mark.parametrize("backend", [conv2d_engine.backend, gemm_npu.backend, gemm_vta.backend])
def test_engines_refuse_it(backend: Backend, form: str) -> None:
    model = special(form)
    on = bench("conv2d_engine", {"bram": 65536})
    assert backend.supports(on.question(model.operators[0], model)) is not None


@pytest.mark.parametrize("form", ["int8", "depthwise", "dense"])
def test_what_needs_a_whole_image_is_not_taken_apart(form: str) -> None:
    """Floats times int8 weights: their grid is that of the extremes of all values."""
    model = special(form)
    reals = {
        name: tensor if name == "w" else evolve(tensor, dtype="float32", quantization=None)
        for name, tensor in model.tensors.items()
    }
    mixed = evolve(model, tensors=reals, operators=(evolve(model.operators[0], arithmetic="float"),))
    (operator,) = mixed.operators
    assert beyond_plain(operator, mixed) == "floats times int8 weights"
    assert all(window_of(operator, mixed, axis) is None for axis in LINES)
    assert across_of(operator, mixed) is None
    for isa in InstructionSet:
        assert pick(operator, None, mixed, isa).kernel in (None, Driver.HYBRID)
        assert all(rowwise(operator, None, mixed, axis, isa) is None for axis in LINES)


@pytest.mark.parametrize("form", ["groups", "groups of one pixel"])
def test_stripes_of_floats_refuse_groups(form: str) -> None:
    model = special(form)
    reals = {
        name: evolve(
            tensor, dtype="float32", quantization=None, data=tensor.data and bytes(4 * prod(tensor.shape))
        )
        for name, tensor in model.tensors.items()
    }
    real = evolve(model, tensors=reals, operators=(evolve(model.operators[0], arithmetic="float"),))
    for isa in InstructionSet:
        assert pick(real.operators[0], None, real, isa).kernel in (None, Driver.REAL_GROUPED)
        assert real_convolution(real.operators[0], None, real, Axis.ROWS, isa) is None
