"""Results of PyTorch whose size depends on values: what PyTorch gives, and how much of it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import target_arch
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.manifest.model import BoundedEntry
from target_arch.relax.importer import import_model
from tests.relax.readers.pytorch.test_torch_operators import Net

torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")


def saved(folder: Path, function: Callable[..., Any], *given: Any) -> Path:
    path = folder / "m.pt2"
    torch.export.save(torch.export.export(Net(function), given), path)
    return path


def chosen(x: Any) -> tuple[Any, ...]:
    """Places, elements, rows and columns, what is computed from them, and what is so from all of them."""
    places, rows = (x > 0).nonzero(), x[x[:, 0] > 0]
    lines, columns = torch.where(x > 1)
    return (
        places,
        x[x > 0].exp(),
        torch.masked_select(x, x > 0) > 1,
        (rows @ torch.ones(5, 3)).softmax(1),
        torch.nn.functional.layer_norm(rows[rows[:, 1] > 0], (5,)),
        torch.stack([lines, columns], 1) + 1,
        x[:, x[0] > 0],
        x[(x[:, 2] > 0).nonzero().squeeze(1) + 0],
        *torch.unique(x.to(torch.int32), return_inverse=True, return_counts=True),
        x[x > 0].sum(),
        rows.mean(0),
        torch.ones_like(rows).amax(1),
    )


@pytest.mark.slow
def test_what_is_chosen_by_values_is_that_of_pytorch(
    tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    """With nothing chosen, and everything: PyTorch's mean of nothing is no number."""
    needs_tool("gcc")
    path = saved(tmp_path, chosen, torch.randn(4, 5))
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    outputs = bundle.manifest.models[0].outputs
    assert [each.shape for each in outputs[:3]] == [(20, 2), (20,), (20,)]
    assert outputs[0].bounded == BoundedEntry(axis=0, count="nonzero_count")
    axes = [each.bounded and each.bounded.axis for each in outputs[3:15]]
    assert axes == [0, 0, 0, 1, 0, 0, None, 0, None, None, 0, None]
    frames = 2 * np.random.default_rng(1).standard_normal((20, 4, 5)).astype(np.float32)
    frames[0], frames[1] = -2, 2
    np.savez(tmp_path / "frames.npz", **{bundle.inputs[0].name: frames})
    (found,) = bundle.verify(path, inputs=tmp_path / "frames.npz").values()
    assert found.passed, str(found)
    part = target_arch.compile(path, "mcu_m55", end="index_2").manifest.models[0]
    assert [(each.name, each.shape) for each in part.outputs] == [
        ("index_2", (4, 5)),
        ("index_2_count", (1,)),
    ]


def test_what_reads_behind_a_count_is_refused(tmp_path: Path) -> None:
    def forward(x: Any) -> Any:
        found = x[x > 0]
        size = found.shape[0]
        return found.cumsum(0), x[x > 1] / size, found[:2], torch.cat([found, x[x < 0]])

    path = saved(tmp_path, forward, torch.randn(4, 5))
    with pytest.raises(DiagnosticError) as failure:
        import_model(path)
    said = [re.sub(r"_int_\d+", "", note.message) for note in failure.value.diagnostics[0].notes]
    assert said == [
        "`cat` once, at `cat`: the size of its operand `index` depends on values",
        "`cumsum` once, at `cumsum`: the size of its operand `index` depends on values",
        "`div.Tensor` once, at `div`: its operand `sym_size` is a size that depends on values",
        "`slice.Tensor` once, at `slice_1`: the size of its operand `index` depends on values",
        "`sym_size.int` once, at `sym_size`: its result is a size that depends on values",
    ]
