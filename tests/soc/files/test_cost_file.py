"""Cost files: what they say, and every refusal."""

import json
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.resources import soc_configs
from target_arch.soc import read_soc
from target_arch.soc.costs import (
    Costs,
    LoadCost,
    Measured,
    MeasuredTime,
    OrderCost,
    PathCost,
    PowerCost,
    StatedError,
)
from target_arch.soc.files.cost_file import cost_text, parse_costs, read_costs
from target_arch.soc.text import show

SOC = read_soc("zynq_edge")
PAGE = Path(__file__).parents[3] / "docs" / "cost-file.md"
EXAMPLE, CALIBRATED = (part.split("```")[0] for part in PAGE.read_text().split("```json\n")[1:])


def refusal(text: str) -> str:
    with pytest.raises(DiagnosticError) as caught:
        parse_costs(text, "c.json", SOC)
    return str(caught.value)


def placed(text: str, at: str, said: str, file: str = "c.json") -> str:
    """A message about the last place where a text has `at`; `said` has the hint in its second line."""
    column, (message, *hint) = text.rindex(at), said.split("\n")
    lines = (
        f"{file}:1:{column + 1}: error: {message}",
        f"    1 | {text}",
        f"      | {' ' * column}{'^' * len(at)}",
    )
    return "\n".join((*lines, *hint))


def test_the_example_of_the_documentation() -> None:
    costs = parse_costs(EXAMPLE, "c.json", SOC)
    assert costs == Costs(
        operators={
            "dsp_cpu": {
                "conv2d": Measured(time=MeasuredTime(amount=0.31, cycles=True, per="mac")),
                "softmax": Measured(time=MeasuredTime(amount=12e-9, per="element")),
            },
            "accelerator": {
                "dense": Measured(time=MeasuredTime(amount=8.2e-6), energy=3e-6),
                "conv2d_5": Measured(time=MeasuredTime(amount=41e-6)),
            },
        },
        copies=(PathCost(sources=("ddr", "sram"), targets=("dsp_tcm",), setup=1.4e-6, bandwidth=310e6),),
        loads={"fpga_conv2d": LoadCost(bytes=2 * 2**20, time=14e-3)},
        orders={
            "dsp_cpu": OrderCost(start=3.5e-6, end=600e-9),
            "ps_dma": OrderCost(start=1.2e-6),
        },
        origin="c.json",
    )


def test_blanks_are_anywhere_between_words() -> None:
    text = json.dumps(json.loads(EXAMPLE), separators=(" \n, ", " \t: "))
    assert parse_costs(text, "c.json", SOC) == parse_costs(EXAMPLE, "c.json", SOC)


@pytest.mark.parametrize("text", [EXAMPLE, CALIBRATED])
def test_what_is_written_is_read(text: str) -> None:
    costs = parse_costs(text, "c.json", SOC)
    assert parse_costs(cost_text(costs), "c.json", SOC) == costs


def test_a_text_as_calibrate_writes_it() -> None:
    written = json.loads(cost_text(parse_costs(CALIBRATED, "c.json", SOC)))
    assert written == json.loads(CALIBRATED) | {"copies": []}


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


def test_what_is_worst_changes_no_time_that_is_usual() -> None:
    text = (
        '{"schema": 1, "operators": {"c": {"add": {"worst": "9 us"}, "add_3": "4 us"}}, '
        '"copies": [{"from": "sram", "to": "dsp_tcm", "worst": {"bandwidth": "1 MB/s"}}]}'
    )
    costs, host = parse_costs(text, "c.json", SOC), SOC.arch("host_cpu")
    assert costs.applied(SOC) == SOC
    assert costs.stated(host, ("add_2", "add")) is None
    assert costs.worst(host, ("add_3", "add")) == MeasuredTime(amount=9e-6)
    slowest = {path.source: costs.slowest(path) for path in SOC.copies if path.target == "dsp_tcm"}
    assert slowest["sram"] is not None
    assert (slowest["sram"].bandwidth, slowest["ddr"]) == (1e6, None)


