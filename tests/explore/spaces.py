"""Spaces that tests explore."""

from pathlib import Path

from target_arch.explore.space import Space
from target_arch.explore.space_file import parse_space
from target_arch.resources import examples

DIGITS = examples() / "digits" / "digits_int8.onnx"

ZYNQ = """
schema = 1
soc = "zynq_edge"
minimize = ["latency", "price"]
where = ["tcm <= sram"]

[model.digits]
file = "digits_int8.onnx"

[vary.tcm]
key = "memory.dsp_tcm.size"
from = "32 KiB"
to = "128 KiB"
factor = 2

[vary.sram]
key = "memory.sram.size"
values = ["1 KiB", "64 KiB"]

[vary.bus]
key = ["copy[2].bandwidth", "copy[3].bandwidth"]
values = ["100 MB/s", "400 MB/s"]

[ties]
"target_arch.dsp_cpu.clock" = "bus"

[formulas]
price = "0.01 * (memory.sram.size + tcm) / 1024 + 2"

[limits]
"digits.latency" = "1 s"
"""


ALONE = """schema = 1
soc = "zynq_edge"
minimize = "latency"
[model.digits]
file = "digits_int8.onnx"
"""
"""A space of one point: nothing varies."""


def space(text: str = ZYNQ, name: str = "chips.toml") -> Space:
    return parse_space(text, name, DIGITS.parent)


def space_file(folder: Path, text: str = ZYNQ) -> Path:
    """A space file in the folder, beside the model that it names."""
    (folder / DIGITS.name).symlink_to(DIGITS)
    file = folder / "chips.toml"
    file.write_text(text)
    return file
