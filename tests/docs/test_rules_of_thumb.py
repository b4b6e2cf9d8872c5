"""The table of rules of thumb in docs/soc-file.md is what the changes do to the example's simulated run.

`pytest --update-golden` writes it again.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, partition_model
from target_arch.plan.printed.reasoning import duration
from target_arch.resources import examples, soc_configs
from target_arch.soc import parse_soc

PAGE = Path(__file__).parents[2] / "docs" / "soc-file.md"
HEAD = "| changed in the SoC file | run before | run after |\n|---|---:|---:|\n"
TABLE = re.compile(rf"{re.escape(HEAD)}(?:\|.*\n)+")
CHANGES = (
    ("mcu_m55", "`isa` left out", r'isa = "armv8.1-m"\n', ""),
    ("mcu_m55", "`clock` left out", r'clock = "200 MHz"\n', ""),
    (
        "mcu_m55",
        "the flash reads half as fast",
        r'read_bandwidth = "320 MB/s"',
        'read_bandwidth = "160 MB/s"',
    ),
    (
        "mcu_m55",
        '`workspace = ["sram", "tcm"]`',
        r'workspace = \["tcm", "sram"\]',
        'workspace = ["sram", "tcm"]',
    ),
    ("zynq_edge", "`setup` of the DMA engine 20 us", r'setup = "2 us"', 'setup = "20 us"'),
    ("zynq_edge", "its `bandwidth` 200 MB/s", r'bandwidth = "800 MB/s"', 'bandwidth = "200 MB/s"'),
)
"""A shipped SoC, the change in words, and as a replacement in its file."""


@cache
def seconds(text: str) -> float:
    model = examples() / "digits" / "digits_int8.onnx"
    graph = partition_model(CompileRequest(model_path=model, soc=parse_soc(text, "changed.toml")))
    assert graph.run is not None
    return graph.run.makespan


def rows() -> str:
    lines = []
    for name, said, pattern, new in CHANGES:
        text = (soc_configs() / f"{name}.toml").read_text()
        changed, count = re.subn(pattern, new, text)
        assert count, said
        before, after = duration(seconds(text)), duration(seconds(changed))
        lines.append(f"| `{name}`: {said} | {before} | {after} |\n")
    return HEAD + "".join(lines)


def test_what_changes_do(pytestconfig: pytest.Config) -> None:
    text = PAGE.read_text()
    made = TABLE.sub(lambda _: rows(), text)
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(made)
    assert made == PAGE.read_text()