@pytest.mark.parametrize(
    ("worst", "most", "exceeded"),
    [(0.25, None, 1 / 3), (0.25, 1.1, 0.1), (0.25, 0.9, 0.0), (1.5, None, None)],
)
def test_by_how_much_estimates_were_exceeded(
    worst: float, most: float | None, exceeded: float | None
) -> None:
    """An estimate that is a quarter of the measurement short was exceeded by a third of itself."""
    error = StatedError(steps=9, median=0.1, worst=worst, low=0.9, high=1.1, most=most)
    assert error.exceeded == (None if exceeded is None else pytest.approx(exceeded))


def test_a_target_arch_goes_before_its_backend_and_an_id_before_a_kind() -> None:
    text = '{"schema": 1, "operators": {"c": {"add": "1 us", "add_3": "4 us"}, "dsp_cpu": {"add": "2 us"}}}'
    costs = parse_costs(text, "c.json", SOC)
    for arch, names, seconds in (
        ("host_cpu", ("add_0", "add"), 1e-6),
        ("host_cpu", ("add_3", "add"), 4e-6),
        ("dsp_cpu", ("add_3", "add"), 2e-6),
    ):
        found = costs.stated(SOC.arch(arch), names)
        assert found is not None
        assert found.time is not None
        assert found.time.amount == seconds
    assert costs.stated(SOC.arch("accelerator"), ("add",)) is None


