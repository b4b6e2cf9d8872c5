"""Regions with pools, elementwise operators, dense layers and float convolutions against the same operators,
one by one: random chains, bit by bit.
"""

import ctypes
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from attrs import define, field

from target_arch.backends.plain_c.stripes.convolution import StripedConvolution
from target_arch.backends.plain_c.stripes.defined import Defined
from target_arch.backends.plain_c.stripes.real_convolution import RealConvolution
from target_arch.plan.model import Attribute, Model, Operator, Tensor
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Array, constant, quantized, real
from tests.backends.c.striped import Case, as_region, cases_of, compiled, one_by_one

MODELS = 9
MATRICES = ((7, 12), (1, 9, 8), (3, 4, 16), (1, 5, 3, 8), (6, 17), (1, 11, 4))
"""Inputs of chains without convolutions and pools."""


@define
class Chain:
    """A model under construction: each operator reads the output of the one before."""

    rng: np.random.Generator
    rule: str
    dtype: str
    tensors: dict[str, Tensor] = field(factory=dict)
    operators: list[Operator] = field(factory=list)

    @property
    def last(self) -> Tensor:
        return self.tensors[f"t{len(self.operators)}"]

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        if self.rule == "float":
            self.tensors[name] = real(name, shape)
        else:
            zero = 3 if self.dtype == "int8" else 120
            self.tensors[name] = quantized(name, shape, 0.04, zero, self.dtype)
        return self.tensors[name]

    def add(
        self,
        kind: str,
        shape: tuple[int, ...],
        *others: str,
        constants: tuple[Tensor, ...] = (),
        **more: Attribute,
    ) -> None:
        """An operator whose output has that shape."""
        number = len(self.operators)
        self.tensors |= {each.name: each for each in constants}
        given = (self.last.name, *others)
        output = self.tensor(f"t{number + 1}", shape).name
        low = 0 if self.dtype == "uint8" else -128
        more |= (
            {"activation": "relu"}
            if self.rule == "float"
            else {"activation_min": low, "activation_max": low + 255}
        )
        self.operators.append(
            Operator(
                id=f"op{number}",
                kind=kind,
                arithmetic=self.rule,
                inputs=given,
                constants=tuple(each.name for each in constants),
                output=output,
                attributes=more,
            )
        )

    def window(self, most: int) -> tuple[int, int, tuple[int, int, int, int], tuple[int, int]]:
        """Taps, stride, padding, and rows and columns of the output."""
        taps, stride = int(self.rng.integers(1, most + 1)), int(self.rng.integers(1, 3))
        before, after = (int(each) for each in self.rng.integers(0, (taps + 1) // 2, 2))
        _, height, width, _ = self.last.shape
        if min(height, width) + before + after < taps:
            return self.window(1)
        out = [(each + before + after - taps) // stride + 1 for each in (height, width)]
        return taps, stride, (before, before, after, after), (out[0], out[1])

    def pool(self) -> None:
        taps, stride, padding, out = self.window(3)
        kind = ("max_pool2d", "avg_pool2d")[int(self.rng.integers(2))]
        steps: dict[str, Attribute] = {
            "kernel": (taps, taps),
            "strides": (stride, stride),
            "padding": padding,
        }
        if kind == "avg_pool2d":
            steps["count_include_pad"] = self.rule != "tflite" and bool(self.rng.integers(2))
        self.add(kind, (1, *out, self.last.shape[3]), **steps)

    def convolution(self) -> None:
        taps, stride, padding, out = self.window(3)
        channels, deep = self.last.shape[3], bool(self.rng.integers(2))
        outputs = channels if deep else int(self.rng.choice([4, 8, 17]))
        shape = (taps, taps, outputs) if deep else (outputs, taps, taps, channels)
        w, bias = self.weights(shape, outputs)
        self.add(
            "depthwise_conv2d" if deep else "conv2d",
            (1, *out, outputs),
            constants=(w, bias),
            strides=(stride, stride),
            dilation=(1, 1),
            padding=padding,
            **({"depth_multiplier": 1} if deep else {}),
        )

    def dense(self) -> None:
        *rows, depth = self.last.shape
        outputs = int(self.rng.choice([4, 8, 17]))
        w, bias = self.weights((outputs, depth), outputs)
        self.add("dense", (*rows, outputs), constants=(w, bias))

    def weights(self, shape: tuple[int, ...], outputs: int) -> tuple[Tensor, Tensor]:
        """Weights and bias of the next operator."""
        number = len(self.operators)
        if self.rule == "float":
            return (
                constant(real(f"w{number}", shape), self.rng.normal(0, 0.4, shape)),
                constant(real(f"b{number}", (outputs,)), self.rng.normal(0, 1, outputs)),
            )
        wide = quantized(f"b{number}", (outputs,), 0.0004, 0, "int32")
        return (
            constant(quantized(f"w{number}", shape, 0.01, 0), self.rng.integers(-128, 128, shape)),
            constant(wide, self.rng.integers(-900, 900, outputs)),
        )

    def scaled(self) -> None:
        """A product with a constant for each channel."""
        shape = self.last.shape[-1:]
        name = f"c{len(self.operators)}"
        values = self.rng.normal(0, 1, shape) if self.rule == "float" else self.rng.integers(-9, 9, shape)
        made = real(name, shape) if self.rule == "float" else quantized(name, shape, 0.02, 0, self.last.dtype)
        self.add("mul", self.last.shape, constants=(constant(made, np.abs(values)),))

    def sum(self) -> None:
        """The sum with the tensor before the last one that has its shape; a relu where there is none."""
        names = [f"t{number}" for number in range(len(self.operators))]
        other = next((each for each in names[::-1] if self.tensors[each].shape == self.last.shape), None)
        self.add("relu" if other is None else "add", self.last.shape, *(() if other is None else (other,)))

    def model(self) -> Model:
        return Model(
            name="chain",
            source="made",
            inputs=("t0",),
            outputs=(self.last.name,),
            tensors=self.tensors,
            operators=tuple(self.operators),
        )


def model_of(number: int) -> Model:
    rng = np.random.default_rng(number)
    rule = ("float", "tflite", "onnx")[number % 3]
    chain = Chain(rng, rule, "uint8" if number % 2 and rule != "float" else "int8")
    chain.tensor("t0", (1, int(rng.integers(6, 15)), int(rng.integers(4, 9)), int(rng.choice([3, 8, 16]))))
    for _ in range(int(rng.integers(2, 6))):
        (chain.pool, chain.convolution, chain.scaled, chain.sum)[int(rng.integers(4))]()
    return chain.model()


def layers_of(number: int) -> Model:
    """A chain of dense layers and elementwise operators."""
    rule = ("float", "tflite", "onnx")[number % 3]
    chain = Chain(np.random.default_rng(number), rule, "uint8" if number % 2 and rule != "float" else "int8")
    chain.tensor("t0", MATRICES[number])
    chain.dense()
    for _ in range(3):
        (chain.dense, chain.scaled, chain.sum)[int(chain.rng.integers(3))]()
    return chain.model()


def cases() -> Iterator[Case]:
    """Two regions of each model; Cortex-M7 has no kernel for float32."""
    models = [*map(model_of, range(MODELS)), *map(layers_of, range(len(MATRICES)))]
    for number, model in enumerate(models):
        isa = InstructionSet.ARMV7E_M if number % 6 == 0 else InstructionSet.GENERIC
        yield from cases_of(model, isa, 2)


CASES = tuple(cases())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> ctypes.CDLL:
    return compiled(CASES, tmp_path_factory.mktemp("definitions"), needs_tool("gcc"))


def test_there_are_cases_of_every_sort() -> None:
    units = [unit for case in CASES for unit in case.units]
    assert {type(unit) for unit in units} == {StripedConvolution, Defined, RealConvolution}
    assert any(isinstance(unit, Defined) and unit.others for unit in units)
    assert any(operator.kind == "dense" for case in CASES for operator in case.model.operators)
    assert {case.region.over is None for case in CASES} == {True, False}


def inputs_of(case: Case) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    (name,) = case.model.inputs
    tensor = case.model.tensors[name]
    if tensor.dtype == "float32":
        return {name: rng.normal(0, 1, tensor.shape).astype(np.float32)}
    return {name: rng.integers(0, 256, tensor.shape).astype(np.uint8).view(tensor.dtype)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_region_computes_what_its_operators_do(case: Case, library: ctypes.CDLL) -> None:
    inputs = inputs_of(case)
    expected, found = one_by_one(case, library, inputs), as_region(case, library, inputs)
    # The kernel for float32 adds up in an order that depends on the number of pixels.
    if any(isinstance(unit, RealConvolution) for unit in case.units):
        np.testing.assert_allclose(found.view("<f4"), expected.ravel(), rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, expected.view(np.uint8).ravel())
