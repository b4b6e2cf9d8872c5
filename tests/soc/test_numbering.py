"""Numbers are stable, and the hash knows every part of a description."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from target_arch.soc import SoC, read_soc
from target_arch.soc.numbering import (
    abi_hash,
    c_identifier,
    c_prefix,
    canonical,
    channel_number,
    instance_number,
    memory_number,
    timeline_number,
    timelines,
)


def test_order() -> None:
    soc = read_soc("quad_conv")
    assert timelines(soc) == (
        "axi_dma.0",
        "axi_dma.1",
        "host_cpu",
        "fpga_conv2d[0]",
        "fpga_conv2d[1]",
        "fpga_conv2d[2]",
        "fpga_conv2d[3]",
    )
    assert timeline_number(soc, "fpga_conv2d[1]") == 4
    assert channel_number(soc, "axi_dma.1") == 1
    assert instance_number(soc, "fpga_conv2d[3]") == 4
    assert memory_number(soc, "conv_bram_0") == 2


@pytest.mark.parametrize("number", [instance_number, memory_number, channel_number, timeline_number])
def test_unknown_names_are_key_errors(number: Callable[[SoC, str], int]) -> None:
    with pytest.raises(KeyError):
        number(read_soc("quad_conv"), "nobody")


def test_names_in_c() -> None:
    assert c_identifier("fpga_conv2d[1]") == "FPGA_CONV2D_1"
    assert c_identifier("axi_dma.0") == "AXI_DMA_0"
    assert c_prefix(read_soc("mcu_m55")) == "MCU_M55"


CHANGES: dict[str, dict[str, Any]] = {
    "memories": {"size": 1, "base": 3, "observers": {"x": 0}, "cached": False, "latency": 9.0},
    "dmas": {"channels": 7},
    "copies": {"engine": "x", "alignment": 64, "cache": "clean source", "setup": 1.0, "dimensions": 2},
    "archs": {"clock": 1.0, "instances": 2, "options": {"x": 1}, "operands": "outputs"},
    "modes": {"workspace": ("ddr",)},
}


def changes(soc: SoC) -> list[SoC]:
    """The description with one thing changed at a time, in each kind of value it has."""
    changed = [attrs.evolve(soc, name="other"), attrs.evolve(soc, partitioning=soc.partitioning[::-1])]
    for section, news in CHANGES.items():
        head, *rest = getattr(soc, section)
        for key, value in news.items():
            changed.append(attrs.evolve(soc, **{section: (attrs.evolve(head, **{key: value}), *rest)}))
    return changed


def test_hash_changes_with_every_part() -> None:
    soc = read_soc("zynq_edge")
    hashes = [abi_hash(each) for each in [soc, *changes(soc)]]
    assert len(set(hashes)) == len(hashes) > 12
    assert all(0 <= each < 2**64 for each in hashes)


def test_hash_does_not_depend_on_how_a_number_or_table_is_written() -> None:
    soc = read_soc("zynq_edge")
    memory = attrs.evolve(soc.memories[0], observers={"b": 1, "a": 2}, latency=1.0)
    same = attrs.evolve(memory, observers={"a": 2, "b": 1}, latency=1)
    one, other = (attrs.evolve(soc, memories=(each, *soc.memories[1:])) for each in (memory, same))
    assert abi_hash(one) == abi_hash(other)


def test_canonical_text() -> None:
    lines = canonical(read_soc("mcu_m55")).splitlines()
    assert lines[0] == "soc.name = 'mcu_m55'"
    assert lines[1:3] == ["soc.memories.0.name = 'flash'", "soc.memories.0.size = 2097152"]
    assert "soc.memories.0.writable = False" in lines
    assert "soc.archs.0.device.type = 'kDLCPU'" in lines


def test_the_abi_hash_does_not_know_where_costs_lie() -> None:
    soc = read_soc("zynq_edge")
    assert abi_hash(attrs.evolve(soc, cost_file="one/costs.json")) == abi_hash(soc)