@pytest.mark.parametrize(
    ("inside", "at", "said"),
    [
        (
            '"operators": {"dsp_cpu": {"add": "3 parsecs"}}',
            '"3 parsecs"',
            "`parsecs` is no unit of time [bad-unit]\n"
            "hint: units are: `cycles`, `cycles/element`, `cycles/mac`, `ms`, `ms/element`, `ms/mac`, `ns`, "
            "`ns/element`, `ns/mac`, `s`, `s/element`, `s/mac`, `us`, `us/element`, `us/mac`",
        ),
        (
            '"operators": {"dsp_cpu": {"add": null}}',
            "null",
            '`add` must be a time such as `"64 us"`, not null [wrong-type]',
        ),
        (
            '"operators": {"dsp_cpu": {"add": 5}}',
            "5",
            '`add` needs a unit [bad-unit]\nhint: such as `"64 us"`',
        ),
        (
            '"operators": {"dsp_cpu": {"add": {"energy": "1 J"}}}',
            '"1 J"',
            "`energy` needs `time`: it is for the same unit of work [bad-record]",
        ),
        (
            '"operators": {"dsp_cpu": {"add": {}}}',
            "{",
            "a cost needs `time` or `worst`: a time [bad-record]",
        ),
        (
            '"operators": {"dsp_cpu": {"add": {"time": "5 us", "worst": "4 us"}}}',
            '"4 us"',
            "`worst` is less than `time` [bad-record]",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm", "worst": {}}]',
            "{",
            "the worst of a copy path needs `setup` or `bandwidth` [bad-record]",
        ),
        (
            '"orders": {"dsp_cpu": {}}',
            "{",
            "an order needs `start` or `end` or `worst`: a time of the host [bad-record]",
        ),
        (
            '"orders": {"dsp_cpu": {"start": "2 us", "worst": {}}}',
            "{",
            "the worst of an order needs `start` or `end`: a time [bad-record]",
        ),
        (
            '"orders": {"dsp_cpu": {"end": "2 us", "worst": {"end": "1 us"}}}',
            '"1 us"',
            "the `end` at worst is less than usual [bad-record]",
        ),
        (
            '"orders": {"dsp_cpu": {"start": "-2 us"}}',
            '"-2 us"',
            "`start` must be at least 0 and at most 1,000,000 s [out-of-range]",
        ),
        (
            '"orders": {"host_cpu": {"start": "2 us"}}',
            '"host_cpu"',
            "the host gives itself no orders [order-to-host]\n"
            "hint: devices here: `accelerator`, `axi_dma`, `dsp_cpu`, `fpga_conv2d`, `ps_dma`",
        ),
        (
            '"orders": {"ps_dm": {"start": "2 us"}}',
            '"ps_dm"',
            "neither a target_arch nor a DMA engine `ps_dm` is declared [unknown-device]\n"
            "hint: did you mean `ps_dma`?",
        ),
        (
            '"cores": {"dsp_cpu": {"line": "20 ns"}}',
            '"dsp_cpu"',
            "target_arch `dsp_cpu` has no `cores` [no-cores]\nhint: remove it",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm", "setup": "3 us", "worst": {"setup": "2 us"}}]',
            '"2 us"',
            "the `setup` at worst is less than usual [bad-record]",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm", "bandwidth": "3 MB/s", '
            '"worst": {"bandwidth": "4 MB/s"}}]',
            '"4 MB/s"',
            "the `bandwidth` at worst is more than usual [bad-record]",
        ),
        (
            '"operators": {"dps_cpu": {}}',
            '"dps_cpu"',
            "target_arch `dps_cpu` is not declared [unknown-target-arch]\nhint: did you mean `dsp_cpu`?",
        ),
        (
            '"copies": [{"from": "sramm", "to": "ddr"}]',
            '"sramm"',
            "memory `sramm` is not declared [unknown-memory]\nhint: did you mean `sram`?",
        ),
        ('"copies": [{"to": "ddr"}]', "{", "`copies[0]` lacks `from` [missing-key]"),
        (
            '"copies": [{"from": "conv_bram", "to": "dsp_tcm"}]',
            "{",
            "the SoC declares no such copy path [unknown-copy]",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm", "engine": "ps_dm"}]',
            '"ps_dm"',
            "DMA engine `ps_dm` is not declared [unknown-engine]\nhint: did you mean `ps_dma`?",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm"}]',
            "{",
            "nothing was measured: neither `setup` nor `bandwidth` nor `worst` [missing-key]",
        ),
        (
            '"copies": [{"from": "ddr", "to": "dsp_tcm", "setup": "1 us"}, '
            '{"from": ["sram", "ddr"], "to": "dsp_tcm", "bandwidth": "9 MB/s"}]',
            "{",
            "the path from `ddr` to `dsp_tcm` is in `copies[0]`, too [duplicate-copy]\n"
            "hint: measure each path once",
        ),
        (
            '"loads": {"dsp_cpu": {}}',
            "{",
            "a load process needs `bytes` or `time` [bad-record]",
        ),
        ('"copies": [4]', "4", "`copies[0]` must be a table, not an integer [wrong-type]"),
        ('"copies": 4', "4", "`copies` must be a list, not an integer [wrong-type]"),
        (
            '"loads": {"dsp_cpu": {"time": "-1 ms"}}',
            '"-1 ms"',
            "`time` must be at least 0 and at most 1,000,000 s [out-of-range]",
        ),
        ('"load": {}', '"load"', "unknown key `load` [unknown-key]\nhint: did you mean `loads`?"),
        (
            '"loads": {}, "loads": {}',
            '"loads"',
            "not JSON: `loads` stands twice in one table [json-syntax]",
        ),
        ('"loads": NaN', "NaN", "not JSON: `NaN` is no number [json-syntax]"),
        (
            '"l\\u006fads": {"dsp\\"]": [], "d": [-1e5, {"x": "\\\\"}], "dsp_cpu": {"tim" : 1}}',
            '"tim"',
            "unknown key `tim` [unknown-key]\nhint: did you mean `time`?",
        ),
    ],
)
def test_refusals(inside: str, at: str, said: str) -> None:
    text = f'{{"schema": 1, {inside}}}'
    assert refusal(text).split("\n\n")[-1] == placed(text, at, said)


def test_lines_are_counted_and_everything_is_told_at_once() -> None:
    text = '{\n  "schema": 1,\n  "loads": {\n    "dsp_cpu": {"time": 3, "time": Infinity}\n  }\n}'
    assert refusal(text).split("\n\n") == [
        "c.json:4:28: error: not JSON: `time` stands twice in one table [json-syntax]\n"
        '    4 |     "dsp_cpu": {"time": 3, "time": Infinity}\n'
        "      |                            ^^^^^^",
        "c.json:4:36: error: not JSON: `Infinity` is no number [json-syntax]\n"
        '    4 |     "dsp_cpu": {"time": 3, "time": Infinity}\n'
        "      |                                    ^^^^^^^^",
    ]


