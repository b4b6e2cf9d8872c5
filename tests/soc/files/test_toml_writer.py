"""A SoC that is written as a file and read again is the same SoC."""

import pytest
from attrs import evolve

from target_arch.soc import parse_soc, read_soc, shipped_socs
from target_arch.soc.files.toml_writer import toml


@pytest.mark.parametrize("name", shipped_socs())
def test_there_and_back(name: str) -> None:
    soc = read_soc(name)
    text = toml(soc)
    assert parse_soc(text, "written.toml") == soc
    assert toml(parse_soc(text, "written.toml")) == text


def test_rules_options_and_odd_numbers() -> None:
    soc = read_soc("zynq_edge")
    archs = tuple(
        evolve(arch, clock=33333333.333, options={"macs_per_cycle": 2.5}) if arch.name == "dsp_cpu" else arch
        for arch in soc.archs
    )
    wishes = {"require": {"*": "dsp_cpu"}, "forbid": {"dense": ("host_cpu", "accelerator")}}
    memories = tuple(evolve(memory, size=memory.size - 64, latency=1.5e-10) for memory in soc.memories)
    odd = evolve(soc, archs=archs, memories=memories, lowering=("dsp_cpu", "host_cpu"), **wishes)
    assert parse_soc(toml(odd), "written.toml") == odd


def test_what_it_looks_like() -> None:
    text = toml(read_soc("zynq_edge"))
    assert text.startswith(
        'schema = 1\nname = "zynq_edge"\n\n[memory.ddr]\nsize = "64 MiB"\nbase = 0x100000\n'
        'read_bandwidth = "1.6 GB/s"\nwrite_bandwidth = "1.2 GB/s"\nlatency = "60 ns"\ncached = true\n'
    )
