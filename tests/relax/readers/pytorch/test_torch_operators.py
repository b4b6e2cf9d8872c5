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
        same = (one == each) | (np.isnan(one) & np.isnan(each))
        found.append(float(np.where(same, 0, apart).max()))
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
            x ** 0, x ** 1, x ** 2, x ** 5, x ** 66, small ** 11, floats ** small, 1.5 ** floats,
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


def test_images_read_between_their_pixels(tmp_path: Path) -> None:
    def forward(x: Any, grid: Any) -> list[Any]:
        return [
            torch.nn.functional.grid_sample(x, grid, mode, padding, (row + column) % 2 == 0)
            for row, mode in enumerate(("bilinear", "nearest", "bicubic"))
            for column, padding in enumerate(("zeros", "border", "reflection"))
        ]

    assert max(differences(forward, tmp_path, drawn(2, 2, 4, 5), drawn(2, 3, 4, 2))) < 1e-5

    def volumes(x: Any, grid: Any) -> list[Any]:
        return [
            torch.nn.functional.grid_sample(x, grid, mode, padding, align_corners=False)
            for mode, padding in (("bilinear", "zeros"), ("nearest", "reflection"))
        ]

    assert max(differences(volumes, tmp_path, drawn(1, 2, 3, 4, 5), drawn(1, 2, 3, 4, 3))) < 1e-5


def test_windows_and_their_places(tmp_path: Path) -> None:
    functional, transposed = torch.nn.functional, torch.nn.functional.conv_transpose3d

    def forward(x: Any, small: Any) -> list[Any]:
        return [
            *functional.max_pool2d(x, 3, 2, 1, return_indices=True),
            *functional.max_pool2d(x[0], 2, ceil_mode=True, return_indices=True),
            functional.max_unpool2d(*functional.max_pool2d(x[:, :, :, 1:], 2, return_indices=True), 2),
            functional.max_pool2d(small, 2), functional.avg_pool2d(x, 3, 2, 1, divisor_override=5),
            functional.avg_pool3d(x, (1, 2, 2), ceil_mode=True, divisor_override=2),
            x.unfold(3, 3, 2).unfold(1, 2, 1), x.as_strided((2, 3), (7, 2), 4),
            transposed(x[None], x[:, :2, None, :2, :2], None, (1, 2, 1), 0, (0, 1, 0)),
            functional.interpolate(x, scale_factor=0.5, mode="bilinear", antialias=True),
            functional.interpolate(x, (3, 4), mode="bicubic", antialias=True),
            functional.interpolate(x[:, :, None], scale_factor=2, mode="trilinear"),
        ]  # fmt: skip

    x, small = drawn(2, 3, 6, 7), drawn(1, 2, 4, 6, dtype=torch.int8)
    assert max(differences(forward, tmp_path, x, small)) < 1e-5


def test_scans_means_and_bags(tmp_path: Path) -> None:
    bag = torch.nn.functional.embedding_bag

    def forward(x: Any, whole: Any, places: Any, offsets: Any) -> list[Any]:
        rows = places[0].expand(2, 4)
        return [
            *x.cummax(1), *x.round().cummin(0), *whole.cummax(1), x.logcumsumexp(1), (x * 99).logcumsumexp(0),
            x.scatter_reduce(0, rows, x, "mean"), x.scatter_reduce(0, rows, x, "mean", include_self=False),
            whole.scatter_reduce(0, rows, whole, "mean"), bag(places, x), bag(places[0], x, offsets),
            bag(places[0], x, offsets, mode="sum", padding_idx=2, per_sample_weights=x[0]),
        ]  # fmt: skip

    x, places = drawn(3, 4), torch.tensor([[0, 2, 1, 0], [2, 2, 1, 1]])
    x[1, 2] = torch.nan
    found = differences(forward, tmp_path, x, drawn(3, 4, dtype=torch.int32), places, torch.tensor([0, 1, 1]))
    assert max(found) < 1e-5


def test_bits_and_limits_of_whole_numbers(tmp_path: Path) -> None:
    def forward(x: Any, unsigned: Any, by: Any) -> list[Any]:
        wide = by.to(torch.uint8)
        return [
            x << by, x >> by, x << 2, unsigned >> wide, unsigned << wide, x.long() << by, x.int() >> by,
            unsigned < 0, unsigned >= 0, unsigned > 255, x >= -128, torch.heaviside(unsigned, wide),
            unsigned.take(by[:1].long()), torch.nn.functional.rrelu(x.float()),
        ]  # fmt: skip

    x, by = drawn(20, dtype=torch.int8, low=-128, high=127), torch.arange(20, dtype=torch.int8) % 10
    unsigned = drawn(20, dtype=torch.uint8, low=0, high=256)
    assert max(differences(forward, tmp_path, x, unsigned, by.clone())) == 0


def test_what_follows_from_numbers_alone_is_computed_by_pytorch(tmp_path: Path) -> None:
    """In double precision, too, and by operators that have no form here."""

    def forward(x: Any) -> Any:
        places = torch.arange(8, dtype=torch.float64)
        table = torch.special.i0(places).log().float()
        rows, columns = torch.tril_indices(3, 3)
        return x[rows, columns] * table[:6]

    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(Net(forward), (drawn(3, 4),)), path)
    model, _ = import_model(path)
    assert len(model.operators) <= 2
    assert differences(lambda x: [forward(x)], tmp_path, drawn(3, 4)) == [0.0]


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (lambda x: x.byte().flatten().bincount(), "the shape of its result depends on values"),
        (lambda x: (x > 0).to(torch.uint8) < -3, "the number -3 with elements of uint8"),
        (lambda x: torch.cdist(x, x, 3), "the norm 3"),
        (
            lambda x: torch.nn.functional.interpolate(x[None, None].byte(), scale_factor=2, mode="bilinear"),
            "its elements are uint8",
        ),
    ],
    ids=["counts", "number", "norm", "image of whole numbers"],
)
def test_what_stays_refused(forward: Callable[..., Any], reason: str, tmp_path: Path) -> None:
    torch.export.save(torch.export.export(Net(forward), (drawn(3, 4),)), tmp_path / "m.pt2")
    with pytest.raises(DiagnosticError) as failure:
        import_model(tmp_path / "m.pt2")
    assert any(note.message.endswith(reason) for note in failure.value.diagnostics[0].notes)
