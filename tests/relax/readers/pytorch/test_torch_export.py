"""Saved torch.export programs; all but the first test need PyTorch."""

import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.importer import import_model
from tests.relax.emulate import evaluate
from tests.slow import slow_except


def complaint(path: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        import_model(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_without_torch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.pt2"
    with ZipFile(path, "w") as archive:
        archive.writestr("version", "0")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert complaint(path) == (
        "m.pt2: error: reading `.pt2` needs PyTorch [missing-extra]\nhint: install `target-arch[torch]`"
    )


DISKS = b"PK\x06\x07" + struct.pack("<LQL", 0, 0, 2) + b"PK\x05\x06" + bytes(18)


@pytest.mark.parametrize("end", [bytes(100), DISKS], ids=["cut off", "of two disks"])
def test_an_archive_without_its_end(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "m.pt2"
    path.write_bytes(b"PK\x03\x04" + end)
    assert complaint(path) == (
        "m.pt2: error: the archive is cut off or damaged [model-damaged]\nhint: export it again"
    )


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="pip install target-arch[torch]")
    path = tmp_path / "m.pt2"
    with ZipFile(path, "w") as archive:
        archive.writestr("version", "0")
    assert complaint(path) == (
        "m.pt2: error: this is no saved torch.export program: `models/model.json` is missing "
        "[model-damaged]\n"
        "hint: write it with `torch.export.save`"
    )


def test_a_network_with_batch_normalization(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 8, 3, padding=1, groups=8),
        torch.nn.ReLU6(),
        torch.nn.Flatten(),
        torch.nn.Linear(128, 10),
        torch.nn.Softmax(-1),
    ).eval()
    x = torch.randn(1, 3, 8, 8)
    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(network, (x,)), path)
    model, program = import_model(path)
    assert [operator.kind for operator in model.operators] == [
        "transpose",
        "conv2d",
        "max_pool2d",
        "depthwise_conv2d",
        "dense",
        "softmax",
    ]
    found = evaluate(model, {model.inputs[0]: x.numpy()}, program)[0]
    assert np.abs(found - network(x).detach().numpy()).max() < 1e-6


def test_dynamic_shapes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    path = tmp_path / "m.pt2"
    batch = torch.export.Dim("batch")
    program = torch.export.export(torch.nn.ReLU(), (torch.randn(2, 3),), dynamic_shapes=({0: batch},))
    torch.export.save(program, path)
    text = complaint(path)
    assert text.startswith("m.pt2: error: an input has open dimensions: `input` (")
    assert text.endswith("x3) [dynamic-shape]\nhint: add `batch=1`")
    model, _ = import_model(path, shapes=InputShapes(shapes={"input": (5, 3)}))
    assert model.tensors["input"].shape == (5, 3)


def difference(forward: Callable[..., Any], path: Path, *inputs: Any, parts: Any = None) -> float:
    """Between PyTorch and what we read, for a function of modules `parts`."""
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")

    class Net(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.parts = parts

        def forward(self, *values: Any) -> Any:
            return forward(*values)

    network = Net().eval()
    torch.export.save(torch.export.export(network, inputs), path)
    model, program = import_model(path)
    values = {name: value.numpy() for name, value in zip(model.inputs, inputs, strict=True)}
    found = evaluate(model, values, program)[0]
    return float(np.abs(found - network(*inputs).detach().numpy()).max())


@pytest.mark.parametrize(
    "forward",
    [
        pytest.param(lambda x: x[:, -1], id="the last of an axis"),
        pytest.param(lambda x: x[-2] * 2, id="the last but one"),
        pytest.param(lambda x: x[:, [0, -1]], id="a list of them"),
        pytest.param(lambda x: x[:, -3:-1], id="a slice"),
        pytest.param(lambda x: x[:2, [0, -1]] + x[:, [0, -1]][[0, -1]], id="the ends of two tensors"),
    ],
)
def test_indices_that_count_from_the_end(forward: Callable[..., Any], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    assert difference(forward, tmp_path / "m.pt2", torch.randn(3, 4)) == 0


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind: str, tmp_path: Path) -> None:
    """The last step and the state are read from the end."""
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4, batch_first=True)

    def last(x: Any) -> Any:
        output, state = layer(x)
        return output[:, -1] + (state[0] if kind == "LSTM" else state)[-1]

    assert difference(last, tmp_path / "m.pt2", torch.randn(1, 3, 3), parts=layer) < 1e-6


