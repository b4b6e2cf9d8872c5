"""Keys of SoC files by their dotted paths."""

import tomllib

import pytest

from target_arch.explore.keys import has_table, key_kind, key_path, known_keys, value_in
from target_arch.resources import soc_configs
from target_arch.soc.faults import dotted
from target_arch.soc.schema.kinds import Flag, Integer, Names, Quantity, Scalar, Text

ZYNQ = tomllib.loads((soc_configs() / "zynq_edge.toml").read_text())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("memory.sram.size", Quantity),
        ("memory.sram.cached", Flag),
        ("copy[2].bandwidth", Quantity),
        ("dma.axi_dma.channels", Integer),
        ("target_arch.dsp_cpu.options.macs_per_cycle", Scalar),
        ("target_arch.dsp_cpu.device.id", Integer),
        ("target_arch.dsp_cpu.load.time", Quantity),
        ("memory_mode.default.io", Names),
        ("partitioning.order", Names),
        ("lowering.order", Text),
    ],
)
def test_kinds(text: str, kind: type) -> None:
    path = key_path(text)
    assert path is not None
    assert dotted(path) == text
    assert isinstance(key_kind(path), kind)


@pytest.mark.parametrize(
    "text",
    ["memory.sram", "memory.sram.bytes", "name", "schema", "memory.sram.size.x", "a[", "copy[2]", "b.c.d.e"],
)
def test_no_keys(text: str) -> None:
    path = key_path(text)
    assert path is None or key_kind(path) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("memory.sram.size", 512 * 1024),
        ("memory.sram.latency", 24e-9),
        ("target_arch.fpga_conv2d.instances", 1),
        ("target_arch.dsp_cpu.options.macs_per_cycle", 4.0),
        ("target_arch.dsp_cpu.load.bytes", 64 * 1024),
        ("copy[1].max_bytes", None),
        ("copy[99].setup", None),
        ("memory.none.size", None),
    ],
)
def test_values_are_those_of_the_file_or_the_defaults(text: str, value: object) -> None:
    assert value_in(ZYNQ, key_path(text) or ()) == value


def test_every_known_key_has_a_kind_and_a_table() -> None:
    known = list(known_keys(ZYNQ))
    assert "memory.npu_acc.read_bandwidth" in known
    for each in known:
        path = key_path(each)
        assert path is not None
        assert key_kind(path) is not None, each
        assert has_table(ZYNQ, path) or ".load." in each or ".cores." in each, each
