"""The backend value: what it takes and why not, what it costs, and the kernel of a partition."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from tvm import te, tirx

from target_arch.backend.contract import DoesNotFit
from target_arch.backends.c import backend
from target_arch.backends.plain_c import lower
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.kernels import MOST_OPERANDS, Call
from target_arch.plan.model import Model, Quantization, Tensor
from target_arch.soc import read_soc
from tests.backends.c.one import constant, one_operator, quantized, real
from tests.backends.engines import bench
from tests.relax.models import helper, onnx_model, save

BENCH = bench("c", {"fast": 1024, "slow": 65536})


def conv2d(last_zero: int = 0, bias: str = "int32") -> Model:
    """A quantized convolution with a scale per channel."""
    w = evolve(
        quantized("w", (8, 3, 3, 4), [0.01 * (k + 1) for k in range(8)], 0),
        quantization=Quantization(
            scale=tuple(0.01 * (k + 1) for k in range(8)), zero_point=(0,) * 7 + (last_zero,), axis=0
        ),
    )
    return one_operator(
        "conv2d",
        "tflite",
        [quantized("x", (1, 6, 6, 4), 0.1, 3)],
        quantized("out", (1, 4, 4, 8), 0.2, 1),
        (
            constant(w, np.full((8, 3, 3, 4), 8)),  # too large for 4 bits
            constant(Tensor(name="b", shape=(8,), dtype=bias), np.zeros(8)),
        ),
    )


def refusal(model: Model) -> str | None:
    return backend.supports(BENCH.question(model.operators[0], model))


def test_it_takes_what_it_can_lower() -> None:
    assert refusal(conv2d()) is None


POOL = {"kernel": (2, 2), "strides": (2, 2)}
X, OUT = quantized("x", (1, 4, 4, 3), 0.1, 0), quantized("out", (1, 2, 2, 3), 0.2, 0)
REFUSALS = {
    "no C definition of operator kind tanh": one_operator(
        "tanh", "float", [real("x", (4,))], real("out", (4,))
    ),
    "weights with several zero points": conv2d(last_zero=3),
    "tflite arithmetic on float32 `b`": conv2d(bias="float32"),
    "float arithmetic on int8 `x`": one_operator("relu", "float", [X], real("out", (1, 4, 4, 3))),
    "`x` has no quantization": one_operator(
        "relu", "onnx", [Tensor(name="x", shape=(4,), dtype="int8")], quantized("out", (4,), 0.1, 0)
    ),
    "`x` has a scale per channel": one_operator(
        "dequantize", "onnx", [quantized("x", (2, 3), [0.1, 0.2], 0)], real("out", (2, 3))
    ),
    "a TFLite pool whose output is quantized unlike its input": one_operator(
        "max_pool2d", "tflite", [X], OUT, **POOL
    ),
    "softmax over axis 0 of 2": one_operator(
        "softmax", "float", [real("x", (2, 3))], real("out", (2, 3)), axis=0
    ),
    "`b` of shape [4, 1] is repeated in a way that is not last-axis": one_operator(
        "add", "float", [real("a", (4, 3)), real("b", (4, 1))], real("out", (4, 3))
    ),
    "element type bfloat16 of `x` has no C type": one_operator(
        "reshape", "float", [Tensor(name="x", shape=(4,), dtype="bfloat16")], real("out", (4,))
    ),
    "`x` has no elements": one_operator("reshape", "float", [real("x", (0, 4))], real("out", (4, 0))),
}


@pytest.mark.parametrize("reason", list(REFUSALS))
def test_a_refusal_says_why(reason: str) -> None:
    assert refusal(REFUSALS[reason]) == reason


def test_a_stated_rate_is_the_cost() -> None:
    model = conv2d()
    outputs, products = 4 * 4 * 8, 3 * 3 * 4
    stated = bench("c", {"fast": 1024}, options={"macs_per_cycle": 4})
    cost = backend.cost(stated.question(model.operators[0], model))
    assert cost == pytest.approx(outputs * (products + 8) / 4 / 100e6)


def test_a_kernel_is_one_function_and_one_call_per_operator() -> None:
    kernel = backend.lower(BENCH.request(conv2d()))
    (call,) = kernel.actions
    assert isinstance(call, Call)
    assert [operand.of for operand in call.operands] == [
        *("x", "op.packed", "op.folded", "op.multiplier", "op.shift", "out")
    ]
    assert [operand.access for operand in call.operands] == ["r"] * 5 + ["w"]
    (function,) = kernel.functions
    assert (call.function, call.operator) == (function.name, "op")
    assert function.parameters == (
        *("const int8_t *", "const int8_t *", "const int32_t *", "const int32_t *", "const int8_t *"),
        "int8_t *",
    )
    assert [(tensor.name, tensor.dtype, tensor.shape) for tensor in kernel.constants] == [
        ("op.packed", "int8", (8 * 36,)),
        ("op.folded", "int32", (16,)),
        ("op.multiplier", "int32", (16,)),
        ("op.shift", "int8", (16,)),
    ]
    assert kernel.buffers == ()


def test_the_c_of_a_convolution(golden: object) -> None:
    assert callable(golden)
    (function,) = backend.lower(BENCH.request(conv2d())).functions
    golden("conv2d.c", function.text)


def test_equal_operators_share_a_function() -> None:
    model = conv2d()
    (first,) = model.operators
    second = evolve(first, id="again")
    twice = evolve(model, operators=(first, second))
    kernel = backend.lower(BENCH.request(twice))
    assert len(kernel.functions) == 1
    assert [call.function for call in kernel.actions if isinstance(call, Call)] == [
        kernel.functions[0].name
    ] * 2
    assert {tensor.name for tensor in kernel.constants} >= {"op.multiplier", "again.multiplier"}


def unfused(elements: int) -> Model:
    return one_operator(
        "relax", "float", [real("x", (elements, 8))], real("out", (elements, 8)), relax_op="matmul_twice"
    )


class Program:
    """Stands for the imported program: two products in a row, the first one is an intermediate."""

    def __init__(self, elements: int) -> None:
        from tvm import relax

        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((elements, 8), "float32"))
        weight = relax.const(np.eye(8, dtype=np.float32))
        with builder.function("main", [x]):
            with builder.dataflow():
                y = builder.emit(relax.op.matmul(x, weight))
                result = builder.emit_output(relax.op.matmul(y, weight))
            builder.emit_func_output(result)
        self.module = builder.get()

    def alone(self, _operator: str) -> object:
        return self.module


@pytest.mark.parametrize(("elements", "memory"), [(16, "fast"), (64, "slow")])
def test_intermediates_go_where_there_is_room(elements: int, memory: str) -> None:
    request = evolve(BENCH.request(unfused(elements)), program=Program(elements))
    kernel = backend.lower(request)
    assert [(b.name, b.bytes, b.memory) for b in kernel.buffers] == [("op.value0", elements * 32, memory)]
    first, second = kernel.actions
    assert isinstance(first, Call)
    assert isinstance(second, Call)
    assert [(operand.of, operand.access) for operand in first.operands] == [
        ("x", "r"),
        ("op.constant0", "r"),
        ("op.value0", "w"),
    ]
    assert second.operands[0].of == "op.value0"


def test_no_room_is_a_refusal_with_numbers() -> None:
    request = evolve(BENCH.request(unfused(64), {"fast": 64, "slow": 512}), program=Program(64))
    with pytest.raises(DoesNotFit) as refusal:
        backend.lower(request)
    assert (refusal.value.memory, refusal.value.needed, refusal.value.available) == ("slow", 2048, 512)


def test_what_has_no_c_is_a_message() -> None:
    from tvm import relax

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.cumsum(x, axis=1))
        builder.emit_func_output(result)
    program = Program(4)
    program.module = builder.get()
    with pytest.raises(
        DiagnosticError, match=r"operator op: error: `matmul_twice` has no form in C: .*cumsum"
    ):
        backend.lower(evolve(BENCH.request(unfused(4)), program=program))


def of_python() -> None:
    te.placeholder((2, 2, 2))(0, 0)


def of_cpp() -> None:
    try:
        tirx.Select(tirx.const(1, "int32"), 1, 2)
    except RuntimeError as error:
        raise ValueError(*error.args).with_traceback(error.__traceback__) from None


@pytest.mark.parametrize("fails", [of_python, of_cpp])
def test_words_of_tvm_are_no_reason(monkeypatch: pytest.MonkeyPatch, fails: Callable[[], None]) -> None:
    monkeypatch.setattr(lower, "_relax_piece", lambda *_: fails())
    with pytest.raises(DiagnosticError, match="`matmul_twice` has no form in C: its definition fails \\["):
        backend.lower(evolve(BENCH.request(unfused(4)), program=Program(4)))


def test_more_operands_than_the_runtime_passes_on_are_refused(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(MOST_OPERANDS)]
    nodes = [helper.make_node("Sum", names, ["y"])]
    path = save(onnx_model(nodes, dict.fromkeys(names, (2, 3)), {"y": (2, 3)}), tmp_path / "sum.onnx")
    with pytest.raises(DiagnosticError, match=r"writes 33 tensors .*, the runtime passes at most 32"):
        compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m7")))


def test_lowering_a_keyword_spotter_takes_well_under_a_second(shared: Path) -> None:
    from target_arch.relax.importer import import_model
    from target_arch.relax.lower import operators as te_operators

    model, program = import_model(shared / "models" / "kws_int8.tflite")
    te_operators._lowered.cache_clear()
    start = time.process_time()
    kernel = backend.lower(evolve(BENCH.request(model), program=program))
    assert time.process_time() - start < 1.5
    assert len(kernel.actions) == 12
    assert len(kernel.functions) < 12
    assert not kernel.buffers
