"""Models whose concatenations and reshapes cost nothing: the same bits as onnxruntime, nothing for the
sanitizers, and the bytes they need.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.kernels import Operand
from target_arch.plan.memory import Arena
from target_arch.plan.steps import Dispatch
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from target_arch.run.verification.verify import compare
from target_arch.soc import read_soc
from target_arch.stages.check.plan import check
from target_arch.stages.errors import CheckError
from tests.e2e.conftest import portable
from tests.relax.models import Array, helper, onnx_model, save

FRAMES = 2
SCALE, ZERO = np.float32(1 / 16), np.int8(-3)
"""Powers of two: floats compute sums of products without rounding, so ties are ties for onnxruntime, too."""


class _Drawn:
    """A quantized ONNX network, node by node; every activation has the same scale and zero point."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {"s": np.array(SCALE), "z": np.array(ZERO)}
        self._draw = np.random.default_rng(7)

    def stored(self, name: str) -> str:
        """The value through QuantizeLinear and DequantizeLinear."""
        self.nodes.append(helper.make_node("QuantizeLinear", [name, "s", "z"], [f"{name}_q"]))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", "s", "z"], [f"{name}_d"]))
        return f"{name}_d"

    def conv(self, source: str, name: str, shape: tuple[int, int, int, int], **attributes: object) -> str:
        """A convolution with int8 weights."""
        self.constants[f"{name}_w"] = self._draw.integers(-20, 21, shape).astype(np.int8)
        self.constants[f"{name}_s"] = np.array(1 / 128, np.float32)
        self.constants[f"{name}_z"] = np.array(0, np.int8)
        weight = [f"{name}_w", f"{name}_s", f"{name}_z"]
        self.nodes.append(helper.make_node("DequantizeLinear", weight, [f"{name}_f"]))
        self.nodes.append(helper.make_node("Conv", [source, f"{name}_f"], [name], **attributes))
        return self.stored(name)

    def join(self, sources: list[str], name: str, axis: int) -> str:
        """A concatenation."""
        self.nodes.append(helper.make_node("Concat", sources, [name], axis=axis))
        return self.stored(name)

    def pad(self, source: str, name: str, widths: tuple[int, ...], value: float | None = None) -> str:
        """A pad as an operator of its own."""
        self.constants[f"{name}_p"] = np.array(widths, np.int64)
        inputs = [source, f"{name}_p"]
        if value is not None:
            self.constants[f"{name}_v"] = np.array(value, np.float32)
            inputs.append(f"{name}_v")
        self.nodes.append(helper.make_node("Pad", inputs, [name]))
        return self.stored(name)

    def saved(self, path: Path, shape: tuple[int, ...], last: str, out: tuple[int, ...]) -> Path:
        """The model in a file; `last` is its output."""
        model = onnx_model(self.nodes, {"x": shape}, {last: out}, self.constants)
        return save(model, path)


def fire(path: Path) -> Path:
    """What SqueezeNet is made of: two convolutions of one tensor, joined along the channels."""
    net = _Drawn()
    squeezed = net.conv(net.stored("x"), "squeeze", (8, 3, 1, 1))
    one = net.conv(squeezed, "one", (16, 8, 1, 1))
    three = net.conv(squeezed, "three", (24, 8, 3, 3), pads=[1, 1, 1, 1])
    joined = net.join([one, three], "joined", 1)
    return net.saved(path, (1, 3, 16, 16), net.conv(joined, "last", (4, 40, 1, 1)), (1, 4, 16, 16))


def skip(path: Path) -> Path:
    """A tensor that is joined with what was made of it, and read by others, too."""
    net = _Drawn()
    first = net.conv(net.stored("x"), "first", (16, 3, 3, 3), pads=[1, 1, 1, 1])
    deep = net.conv(first, "deep", (16, 16, 3, 3), pads=[1, 1, 1, 1])
    joined = net.join([first, deep, first], "joined", 1)
    return net.saved(path, (1, 3, 8, 8), net.conv(joined, "last", (4, 48, 1, 1)), (1, 4, 8, 8))


