"""The tilings of the conv2d engine: they cover, they fit, and they are what the cost says."""

from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from target_arch.backend.contract import DoesNotFit
from target_arch.backends.conv2d_engine import backend
from target_arch.backends.conv2d_engine.support import describe
from target_arch.backends.conv2d_engine.tiles import choose, convolution, seconds, smallest, tilings
from target_arch.backends.tiling import needed
from target_arch.plan.kernels import Call, Kernel, Move
from tests.backends.conv2d_engine.test_conv2d_engine_kernels import Shape
from tests.backends.conv2d_engine.test_conv2d_engine_kernels import convolution as model_of
from tests.backends.engines import bench

LAYER: Shape = (16, 16, 4, 16, (3, 3), (1, 1), (1, 1, 1, 1))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    kernel = (draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    padding = tuple(draw(st.integers(0, taps - 1)) for taps in (*kernel, *kernel))
    height, width = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    assume(height + padding[0] + padding[2] >= kernel[0] and width + padding[1] + padding[3] >= kernel[1])
    channels, out_channels = draw(st.integers(1, 8)), draw(st.integers(1, 24))
    strides = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    return height, width, channels, out_channels, kernel, strides, padding  # type: ignore[return-value]


def written(kernel: Kernel, output: str) -> Counter[int]:
    """How often each byte of the output tensor is written."""
    count: Counter[int] = Counter()
    for action in kernel.actions:
        if isinstance(action, Move) and action.target.of == output:
            piece = action.target
            for row in range(piece.rows):
                start = piece.offset + row * piece.stride
                count.update(range(start, start + piece.row_bytes))
    return count


@settings(max_examples=60, deadline=None)
@given(shapes(), st.integers(300, 20000), st.sampled_from([1, 4, 16]), st.sampled_from([1, 2]))
def test_tiles_cover_each_output_once_and_fit_the_budget(
    shape: Shape, budget: int, alignment: int, dimensions: int
) -> None:
    model = model_of(shape)
    on = bench("conv2d_engine", {"bram": 32768}, alignment=alignment, dimensions=dimensions)
    request = on.request(model, {"bram": budget})
    engine = describe(on.soc, on.instance)
    if smallest(convolution(model.operators[0], model, engine.inward), engine) > budget:
        with pytest.raises(DoesNotFit):
            backend.lower(request)
        return
    kernel = backend.lower(request)
    assert sum(-(-buffer.bytes // 16) * 16 for buffer in kernel.buffers) <= budget
    output = model.operators[0].output
    assert written(kernel, output) == Counter(range(model.tensors[output].bytes))


def test_the_cheapest_fitting_tiling_is_chosen() -> None:
    model, on = model_of(LAYER), bench("conv2d_engine", {"bram": 4096})
    engine = describe(on.soc, on.instance)
    conv = convolution(model.operators[0], model, engine.inward)
    chosen = choose(conv, engine, 4096)
    assert chosen is not None
    parts = {each: zip(each.buffers, each.sizes, strict=True) for each in tilings(conv, engine)}
    fitting = [each for each, taken in parts.items() if needed(taken, engine.alignment) <= 4096]
    assert seconds(conv, chosen, engine) == min(seconds(conv, each, engine) for each in fitting)
    assert choose(conv, engine, smallest(conv, engine)) is not None
    assert choose(conv, engine, smallest(conv, engine) - 1) is None


def test_a_tiling_prints() -> None:
    model, on = model_of(LAYER), bench("conv2d_engine", {"bram": 4096})
    (note,) = backend.lower(on.request(model)).notes
    assert note == (
        "op0: tiles of 8 rows x 8 channels, channels, then rows; "
        "input 2 x 576 B, weights 2 x 384 B, output 2 x 1024 B"
    )


def test_with_enough_memory_a_layer_is_one_command() -> None:
    model, on = model_of(LAYER), bench("conv2d_engine", {"bram": 65536}, max_bytes=None)
    engine = describe(on.soc, on.instance)
    kernel = backend.lower(on.request(model))
    calls = sum(isinstance(action, Call) for action in kernel.actions)
    conv = convolution(model.operators[0], model, engine.inward)
    chosen = choose(conv, engine, 65536)
    assert chosen is not None
    assert calls == -(-16 // chosen.rows) * -(-16 // chosen.channels)


def test_what_does_not_fit_is_refused_with_numbers() -> None:
    model, on = model_of(LAYER), bench("conv2d_engine", {"bram": 65536})
    with pytest.raises(DoesNotFit) as refused:
        backend.lower(on.request(model, {"bram": 200}))
    assert str(refused.value) == "op0 needs 448 B of `bram`, 200 B are available"
