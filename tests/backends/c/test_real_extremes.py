"""The least and the greatest of all values in every form that runs here: every bit of their definition."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.plain_c.kernels import conversions, real_extremes
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator
from target_arch.relax.importer import import_model
from target_arch.resources import runtime_c
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Array
from tests.relax.models import TensorProto, helper, onnx_model, save

FORMS = {"portable": "-DTA_KERNELS_PORTABLE", "avx2 where the processor has it": "-DTA_KERNELS_AVX2"}
SHAPE = (5, 15)
"""75 values: two times 32, and others behind them."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """DynamicQuantizeLinear: the least and the greatest value, and the grid of these of all."""
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    given = onnx_model([node], {"x": SHAPE}, {"y": SHAPE})
    given.graph.output[0].type.tensor_type.elem_type = TensorProto.UINT8
    return import_model(save(given, tmp_path_factory.mktemp("dynamic") / "m.onnx"))[0]


def operator_of(model: Model, named: str) -> Operator:
    (found,) = (each for each in model.operators if each.attributes.get("relax_op") == named)
    return found


def built(function: CFunction, folder: Path, gcc: str, flag: str) -> Any:
    includes = "".join(
        f"#include {each}\n" for each in ("<math.h>", "<stdint.h>", *(f'"{h}"' for h in function.headers))
    )
    source = folder / f"{function.name}{flag}.c"
    source.write_text(includes + function.text.replace("static void", "void", 1))
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", flag, f"-I{runtime_c()}")
    subprocess.run((gcc, *flags, str(source), "-o", f"{source}.so", "-lm"), check=True)
    return getattr(ctypes.CDLL(f"{source}.so"), function.name)


def frames() -> dict[str, Array]:
    """Values of either sign, with one, zeros of either sign as extremes, and what is no number."""
    rng = np.random.default_rng(4)
    drawn = rng.normal(0, 3, SHAPE).astype(np.float32)
    zeros = np.where(rng.random(SHAPE) < 0.5, np.float32(-0.0), np.float32(0.0))
    unknown, infinite = drawn.copy(), drawn.copy()
    unknown.flat[[3, 40]] = np.nan
    infinite.flat[[1, 70]] = np.inf, -np.inf
    last = np.full(SHAPE, np.nan, np.float32)
    return {
        **{"both signs": drawn, "above": np.abs(drawn), "below": -np.abs(drawn)},
        **{
            "zeros": zeros,
            "zeros and more": np.maximum(drawn, zeros),
            "zeros and less": np.minimum(drawn, zeros),
        },
        **{"not a number": unknown, "no number": last, "infinite": infinite},
    }


def called(function: Any, out: Array, *given: Array) -> Array:
    function(*(ctypes.c_void_p(each.ctypes.data) for each in (*given, out)))
    return out


def defined(named: str, x: Array) -> Array:
    """What the loop of the definition comes to: a value follows unless the extreme before is beyond it."""
    ends = np.finfo(np.float32)
    extreme = ends.max if named == "min" else ends.min
    for value in x.ravel():
        kept = extreme < value if named == "min" else extreme > value
        extreme = extreme if kept else value
    return np.array([extreme], np.float32)


@pytest.mark.parametrize("named", ["min", "max"])
@pytest.mark.parametrize("form", FORMS)
def test_it_is_that_of_the_definition(
    form: str, named: str, model: Model, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    gcc, operator = needs_tool("gcc"), operator_of(model, named)
    kernel = built(real_extremes.made(operator, model).function, tmp_path, gcc, FORMS[form])
    for said, x in frames().items():
        found, wanted = called(kernel, np.zeros(1, np.float32), x), defined(named, x)
        assert np.isnan(wanted) == np.isnan(found), said
        assert np.isnan(wanted) or found.tobytes() == wanted.tobytes(), said


@pytest.mark.parametrize("form", FORMS)
def test_values_on_a_computed_grid_are_those_of_the_definition(
    form: str, model: Model, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    gcc, operator = needs_tool("gcc"), operator_of(model, "quantize")
    assert pick(operator, None, model, InstructionSet.X86_64).kernel is Driver.CONVERSION
    kernel = built(conversions.made(operator, model).function, tmp_path, gcc, FORMS[form])
    scale, zero = np.array([0.0337], np.float32), np.array([131], np.uint8)
    for said, x in frames().items():
        moved = np.rint(x / scale) + np.float32(131)
        wanted = np.clip(np.where(np.isnan(moved), 255, moved), 0, 255).astype(np.uint8)
        assert (called(kernel, np.zeros(SHAPE, np.uint8), x, scale, zero) == wanted).all(), said


def test_there_is_a_kernel_on_x86(model: Model) -> None:
    operator = operator_of(model, "min")
    assert pick(operator, None, model, InstructionSet.X86_64).kernel is Driver.REAL_EXTREME
    for isa, goal in ((InstructionSet.AARCH64, Goal.BALANCED), (InstructionSet.X86_64, Goal.SIZE)):
        assert pick(operator, None, model, isa, goal).reason == "no kernel for reduce"


def test_extremes_of_some_dimensions_have_none(model: Model) -> None:
    operator = operator_of(model, "max")
    several = evolve(model.tensors[operator.output], shape=SHAPE[1:])
    wider = evolve(model, tensors={**model.tensors, operator.output: several})
    assert real_extremes.refusal(operator, wider) == "extremes of some dimensions"


def test_values_on_several_computed_grids_have_none(model: Model) -> None:
    operator = operator_of(model, "quantize")
    several = evolve(model.tensors[operator.inputs[1]], shape=(15,))
    wider = evolve(model, tensors={**model.tensors, several.name: several})
    assert conversions.refusal(operator, wider) == "values on several grids"
