"""LSTM, GRU and RNN in float32 in every form that runs here, and as they are defined, against double
precision."""

import ctypes
import itertools
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from attrs import frozen

from target_arch.backends.plain_c.kernels import real_recurrent
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model
from target_arch.relax.lower.operators import lower_operator
from target_arch.resources import runtime_c
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Array, constant, one_operator, real
from tests.relax.emulate import evaluate

FORMS = {
    "portable": "-DTA_KERNELS_PORTABLE",
    "avx2 where the processor has it": "-DTA_KERNELS_AVX2",
    "avx512 where the processor has it": "-DTA_KERNELS_ANY",
}
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
Functions = list[Any]


@frozen(kw_only=True, eq=False)
class Layer:
    """A layer of random weights: what enters, first states if there are any, and constants, which begin with
    the first states where those are `stored`.
    """

    name: str
    linear: bool
    backwards: bool
    given: tuple[Array, ...]
    constants: tuple[Array, ...]
    stored: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        directions, _, hidden = self.constants[-2].shape
        steps, batch, _ = self.given[0].shape
        return (steps + 1 + (self.name == "lstm"), directions, batch, hidden)

    def model(self) -> Model:
        inputs = [real(name, each.shape) for name, each in zip("xhc", self.given, strict=False)]
        names = (*"hc"[: len(self.constants) - 3], *"wrb")
        pairs = zip(names, self.constants, strict=True)
        constants = [constant(real(name, each.shape), each) for name, each in pairs]
        starts = self.stored or len(self.given) > 1
        stated = {"linear": self.linear, "backwards": self.backwards, "starts": starts}
        words = {key: int(value) for key, value in stated.items()}
        out = real("out", self.shape)
        return one_operator("recurrent", "float", inputs, out, constants, operator=self.name, **words)

    def exact(self) -> Array:
        """The results in double precision."""
        (found,) = evaluate(self.model(), dict(zip("xhc", self.given, strict=False)))
        return found


def layer(
    name: str, number: int, *, linear: bool = False, starts: bool = False, stored: bool = False
) -> Layer:
    """A layer whose extents follow from a number."""
    draw = np.random.default_rng(number)
    steps, batch, inputs, hidden = ((4, 1, 7, 5), (3, 2, 16, 20), (5, 1, 3, 32), (2, 3, 70, 33))[number % 4]
    directions, rows = 1 + (number % 3 == 2), GATES[name] * hidden

    def values(*shape: int) -> Array:
        return draw.normal(0, 0.4, shape).astype(np.float32)

    states = [values(directions, batch, hidden) for _ in range(1 + (name == "lstm"))] if starts else []
    weights = [values(directions, rows, count) for count in (inputs, hidden)]
    return Layer(
        name=name,
        linear=linear,
        backwards=number % 3 == 1,
        given=(values(steps, batch, inputs), *(() if stored else states)),
        constants=(*(states if stored else ()), *weights, values(directions, 2 * rows)),
        stored=stored,
    )


KINDS = (("lstm", False), ("gru", False), ("gru", True), ("rnn", False))
LAYERS = [
    layer(name, number, linear=linear, starts=starts)
    for number, ((name, linear), starts) in enumerate(itertools.product(KINDS, (False, True, True)))
] + [
    layer(name, number, linear=linear, starts=True, stored=True)
    for number, (name, linear) in enumerate(KINDS, start=12)
]


@pytest.fixture(scope="module", params=FORMS)
def kernels(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]
) -> Functions:
    models = [each.model() for each in LAYERS]
    assert not any(real_recurrent.refusal(model.operators[0], model) for model in models)
    made = [real_recurrent.made(model.operators[0], model).function for model in models]
    return built(made, tmp_path_factory, needs_tool("gcc"), FORMS[request.param])


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> list[Any]:
    models = [each.model() for each in LAYERS]
    lowered = [lower_operator(model.operators[0], model) for model in models]
    return built((each.function for each in lowered), tmp_path_factory, needs_tool("gcc"), "-O1")


def built(functions: Iterable[CFunction], folders: pytest.TempPathFactory, gcc: str, flag: str) -> Functions:
    """Functions of C, which take arrays, in their order."""
    known, folder = tuple(functions), folders.mktemp("recurrent")
    headers = dict.fromkeys(f'"{header}"' for each in known for header in each.headers)
    includes = "".join(f"#include {each}\n" for each in ("<math.h>", "<stdint.h>", *headers))
    texts = {each.name: each.text.replace("static void", "void", 1) for each in known}
    (folder / "recurrent.c").write_text(includes + "".join(texts.values()))
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", flag, f"-I{runtime_c()}")
    library = folder / "recurrent.so"
    subprocess.run((gcc, *flags, str(folder / "recurrent.c"), "-o", str(library), "-lm"), check=True)
    code = ctypes.CDLL(str(library))
    return [getattr(code, each.name) for each in known]


def answer(function: Any, of: Layer, constants: Iterable[Array]) -> Array:
    """What a function gives, whose own memory, at most three parameters, is behind the output."""
    out, own = np.zeros(of.shape, np.float32), np.zeros((3, 4096), np.float32)
    arrays = [np.ascontiguousarray(each) for each in (*of.given, *constants)]
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (*arrays, out, *own)))
    return out


def test_it_is_that_of_double_precision(kernels: Functions) -> None:
    for of, function in zip(LAYERS, kernels, strict=True):
        model = of.model()
        packed = real_recurrent.made(model.operators[0], model).packed
        constants = [np.frombuffer(each.data or b"", np.float32) for each in packed]
        found = answer(function, of, constants)
        np.testing.assert_allclose(found, of.exact(), rtol=3e-6, atol=2e-6, err_msg=str(of))


def test_the_definition_is_that_of_double_precision(definitions: Functions) -> None:
    for of, function in zip(LAYERS, definitions, strict=True):
        found = answer(function, of, of.constants)
        np.testing.assert_allclose(found, of.exact(), rtol=1e-5, atol=5e-6, err_msg=str(of))


def test_there_is_a_kernel_but_for_cortex_m_with_dsp() -> None:
    """There, and for the goal of size, it is C from the definition."""
    model = LAYERS[0].model()
    (operator,) = model.operators
    assert pick(operator, None, model, InstructionSet.GENERIC).kernel is Driver.REAL_RECURRENT
    reason = "the kernel for float32 is longer on armv7e-m"
    assert pick(operator, None, model, InstructionSet.ARMV7E_M).reason == reason
    small = pick(operator, None, model, InstructionSet.X86_64, Goal.SIZE)
    assert small.reason == "no kernel for recurrent"
    assert model.macs_per_output(operator) == 0
