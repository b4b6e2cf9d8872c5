"""Random inputs of a reference."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.run.references.pytorch import pytorch
from target_arch.run.references.reference import Input, Reference


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32"])
def test_inputs_without_dimensions_are_arrays(dtype: str) -> None:
    scalar = Input(name="x", shape=(), dtype=np.dtype(dtype), low=0.0, high=1.0)
    reference = Reference(name="", rule="", inputs=(scalar,), units=(), allowed=0.0, answer=lambda frame: ())
    ((value,),) = reference.frames(1, seed=0)
    assert isinstance(value, np.ndarray)
    assert (value.shape, value.dtype) == ((), np.dtype(dtype))


def reference_of(forward: Callable[..., Any], path: Path, *inputs: Any) -> Reference:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    net = type("Net", (torch.nn.Module,), {"forward": lambda self, *values: forward(torch, *values)})()
    torch.export.save(torch.export.export(net, tuple(torch.tensor(each) for each in inputs)), path)
    return pytorch(path)


def test_pytorch_gets_numbers_as_tensors(tmp_path: Path) -> None:
    reference = reference_of(lambda torch, x: x * 2, tmp_path / "m.pt2", 1.0)
    (doubled,) = reference.answer((np.float32(3.0),))
    assert doubled == (6.0,)


def test_inputs_that_pytorch_does_not_take(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"

    def loss(torch: Any, x: Any, chosen: Any) -> Any:
        return torch.nn.functional.nll_loss(x, chosen)

    reference = reference_of(loss, path, [[0.5, 0.5]], [1])
    with pytest.raises(DiagnosticError) as raised:
        reference.answer((np.zeros((1, 2), np.float32), np.array([7])))
    hint = "say which values its inputs take with `input_ranges`, or give some with `inputs`"
    assert [(each.rule, each.message, str(each.hint)) for each in raised.value.diagnostics] == [
        ("reference-failed", "PyTorch cannot run the model: Target 7 is out of bounds.", hint)
    ]


def test_sums_of_pytorch_have_one_order_whatever_its_threads(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal(300_000, np.float32)
    reference = reference_of(lambda torch, x: x.sum(), tmp_path / "m.pt2", values)
    torch = pytest.importorskip("torch")
    usual = torch.get_num_threads()
    sums = set()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            sums.add(reference.answer((values,))[0][0].tobytes())
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(usual)
    assert len(sums) == 1
