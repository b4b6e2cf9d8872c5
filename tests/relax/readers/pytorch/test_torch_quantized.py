"""Quantized programs, as pt2e quantization writes them, made by hand: it is in a package of its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.importer import import_model
from target_arch.run.references.pytorch import pytorch
from tests.relax.emulate import evaluate

INT8 = (-128, 127)
UINT8 = (0, 255)


@pytest.fixture(scope="module")
def torch() -> Any:
    found = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    pytest.importorskip("torch.ao.quantization.fx._decomposed")
    return found


def saved(torch: Any, module: Any, x: Any, path: Path) -> Path:
    with torch.no_grad():
        torch.export.save(torch.export.export(module.eval(), (x,)), path)
    return path


def classifier(torch: Any, *, channels: bool, stored: str, within: tuple[int, int]) -> Any:
    """A convolution and a dense layer, weights with one scale or one per output channel."""
    ops, dtype = torch.ops.quantized_decomposed, getattr(torch, stored)
    zero = 3 if stored == "int8" else 131

    def cut(x: Any, scale: float) -> Any:
        x = ops.quantize_per_tensor(x, scale, zero, *within, dtype)
        return ops.dequantize_per_tensor(x, scale, zero, *within, dtype)

    class Classifier(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            draw = torch.Generator().manual_seed(0)
            self.bias = torch.nn.Parameter(torch.randn(4, generator=draw))
            for name, shape in (("conv", (4, 3, 3, 3)), ("dense", (5, 4))):
                weights = torch.randint(-127, 128, shape, dtype=torch.int8, generator=draw)
                self.register_buffer(name, weights)
                self.register_buffer(f"{name}_scale", 0.002 + 0.001 * torch.rand(shape[0], generator=draw))
                self.register_buffer(f"{name}_zero", torch.zeros(shape[0], dtype=torch.int64))

        def weights(self, name: str) -> Any:
            stored = getattr(self, name)
            scale, zero_point = getattr(self, f"{name}_scale"), getattr(self, f"{name}_zero")
            if channels:
                return ops.dequantize_per_channel(stored, scale, zero_point, 0, -127, 127, torch.int8)
            return ops.dequantize_per_tensor(stored, 0.0025, 0, -127, 127, torch.int8)

        def forward(self, x: Any) -> Any:
            x = torch.nn.functional.conv2d(cut(x, 0.02), self.weights("conv"), self.bias, padding=1)
            x = cut(torch.relu(x), 0.03).mean((2, 3))
            return cut(torch.nn.functional.linear(cut(x, 0.01), self.weights("dense")), 0.01)

    return Classifier()


@pytest.mark.parametrize(
    ("channels", "stored", "within"), [(False, "int8", INT8), (True, "int8", INT8), (True, "uint8", UINT8)]
)
def test_integers_stay_integers(
    torch: Any, channels: bool, stored: str, within: tuple[int, int], tmp_path: Path
) -> None:
    module = classifier(torch, channels=channels, stored=stored, within=within)
    x = torch.randn(1, 3, 6, 6, generator=torch.Generator().manual_seed(1))
    model, program = import_model(saved(torch, module, x, tmp_path / "m.pt2"))
    kinds = [operator.kind for operator in model.operators]
    assert kinds == ["quantize", "transpose", "conv2d", "avg_pool2d", "dense", "dequantize"]
    assert {model.tensors[name].dtype for operator in model.operators[:-1] for name in [operator.output]} == {
        stored
    }
    with torch.no_grad():
        expected = module(x).numpy()
    (found,) = evaluate(model, {model.inputs[0]: x.numpy()}, program)
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.0100001)


def test_the_reference_counts_in_steps_of_its_outputs(torch: Any, tmp_path: Path) -> None:
    module = classifier(torch, channels=True, stored="int8", within=INT8)
    reference = pytorch(saved(torch, module, torch.zeros(1, 3, 6, 6), tmp_path / "m.pt2"))
    assert (reference.units, reference.allowed, reference.relative) == ((0.01,), 1.0, 0.0)
    assert reference.layers.judges
    (given,) = reference.inputs
    assert (given.low, given.high) == pytest.approx((-131 * 0.02, 124 * 0.02))


def test_values_in_a_part_of_their_type_are_refused(torch: Any, tmp_path: Path) -> None:
    module = classifier(torch, channels=True, stored="int8", within=(-127, 127))
    path = saved(torch, module, torch.zeros(1, 3, 6, 6), tmp_path / "m.pt2")
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    assert "its values are -127 to 127, a part of int8" in str(caught.value)


@pytest.mark.parametrize("stored", ["int8", pytest.param("uint8", marks=pytest.mark.long)])
def test_scales_that_the_program_computes(torch: Any, stored: str, tmp_path: Path) -> None:
    """The stored values are those of PyTorch, also where all inputs are positive, and where all are zero."""
    ops, dtype = torch.ops.quantized_decomposed, getattr(torch, stored)
    low, high = INT8 if stored == "int8" else UINT8

    class Dynamic(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            draw = torch.Generator().manual_seed(0)
            self.register_buffer("scales", 0.002 + 0.001 * torch.rand(5, generator=draw))
            weights = torch.randint(-127, 128, (5, 8), dtype=torch.int8, generator=draw)
            self.register_buffer("weights", weights)
            self.register_buffer("zeros", torch.zeros(5, dtype=torch.int64))

        def forward(self, x: Any) -> Any:
            scale, zero = ops.choose_qparams.tensor(x, low, high, 1.1920928955078125e-07, dtype)
            held = ops.quantize_per_tensor.tensor(x, scale, zero, low, high, dtype)
            x = ops.dequantize_per_tensor.tensor(held, scale, zero, low, high, dtype)
            weights = ops.dequantize_per_channel(
                self.weights, self.scales, self.zeros, 0, -127, 127, torch.int8
            )
            return held, torch.nn.functional.linear(x, weights), zero

    module = Dynamic()
    draw = torch.Generator().manual_seed(1)
    model, program = import_model(saved(torch, module, torch.zeros(3, 8), tmp_path / "m.pt2"))
    random = [torch.randn(3, 8, generator=draw) * 10.0**power for power in range(-3, 4)]
    for x in (*random, random[3].abs() + 1, torch.zeros(3, 8)):
        held, y, zero = (each.numpy() for each in module(x))
        found = evaluate(model, {model.inputs[0]: x.numpy()}, program)
        np.testing.assert_array_equal(found[0], held)
        np.testing.assert_allclose(found[1], y, rtol=1e-5, atol=1e-6 * np.abs(y).max())
        np.testing.assert_array_equal(found[2], zero)


def test_a_float_result_of_integers_is_compared_as_a_float(torch: Any, tmp_path: Path) -> None:
    module = torch.nn.Sequential(
        classifier(torch, channels=True, stored="int8", within=INT8), torch.nn.Tanh()
    )
    reference = pytorch(saved(torch, module, torch.zeros(1, 3, 6, 6), tmp_path / "m.pt2"))
    assert reference.reals == (True,)
    assert reference.limits == (1e-4,)


def test_other_ways_to_compute_scales_are_refused(torch: Any, tmp_path: Path) -> None:
    ops = torch.ops.quantized_decomposed

    class Dynamic(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            scale, zero = ops.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8)
            return ops.quantize_per_tensor.tensor(x, scale, zero, -127, 127, torch.int8)

    with pytest.raises(DiagnosticError) as caught:
        import_model(saved(torch, Dynamic(), torch.randn(1, 8), tmp_path / "m.pt2"))
    assert "`choose_qparams_symmetric.tensor` once, at `choose_qparams_symmetric`: not known here" in str(
        caught.value
    )


def test_weights_with_a_step_for_each_channel_that_a_batch_repeats(torch: Any, tmp_path: Path) -> None:
    """PyTorch repeats the weights of a dense layer for each position of rows that lie apart."""
    ops, torch_int8 = torch.ops.quantized_decomposed, torch.int8

    class Rows(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.register_buffer("weights", torch.randint(-127, 128, (24, 8), dtype=torch_int8))
            self.register_buffer("steps", torch.rand(24) * 0.1 + 0.01)
            self.register_buffer("zeros", torch.zeros(24, dtype=torch.int64))

        def forward(self, x: Any) -> Any:
            real = ops.dequantize_per_channel(self.weights, self.steps, self.zeros, 0, *INT8, torch_int8)
            return torch.nn.functional.linear(x.transpose(0, 1), real)

    network, x = Rows(), torch.randn(2, 5, 8)
    model, program = import_model(saved(torch, network, x, tmp_path / "m.pt2"))
    kinds = [str(operator.kind) for operator in model.operators]
    assert kinds == ["transpose", "dense"]
    weights = model.tensors[model.operators[1].constants[0]]
    assert weights.shape == (24, 8)
    found = evaluate(model, {model.inputs[0]: x.numpy()}, program)[0]
    assert np.abs(found - network(x).numpy()).max() < 1e-5
