"""Inputs and outputs of exported programs: their tensors, wherever they stand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.relax.importer import import_model
from target_arch.run.references.pytorch import pytorch
from tests.relax.emulate import evaluate

torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")


class Net(torch.nn.Module):  # type: ignore[name-defined, misc]  # PyTorch has no types here
    """A function with a buffer."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.function = forward
        self.register_buffer("cache", torch.zeros(2, 3))

    def forward(self, *given: Any, **named: Any) -> Any:
        """What the function gives."""
        return self.function(self, *given, **named)


def saved(forward: Callable[..., Any], path: Path, *given: Any, **named: Any) -> Path:
    with torch.no_grad():
        torch.export.save(torch.export.export(Net(forward).eval(), given, named), path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    return str(caught.value).replace(f"{path.parent}/", "")


X, Y = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)


@pytest.mark.parametrize(
    ("forward", "given", "named"),
    [
        pytest.param(lambda _, x: {"one": x * 2, "two": (x + 1, [x - 1])}, (X,), {}, id="results in a tree"),
        pytest.param(lambda _, each: each["x"] - each["y"], ({"x": X, "y": Y},), {}, id="a dictionary"),
        pytest.param(lambda _, each: each[0] - each[1], ([X, Y],), {}, id="a list"),
        pytest.param(lambda _, x, *, y: x - y, (X,), {"y": Y}, id="a keyword"),
        pytest.param(lambda _, x, n, none, y: x * n - y, (X, 3, None, Y), {}, id="a number and None"),
        pytest.param(lambda _, x: (None, x * 2, 3), (X,), {}, id="results that are no tensors"),
        pytest.param(lambda _, x: x.add_(1) * 2, (X,), {}, id="an input that is changed"),
        pytest.param(
            lambda net, x: (net.cache.copy_(x), x * 2)[1], (X,), {}, id="a buffer that nothing reads"
        ),
    ],
)
def test_tensors_are_found(
    forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any], tmp_path: Path
) -> None:
    """Ours, PyTorch as the reference runs it, and the function itself agree."""
    path = saved(forward, tmp_path / "m.pt2", *given, **named)
    model, program = import_model(path)
    tensors = [
        each for each in torch.utils._pytree.tree_leaves((given, named)) if isinstance(each, torch.Tensor)
    ]
    frame = tuple(each.numpy().copy() for each in tensors)
    reference = pytorch(path)
    found = evaluate(model, dict(zip(model.inputs, frame, strict=True)), program)
    (answers,) = reference.answer(frame)
    inside = list(reference.inside(frame).values())
    assert len(found) == len(answers) == len(reference.units)
    for one, other in zip(found, answers, strict=True):
        assert np.array_equal(one, other)
        assert any(np.array_equal(one, each) for each in inside)
    expected = torch.utils._pytree.tree_leaves(Net(forward)(*given, **named))
    for one, other in zip(answers, (each for each in expected if hasattr(each, "numpy")), strict=True):
        assert np.array_equal(one, other.numpy())


@pytest.mark.parametrize("draw", [torch.randn_like, torch.rand_like, torch.bernoulli])
def test_random_numbers(draw: Callable[..., Any], tmp_path: Path) -> None:
    """TVM's frontend makes them constants."""
    text = refusal(saved(lambda _, x: x + draw(x), tmp_path / "m.pt2", Y))
    assert "its results are random; export the model after `eval()`" in text
