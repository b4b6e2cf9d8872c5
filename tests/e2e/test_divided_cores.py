"""Networks divided over two cores that share a cache: what is divided, and that it computes the same."""

from collections.abc import Callable
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from conformance.topologies import Net, written
from target_arch.api.placed import partition
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.pipeline.preparation import prepare
from target_arch.plan.division import UNDIVIDED, Divide
from target_arch.plan.model import Model
from target_arch.plan.printed.text import share_choice
from target_arch.run import verify, write_bundle
from target_arch.stages.division.exact import ExactDivision
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.shares import cuts, divisible
from target_arch.stages.placement.rules import Rules
from tests.cli.arguments.test_targets import select

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")


def gelu() -> Any:
    """A dense layer whose result two products read."""
    net = Net((1, 16, 128))
    wide = net.dense("x", 128, 256)
    erf = net.add("Erf", net.add("Mul", wide, net.number(0.5**0.5)))
    product = net.add("Mul", wide, net.add("Add", erf, net.number(1)))
    return net.built(net.add("Mul", product, net.number(0.5)))


def pooled() -> Any:
    """A pool that takes next to nothing between convolutions, the first of which is short, too."""
    net = Net((1, 3, 64, 64))
    x = net.add("Relu", net.conv("x", 3, 64, 3))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    return net.built(net.conv(x, 64, 512, 5))


def heavy() -> Any:
    """Three rows of pixels, and weights that are much larger."""
    net = Net((1, 256, 3, 3))
    return net.built(net.conv(net.add("Relu", net.conv("x", 256, 256, 3)), 256, 256, 3))


def asked(net: Any, path: Path, form: str = "float") -> CompileRequest:
    """The request for a network and two cores of a computer."""
    written(net, form, path)
    soc = select("c,isa=x86_64,cores=2", soc=None).soc
    fast = evolve(soc, archs=tuple(evolve(arch, clock=2.5e9) for arch in soc.archs))
    return CompileRequest(model_path=path, soc=fast, divide=Divide.AUTO, name="net")


def axes(model: Model) -> dict[str, list[int]]:
    """The axes along which each kind is divided."""
    found: dict[str, list[int]] = {}
    for id, part in model.slices.items():
        found.setdefault(str(model.operator(id).kind), []).append(part.axis)
    return found


def divided_graphs(request: CompileRequest) -> DividedGraphs:
    """What makes graphs of the placed model with operators divided."""
    ready = prepare(request)
    undivided = compile_model(evolve(request, divide=Divide.NEVER))
    return DividedGraphs(base=undivided.graph, setting=ready.setting, backends=ready.backends, rules=Rules())


def test_the_shortest_of_all_divisions_has_channels(tmp_path: Path) -> None:
    """The proof goes by bounds, in which a slice of channels has its share of the channels."""
    request = asked(heavy(), tmp_path / "heavy.onnx")
    graphs = divided_graphs(request)
    able = divisible(graphs.base, graphs.setting.part_alignments, request.soc)
    worth = [each for each in able.values() if each.channels is not None]
    ways = [(None, *cuts(each, request.soc)) for each in worth]
    divisions = [{cut.operator: cut for cut in chosen if cut is not None} for chosen in product(*ways)]
    runs = [graphs.seconds(division) or inf for division in divisions]
    proof = ExactDivision(request.soc, graphs.order, able, worth, graphs.seconds).proof(inf, UNDIVIDED)
    assert (proof.divisions, proof.proven, proof.run) == (len(divisions), True, min(runs))
    best = divisions[runs.index(min(runs))]
    assert {cut.axis for cut in best.values()} == {3}


def test_estimates_know_all_readers_of_a_result(tmp_path: Path) -> None:
    """Were the second product its only reader, it would be in the layer's call, which has no kernel then."""
    request = asked(gelu(), tmp_path / "gelu.onnx")
    graphs = divided_graphs(request)
    able = divisible(graphs.base, graphs.setting.part_alignments, request.soc)
    ids = ("dense_0", "function_2", "add_3", "mul_4")
    halves = {id: able[id].cut(able[id].able, (1.0, 1.0)) for id in ids}
    division = {id: cut for id, cut in halves.items() if cut is not None}
    whole, shorter = graphs.seconds({}), graphs.seconds(division)
    assert whole is not None
    assert shorter is not None
    assert shorter < whole


def test_what_reads_rows_of_a_divided_operator_is_divided(tmp_path: Path) -> None:
    """Were it whole, its windows would fetch half of the first result from the other core's cache."""
    model = compile_model(asked(pooled(), tmp_path / "pooled.onnx")).model
    assert axes(model) == {"conv2d": [1] * 4, "max_pool2d": [1] * 2}


def test_channels_are_divided_where_weights_are_larger(tmp_path: Path) -> None:
    """Two of three rows are more than half of the work, and each core would read all weights."""
    model = compile_model(asked(heavy(), tmp_path / "heavy.onnx")).model
    assert axes(model)["conv2d"] == [3] * 4


def test_explanations_name_the_axis_of_channels(tmp_path: Path) -> None:
    request = asked(heavy(), tmp_path / "heavy.onnx")
    found = partition(request.model_path, request.soc, runs_of=["conv2d_1"], divide="auto")
    (shares,) = found.shares
    lines = share_choice(shares).splitlines()
    assert lines[0] == "shares of its 3 places along axis 1"
    assert lines[2].endswith("128 on `c`, 128 on `c_cores`, along axis 3")
    assert any(line.endswith("2 on `c`, 1 on `c_cores`") for line in lines[3:])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["float", "qdq_channels"])
def test_channels_of_two_cores_are_those_of_the_reference(
    form: str, needs_tool: Callable[[str], str], tmp_path: Path
) -> None:
    needs_tool("gcc")
    request = asked(heavy(), tmp_path / f"heavy_{form}.onnx", form)
    made = compile_model(request)
    assert axes(made.model)["conv2d"] == [3] * 4
    write_bundle(made.bundle, tmp_path / "net")
    found = verify(request.model_path, tmp_path / "net", count=3)
    assert found.passed, str(found)
