"""Published throughput problems, with the search that places models."""

import json

import pytest

from conformance.pipeline_graphs import GRAPHS, KNOWN, UNIT, assignment, on_a_cpu
from target_arch.stages.placement.search.throughput import least_busy
from tests.slow import slow_except

BY_HAND = ("bert_l-3_inference_opera", "gnmt_inference_layer")


@pytest.mark.parametrize("name", slow_except(["bert24_inference_layer"], sorted(KNOWN), by_hand=BY_HAND))
def test_time_per_frame_is_near_the_best_known(name: str) -> None:
    file = GRAPHS / f"{name}.json"
    if not file.exists():
        pytest.skip(f"{file} is not there; the graphs are in ../shared, beside the repository")
    problem = assignment(json.loads(file.read_text()))
    best = least_busy(problem, [on_a_cpu(problem)])
    work = problem.work(best.choice)
    assert work is not None
    assert problem.fits(work)
    assert best.bound <= best.period == problem.period(work) <= 1.01 * KNOWN[name] * UNIT


def test_a_graph_becomes_devices_with_their_copies() -> None:
    node = {"supportedOnFpga": True, "cpuLatency": 5.0, "fpgaLatency": 1.0, "size": 10}
    nodes = [{**node, "id": 1}, {**node, "id": 2, "colorClass": 7}, {**node, "id": 3, "colorClass": 7}]
    edges = [{"sourceId": 1, "destId": 2, "cost": 0.5}, {"sourceId": 1, "destId": 3, "cost": 0.5}]
    graph = {"maxFPGAs": 2, "maxCPUs": 1, "maxSizePerFPGA": 25, "nodes": nodes, "edges": edges}
    problem = assignment(graph)
    assert len(problem.spots) == 2
    assert problem.work((0, 1)) == [1_500_000, 2_500_000, 0, 10, 20]
    assert problem.work((0, 2)) == [1_500_000, 0, 10_000_000, 10, 0]
    together = problem.work((0, 0))
    assert together == [3_000_000, 0, 0, 30, 0]
    assert not problem.fits(together)