@pytest.mark.parametrize("sequence_first", [True, False])
@pytest.mark.parametrize("has_biases", slow_except([True], [True, False], by_hand=[False]))
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN", "RNN of relu"])
def test_recurrent_layers_are_operators(
    kind: str, has_biases: bool, sequence_first: bool, tmp_path: Path
) -> None:
    """Two layers of two directions, with the states that they begin with."""
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    torch.manual_seed(0)
    name, _, nonlinearity = kind.partition(" of ")
    layers = getattr(torch.nn, name)(
        3, 4, 2, bias=has_biases, batch_first=not sequence_first, bidirectional=True,
        **({"nonlinearity": nonlinearity} if nonlinearity else {}),
    )  # fmt: skip
    x, start = torch.randn(6, 5, 3), torch.randn(4, 5 if sequence_first else 6, 4)

    def both(x: Any, start: Any) -> Any:
        output, state = layers(x, (start, start) if kind == "LSTM" else start)
        return torch.concat([output.flatten(), *(each.flatten() for each in state)])

    assert difference(both, tmp_path / "m.pt2", x, start, parts=layers) < 1e-6
    model, _ = import_model(tmp_path / "m.pt2")
    cells = [each for each in model.operators if each.kind is OperatorKind.RECURRENT]
    assert [each.attributes.get("operator") for each in cells] == [None if nonlinearity else name.lower()] * 2


@pytest.mark.parametrize("stated", [False, True])
def test_recurrent_layers_that_begin_with_constants(stated: bool, tmp_path: Path) -> None:
    """Zeros where no states are given, or states that are computed from parameters."""
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    torch.manual_seed(0)
    layers = torch.nn.GRU(3, 4, 2)
    layers.register_parameter("start", torch.nn.Parameter(torch.randn(2, 1, 4)))

    def last(x: Any) -> Any:
        return layers(x, layers.start.expand(-1, 5, -1) * 2 if stated else None)[0][-1]

    assert difference(last, tmp_path / "m.pt2", torch.randn(6, 5, 3), parts=layers) < 1e-6
    model, _ = import_model(tmp_path / "m.pt2")
    cells = [each for each in model.operators if each.kind is OperatorKind.RECURRENT]
    assert [each.attributes.get("operator") for each in cells] == ["gru"] * 2


