"""The kernel that an operator is said to get is the one it gets, without packing, and costs follow it."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.c import backend
from target_arch.backends.plain_c.kernels import layout, products, weighted
from target_arch.backends.plain_c.kernels.forms import form_of
from target_arch.backends.plain_c.kernels.pick import Kernel, predicted
from target_arch.backends.plain_c.kernels.scale import OutOfRange
from target_arch.plan.model import Model
from target_arch.resources import runtime_c
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import constant
from tests.backends.c.test_pairs import CASES, two
from tests.backends.engines import Bench, bench

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
    for kind, rule in product(("conv2d", "depthwise_conv2d", "dense"), ("tflite", "onnx", "float")):
        model = two(kind, "add", rule, 0)
        alone[f"{kind} {rule}"] = evolve(model, operators=model.operators[:1], outputs=("t",))
    return pairs | alone


LAYERS = layers()


@pytest.mark.parametrize("isa", SETS)
def test_the_picked_kernel_is_called(isa: InstructionSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is picked without packing anything."""
    machine = on(isa)
    for name, model in LAYERS.items():
        with monkeypatch.context() as patch:
            patch.setattr(layout.Layout, "packed", None)
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
        Kernel.PRODUCTS,
        Kernel.SUM,
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
