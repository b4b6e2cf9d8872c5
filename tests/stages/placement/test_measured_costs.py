"""Measured costs count instead of estimates."""

import pytest

from target_arch.plan.execution import Execution
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.printed.text import explanation, simulated_run
from target_arch.soc.costs import Costs
from target_arch.soc.files.cost_file import parse_costs
from target_arch.stages.errors import PlacementError
from target_arch.stages.placement.place import place
from tests.stages import chips


def costs(operators: str) -> Costs:
    return parse_costs(f'{{"schema": 1, "operators": {operators}}}', "c.json", chips.EDGE)


def placed(operators: str) -> PartitionGraph:
    return place(chips.RESIDUAL, chips.setting(chips.EDGE, costs(operators)), chips.BACKENDS)


def test_a_measured_operator_moves() -> None:
    graph = placed('{"dsp": {"add": "300 us"}}')
    assert graph.choice("d").instance == "host"
    dsp = graph.choice("d").candidates[1].cost
    assert dsp is not None
    assert dsp.compute == pytest.approx(300e-6)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("2 us", 2e-6), ("500 cycles", 0.5e-6), ("2 ns/element", 8.192e-6), ("3 cycles/element", 12.288e-6)],
)
def test_units(written: str, seconds: float) -> None:
    cost = placed(f'{{"dsp": {{"d": "{written}"}}}}').choice("d").candidates[1].cost
    assert cost is not None
    assert cost.compute == pytest.approx(seconds)


def test_a_measured_copy_moves_an_operator() -> None:
    text = '{"schema": 1, "copies": [{"from": ["ddr", "sram"], "to": "tcm", "bandwidth": "1 MB/s"}]}'
    slow = parse_costs(text, "c.json", chips.EDGE)
    graph = place(chips.RESIDUAL, chips.setting(chips.EDGE, slow), chips.BACKENDS)
    assert graph.choice("d").instance == "host"


def test_entries_that_name_nothing() -> None:
    with pytest.raises(PlacementError) as caught:
        placed('{"dsp": {"ad": "1 us", "add": "1 us/mac"}}')
    assert str(caught.value) == (
        "c.json: operators.dsp.ad: error: there is no operator and no kind of operator `ad` "
        "[unknown-operator]\n"
        "hint: did you mean `add`?\n"
        "\n"
        "c.json: operators.dsp.add: error: `add` is not counted in multiply-accumulates [no-macs]\n"
        "hint: give a time for the whole operator, or per element of its output"
    )


def test_energy_and_load_processes_are_summed_up() -> None:
    text = (
        '{"schema": 1, "operators": {"c": {"add": {"time": "1 us", "energy": "3 uJ"}}}, '
        '"loads": {"conv": {"bytes": "2 MiB", "time": "5 ms"}, "npu": {"bytes": "1 KiB"}}}'
    )
    told = parse_costs(text, "c.json", chips.EDGE)
    graph = place(chips.RESIDUAL, chips.setting(chips.EDGE, told), chips.BACKENDS)
    found = graph.facts
    assert found is not None
    used = {partition.instance for partition in graph.partitions}
    assert (found.metered, found.energy) == (1, 3e-6)
    assert (found.load, found.load_bytes) == (5e-3, 2 * 2**20 + (1024 if "npu" in used else 0))
    run = Execution(makespan=1e-3, bound=1e-3, alone=1e-3, overlap="o", spans=())
    assert simulated_run(run, found).endswith(
        f"; before the first run 5 ms to load {found.load_bytes:,} B; energy of operators (1): 3 uJ\n"
    )
    assert "; 3 uJ\n" in explanation(graph, "d")


def test_an_operator_without_energy_takes_the_power_of_its_target() -> None:
    text = '{"schema": 1, "operators": {"dsp": {"d": "2 us"}}, "energy": {"dsp": {"active": "10 mW"}}}'
    told = parse_costs(text, "c.json", chips.EDGE)
    graph = place(chips.RESIDUAL, chips.setting(chips.EDGE, told), chips.BACKENDS)
    host, dsp = (candidate.cost for candidate in graph.choice("d").candidates[:2])
    assert dsp is not None
    assert host is not None
    assert (dsp.energy, host.energy) == (pytest.approx(20e-9), None)
