"""Nodes that are alike are taken apart once, and the program is the one that PyTorch makes."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")

from target_arch.relax.readers.pytorch.torch_distinct import distinct_decomposed  # noqa: E402
from target_arch.relax.readers.pytorch.torch_parts import NotPlain  # noqa: E402


class Net(torch.nn.Module):  # type: ignore[name-defined, misc]  # PyTorch has no types here
    """A function with a buffer."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("held", torch.zeros(2, 8))

    def forward(self, x: Any) -> Any:
        """What the function gives."""
        return self.function(self, x)


class Blocks(torch.nn.Module):  # type: ignore[name-defined, misc]
    """The same block three times, with operators that write into what they read, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        blocks = [self.block() for _ in range(3)]
        self.blocks, self.last = torch.nn.ModuleList(blocks), torch.nn.Linear(32, 5)

    def block(self) -> Any:
        """A normalized convolution."""
        convolution = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
        return torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(8), torch.nn.ReLU(inplace=True))

    def forward(self, x: Any) -> Any:
        """Sums into the outputs of blocks, whole slices of them, and a product."""
        for block in self.blocks:
            made = torch.cat([block(x)[:, :4], x[:, 4:]], 1)[:, :8]
            made += x
            x = made
        first, second = torch.nn.functional.adaptive_avg_pool2d(x, 2).flatten(1).chunk(2, 1)
        return torch.nn.functional.dropout(self.last(torch.cat([second, first], 1)), training=False), x


def exported(net: Any, *inputs: Any) -> Any:
    return torch.export.export(net.eval(), inputs)


def both(program: Any) -> tuple[Any, Any]:
    table = torch.export.default_decompositions()
    return distinct_decomposed(program, table.materialize()), program.run_decompositions(table)


def formula(program: Any) -> str:
    """The digest of what the outputs are of the inputs, without the names of nodes, and without nodes that
    only give a tensor another name.
    """
    known: dict[Any, str] = {}

    def text(given: Any) -> str:
        if isinstance(given, (list, tuple)):
            return f"[{', '.join(map(text, given))}]"
        return known[given] if isinstance(given, torch.fx.Node) else repr(given)

    for node in program.graph.nodes:
        if node.op == "placeholder":
            known[node] = node.name
        elif str(node.target) == "aten.alias.default":
            known[node] = known[node.args[0]]
        elif node.op == "call_function":
            value = node.meta["val"]
            kind = f"{value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else ""
            line = f"{node.target} {text(node.args)} {text(sorted(node.kwargs.items()))} {kind}"
            known[node] = sha256(line.encode()).hexdigest()
    return text(program.graph.output_node().args[0])


def test_a_program_of_blocks_is_pytorchs_own() -> None:
    ours, theirs = both(exported(Blocks(), torch.randn(1, 8, 6, 6)))
    assert formula(ours) == formula(theirs)
    specs = [(each.kind, str(each.arg), each.target) for each in ours.graph_signature.input_specs]
    assert specs == [(each.kind, str(each.arg), each.target) for each in theirs.graph_signature.input_specs]
    x = torch.randn(1, 8, 6, 6)
    for one, other in zip(ours.module()(x), theirs.module()(x), strict=True):
        assert torch.equal(one, other)


def test_names_are_pytorchs_where_nothing_is_overwritten() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    ours, theirs = both(exported(torch.nn.Sequential(layer, layer), torch.randn(1, 4, 8)))
    assert [str(node) for node in ours.graph.nodes] == [str(node) for node in theirs.graph.nodes]
    assert formula(ours) == formula(theirs)


def _read_later(net: Any, x: Any) -> Any:
    made = x + 1
    row = made[0]
    made.mul_(2)
    return row * 3, made


def _changes_a_buffer(net: Any, x: Any) -> Any:
    net.held.add_(x)
    return net.held * 2


def _enlarged(net: Any, x: Any) -> Any:
    return torch.nn.functional.interpolate(x[None, None], scale_factor=2.0, mode="bilinear")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_read_later, "read later by another name"),
        (_changes_a_buffer, "changes an input or a buffer"),
        (_enlarged, "upsample_bilinear2d"),
    ],
)
def test_what_pytorch_takes_apart_itself(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(NotPlain, match=said):
        both(exported(Net(function), torch.randn(2, 8)))


def test_open_shapes_are_left_to_pytorch() -> None:
    open_shapes = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(torch.nn.Linear(8, 2), (torch.randn(3, 8),), dynamic_shapes=open_shapes)
    with pytest.raises(NotPlain, match="open shapes"):
        both(program)
