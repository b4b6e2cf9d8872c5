"""Cost files: what they say, and every refusal."""

from pathlib import Path

import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.resources import soc_configs
from target_arch.soc import read_soc
from target_arch.soc.cost_file import parse_costs, read_costs
from target_arch.soc.costs import Costs, LoadCost, Measured, PathCost
from target_arch.soc.text import show

SOC = read_soc("zynq_edge")
PAGE = Path(__file__).parents[2] / "docs" / "cost-file.md"


def refusal(text: str) -> str:
    with pytest.raises(DiagnosticError) as caught:
        parse_costs(text, "c.json", SOC)
    return str(caught.value)


def faulty(inside: str) -> str:
    return refusal(f'{{"schema": 1, {inside}}}')


def test_the_example_of_the_documentation() -> None:
    costs = parse_costs(PAGE.read_text().split("```json\n")[1].split("```")[0], "c.json", SOC)
    assert costs == Costs(
        operators={
            "dsp_cpu": {
                "conv2d": Measured(amount=0.31, cycles=True, per="mac"),
                "softmax": Measured(amount=12e-9, per="element"),
            },
            "accelerator": {
                "dense": Measured(amount=8.2e-6, energy=3e-6),
                "conv2d_5": Measured(amount=41e-6),
            },
        },
        copies=(PathCost(sources=("ddr", "sram"), targets=("dsp_tcm",), setup=1.4e-6, bandwidth=310e6),),
        loads={"fpga_conv2d": LoadCost(bytes=2 * 2**20, time=14e-3)},
        origin="c.json",
    )


def test_what_is_measured_takes_the_place_of_what_is_described() -> None:
    text = (
        '{"schema": 1, "copies": [{"from": "sram", "to": "dsp_tcm", "bandwidth": "1 MB/s"}], '
        '"loads": {"dsp_cpu": {"time": "7 ms"}}}'
    )
    soc = parse_costs(text, "c.json", SOC).applied(SOC)
    changed = [
        (new.source, new.bandwidth, new.setup)
        for old, new in zip(SOC.copies, soc.copies, strict=True)
        if old != new
    ]
    assert changed == [("sram", 1e6, 1e-6)]
    assert (soc.arch("dsp_cpu").load.time, soc.arch("dsp_cpu").load.bytes) == (7e-3, 65536)
    assert evolve(soc, copies=SOC.copies, archs=SOC.archs) == SOC


def test_a_memory_of_every_instance_is_named_once() -> None:
    text = '{"schema": 1, "copies": [{"from": "conv_bram", "to": "sram", "setup": "1 us"}]}'
    assert parse_costs(text, "c.json", read_soc("quad_conv")).copies[0].sources == tuple(
        f"conv_bram_{n}" for n in range(4)
    )


def test_a_target_arch_goes_before_its_backend_and_an_id_before_a_kind() -> None:
    text = '{"schema": 1, "operators": {"c": {"add": "1 us", "add_3": "4 us"}, "dsp_cpu": {"add": "2 us"}}}'
    costs = parse_costs(text, "c.json", SOC)
    for arch, names, seconds in (
        ("host_cpu", ("add_0", "add"), 1e-6),
        ("host_cpu", ("add_3", "add"), 4e-6),
        ("dsp_cpu", ("add_3", "add"), 2e-6),
    ):
        found = costs.measured(SOC.arch(arch), names)
        assert found is not None
        assert found.amount == seconds
    assert costs.measured(SOC.arch("accelerator"), ("add",)) is None


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (
            '"operators": {"dsp_cpu": {"add": "3 parsecs"}}',
            "c.json: operators.dsp_cpu.add.time: error: `parsecs` is no unit of time [bad-unit]\n"
            "hint: units are: `cycles`, `cycles/element`, `cycles/mac`, `ms`, `ms/element`, `ms/mac`, `ns`, "
            "`ns/element`, `ns/mac`, `s`, `s/element`, `s/mac`, `us`, `us/element`, `us/mac`",
        ),
        (
            '"operators": {"dsp_cpu": {"add": null}}',
            'c.json: operators.dsp_cpu.add.time: error: `time` must be a time such as `"64 us"`, not null '
            "[wrong-type]",
        ),
        (
            '"operators": {"dsp_cpu": {"add": 5}}',
            "c.json: operators.dsp_cpu.add.time: error: `time` needs a unit [bad-unit]\n"
            'hint: such as `"64 us"`',
        ),
        (
            '"operators": {"dsp_cpu": {"add": {"energy": "1 J"}}}',
            "c.json: operators.dsp_cpu.add: error: `add` has no `time` [missing-key]",
        ),
        (
            '"operators": {"dps_cpu": {}}',
            "c.json: operators.dps_cpu: error: target_arch `dps_cpu` is not declared [unknown-target-arch]\n"
            "hint: did you mean `dsp_cpu`?",
        ),
        (
            '"copies": [{"from": "sramm", "to": "ddr"}]',
            "c.json: copies[0].from: error: memory `sramm` is not declared [unknown-memory]\n"
            "hint: did you mean `sram`?",
        ),
        ('"copies": [{"to": "ddr"}]', "c.json: copies[0]: error: a copy path needs `from` [missing-key]"),
        (
            '"copies": [{"from": "conv_bram", "to": "dsp_tcm"}]',
            "c.json: copies[0]: error: the SoC declares no such copy path [unknown-copy]",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm", "engine": "ps_dm"}]',
            "c.json: copies[0].engine: error: DMA engine `ps_dm` is not declared [unknown-engine]\n"
            "hint: did you mean `ps_dma`?",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm"}]',
            "c.json: copies[0]: error: nothing was measured: neither `setup` nor `bandwidth` [missing-key]",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm", "setup": "1 us"}, '
            '{"from": ["sram", "ddr"], "to": "dsp_tcm", "bandwidth": "9 MB/s"}]',
            "c.json: copies[1]: error: the path from `ddr` to `dsp_tcm` is in `copies[0]`, too "
            "[duplicate-copy]\n"
            "hint: measure each path once",
        ),
        (
            '"loads": {"dsp_cpu": {}}',
            "c.json: loads.dsp_cpu: error: a load process needs `bytes` or `time` [missing-key]",
        ),
        (
            '"copies": [4]',
            "c.json: copies[0]: error: `copies[0]` must be a table, not an integer [wrong-type]",
        ),
        (
            '"copies": 4',
            "c.json: copies: error: `copies` must be a list of tables, not an integer [wrong-type]",
        ),
        (
            '"loads": {"dsp_cpu": {"time": "-1 ms"}}',
            "c.json: loads.dsp_cpu.time: error: `time` must be at least 0 and at most 1,000,000 s "
            "[out-of-range]",
        ),
        (
            '"load": {}',
            "c.json: load: error: `load` means nothing here [unknown-key]\nhint: did you mean `loads`?",
        ),
        (
            '"loads": {}, "loads": {}',
            "c.json: error: not JSON: `loads` stands twice in one table [json-syntax]",
        ),
        ('"loads": NaN', "c.json: error: not JSON: `NaN` is no number [json-syntax]"),
    ],
)
def test_refusals(inside: str, said: str) -> None:
    assert faulty(inside) == said