def test_what_is_no_cost_file() -> None:
    assert refusal("[]") == placed("[]", "[", "a cost file is a table, `{` to `}` [wrong-type]")
    hint = 'hint: this version reads `"schema": 1`'
    silent = f"this file does not say its `schema` [schema-version]\n{hint}"
    assert refusal("{}") == placed("{}", "{", silent)
    wrong = f"this file has an unsupported `schema` [schema-version]\n{hint}"
    assert refusal('{"schema": 2}') == placed('{"schema": 2}', "2", wrong)
    assert refusal("{,").startswith("c.json:1:2: error: not JSON: ")
    assert "nests deeper" in refusal("[" * 100_000)


def test_cycles_need_a_clock() -> None:
    slow = evolve(SOC, archs=tuple(evolve(arch, clock=0.0) for arch in SOC.archs))
    text = '{"schema": 1, "operators": {"dsp_cpu": {"add": "5 cycles"}}}'
    with pytest.raises(DiagnosticError) as caught:
        parse_costs(text, "c.json", slow)
    said = "cycles tell no time: target_arch `dsp_cpu` declares no `clock` [missing-clock]"
    assert str(caught.value) == placed(text, '"add"', f"{said}\nhint: declare it, or give a time")


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
    text = '{"schema": 1, "operators": {"dsp": {}, "dsp_cpu": {"add": "1 MB"}}}'
    _described(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError) as caught:
        read_soc("soc.toml")
    undeclared = "target_arch `dsp` is not declared [unknown-target-arch]\nhint: did you mean `dsp_cpu`?"
    unit = (
        "`MB` is no unit of time [bad-unit]\n"
        "hint: units are: `cycles`, `cycles/element`, `cycles/mac`, `ms`, `ms/element`, `ms/mac`, `ns`, "
        "`ns/element`, `ns/mac`, `s`, `s/element`, `s/mac`, `us`, `us/element`, `us/mac`"
    )
    assert str(caught.value) == (
        placed(text, '"dsp"', undeclared, "costs.json") + "\n\n" + placed(text, '"1 MB"', unit, "costs.json")
    )


def test_a_cost_entry_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _described(tmp_path, None, 'path = "costs.json"')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError) as caught:
        read_soc("soc.toml")
    assert "unknown key `path`" in str(caught.value)


def test_energy_is_power_by_target_arch() -> None:
    text = '{"schema": 1, "energy": {"dsp_cpu": {"active": "12 mW", "idle": "300 uW"}}}'
    costs = parse_costs(text, "c.json", SOC)
    assert costs.power(SOC, "dsp_cpu") == PowerCost(active=12e-3, idle=3e-4)
    assert costs.power(SOC, "host_cpu") == PowerCost()


def test_the_part_has_the_power_that_the_file_leaves_out() -> None:
    soc = read_soc("stm32l4r5")
    costs = parse_costs('{"schema": 1, "energy": {"host_cpu": {"idle": "1 mW"}}}', "c.json", soc)
    assert costs.power(soc, "host_cpu") == PowerCost(active=51.9e-3, idle=1e-3)


@pytest.mark.parametrize(
    ("inside", "at", "said"),
    [
        ('{"dsp_cpu": {}}', "{", "energy needs `active` or `idle`: a power [bad-record]"),
        (
            '{"dsp_cpu": {"active": "-1 mW"}}',
            '"-1 mW"',
            "`active` must be at least 0 and at most 1,000 W [out-of-range]",
        ),
        (
            '{"dsp_cpu": {"active": "5 V"}}',
            '"5 V"',
            "`V` is no unit of power [bad-unit]\nhint: units are: `W`, `mW`, `nW`, `uW`",
        ),
    ],
)
def test_mistakes_in_energy(inside: str, at: str, said: str) -> None:
    text = f'{{"schema": 1, "energy": {inside}}}'
    assert refusal(text) == placed(text, at, said)


