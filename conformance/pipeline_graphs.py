"""Published throughput problems as assignments: the files of `../shared/pipeline_graphs`.

An accelerator has its nodes to do, and every tensor that comes in or that another device needs, each once; a
CPU has its nodes to do. Nodes of one colour stay together. An accelerator's nodes fit its bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from target_arch.stages.placement.search.assignment import AssignmentProblem, Flow, Spot, Spread

GRAPHS = Path(__file__).parents[2] / "shared" / "pipeline_graphs"
UNIT = 10**6
"""Whole units of time in one of the files'."""
KNOWN: Mapping[str, float] = {
    "bert24_inference_layer": 17.715,
    "resnet50_inference_layer": 33.749,
    "gnmt_inference_layer": 31.687,
    "bert_l-3_inference_opera": 21.908,
}
"""The best known times per frame, by CP-SAT in a minute on two cores."""


def on_a_cpu(problem: AssignmentProblem) -> tuple[int, ...]:
    """The assignment with every job on the last CPU, which is always possible."""
    return tuple(len(spots) - 1 for spots in problem.spots)


def assignment(graph: Mapping[str, Any]) -> AssignmentProblem:
    """The problem of a file: accelerators first, then CPUs, then the bytes of each accelerator."""
    accelerators, cpus = graph["maxFPGAs"], graph["maxCPUs"]
    jobs = _jobs(graph)
    number = {node["id"]: job for job, nodes in enumerate(jobs) for node in nodes}
    room = accelerators + cpus
    return AssignmentProblem(
        spots=tuple(tuple(_spots(nodes, accelerators, cpus)) for nodes in jobs),
        flows=tuple(_flows(graph, number, accelerators, cpus)),
        widths=(1,) * (room + accelerators),
        most={room + each: round(graph["maxSizePerFPGA"]) for each in range(accelerators)},
    )


def _jobs(graph: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """Nodes that stay together, in an order of the graph; where colours make it cyclic, cycles together."""
    colours: dict[object, list[Mapping[str, Any]]] = {}
    for node in graph["nodes"]:
        colours.setdefault(node.get("colorClass", ("alone", node["id"])), []).append(node)
    jobs = list(colours.values())
    number = {node["id"]: job for job, nodes in enumerate(jobs) for node in nodes}
    edges = nx.DiGraph()
    edges.add_nodes_from(range(len(jobs)))
    edges.add_edges_from((number[e["sourceId"]], number[e["destId"]]) for e in graph["edges"])
    whole = nx.condensation(edges)
    order = nx.lexicographical_topological_sort(whole, key=lambda part: min(whole.nodes[part]["members"]))
    return [jobs[job] for part in order for job in sorted(whole.nodes[part]["members"])]


def _spots(nodes: Sequence[Mapping[str, Any]], accelerators: int, cpus: int) -> Iterator[Spot]:
    fast, slow = (round(sum(n[key] for n in nodes) * UNIT) for key in ("fpgaLatency", "cpuLatency"))
    size = round(sum(node["size"] for node in nodes))
    if all(node["supportedOnFpga"] for node in nodes):
        for each in range(accelerators):
            room = accelerators + cpus + each
            yield Spot(group=each, machine=each, work=((each, fast), (room, size)))
    for each in range(accelerators, accelerators + cpus):
        yield Spot(group=each, machine=each, work=((each, slow),))


def _flows(
    graph: Mapping[str, Any], number: Mapping[int, int], accelerators: int, cpus: int
) -> Iterator[Flow]:
    users: dict[int, dict[int, None]] = {}
    costs: dict[int, float] = {}
    for edge in graph["edges"]:
        source = edge["sourceId"]
        costs[source] = max(costs.get(source, 0.0), edge["cost"])
        users.setdefault(source, {})[number[edge["destId"]]] = None
    for source, wanting in users.items():
        others = tuple(user for user in wanting if user != number[source])
        if others:
            spread = _spread(round(costs[source] * UNIT), accelerators, cpus)
            yield Flow(producer=number[source], users=others, spread=spread)


def _spread(cost: int, accelerators: int, cpus: int) -> Spread:
    """A copy out of each accelerator, and one into each."""
    devices = range(accelerators + cpus)
    rows = (tuple(_copies(source, target, accelerators) for target in devices) for source in devices)
    work = tuple(((copy % accelerators, cost),) for copy in range(2 * accelerators))
    return Spread(copies=tuple(rows), work=work)


def _copies(source: int, target: int, accelerators: int) -> tuple[int, ...]:
    if source == target:
        return ()
    out = (source,) if source < accelerators else ()
    return (*out, accelerators + target) if target < accelerators else out
