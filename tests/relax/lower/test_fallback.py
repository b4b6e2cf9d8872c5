"""Relax operators without a definition of ours: TVM's TIR printed as C, against the Relax VM."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from target_arch.plan.model import Operator
from target_arch.relax.c.expressions import UnprintableError
from target_arch.relax.lower.fallback import LoweredRelax, NotLegalizedError, _legalized, lower_relax
from tests.backends.c.one import Array, Compile, array_of, call, compiler

RNG = np.random.default_rng(3)
X, Y = (RNG.normal(size=(2, 6, 8)).astype(np.float32) for _ in range(2))
IMAGE = RNG.normal(size=(1, 8, 8, 4)).astype(np.float32)
INTEGERS = RNG.integers(-(2**31), 2**31, (4, 8)).astype(np.int32)
FILTER = RNG.normal(size=(3, 3, 4, 8)).astype(np.float32)
ROW = np.arange(1, 9, dtype=np.float32)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Compile:
    return compiler(tmp_path_factory.mktemp("fallback"), needs_tool("gcc"), needs_tool("clang"))


def relax_function(expression: Callable[..., Any], arrays: tuple[Array, ...]) -> Any:
    """A Relax function of tensors like the arrays."""
    parameters = [
        relax.Var(f"x{index}", relax.TensorType(array.shape, str(array.dtype)))
        for index, array in enumerate(arrays)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(expression(*parameters)))
        builder.emit_func_output(result)
    return builder.get()["main"]


def lowered(function: Any, arrays: tuple[Array, ...]) -> LoweredRelax:
    operator = Operator(
        id="op",
        kind="relax",
        arithmetic="float",
        inputs=tuple(f"in{index}" for index in range(len(arrays))),
        constants=(),
        output="out",
        attributes={"relax_op": "nn.some_op"},
    )
    return lower_relax(tvm.IRModule({"main": function}), operator)


def run(result: LoweredRelax, build: Compile, arrays: tuple[Array, ...], like: Array) -> Array:
    library = build(tuple(step.function for step in result.steps))
    values = {f"in{index}": np.ascontiguousarray(array) for index, array in enumerate(arrays)}
    values |= {constant.name: array_of(constant) for constant in result.constants}
    local = {**result.intermediates, **result.scratch}
    values |= {name: np.full(size, 0x55, np.uint8) for name, size in local.items()}
    values["out"] = np.full(like.shape, 0x55).astype(like.dtype)
    for step in result.steps:
        operands = (*step.reads, *step.writes, *step.scratch)
        call(library, step.function.name, *(values[name] for name in operands))
    return values["out"]


def virtual_machine(function: Any, arrays: tuple[Array, ...]) -> Array:
    """What TVM itself computes."""
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    result: Array = machine["main"](*(tvm.runtime.tensor(array) for array in arrays)).numpy()
    return result


op = relax.op
CASES: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    "tanh": (op.tanh, (X,)),
    "erf": (op.erf, (X,)),
    "gelu": (op.nn.gelu, (X,)),
    "softmax_inner": (lambda x: op.nn.softmax(x, axis=1), (X,)),
    "concat": (lambda x, y: op.concat([x, y], axis=1), (X, Y)),
    "split": (lambda x: op.split(x, 2, axis=2)[1], (X,)),
    "layer_norm": (lambda x: op.nn.layer_norm(x, relax.const(ROW), relax.const(ROW), axes=[-1]), (X,)),
    "batch_matmul": (lambda x, y: op.matmul(x, op.permute_dims(y, [0, 2, 1])), (X, Y)),
    "power": (lambda x: op.power(op.abs(x), relax.const(1.7, "float32")), (X,)),
    "argmax": (lambda x: op.argmax(x, axis=1), (X,)),
    "strided_slice": (lambda x: op.strided_slice(x, axes=[1], begin=[1], end=[5], strides=[2]), (X,)),
    "pad": (lambda x: op.nn.pad(x, [0, 0, 1, 1, 2, 2]), (X,)),
    "overflow": (lambda a: op.multiply(op.add(a, a), a), (INTEGERS,)),
    "floor_divide": (lambda a: op.floor_divide(a, relax.const(-7, "int32")), (INTEGERS,)),
    "where": (lambda x, y: op.where(op.greater(x, y), x, y), (X, Y)),
    "compare": (lambda x, y: op.logical_and(op.greater(x, y), op.less(y, x)), (X, Y)),
    "resize": (lambda x: op.image.resize2d(x, (16, 16), layout="NHWC", method="linear"), (IMAGE,)),
    "variance": (lambda x: op.variance(x, axis=[2]), (X,)),
    "dilated_conv": (
        lambda x: op.nn.conv2d(
            x,
            relax.const(FILTER),
            padding=[2, 2, 2, 2],
            dilation=[2, 2],
            data_layout="NHWC",
            kernel_layout="HWIO",
        ),
        (IMAGE,),
    ),
    "constant": (lambda x: op.multiply(x, relax.const(ROW)), (X,)),
    "ones": (op.ones_like, (X,)),
}


@pytest.mark.parametrize("name", list(CASES))
def test_c_computes_what_tvm_computes(name: str, build: Compile) -> None:
    expression, arrays = CASES[name]
    function = relax_function(expression, arrays)
    expected = virtual_machine(function, arrays)
    result = run(lowered(function, arrays), build, arrays, expected)
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=1e-5, atol=1e-5)


def test_constants_and_intermediates_have_names_and_sizes() -> None:
    arrays = (X, Y)
    function = relax_function(lambda x, y: op.matmul(x, op.permute_dims(y, [0, 2, 1])), arrays)
    result = lowered(function, arrays)
    assert result.intermediates == {"op.value0": Y.nbytes}
    assert [step.writes for step in result.steps] == [("op.value0",), ("out",)]
    assert result.steps[0].function.name.startswith("nn_some_op_")

    function = relax_function(CASES["constant"][0], (X,))
    (constant,) = lowered(function, (X,)).constants
    assert (constant.name, array_of(constant).tolist()) == ("op.constant0", ROW.tolist())


def test_what_tvm_cannot_legalize_is_said() -> None:
    function = relax_function(lambda x: op.cumsum(x, axis=1), (X,))
    with pytest.raises(NotLegalizedError, match="`op`: TVM has no TIR for `cumsum`"):
        lowered(function, (X,))


def test_what_has_no_c_is_said() -> None:
    function = relax_function(lambda x: op.astype(op.astype(x, "float16"), "float32"), (X,))
    with pytest.raises(UnprintableError, match="float16"):
        lowered(function, (X,))


def test_nothing_of_tvm_reaches_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """It warns of indices out of bounds, whatever they are."""
    places = np.array([0, 2], np.int32)
    function = relax_function(lambda x, at: relax.op.take(x, at, axis=1), (X, places))
    _legalized(tvm.IRModule({"main": function}))
    assert capfd.readouterr().err == ""
