"""The shipped SoC files of real chips, for people."""

from collections.abc import Sequence

from attrs import frozen

from target_arch.soc.chip.chip import Chip
from target_arch.soc.files.soc_file import read_soc, shipped_chips
from target_arch.soc.model import SoC
from target_arch.soc.units import FREQUENCY, written


@frozen(kw_only=True)
class ListedChip:
    """A chip by the name of its SoC file: its elements with their processors or backends and clocks, and how
    many statements about it are published, fitted and assumed.
    """

    name: str
    part: str
    elements: tuple[str, ...]
    published: int
    fitted: int
    assumed: int


def listed_chips() -> tuple[ListedChip, ...]:
    """Every shipped chip, by name."""
    return tuple(_listed(name, read_soc(name)) for name in shipped_chips())


def _listed(name: str, soc: SoC) -> ListedChip:
    chip = soc.chip
    assert chip is not None, f"{name} is among the chips, and names no part"
    return ListedChip(
        name=name,
        part=chip.part,
        elements=elements(soc, chip),
        published=len(chip.published),
        fitted=len(chip.fitted),
        assumed=len(chip.assumed),
    )


def elements(soc: SoC, chip: Chip) -> tuple[str, ...]:
    """The processor or backend of each target_arch, how many of them, and their clock."""
    return tuple(
        f"{f'{arch.instances} ' if arch.instances > 1 else ''}{chip.processor.get(arch.name, arch.backend)}"
        f" at {written(arch.clock, FREQUENCY)}"
        for arch in soc.archs
    )


def listing(chips: Sequence[ListedChip]) -> str:
    """A line for each chip, in columns."""
    head = ("chip", "part", "computes with", "published", "fitted", "assumed")
    rows = [
        (c.name, c.part, ", ".join(c.elements), str(c.published), str(c.fitted), str(c.assumed))
        for c in chips
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )
    return "".join(f"{line}\n" for line in lines)
