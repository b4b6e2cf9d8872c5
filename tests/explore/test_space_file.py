"""Space files: what they say, and every mistake at its place, all at once."""

from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.space import VariedValue
from target_arch.explore.space_file import parse_space, read_space
from tests.explore.spaces import DIGITS, ZYNQ, space


def test_a_space() -> None:
    made = space()
    assert (made.name, made.size, len(list(made.points()))) == ("chips", 12, 4)
    assert [variation.name for variation in made.variations] == ["tcm", "sram", "bus"]
    assert made.variations[0].settings[1] == VariedValue(literal='"64 KiB"', shown="64 KiB", number=65536)
    assert made.minimize == ("latency", "price")
    assert made.limits[0].most == 1.0
    point = (1, 1, 0)
    assert made.shown(point) == "tcm = 64 KiB, sram = 64 KiB, bus = 100 MB/s"
    assert made.point(made.number(point)) == point
    assert made.point(0) is None
    assert made.literals(point) == {
        ("memory", "dsp_tcm", "size"): '"64 KiB"',
        ("memory", "sram", "size"): '"64 KiB"',
        ("copy", 2, "bandwidth"): '"100 MB/s"',
        ("copy", 3, "bandwidth"): '"100 MB/s"',
        ("target_arch", "dsp_cpu", "clock"): '"100 MHz"',
    }


def test_chips_models_modes_and_goals_vary_too(tmp_path: Path) -> None:
    text = """
schema = 1
soc = ["zynq_edge", "mcu_m7"]
minimize = "latency"
[model.digits]
file = ["digits_int8.onnx", "digits_fp32.onnx"]
[vary.mode]
values = ["default", "ddr_only"]
[vary.optimize]
values = ["size", "speed"]
[vary.sram]
key = "memory.sram.size"
from = "64 KiB"
to = "128 KiB"
step = "32 KiB"
"""
    for name in ("digits_int8.onnx", "digits_fp32.onnx"):
        (tmp_path / name).touch()
    made = parse_space(text, "chips.toml", tmp_path)
    assert [(v.name, len(v.settings)) for v in made.variations] == [
        ("soc", 2),
        ("digits", 2),
        ("mode", 2),
        ("optimize", 2),
        ("sram", 3),
    ]
    point = (1, 1, 1, 0, 1)
    assert made.chip(point).name == "mcu_m7"
    assert made.files(point)["digits"].name == "digits_fp32.onnx"
    assert made.of_program(point, "mode") == "ddr_only"
    assert made.literals(point) == {("memory", "sram", "size"): '"96 KiB"'}