def test_an_lstm_with_projections_is_taken_apart(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    torch.manual_seed(0)
    layer = torch.nn.LSTM(3, 4, proj_size=2)
    assert difference(lambda x: layer(x)[0], tmp_path / "m.pt2", torch.randn(3, 1, 3), parts=layer) < 1e-6


def test_layers_that_are_trained_are_random(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")

    class Net(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.GRU(3, 4, 2, dropout=0.5)

        def forward(self, x: Any) -> Any:
            return self.layers(x)[0]

    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(Net(), (torch.zeros(3, 1, 3),)), path)
    assert "note: `gru.input` once, at `gru`: its results are random; export" in complaint(path)


def test_operators_without_a_form_are_named_with_their_places(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    functional = torch.nn.functional

    def forward(x: Any) -> Any:
        cut = functional.rrelu(x, training=True)
        return torch.lgamma(torch.lgamma(cut))

    with pytest.raises(DiagnosticError) as failure:
        difference(forward, tmp_path / "m.pt2", torch.randn(1, 2, 4, 4))
    assert str(failure.value).replace(f"{tmp_path}/", "") == (
        "m.pt2: error: operators `lgamma`, `rrelu_with_noise_functional` are not supported "
        "[unsupported-operator]\n"
        "m.pt2: note: `lgamma` 2 times, first at `lgamma`: not known here\n"
        "m.pt2: note: `rrelu_with_noise_functional` once, at `rrelu_with_noise_functional`: its results are "
        "random; export the model after `eval()`\n"
        "hint: replace it in the model, or split the model before it"
    )


@pytest.mark.parametrize(
    "forward",
    [
        pytest.param(lambda torch, x: torch.nn.functional.selu(x), id="elu with factors"),
        pytest.param(lambda torch, x: torch.add(x, x.exp(), alpha=2), id="sum with a factor"),
        pytest.param(lambda torch, x: torch.sub(x, 3, alpha=0.5), id="difference with a factor"),
        pytest.param(lambda torch, x: x.amax((2, 3)) - x.amin(1, keepdim=True)[:, 0, 0, :4], id="extrema"),
        pytest.param(
            lambda torch, x: torch.maximum(x, torch.full_like(x, -torch.inf)).amax(1), id="infinity"
        ),
        pytest.param(lambda torch, x: x.prod(1), id="product"),
        pytest.param(lambda torch, x: x[0, 0].T @ x.mT[0, 0].T, id="transposed by property"),
        pytest.param(lambda torch, x: torch.nn.functional.group_norm(x, 2), id="norm without weights"),
        pytest.param(lambda torch, x: torch.nn.functional.interpolate(x, size=(6, 13)), id="nearest"),
        pytest.param(
            lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=1.7), id="nearest by factor"
        ),
        pytest.param(lambda torch, x: torch.nn.functional.instance_norm(x), id="norm of each image"),
        pytest.param(
            lambda torch, x: torch.nn.functional.batch_norm(
                x, torch.zeros(4), torch.ones(4), torch.arange(4.0), torch.ones(4), training=True
            ),
            id="norm of the batch",
        ),
        pytest.param(lambda torch, x: x.cumsum(2) + torch.cumprod(x, -1), id="running sum and product"),
        pytest.param(lambda torch, x: torch.nn.functional.dropout(x, 0.0), id="dropout of nothing"),
        pytest.param(
            lambda torch, x: torch.nn.functional.avg_pool1d(x[0, 0], 2) * 2, id="average without batch"
        ),
    ],
)
def test_operators_that_the_frontend_lacks_or_misreads(forward: Callable[..., Any], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    torch.manual_seed(0)
    found = difference(lambda x: forward(torch, x), tmp_path / "m.pt2", torch.randn(1, 4, 4, 5))
    assert found < 1e-6


@pytest.mark.parametrize(
    ("forward", "note"),
    [
        (
            lambda functional, x: functional.embedding_bag(x[0, 0].long(), x[0, 0], mode="max"),
            "`_embedding_bag_forward_only` once, at `_embedding_bag_forward_only`: the mode `max`",
        ),
        (
            lambda functional, x: functional.dropout(x, 0.5),
            "`native_dropout` once, at `native_dropout`: "
            "its results are random; export the model after `eval()`",
        ),
        (
            lambda functional, x: functional.adaptive_max_pool2d(x, 2, return_indices=True),
            "`adaptive_max_pool2d` once, at `adaptive_max_pool2d`: its result 1 is used, not only the first",
        ),
        (
            lambda functional, x: functional.interpolate(
                x, (3, 3), mode="bilinear", antialias=True, align_corners=True
            ),
            "`_upsample_bilinear2d_aa` once, at `_upsample_bilinear2d_aa`: the attribute `align_corners`",
        ),
    ],
    ids=["largest of bags", "dropout", "indices", "antialias"],
)
def test_what_the_frontend_ignores_is_refused(forward: Callable[..., Any], note: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    with pytest.raises(DiagnosticError) as failure:
        difference(lambda x: forward(torch.nn.functional, x), tmp_path / "m.pt2", torch.randn(1, 2, 4, 4))
    assert [each.message for each in failure.value.diagnostics[0].notes] == [note]


def test_hard_swish_is_one_operator(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.Hardswish()).eval()
    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(network, (torch.zeros(1, 3, 4, 4),)), path)
    kinds = [operator.kind for operator in import_model(path)[0].operators]
    assert kinds == ["transpose", "conv2d", "function", "transpose"]


def test_weights_that_a_batch_repeats_are_stored_once(tmp_path: Path) -> None:
    """PyTorch multiplies by the weights of an attention once for every position."""
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")
    torch.manual_seed(0)

    class Attention(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.attention(x, x, x, need_weights=False)[0]

    network, x = Attention().eval(), torch.randn(1, 5, 8)
    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(network, (x,)), path)
    model, program = import_model(path)
    assert [operator.kind for operator in model.operators].count(OperatorKind.DENSE) == 2
    stored = sum(model.tensors[name].bytes for each in model.operators for name in each.constants)
    assert stored < 2 * 4 * sum(each.numel() for each in network.parameters())
    found = evaluate(model, {model.inputs[0]: x.numpy()}, program)[0]
    assert np.abs(found - network(x).detach().numpy()).max() < 1e-6
