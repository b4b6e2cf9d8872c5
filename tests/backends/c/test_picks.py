"""The kernel that an operator is said to get is the one it gets, without packing, and costs follow it."""

import re
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.c import backend
from target_arch.backends.plain_c.kernels import depthwise, layout, products, weighted
from target_arch.backends.plain_c.kernels.pick import Driver, predicted
from target_arch.backends.plain_c.kernels.scale import OutOfRange
from target_arch.backends.plain_c.work.forms import DSP, MVE, KernelForm, Strips, form_of
from target_arch.plan.model import Model
from target_arch.resources import runtime_c
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import constant, quantized
from tests.backends.c.test_pairs import CASES, two
from tests.backends.engines import Bench, bench

KINDS = ("conv2d", "depthwise_conv2d", "dense")
SETS = (InstructionSet.GENERIC, InstructionSet.ARMV7E_M, InstructionSet.ARMV8_1_M)


def on(isa: InstructionSet) -> Bench:
    made = bench("c", {"fast": 1 << 20})
    (arch, *rest) = made.soc.archs
    soc = evolve(made.soc, archs=(evolve(arch, isa=isa), *rest))
    return evolve(made, soc=soc)


def layers() -> dict[str, Model]:
    """Pairs of a layer and what follows it, and each layer alone."""
    pairs = {
        f"{kind} {after} {rule} {side}": two(kind, after, rule, side) for kind, after, rule, side in CASES
    }
    alone = {}
    for kind, rule in product(KINDS, ("tflite", "onnx", "float")):
        model = two(kind, "add", rule, 0)
        alone[f"{kind} {rule}"] = evolve(model, operators=model.operators[:1], outputs=("t",))
    return pairs | alone | {f"{kind} hybrid": hybrid(alone[f"{kind} float"]) for kind in KINDS}


def hybrid(model: Model) -> Model:
    """The layer with int8 weights in place of floats."""
    (operator,), tensors = model.operators, dict(model.tensors)
    w = tensors["w"]
    stored = quantized("w", w.shape, 0.01, 0)
    tensors["w"] = constant(stored, np.arange(prod(w.shape)).reshape(w.shape) % 255 - 127)
    operator = evolve(operator, attributes={**operator.attributes, "symmetric": True})
    return evolve(model, tensors=tensors, operators=(operator,))


LAYERS = layers()


