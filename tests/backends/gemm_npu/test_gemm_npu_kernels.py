"""Kernels of the matrix engine, run on its driver and simulator, against a product in Python integers."""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve

from target_arch.backend.contract import DoesNotFit
from target_arch.backends.gemm_npu import backend
from target_arch.plan.arithmetic import requantization
from target_arch.plan.kernels import Call, Kernel, Move
from target_arch.plan.model import Model, Operator
from tests.backends.engines import Attributes, Bench, Device, bench, layer, random_bytes

Build = Callable[[str], ctypes.CDLL]
Shape = tuple[int, int, int]
"""Rows, depth, columns."""

SHAPES: tuple[Shape, ...] = ((1, 640, 128), (1, 64, 12), (24, 40, 16), (50, 16, 8), (7, 9, 5), (33, 128, 64))
SCRATCHPADS = {"inp": "npu_inp", "wgt": "npu_wgt", "acc": "npu_acc"}
MEMORIES = ((32768, 32768, 32768), (1024, 4096, 2048), (512, 1024, 1024))


def dense(
    shape: Shape, arithmetic: str = "tflite", seed: int = 0, name: str = "op0", source: str = "x"
) -> Model:
    """A model of one dense layer of such a shape."""
    rows, depth, columns = shape
    attributes: Attributes = {"in_features": depth}
    shapes = ((rows, depth), (columns, depth), (rows, columns))
    return layer("dense", shapes, attributes, arithmetic=arithmetic, seed=seed, name=name, source=source)


def pointwise(shape: Shape, strides: tuple[int, int] = (1, 1), kernel: tuple[int, int] = (1, 1)) -> Model:
    """A model of one convolution over `rows` pixels of one column."""
    rows, depth, columns = shape
    attributes: Attributes = {"strides": strides, "padding": (0, 0, 0, 0), "dilation": (1, 1)}
    shapes = ((1, rows, 1, depth), (columns, *kernel, depth), (1, rows, 1, columns))
    return layer("conv2d", shapes, attributes)


def machine(sizes: tuple[int, int, int], **limits: int) -> Bench:
    """A matrix engine with scratchpads of such sizes for inputs, weights and accumulators."""
    names = dict(zip(SCRATCHPADS.values(), sizes, strict=True))
    return bench("gemm_npu", names, buffers=SCRATCHPADS, **limits)


def reference(operator: Operator, model: Model, x: bytes) -> bytes:
    """The product by exact integers."""
    weights, bias = (model.tensors[name].data for name in operator.constants)
    assert weights is not None
    assert bias is not None
    scaling = requantization(operator, model)
    biases = np.frombuffer(bias, np.int32).astype(np.int64)
    columns = len(biases)
    matrix = np.frombuffer(weights, np.int8).astype(np.int64).reshape(columns, -1)
    values = np.frombuffer(x, np.int8).astype(np.int64).reshape(-1, matrix.shape[1]) + scaling.input_offset
    sums = values @ matrix.T + biases
    flat = [scaling.apply(int(value), index % columns) for index, value in enumerate(sums.ravel())]
    return np.array(flat, np.int8).tobytes()


def execute(kernel: Kernel, on: Bench, model: Model, library: ctypes.CDLL, x: bytes) -> bytes:
    sizes = {op.output: model.tensors[op.output].bytes for op in model.operators}
    return Device(library, on.soc, on.instance).run(kernel, {"x": x}, sizes)[model.operators[-1].output]