ABOUT = (
    '"calibration": {"soc": "zynq_edge", "port": "rtl", "counts": "cycles", "tools": "v", "models": ["a"]}'
)
TOOLS = '"calibration": {"soc": "zynq_edge", "port": "rtl", "counts": "cycles", "models": ["a"]}'
NO_MODELS = '"calibration": {"soc": "zynq_edge", "port": "rtl", "counts": "c", "tools": "v", "models": [] }'
OTHER = '"calibration": {"soc": "mcu_m7", "port": "rtl", "counts": "c", "tools": "v", "models": ["a"]}'


@pytest.mark.parametrize(
    ("about", "line", "at", "said"),
    [
        (
            OTHER,
            "",
            '"mcu_m7"',
            "these costs were calibrated for `mcu_m7`, not for `zynq_edge` [another-soc]\n"
            "hint: calibrate again with this SoC file",
        ),
        (TOOLS, "", '"calibration"', "`calibration` lacks `tools` [missing-key]"),
        (NO_MODELS, "", "[", "`models` names nothing [empty-list]"),
        (
            ABOUT,
            '"measured": {"fpga_conv2d": {"conv2d-1": {"time": "5 cycles"}}}',
            '"conv2d-1"',
            "`measured.fpga_conv2d.conv2d-1` lacks `kernel` [missing-key]",
        ),
        (
            ABOUT,
            '"measured": {"fpga_conv2d": {"conv2d-1": {"time": "-5 cycles", "kernel": "k"}}}',
            '"-5 cycles"',
            "`time` must be at least 0 and at most 1,000,000,000,000,000 cycles [out-of-range]",
        ),
        (
            ABOUT,
            '"measured": {"fpga": {}}',
            '"fpga"',
            "target_arch `fpga` is not declared [unknown-target-arch]\n"
            "hint: declared here: `accelerator`, `dsp_cpu`, `fpga_conv2d`, `host_cpu`",
        ),
        (
            ABOUT,
            '"fitted": {"fpga_conv2d": {}}',
            '"fpga_conv2d"',
            "`fitted.fpga_conv2d` lacks `rates` [missing-key]",
        ),
        (
            ABOUT,
            '"fitted": {"fpga_conv2d": {"rates": {"beat": "-1 cycles"}}}',
            '"-1 cycles"',
            "`beat` must be at least 0 and at most 1,000,000,000,000,000 cycles [out-of-range]",
        ),
        (
            ABOUT,
            '"fitted": {"fpga_conv2d": {"rates": {"beat": "1 cycles"}, "share": -2}}',
            "-2",
            "`share` must not be negative [out-of-range]",
        ),
        (
            ABOUT,
            '"fitted": {"fpga_conv2d": {"rates": {"a": "1 cycles", "b": "2 ns"}}}',
            "{",
            "some rates are cycles, some are times [bad-record]",
        ),
        (
            ABOUT,
            '"fitted": {"fpga_conv2d": {"rates": {"a": "1 cycles"}, '
            '"error": {"steps": 3, "worst": 1, "low": 1, "high": 1}}}',
            '"error"',
            "`fitted.fpga_conv2d.error` lacks `median` [missing-key]",
        ),
    ],
)
def test_what_calibrate_writes_is_judged(about: str, line: str, at: str, said: str) -> None:
    text = "\n".join(['{"schema": 1,', about + ("," if line else ""), line, "}"])
    number, shown = (3, line) if line else (2, about)
    message, *hint = said.split("\n")
    column = shown.rindex(at)
    marks = "^" * len(at)
    expected = (
        f"c.json:{number}:{column + 1}: error: {message}",
        f"{number:5} | {shown}",
        f"      | {' ' * column}{marks}",
        *hint,
    )
    assert refusal(text) == "\n".join(expected)


def test_measurements_say_where_they_are_from() -> None:
    text = '{"schema": 1, "measured": {"fpga_conv2d": {"conv2d-1": {"time": "5 us", "kernel": "k"}}}}'
    said = "`measured` and `fitted` need `calibration`, which says of what and where"
    assert refusal(text).splitlines() == [
        f"c.json:1:27: error: {said} [bad-record]",
        f"    1 | {text}",
        f"      | {' ' * 26}^",
    ]