def test_what_is_no_cost_file() -> None:
    assert refusal("[]") == "c.json: error: a cost file is a table, `{` to `}` [wrong-type]"
    assert refusal("{}") == (
        "c.json: error: this file does not say its `schema` [schema-version]\n"
        'hint: this version reads `"schema": 1`'
    )
    assert refusal("{,").startswith("c.json:1:2: error: not JSON: ")
    assert "nests deeper" in refusal("[" * 100_000)


def test_cycles_need_a_clock() -> None:
    slow = evolve(SOC, archs=tuple(evolve(arch, clock=0.0) for arch in SOC.archs))
    with pytest.raises(DiagnosticError) as caught:
        parse_costs('{"schema": 1, "operators": {"dsp_cpu": {"add": "5 cycles"}}}', "c.json", slow)
    assert str(caught.value) == (
        "c.json: operators.dsp_cpu.add: error: cycles tell no time: target_arch `dsp_cpu` declares no "
        "`clock` [missing-clock]\nhint: declare it, or give a time"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="cannot read a cost file: no such file or directory"):
        read_costs(tmp_path / "none.json", SOC)


def _described(folder: Path, cost: str | None, entry: str = 'file = "costs.json"') -> Path:
    """A copy of a shipped SoC file that names a cost file."""
    text = (soc_configs() / "zynq_edge.toml").read_text()
    soc = folder / "soc.toml"
    soc.write_text(f"{text}\n[cost]\n{entry}\n")
    if cost is not None:
        (folder / "costs.json").write_text(cost)
    return soc


def test_a_soc_file_names_its_cost_file(tmp_path: Path) -> None:
    soc = read_soc(_described(tmp_path, '{"schema": 1, "loads": {"dsp_cpu": {"time": "7 ms"}}}'))
    assert soc.cost_file == str(tmp_path / "costs.json")
    assert evolve(soc, cost_file="") == SOC
    assert show(soc).splitlines()[-1] == "  costs         measured, in costs.json"


def test_what_is_wrong_in_the_cost_file_of_a_soc_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _described(tmp_path, '{"schema": 1, "operators": {"dsp": {}, "dsp_cpu": {"add": "1 MB"}}}')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError) as caught:
        read_soc("soc.toml")
    assert str(caught.value) == (
        "costs.json: operators.dsp: error: target_arch `dsp` is not declared [unknown-target-arch]\n"
        "hint: did you mean `dsp_cpu`?\n"
        "\n"
        "costs.json: operators.dsp_cpu.add.time: error: `MB` is no unit of time [bad-unit]\n"
        "hint: units are: `cycles`, `cycles/element`, `cycles/mac`, `ms`, `ms/element`, `ms/mac`, `ns`, "
        "`ns/element`, `ns/mac`, `s`, `s/element`, `s/mac`, `us`, `us/element`, `us/mac`"
    )


def test_a_cost_entry_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _described(tmp_path, None, 'path = "costs.json"')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError) as caught:
        read_soc("soc.toml")
    assert "unknown key `path`" in str(caught.value)