@pytest.mark.parametrize("arithmetic", ["tflite", "onnx"])
@pytest.mark.parametrize("sizes", MEMORIES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_tiling_gives_the_exact_result(
    build: Build, shape: Shape, sizes: tuple[int, int, int], arithmetic: str
) -> None:
    model = dense(shape, arithmetic, seed=sizes[0] + len(arithmetic))
    on = machine(sizes)
    assert backend.supports(on.question(model.operators[0], model)) is None
    kernel = backend.lower(on.request(model))
    x = random_bytes(model.tensors["x"].bytes, 7)
    expected = reference(model.operators[0], model, x)
    assert execute(kernel, on, model, build("gemm_npu"), x) == expected


@pytest.mark.parametrize("limits", [(1, 1, 100), (16, 2, 4096), (16, 1, 64), (8, 2, 48)], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_moves_honour_what_the_copy_paths_demand(
    build: Build, shape: Shape, limits: tuple[int, int, int]
) -> None:
    model = dense(shape, seed=limits[0])
    on = machine((2048, 4096, 2048), alignment=limits[0], dimensions=limits[1], max_bytes=limits[2])
    kernel = backend.lower(on.request(model))
    x = random_bytes(model.tensors["x"].bytes, 8)
    expected = reference(model.operators[0], model, x)
    assert execute(kernel, on, model, build("gemm_npu"), x) == expected


@pytest.mark.parametrize("sizes", MEMORIES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_move_can_be_left_out(build: Build, shape: Shape, sizes: tuple[int, int, int]) -> None:
    model = dense(shape, seed=1)
    on = machine(sizes)
    kernel = backend.lower(on.request(model))
    x = random_bytes(model.tensors["x"].bytes, 9)
    expected = reference(model.operators[0], model, x)
    for index, action in enumerate(kernel.actions):
        if isinstance(action, Move):
            without = evolve(kernel, actions=kernel.actions[:index] + kernel.actions[index + 1 :])
            try:
                result = execute(without, on, model, build("gemm_npu"), x)
            except AssertionError:  # stale parameters may be a fault of the device
                continue
            assert result != expected, action


def test_the_depth_is_cut_where_nothing_else_fits(build: Build) -> None:
    model = dense((3, 256, 8))
    on = machine((128, 512, 512))
    kernel = backend.lower(on.request(model))
    calls = [action for action in kernel.actions if isinstance(action, Call)]
    assert {call.words[3] for call in calls} == {1, 0, 2}
    assert {len(call.operands) for call in calls} == {3, 5}
    x = random_bytes(model.tensors["x"].bytes, 2)
    assert execute(kernel, on, model, build("gemm_npu"), x) == reference(model.operators[0], model, x)


def test_a_pointwise_convolution_is_a_product_of_its_pixels(build: Build) -> None:
    model = pointwise((40, 16, 24))
    on = machine((512, 1024, 1024))
    assert backend.supports(on.question(model.operators[0], model)) is None
    kernel = backend.lower(on.request(model))
    x = random_bytes(model.tensors["x"].bytes, 4)
    assert execute(kernel, on, model, build("gemm_npu"), x) == reference(model.operators[0], model, x)


@pytest.mark.parametrize("sizes", [(32768, 32768, 32768), (512, 2048, 1024)], ids=str)
def test_operators_of_a_partition_share_the_buffers(build: Build, sizes: tuple[int, int, int]) -> None:
    first, second = dense((1, 256, 64), seed=1), dense((1, 64, 256), seed=2, name="op1", source="op0.y")
    tensors = {**second.tensors, **first.tensors}
    model = evolve(second, inputs=("x",), operators=first.operators + second.operators, tensors=tensors)
    on = machine(sizes)
    kernel = backend.lower(on.request(model))
    x = random_bytes(256, 3)
    expected = reference(model.operators[1], model, reference(model.operators[0], model, x))
    assert execute(kernel, on, model, build("gemm_npu"), x) == expected


@pytest.mark.parametrize(("accumulators", "count"), [(32768, 2), (304, 2), (256, 1)])
def test_results_have_two_buffers_where_there_is_room(accumulators: int, count: int) -> None:
    kernel = backend.lower(machine((32768, 32768, accumulators)).request(dense((1, 640, 128))))
    written = [action.operands[-1].of for action in kernel.actions if isinstance(action, Call)]
    read = {action.operands[1].of for action in kernel.actions if isinstance(action, Call)}
    assert len(set(written)) == count
    assert len(written) > 2
    assert len(read) == 1, "blocks of weights take turns"


def test_what_does_not_fit_is_refused_with_numbers() -> None:
    model = dense((1, 640, 128))
    on = machine((32768, 32768, 32768))
    with pytest.raises(DoesNotFit) as refused:
        backend.lower(on.request(model, {"npu_acc": 16}))
    assert str(refused.value) == "op0 needs 32 B of `npu_acc`, 16 B are available"


def refused(model: Model, on: Bench) -> str | None:
    return backend.supports(on.question(model.operators[0], model))


def test_refusals_say_why_with_numbers() -> None:
    on = machine((32768, 32768, 32768))
    good = dense((4, 8, 4))
    other = evolve(good, operators=(evolve(good.operators[0], kind="softmax"),))
    assert refused(other, on) == "the engine computes dense and pointwise conv2d only, this is softmax"
    assert refused(pointwise((4, 8, 4), kernel=(3, 1)), on) == "kernel is 3 x 1, the engine takes 1 x 1"
    assert (
        refused(pointwise((4, 8, 4), strides=(2, 2)), on)
        == "strides of (2, 2), the engine takes 1 in every direction"
    )
    assert (
        refused(good, bench("gemm_npu", {"npu_inp": 64, "npu_wgt": 64, "npu_acc": 64}))
        == "`engine` maps no memory to the buffer `inp`"
    )
    assert (
        refused(good, machine((32768, 16, 32768)))
        == "the smallest block needs 64 B of `npu_wgt`, it has 16 B"
    )
    isolated = evolve(on.soc, copies=tuple(each for each in on.soc.copies if each.target != "npu_wgt"))
    assert refused(good, Bench(soc=isolated)) == "no copy path leads into `npu_wgt`"


def test_cost_is_start_and_multiply_accumulates_at_the_clock() -> None:
    on = machine((32768, 32768, 32768))
    model = dense((2, 128, 64))
    cycles = 400 + 2 * 128 * 64 / 256
    assert backend.cost(on.question(model.operators[0], model)) == pytest.approx(cycles / 100e6)