def rows(path: Path) -> Path:
    """Two images, one above the other: slices that are runs of bytes."""
    net = _Drawn()
    source = net.stored("x")
    above = net.conv(source, "above", (16, 3, 3, 3), pads=[1, 1, 1, 1])
    below = net.conv(source, "below", (16, 3, 1, 1))
    joined = net.join([above, below], "joined", 2)
    return net.saved(path, (1, 3, 8, 8), net.conv(joined, "last", (4, 16, 3, 3)), (1, 4, 14, 6))


def padded(path: Path, value: float | None) -> Path:
    """A convolution, and one behind a pad that is no part of it."""
    net = _Drawn()
    first = net.conv(net.stored("x"), "first", (16, 3, 1, 1))
    wide = net.pad(first, "wide", (0, 0, 1, 0, 0, 0, 1, 2), value)
    return net.saved(path, (1, 3, 8, 8), net.conv(wide, "last", (8, 16, 3, 3)), (1, 8, 8, 8))


def planned(path: Path) -> CompiledModel:
    return compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m7")))


SANITIZERS = ("address", "undefined")


def bit_equal(compilation: CompiledModel, path: Path, folder: Path, sanitize: tuple[str, ...] = ()) -> None:
    """The bundle answers as onnxruntime does."""
    write_bundle(compilation.bundle, folder)
    executable = build(folder, sanitize=sanitize, compiler=portable(), optimize="-O1")
    reference = reference_for(path)
    frames = reference.frames(FRAMES, seed=4)
    packed = tuple(b"".join(part.tobytes() for part in frame) for frame in frames)
    expected = tuple(b"".join(part.tobytes() for part in reference.answer(frame)[0]) for frame in frames)
    assert run_frames(executable, packed) == expected


def copied(compilation: CompiledModel) -> list[str]:
    """The steps of concatenations and reshapes."""
    kinds = {operator.id: operator.kind for operator in compilation.model.operators}
    steps = (step for step in compilation.steps.steps if isinstance(step, Dispatch))
    return [step.operator for step in steps if kinds[step.operator] in ("concat", "reshape")]


def slices(compilation: CompiledModel) -> list[Operand]:
    """What is written in rows of something larger."""
    steps = (step for step in compilation.steps.steps if isinstance(step, Dispatch))
    return [operand for step in steps for operand in rows_of(step)]


