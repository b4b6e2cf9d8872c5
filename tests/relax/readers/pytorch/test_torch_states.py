"""Buffers that a program reads and changes: sequences of runs in C and in PyTorch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.registry import PlugIns
from target_arch.relax.importer import import_model
from target_arch.run import build, run_frames, write_bundle
from target_arch.run.references.pytorch import pytorch

torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")


class Net(torch.nn.Module):  # type: ignore[name-defined, misc]  # PyTorch has no types here
    """A function with buffers; those whose names begin with an underscore are not in its state dictionary."""

    def __init__(self, function: Callable[..., Any], **buffers: Any) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=not name.startswith("_"))

    def forward(self, *given: Any) -> Any:
        """What the function gives."""
        return self.function(self, *given)


def stream() -> tuple[Any, list[Any]]:
    """A convolution over the last values of earlier runs, a sum, and a buffer that changes unseen."""

    def forward(net: Any, x: Any) -> Any:
        whole = torch.cat([net.past, x], 1)
        net.past.copy_(whole[:, -2:])
        net.unseen.add_(1)
        net._total.add_(x.sum() * net._factor[0])
        net.runs += 1
        return whole.unfold(1, 3, 1).sum(2), net._total, net.runs, net._total * 2

    buffers = {
        "past": torch.tensor([[1.5, -2.0]]), "unseen": torch.zeros(2), "runs": torch.tensor(3),
        "_total": torch.ones(1), "_factor": torch.full((2,), 0.5),
    }  # fmt: skip
    draw = torch.Generator().manual_seed(0)
    return Net(forward, **buffers), [(torch.randn(1, 4, generator=draw),) for _ in range(4)]


def cache() -> tuple[Any, list[Any]]:
    """Attention over what earlier runs left at their places."""

    def forward(net: Any, x: Any, place: Any) -> Any:
        net.keys[:, place] = x
        mask = (torch.arange(6) <= place[:, None])[None]
        return torch.nn.functional.scaled_dot_product_attention(x, net.keys, net.keys, attn_mask=mask)

    draw = torch.Generator().manual_seed(0)
    frames = [(torch.randn(1, 1, 4, generator=draw), torch.tensor([place])) for place in range(6)]
    return Net(forward, keys=torch.zeros(1, 6, 4)), frames


def later() -> tuple[Any, list[Any]]:
    """One buffer reaches the result through another, a run later."""

    def forward(net: Any, x: Any) -> Any:
        found = x + net.first
        net.first.copy_(net.second)
        net.second.copy_(x * 2)
        return found

    frames = [(torch.full((2,), float(number)),) for number in range(5)]
    return Net(forward, first=torch.ones(2), second=torch.arange(2.0)), frames


@pytest.mark.parametrize("made", [stream, cache, later])
def test_runs_in_sequence(made: Callable[[], tuple[Any, list[Any]]], tmp_path: Path) -> None:
    net, frames = made()
    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(net, frames[0]), path)
    plug_ins = PlugIns.discover(())
    soc = plug_ins.backends.default_soc("c")
    made_bundle = compile_model(CompileRequest(model_path=path, soc=soc, plug_ins=plug_ins)).bundle
    write_bundle(made_bundle, tmp_path / "bundle")
    given = [b"".join(each.numpy().tobytes() for each in frame) for frame in frames]
    answers = run_frames(build(tmp_path / "bundle", optimize="-O0"), tuple(given), timeout=60)
    for frame, answer in zip(frames, answers, strict=True):
        place = 0
        for each in torch.utils._pytree.tree_leaves(net(*frame)):
            wanted = each.numpy()
            found = np.frombuffer(answer, wanted.dtype, wanted.size, place).reshape(wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
            place += wanted.nbytes
        assert place == len(answer)


def test_states_have_the_values_in_the_file(tmp_path: Path) -> None:
    net, frames = stream()
    torch.export.save(torch.export.export(net, frames[0]), tmp_path / "m.pt2")
    model, _ = import_model(tmp_path / "m.pt2")
    assert model.inputs == ("given_0",)
    assert [(each.tensor, each.initial is not None, each.pair) for each in model.states] == [
        ("b_past", True, None), ("b_runs", True, None), ("b_total", True, None)
    ]  # fmt: skip


def test_the_reference_begins_a_sequence_again(tmp_path: Path) -> None:
    net, frames = stream()
    torch.export.save(torch.export.export(net, frames[0]), tmp_path / "m.pt2")
    reference = pytorch(tmp_path / "m.pt2")

    def sequence() -> list[list[float]]:
        reference.reset()
        answers = []
        for frame in frames:
            given = tuple(each.numpy() for each in frame)
            (found,) = reference.answer(given)
            inside = reference.inside(given)
            assert any(np.array_equal(found[1], each) for each in inside.values())
            answers.append([float(each.sum()) for each in found])
        return answers

    first = sequence()
    assert first[0] != first[1]
    assert sequence() == first


def test_places_in_a_cache_are_drawn_within_it(tmp_path: Path) -> None:
    net, frames = cache()
    torch.export.save(torch.export.export(net, frames[0]), tmp_path / "m.pt2")
    _, place = pytorch(tmp_path / "m.pt2").inputs
    assert place.high == 5


def test_an_index_of_a_single_number(tmp_path: Path) -> None:
    net = Net(lambda _, x, place: x.index_copy(0, place, x * 2))
    torch.export.save(torch.export.export(net, (torch.tensor(1.5), torch.tensor([0]))), tmp_path / "m.pt2")
    _, place = pytorch(tmp_path / "m.pt2").inputs
    assert place.high == 0
