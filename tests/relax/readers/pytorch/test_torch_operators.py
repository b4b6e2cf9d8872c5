"""Operators of PyTorch that TVM's frontend lacks or misreads: built with gcc, compared with PyTorch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.registry import PlugIns
from target_arch.relax.importer import import_model
from target_arch.run import build, run_frames, write_bundle

torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")


class Net(torch.nn.Module):  # type: ignore[name-defined, misc]  # PyTorch has no types here
    """A function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Any) -> Any:
        """What the function gives."""
        return self.function(*given)


def differences(function: Callable[..., Any], folder: Path, *inputs: Any) -> list[float]:
    """Between PyTorch and the C program, for each result."""
    path = folder / "m.pt2"
    given = tuple(each.clone() for each in inputs)
    torch.export.save(torch.export.export(Net(function), given), path)
    plug_ins = PlugIns.discover(())
    soc = plug_ins.backends.default_soc("c")
    made = compile_model(CompileRequest(model_path=path, soc=soc, plug_ins=plug_ins))
    write_bundle(made.bundle, folder / "bundle")
    frame = b"".join(each.numpy().tobytes() for each in given)
    (answer,) = run_frames(build(folder / "bundle", optimize="-O0"), (frame,), timeout=60)
    found, place = [], 0
    for each in (result.numpy() for result in function(*inputs)):
        one = np.frombuffer(answer, each.dtype, each.size, place).reshape(each.shape)
        place += each.nbytes
        apart = np.abs(one.astype(float) - each.astype(float))
        found.append(float(np.where(one == each, 0, apart).max()))
    assert place == len(answer)
    return found


def drawn(*shape: int, dtype: Any = None, low: int = -9, high: int = 9) -> Any:
    draw = torch.Generator().manual_seed(0)
    if dtype is None:
        return torch.randn(shape, generator=draw)
    return torch.randint(low, high, shape, generator=draw).to(dtype)


def test_whole_numbers_are_computed_as_pytorch_promotes_them(tmp_path: Path) -> None:
    def forward(x: Any, small: Any, flags: Any, floats: Any) -> list[Any]:
        return [
            x == 2.5, x < 2.5, small > x, flags + x, x / 3, x * 0.5, x + floats, x.sin(), x.sum(1),
            flags.sum(), small.float().mean(), x.clamp(-2), x.clamp(max=1), torch.clamp(x, x[:1], x[1:2]),
            torch.fmod(x, 4), x @ x.T, torch.addmm(x[:, :3], x, x.T, beta=2, alpha=3), x.any(), x.any(0),
            torch.where(flags, x, floats), x.cumsum(1), flags.cumsum(0), torch.median(x), x.amax(0),
            torch.maximum(x, small), torch.fmax(floats, x), torch.exp2(x), torch.rsub(x, 1.5),
            x ** x.abs(), torch.pow(2, x.abs()),
        ]  # fmt: skip

    x = drawn(3, 4, dtype=torch.int64)
    small, flags = drawn(3, 4, dtype=torch.int8), drawn(3, 4, dtype=torch.bool, low=0, high=2)
    assert max(differences(forward, tmp_path, x, small, flags, drawn(3, 4))) < 1e-5


def test_elements_at_computed_places(tmp_path: Path) -> None:
    def forward(x: Any, row: Any, places: Any, mask: Any) -> list[Any]:
        changed, added, cleared = x.clone(), x.clone(), x.clone()
        changed[:, row] = 3.0
        cleared[mask] = 0.0
        part = x.clone()
        part[1] = x[0]
        return [
            x[row], x[:, row], x[row, row], x[:, row, row[:2].view(2, 1)], x[row, :, row],
            changed, cleared, part, added.index_put((row, row), x[:, 0, :3].mean(), accumulate=True),
            x.take(row), x.scatter_add(1, places, x), x.scatter(0, places.clamp(max=2), 2.5),
            torch.bucketize(x, x[0, 0].sort()[0], right=True), x.scatter_reduce(1, places, x, "amax"),
            x.scatter_reduce(2, places, x, "prod", include_self=False), x.masked_scatter(mask, x.flip(0)),
            torch.searchsorted(x[0, 0].sort()[0], x), torch.diagonal_scatter(x, x[0, 0, :3].expand(4, 3)),
            torch.cat([x[0], x.new_zeros(0), row.view(1, 3).expand(4, 3)], 1),
        ]  # fmt: skip

    row = torch.tensor([0, -1, 2])
    places, mask = drawn(3, 4, 4, dtype=torch.int64, low=0, high=3), drawn(3, 4, 4) > 0
    assert max(differences(forward, tmp_path, drawn(3, 4, 4), row, places, mask)) < 1e-6


def test_reductions_images_and_norms(tmp_path: Path) -> None:
    functional = torch.nn.functional

    def forward(x: Any, y: Any) -> list[Any]:
        return [
            *torch.var_mean(x, (1, 2)), *torch.var_mean(x, correction=0), *x.min(1), *x.max(2, keepdim=True),
            functional.adaptive_max_pool2d(x, (3, 2)), functional.adaptive_max_pool1d(x[0], 3),
            functional.interpolate(x[0], size=7), functional.interpolate(x[None], (3, 7, 4)),
            functional.interpolate(x[None, 0], scale_factor=1.7, mode="bilinear"),
            functional.interpolate(x[None, 0], scale_factor=0.6, mode="bicubic"),
            functional.interpolate(x[None, 0], scale_factor=0.6, mode="bicubic", align_corners=True),
            functional.interpolate(x[0], size=3, mode="linear"), *x[0].sort(1), *x.topk(2),
            functional.fold(y, (3, 4), (2, 2)),
            torch.cdist(y, y, 1), torch.cdist(y, y + 1), torch.cdist(y, y, torch.inf),
            functional.bilinear(y, y, y[:, :6]),
            torch.addbmm(y[0, :4, :4], y[:, :4], y[:, :6, :4], alpha=0.5), torch.copysign(x, -x),
            torch.fmod(x, x.flip(0)),
            functional.pad(x, (1, 2, 1, 1), mode="reflect"),
            torch.logaddexp2(x, x + 1), torch.ldexp(x, torch.tensor(3)), torch.heaviside(x, x),
        ]  # fmt: skip

    x, y = drawn(2, 3, 4, 5), drawn(2, 8, 6)
    assert max(differences(forward, tmp_path, x, y)) < 1e-5


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (lambda x: x[x > 0], "the shape of its result depends on values"),
        (lambda x: x.nonzero(), "the shape of its result depends on values"),
        (lambda x: (x > 0).to(torch.uint8) < -3, "the number -3 with elements of uint8"),
        (lambda x: torch.cdist(x, x, 3), "the norm 3"),
    ],
    ids=["mask", "nonzero", "number", "norm"],
)
def test_what_stays_refused(forward: Callable[..., Any], reason: str, tmp_path: Path) -> None:
    torch.export.save(torch.export.export(Net(forward), (drawn(3, 4),)), tmp_path / "m.pt2")
    with pytest.raises(DiagnosticError) as failure:
        import_model(tmp_path / "m.pt2")
    assert any(note.message.endswith(reason) for note in failure.value.diagnostics[0].notes)