@pytest.mark.parametrize("isa", SETS)
def test_the_picked_kernel_is_called(isa: InstructionSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is picked without packing anything."""
    machine = on(isa)
    for name, model in LAYERS.items():
        with monkeypatch.context() as patch:
            patch.setattr(layout.WeightLayout, "packed", None)
            picks = [predicted(operator, model, isa) for operator in model.operators]
        (function,) = backend.lower(machine.request(model)).functions  # type: ignore[misc]
        if picks[0].kernel is None:
            assert not function.headers, name
            assert picks[-1].kernel is None, name
        else:
            assert function.headers[-1] == f"kernels/{picks[0].kernel}.h", name
        if len(picks) == 2:
            assert (picks[1].kernel is None) == (picks[0].kernel is None), name


def test_what_has_no_kernel_says_why() -> None:
    model = LAYERS["conv2d mul tflite 0"]
    picks = [predicted(operator, model, InstructionSet.GENERIC) for operator in model.operators]
    assert [str(pick) for pick in picks] == [
        "C from its definition (no kernel for mul after it)",
        "C from its definition (no kernel for mul)",
    ]
    added = LAYERS["conv2d add tflite 0"]
    assert [predicted(operator, added, InstructionSet.ARMV7E_M).kernel for operator in added.operators] == [
        Driver.PRODUCTS,
        Driver.SUM,
    ]


@pytest.mark.parametrize("isa", SETS)
def test_forms_have_the_numbers_of_their_headers(isa: InstructionSet) -> None:
    """In branches of the preprocessor the last one is that without x86."""
    form = form_of(isa)
    header = (runtime_c() / layout.layout_of(isa).header).read_text(encoding="utf-8")
    real = (runtime_c() / "kernels" / "f32_conv2d.h").read_text(encoding="utf-8")

    def last(text: str, name: str) -> int:
        return int(re.findall(rf"#define {name} +(\d+)", text)[-1])

    said = [last(header, f"TA_S8_{name}") for name in ("ROWS", "PANEL", "RESIDENT", "OUTPUTS")]
    tile = form.tile
    assert said == [tile.rows, tile.panel, tile.resident, tile.outputs]
    said = [last(real, f"TA_F32_{name}") for name in ("ROWS", "PANEL", "RESIDENT", "BLOCK")]
    assert said == [form.real.rows, form.real.panel, form.real.resident * 4, form.real.outputs]


def test_strips_have_the_numbers_of_their_headers() -> None:
    def said(name: str) -> str:
        return (runtime_c() / "kernels" / name).read_text(encoding="utf-8")

    for form, name in ((MVE, "s8_depthwise_mve.h"), (DSP, "s8_depthwise_dsp.h")):
        assert form.strips is not None
        numbers = re.findall(r"#define TA_DW_(?:LANES|STRIDE|LEAST) +(\d+)", said(name))
        strips = form.strips
        assert [strips.lanes, strips.stride, strips.single] == [int(number) for number in numbers]
    most = re.findall(r"#define TA_S8_MOST_SHIFT (\d+)", said("s8_scale_arm_m.h"))
    assert [DSP.strips and str(DSP.strips.shift)] == most
    takes = said("s8_depthwise_arm_m.h")
    assert "conv->channels < TA_DW_LANES" in takes
    assert "? 1 : TA_DW_LEAST;" in takes
    assert "scale->least < least" in takes
    assert "return conv->narrow;\n#else\n    return scale->most < TA_S8_MOST_SHIFT + least;" in takes
    assert [form.strips and form.strips.narrow for form in (MVE, DSP)] == [True, False]


def in_strips(form: KernelForm, shift: int, weights: tuple[int, int]) -> bool:
    """Whether a 3x3 layer with these weights at its first taps is taken. All channels are scaled by 0.75 and
    a shift to the right, and have a bias that brings small sums to a half: no output is always the same.
    """
    model = two("depthwise_conv2d", "add", "tflite", 0)
    tensors: dict[str, Any] = dict(model.tensors)
    w, b = tensors["w"], tensors["b"]
    values = np.zeros(w.shape, np.int8)
    values[0, 0], values[0, 1] = weights
    scales = (0.75 / 2**shift,) * w.shape[2]
    tensors["w"] = constant(evolve(w, quantization=evolve(w.quantization, scale=scales)), values)
    tensors["b"] = constant(b, np.full(b.shape, int(2**shift / 1.5), np.int32))
    for name in ("x", "t"):
        one = evolve(tensors[name].quantization, scale=(1.0,), zero_point=(0,))
        tensors[name] = evolve(tensors[name], quantization=one)
    assert isinstance(form.strips, Strips)
    return depthwise.in_strips(model.operators[0], evolve(model, tensors=tensors), form.strips)


@pytest.mark.parametrize(
    ("form", "shift", "weights", "taken"),
    [
        (DSP, 0, (1, 1), False),
        (DSP, 1, (1, 1), True),
        (DSP, 22, (1, 1), True),
        (DSP, 23, (1, 1), False),
        (DSP, 5, (-128, -128), True),
        (MVE, 1, (1, 1), True),
        (MVE, 23, (1, 1), True),
        (MVE, 5, (-128, 1), True),
        (MVE, 5, (-128, -128), False),
    ],
)
def test_a_layer_is_in_strips_where_the_header_takes_it(
    form: KernelForm, shift: int, weights: tuple[int, int], taken: bool
) -> None:
    assert in_strips(form, shift, weights) == taken


@pytest.mark.parametrize("factor", [1e-9, 1e-4, 0.3, 2.0, 900.0])
def test_sums_within_32_bits_whatever_the_weights_are_proven_with_them(factor: float) -> None:
    """Weights and bias at their ends; the answer is that of the packing."""
    for rule in ("tflite", "onnx"):
        model = two("conv2d", "add", rule, 0)
        (first, _) = model.operators
        tensors: dict[str, Any] = dict(model.tensors)
        t = tensors["t"]
        tensors["t"] = evolve(
            t, quantization=evolve(t.quantization, scale=(t.quantization.scale[0] / factor,))
        )
        tensors["w"] = constant(tensors["w"], np.full(tensors["w"].shape, 127, np.int8))
        tensors["b"] = constant(tensors["b"], np.full(tensors["b"].shape, 2**20, np.int32))
        changed = evolve(model, tensors=tensors)
        try:
            weighted.prepare(first, changed, products._rows(tensors["w"]), -128)
            possible = True
        except OutOfRange:
            possible = False
        assert products.proven(first, changed) == possible


def test_a_better_form_costs_less() -> None:
    model = LAYERS["depthwise_conv2d tflite"]
    costs = [backend.cost(on(isa).question(model.operators[0], model)) for isa in reversed(SETS)]
    assert costs == sorted(costs)
