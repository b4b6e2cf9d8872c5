"""Functions of single values: the table that the stream loads is the plan's, of whichever function."""

import numpy as np
import pytest
from attrs import evolve

from target_arch.backends.ethos_u import backend, vela
from target_arch.backends.ethos_u.graph import graph_of, refusal, unjoinable
from target_arch.backends.ethos_u.stream import BadStream, loads
from target_arch.backends.ethos_u.tables import ENTRIES, table_of, with_tables
from target_arch.backends.ethos_u.vela import WEIGHTS_REGION
from target_arch.plan.kernels import Kernel
from target_arch.plan.model import Attribute, Model, Operator, Quantization, Tensor
from target_arch.run.exact.oracle import exact
from tests.backends.ethos_u.chains import question, request

SHAPE = (1, 4, 4, 16)
needs_vela = pytest.mark.skipif(not vela.installed(), reason='needs Vela: pip install "target-arch[ethos-u]"')


def value(name: str, scale: float, zero: int, dtype: str = "int8") -> Tensor:
    grid = Quantization(scale=(float(np.float32(scale)),), zero_point=(zero,))
    return Tensor(name=name, shape=SHAPE, dtype=dtype, quantization=grid)


def table(name: str, seed: int, dtype: str = "int8") -> Tensor:
    data = np.random.default_rng(seed).integers(0, 256, ENTRIES, np.uint8).tobytes()
    return Tensor(name=name, shape=(ENTRIES,), dtype=dtype, data=data)


def operator(
    name: str, kind: str, ends: tuple[str, str], held: tuple[str, ...] = (), **attributes: Attribute
) -> Operator:
    return Operator(
        id=name,
        kind=kind,
        arithmetic="onnx",
        inputs=ends[:1],
        constants=held,
        output=ends[1],
        attributes=attributes,
    )


def chain(tensors: list[Tensor], *operators: Operator) -> Model:
    return Model(
        name="functions",
        source="test",
        inputs=operators[0].inputs,
        outputs=(operators[-1].output,),
        tensors={tensor.name: tensor for tensor in tensors},
        operators=operators,
    )


def lookup(dtype: str = "int8") -> Model:
    ends = [value("x", 0.05, 3, dtype), value("y", 1 / 256, 0, dtype)]
    return chain([*ends, table("t", 1, dtype)], operator("o", "lookup", ("x", "y"), ("t",), curve="each"))


RELU = chain(
    [value("x", 0.05, 3), value("y", 0.06, -100)], operator("o", "relu", ("x", "y"), activation_min=-100)
)
REQUANTIZE = chain([value("x", 0.05, 3), value("y", 0.06, -100)], operator("o", "requantize", ("x", "y")))
TWO = chain(
    [value("x", 0.05, 3), value("y", 0.03, 5), value("z", 0.02, 1), table("t", 1), table("u", 2)],
    operator("one", "lookup", ("x", "y"), ("t",), curve="each"),
    operator("two", "lookup", ("y", "z"), ("u",), curve="each"),
)


def lowered(model: Model) -> Kernel:
    assert all(backend.supports(question(model, each.id)) is None for each in model.operators)
    assert backend.lower is not None
    return backend.lower(request(model, [each.id for each in model.operators], 64 * 1024))


def loaded(kernel: Kernel) -> list[bytes]:
    """The tables that the stream of a kernel brings into the unit, in its order."""
    stream, weights = (each.data for each in kernel.constants)
    assert stream is not None
    assert weights is not None
    return [weights[start : start + ENTRIES] for start in loads(stream, WEIGHTS_REGION, ENTRIES)]


@pytest.mark.slow
@needs_vela
@pytest.mark.parametrize(
    "model",
    [lookup(), lookup("uint8"), RELU, REQUANTIZE, TWO],
    ids=["int8", "uint8", "relu", "requantize", "two"],
)
def test_the_unit_looks_up_the_plan_s_results(model: Model) -> None:
    assert loaded(lowered(model)) == [table_of(each, model) for each in model.operators]


@pytest.mark.parametrize("model", [lookup(), lookup("uint8"), RELU, REQUANTIZE])
def test_a_table_has_the_results_of_the_oracle(model: Model) -> None:
    (only,) = model.operators
    dtype = np.dtype(model.tensors["x"].dtype)
    x = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype).reshape(SHAPE)
    expected = exact(only, model, {"x": x})
    assert expected is not None
    assert expected.tobytes() == table_of(only, model)


def test_another_type_has_no_table() -> None:
    model = evolve(REQUANTIZE, tensors={**REQUANTIZE.tensors, "y": value("y", 0.06, 0, "uint8")})
    reason = refusal(model.operators[0], model)
    assert reason == "`y` is uint8, the unit takes int8 there"


def test_functions_that_vela_could_not_tell_apart_are_no_chain() -> None:
    """Three tables between the same grids: Vela makes two, of the two functions that stand for them."""
    tensors = [value(name, 0.05, 3) for name in "abcd"] + [table(f"t{n}", n) for n in range(3)]
    three = [
        operator(f"o{n}", "lookup", ("abcd"[n], "abcd"[n + 1]), (f"t{n}",), curve="each") for n in range(3)
    ]
    model = chain(tensors, *three)
    assert unjoinable(tuple(three[:2]), model) is None
    assert unjoinable(tuple(three), model) == "Vela makes the same table of `o2` and of another operator"
    assert backend.joins is not None
    assert backend.joins(tuple(question(model, each.id) for each in three)) is not None


def test_a_stream_that_does_not_load_a_table_is_refused() -> None:
    tables = graph_of(TWO.operators, TWO).tables
    with pytest.raises(BadStream, match="it does not load 2 of 2 tables of functions"):
        with_tables(bytes(4 * ENTRIES), b"", WEIGHTS_REGION, tables)
