"""The proof over all divisions: the shortest expected run is that which brute force finds."""

from itertools import product
from math import inf
from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.pipeline.preparation import prepare
from target_arch.plan.division import UNDIVIDED
from target_arch.plan.printed.text import division_proof
from target_arch.soc import read_soc
from target_arch.stages.division import exact
from target_arch.stages.division.exact import ExactDivision
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.shares import cuts, divisible
from target_arch.stages.placement.rules import Rules

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits_int8.onnx"


@pytest.mark.slow
def test_no_division_is_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two operators of the example model in all ways, the others whole."""
    request = CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"))
    ready = prepare(request)
    graphs = DividedGraphs(
        base=compile_model(request).graph, setting=ready.setting, backends=ready.backends, rules=Rules()
    )
    able = divisible(graphs.base, ready.setting.part_alignments, request.soc)
    worth = sorted(able.values(), key=lambda each: -each.seconds[each.instance])[:2]
    ways = [(None, *cuts(each, request.soc)) for each in worth]
    divisions = [{cut.operator: cut for cut in chosen if cut is not None} for chosen in product(*ways)]
    runs = [graphs.seconds(division) for division in divisions]
    shortest = min(run for run in runs if run is not None)

    search = ExactDivision(request.soc, graphs.order, able, worth, graphs.seconds)
    proof = search.proof(inf, UNDIVIDED)
    assert (proof.divisions, proof.proven, proof.run) == (len(divisions), True, shortest)
    assert search.best == divisions[runs.index(shortest)]
    again = search.proof(shortest, search.best)
    assert (again.run, again.asked <= proof.asked <= len(divisions)) == (shortest, True)
    nothing = search.proof(1e-9, UNDIVIDED)
    assert (nothing.run, nothing.asked) == (1e-9, 0)
    assert division_proof(nothing) == (
        f"divisions: none of {len(divisions)} has a shorter expected run than 1 ns: 0 were replayed, and the "
        f"bounds of {len(divisions)} are no shorter\n"
    )
    monkeypatch.setattr(exact, "MOST", 10)
    unproved = search.proof(1e-3, UNDIVIDED)
    assert (unproved.proven, unproved.asked) == (False, 0)
    assert division_proof(unproved) == (
        f"divisions: {len(divisions)}, the shortest expected run found is 1 ms; at most 10 are gone through, "
        "so nothing is proved\n"
    )