@pytest.mark.slow
def test_convolutions_write_their_channels_of_a_concatenation(
    needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("gcc")
    path = fire(tmp_path / "fire.onnx")
    found = planned(path)
    assert copied(found) == []
    assert [(each.offset, each.bytes, each.rows, each.stride) for each in slices(found)] == [
        (0, 16, 256, 40),
        (16, 24, 256, 40),
    ]
    assert found.plan.peaks[Arena("sram")] == 40 * 256 + 8 * 256
    bit_equal(found, path, tmp_path / "bundle", SANITIZERS)


def test_what_others_read_is_copied_into_the_concatenation(
    needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("gcc")
    path = skip(tmp_path / "skip.onnx")
    found = planned(path)
    assert len(copied(found)) == 2
    assert len(slices(found)) == 3
    bit_equal(found, path, tmp_path / "bundle")


@pytest.mark.slow
def test_slices_that_are_runs_of_bytes_lie_in_the_concatenation(
    needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("gcc")
    path = rows(tmp_path / "rows.onnx")
    found = planned(path)
    held = {buffer.name: [each.offset for each in buffer.aliases] for buffer in found.steps.buffers}
    (name,) = (name for name, offsets in held.items() if len(offsets) == 2)
    assert (held[name], copied(found)) == ([0, 1024], [])
    bit_equal(found, path, tmp_path / "bundle", SANITIZERS)


def test_dense_layers_and_a_reshaped_output(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """Floats, one after the other; the output is what they are in."""
    needs_tool("gcc")
    draw = np.random.default_rng(3)
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["a"]),
        helper.make_node("MatMul", ["x", "w"], ["b"]),
        helper.make_node("Concat", ["a", "b"], ["c"], axis=1),
        helper.make_node("Reshape", ["c", "shape"], ["y"]),
    ]
    constants = {
        "v": draw.standard_normal((12, 8)).astype(np.float32),
        "w": draw.standard_normal((12, 8)).astype(np.float32),
        "shape": np.array((2, 4, 2), np.int64),
    }
    path = save(onnx_model(nodes, {"x": (1, 12)}, {"y": (2, 4, 2)}, constants), tmp_path / "dense.onnx")
    found = planned(path)
    assert copied(found) == []
    (output,) = (buffer for buffer in found.steps.buffers if buffer.kind == "output")
    assert [held.offset for held in output.aliases] == [0, 0, 32]
    assert found.plan.peaks[Arena("sram")] == 12 * 4 + 16 * 4
    write_bundle(found.bundle, tmp_path / "bundle")
    assert compare(reference_for(path), build(tmp_path / "bundle"), count=2).passed


@pytest.mark.parametrize(
    "wrong", [{"offset": 8}, {"offset": 16}, {"stride": 32}, {"rows": 255}, {"rows": 257}, {"bytes": 15}]
)
def test_rows_that_lie_elsewhere_are_found(wrong: dict[str, int], joined: CompiledModel) -> None:
    """The first of the two convolutions writes other rows than its own."""
    soc, steps = read_soc("mcu_m7"), list(joined.steps.steps)
    number = next(n for n, step in enumerate(steps) if isinstance(step, Dispatch) and rows_of(step))
    call = steps[number]
    assert isinstance(call, Dispatch)
    operands = tuple(
        evolve(each, **wrong) if each.rows > 1 else each  # type: ignore[arg-type]
        for each in call.operands
    )
    steps[number] = evolve(call, operands=operands)
    check(soc, joined.steps, joined.plan)
    with pytest.raises(CheckError) as failure:
        check(soc, evolve(joined.steps, steps=tuple(steps)), joined.plan)
    rules = {diagnostic.rule for diagnostic in failure.value.diagnostics}
    assert rules & {"read-before-write", "out-of-bounds"}


def rows_of(step: Dispatch) -> list[Operand]:
    return [operand for operand in step.operands if operand.rows > 1]


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> CompiledModel:
    """The fire module, planned."""
    return planned(fire(tmp_path_factory.mktemp("fire") / "fire.onnx"))


def test_a_pad_is_part_of_the_convolution(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    """Outside of the image there is the zero point, in no buffer."""
    needs_tool("gcc")
    path = padded(tmp_path / "padded.onnx", None)
    found = planned(path)
    kinds = [operator.kind for operator in found.model.operators]
    assert kinds == ["quantize", "transpose", "conv2d", "conv2d", "dequantize", "transpose"]
    assert found.model.operators[3].attributes["padding"] == (1, 0, 1, 2)
    bit_equal(found, path, tmp_path / "bundle")


@pytest.mark.slow
def test_a_pad_with_another_value_is_an_operator(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    needs_tool("gcc")
    path = padded(tmp_path / "valued.onnx", 0.5)
    found = planned(path)
    assert "pad" in [operator.kind for operator in found.model.operators]
    bit_equal(found, path, tmp_path / "bundle")


def test_a_pad_of_floats_is_part_of_the_convolution(needs_tool: Callable[[str], str], tmp_path: Path) -> None:
    needs_tool("gcc")
    weights = np.random.default_rng(5).standard_normal((4, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Pad", ["x", "p"], ["wide"]),
        helper.make_node("Conv", ["wide", "w"], ["y"], strides=[2, 2]),
    ]
    constants = {"w": weights, "p": np.array((0, 0, 0, 0, 0, 0, 1, 1), np.int64)}
    path = save(onnx_model(nodes, {"x": (1, 3, 8, 8)}, {"y": (1, 4, 4, 4)}, constants), tmp_path / "f.onnx")
    found = planned(path)
    assert [operator.kind for operator in found.model.operators] == ["transpose", "conv2d", "transpose"]
    write_bundle(found.bundle, tmp_path / "bundle")
    assert compare(reference_for(path), build(tmp_path / "bundle"), count=2).passed
