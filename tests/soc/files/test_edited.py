"""Texts of TOML files with other values: everything else stays as it was."""

import tomllib

import pytest

from target_arch.soc.faults import Path
from target_arch.soc.files.edited import EditableToml

TEXT = """# a chip
name = "x"                # its name

[memory.sram]             # on chip
size = "64 KiB"

[[copy]]
from = ["a", "b"]

[target_arch.dsp]
device = { type = "kDLCPU", id = 1 }
"""


@pytest.mark.parametrize(
    ("path", "literal", "before", "after"),
    [
        (("name",), '"y"', 'name = "x"  ', 'name = "y"  '),
        (("memory", "sram", "size"), '"8 MiB"', 'size = "64 KiB"', 'size = "8 MiB"'),
        (("memory", "sram", "cached"), "true", "# on chip", "# on chip\ncached = true"),
        (("copy", 0, "from"), '"c"', '["a", "b"]', '"c"'),
        (("copy", 0, "bandwidth"), '"1 GB/s"', "[[copy]]", '[[copy]]\nbandwidth = "1 GB/s"'),
        (("target_arch", "dsp", "device", "id"), "7", "id = 1", "id = 7"),
        (("target_arch", "dsp", "device", "x"), "7", "{ type", "{ x = 7, type"),
        (
            ("target_arch", "dsp", "options", "rate"),
            "4.0",
            "[target_arch.dsp]",
            "[target_arch.dsp]\noptions.rate = 4.0",
        ),
    ],
)
def test_one_value(path: Path, literal: str, before: str, after: str) -> None:
    made = EditableToml(TEXT).edited({path: literal})
    assert made == TEXT.replace(before, after)
    tomllib.loads(made)


def test_several_values_at_once() -> None:
    made = EditableToml(TEXT).edited({("name",): '"longer"', ("target_arch", "dsp", "device", "id"): "123"})
    assert made == TEXT.replace('"x"', '"longer"').replace("id = 1", "id = 123")


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        EditableToml(TEXT).edited({("port", "host", "stack"): "1"})
