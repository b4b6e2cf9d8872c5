"""A chip whose SRAM is smaller than a layer's weights."""

from pathlib import Path

from attrs import evolve

from target_arch.soc import SoC, read_soc

KIB = 1024


def chip(sram: int) -> SoC:
    """The chip with so many KiB of SRAM."""
    soc = read_soc(Path(__file__).with_name("little_sram.toml"))
    return evolve(
        soc, memories=tuple(evolve(m, size=sram * KIB) if m.name == "sram" else m for m in soc.memories)
    )