def faults(change: tuple[str, str]) -> str:
    assert change[0] in ZYNQ
    with pytest.raises(DiagnosticError) as caught:
        space(ZYNQ.replace(*change))
    return str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            'minimize = ["latency", "price"]',
            'minimize = ["digits.period", "price"]',
            """chips.toml:4:1: error: `digits.period` is that of frames in flight, here are none [no-frames]
    4 | minimize = ["digits.period", "price"]
      | ^^^^^^^^
hint: say `objective = "throughput"`""",
        ),
        (
            "[model.digits]",
            'objective = "throughput"\n[model.other]\nfile = "digits_int8.onnx"\n[model.digits]',
            """chips.toml:7:13: error: frames in flight are of one model, here are several [no-frames]
    7 | objective = "throughput"
      |             ^^^^^^^^^^^^""",
        ),
        (
            "[model.digits]",
            'objective = "latency"\n[vary.objective]\nvalues = ["energy"]\n[model.digits]',
            """chips.toml:7:1: error: the objective varies here [taken-name]
    7 | objective = "latency"
      | ^^^^^^^^^""",
        ),
        (
            "schema = 1",
            "schema = 2",
            """chips.toml:2:10: error: this file has no `schema` that is read here [schema-version]
    2 | schema = 2
      |          ^
hint: this version reads `schema = 1`""",
        ),
        (
            "dsp_tcm.size",
            "dsp_tmc.size",
            """chips.toml:11:7: error: `zynq_edge` has no key `memory.dsp_tmc.size` [unknown-soc-key]
   11 | key = "memory.dsp_tmc.size"
      |       ^^^^^^^^^^^^^^^^^^^^^
hint: did you mean `memory.dsp_tcm.size`?""",
        ),
        (
            '"copy[3].bandwidth"',
            '"memory.sram.size"',
            """chips.toml:21:29: error: `memory.sram.size` gets values twice [varied-twice]
   21 | key = ["copy[2].bandwidth", "memory.sram.size"]
      |                             ^^^^^^^^^^^^^^^^^^""",
        ),
        (
            'to = "128 KiB"',
            'to = "16 KiB"',
            """chips.toml:12:8: error: `from = 32 KiB` is above `to = 16 KiB` [bad-range]
   12 | from = "32 KiB"
      |        ^^^^^^^^""",
        ),
        (
            "factor = 2",
            "",
            """chips.toml:10:7: error: `tcm` has a range without a step [bad-range]
   10 | [vary.tcm]
      |       ^^^
hint: `step = "…"` or `factor = 2`""",
        ),
        (
            "factor = 2",
            "factor = 1.001",
            """chips.toml:12:8: error: the range has more than 1,000 values [bad-range]
   12 | from = "32 KiB"
      |        ^^^^^^^^""",
        ),
        (
            '"64 KiB"]',
            '"1 KiB"]',
            """chips.toml:18:20: error: `1 KiB` is there twice [repeated-value]
   18 | values = ["1 KiB", "1 KiB"]
      |                    ^^^^^^^""",
        ),
        (
            '"64 KiB"]',
            "64.5]",
            """chips.toml:18:20: error: `values` needs a unit [bad-unit]
   18 | values = ["1 KiB", 64.5]
      |                    ^^^^
hint: such as `"64 KiB"`""",
        ),
        (
            '["tcm <= sram"]',
            '["tcm < rm"]',
            """chips.toml:5:10: error: `rm` is neither a name in `vary` nor a key of a SoC file [unknown-name]
    5 | where = ["tcm < rm"]
      |          ^^^^^^^^^^
hint: did you mean `sram`?""",
        ),
        (
            '["tcm <= sram"]',
            '["tcm <="]',
            """chips.toml:5:10: error: `tcm <=` is no formula [bad-formula]
    5 | where = ["tcm <="]
      |          ^^^^^^^^
hint: such as `2 * tcm <= sram`""",
        ),
        (
            '"price"]',
            '"prize"]',
            """chips.toml:4:24: error: `prize` is nothing that is measured [unknown-measure]
    4 | minimize = ["latency", "prize"]
      |                        ^^^^^^^
hint: did you mean `price`?""",
        ),
        (
            '"1 s"',
            '"1 KiB"',
            """chips.toml:31:20: error: `KiB` is no unit of time [bad-unit]
   31 | "digits.latency" = "1 KiB"
      |                    ^^^^^^^
hint: units are: `ms`, `ns`, `s`, `us`""",
        ),
        (
            "price = ",
            "tcm = ",
            """chips.toml:4:24: error: `price` is nothing that is measured [unknown-measure]
    4 | minimize = ["latency", "price"]
      |                        ^^^^^^^
hint: there are""",
        ),
        (
            "digits_int8.onnx",
            "none.onnx",
            f"""chips.toml:8:8: error: there is no file `{DIGITS.parent / "none.onnx"}` [model-not-found]
    8 | file = "none.onnx"
      |        ^^^^^^^^^^^""",
        ),
        (
            "digits_int8.onnx",
            "x" * 300,
            f"chips.toml:8:8: error: there is no file `{DIGITS.parent / ('x' * 300)}` [model-not-found]",
        ),
        (
            '[formulas]\nprice = "0.01 * (memory.sram.size + tcm) / 1024 + 2"',
            "",
            "chips.toml:4:24: error: `price` is nothing that is measured [unknown-measure]",
        ),
        (
            'where = ["tcm <= sram"]',
            'where = ["tcm <= sram", 1]',
            """chips.toml:5:25: error: `where[1]` must be a name, not an integer [wrong-type]""",
        ),
        (
            'key = "memory.dsp_tcm.size"',
            "key = []",
            """chips.toml:11:7: error: `key` names nothing [empty-list]""",
        ),
        (
            'soc = "zynq_edge"',
            'soc = "zynq_egde"',
            "chips.toml:3:7: error: zynq_egde: cannot read a SoC file: no such file or directory [bad-base]",
        ),
    ],
)
def test_a_mistake(before: str, after: str, said: str) -> None:
    assert faults((before, after)).startswith(said)


def test_formulas_that_are_no_table() -> None:
    text = ZYNQ.replace("minimize =", "formulas = 1\nminimize =")
    first, last = text.index("[formulas]"), text.index("[limits]")
    with pytest.raises(DiagnosticError) as caught:
        space(text[:first] + text[last:])
    assert str(caught.value).splitlines()[0] == (
        "chips.toml:4:12: error: `formulas` must be a table, not an integer [wrong-type]"
    )


def test_all_mistakes_at_once() -> None:
    text = ZYNQ.replace('memory.sram.size"\nvalues', 'memory.sram.seize"\nvalues').replace('"1 s"', "3")
    with pytest.raises(DiagnosticError) as caught:
        space(text.replace("tcm <= sram", "tcm <= 2 *").replace("[limits]", "[limit]\n[limits]"))
    rules = [each.rule for each in caught.value.diagnostics]
    assert rules == ["bad-formula", "unknown-soc-key", "unknown-key", "bad-unit"]


def test_a_model_in_place_of_a_space() -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_space(DIGITS)
    assert str(caught.value) == (
        f"{DIGITS}: error: this is a model, and a space file is wanted here [cannot-read]\n"
        "hint: write a space file that names the model in a table `[model.NAME]`"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_space(tmp_path / "x.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'x.toml'}: error: cannot read a space file: no such file or directory [cannot-read]"
    )


def test_an_empty_file() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_space("schema = 1", "x.toml")
    assert [each.message for each in caught.value.diagnostics] == [
        "this file lacks `soc`",
        "this file lacks `model`",
    ]
