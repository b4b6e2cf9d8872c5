"""The part that a SoC file describes: its processors, and what of the description is known from where."""

from collections.abc import Mapping
from typing import Annotated

from attrs import field, frozen

from target_arch.soc.chip.processors import processors
from target_arch.soc.schema.kinds import WATTS, Factor, OneOf, Sentences, Table, Text
from target_arch.soc.schema.records import ClosedRecord
from target_arch.soc.words import InstructionSet


@frozen(kw_only=True)
class Chip(ClosedRecord):
    """A real part, of which each text says where it is from; what was measured is in cost files.

    `slowdown` stands for caches that miss, wait states and the compiler. Powers are watts of the whole chip.
    """

    part: Annotated[str, Text(), "vendor and number of the real part"]
    processor: Annotated[
        Mapping[str, str],
        Table(of=OneOf(words=tuple(processors()))),
        "by target_arch, one of the [processors](chips.md#processors), whose cycles instructions of kernels "
        "in C take",
    ] = field(factory=dict)
    slowdown: Annotated[
        Mapping[str, float],
        Table(of=Factor()),
        "by target_arch, the factor by which they take longer: caches that miss, wait states, the compiler; "
        "1 by default",
    ] = field(factory=dict)
    active: Annotated[
        Mapping[str, float], Table(of=WATTS), "by target_arch, power of the chip while it computes"
    ] = field(factory=dict)
    idle: Annotated[
        Mapping[str, float], Table(of=WATTS), "by target_arch, power of the chip while it waits"
    ] = field(factory=dict)
    published: Annotated[tuple[str, ...], Sentences(), "what documents state, with the document"] = ()
    fitted: Annotated[tuple[str, ...], Sentences(), "what was fitted, to what, and how far off it is"] = ()
    assumed: Annotated[tuple[str, ...], Sentences(), "what nothing states"] = ()

    def cycles_per_instruction(self, arch: str, isa: InstructionSet) -> float:
        """Cycles that an instruction of kernels takes at a target_arch, on average; 1 where no processor is
        named.
        """
        name = self.processor.get(arch)
        own = 1.0 if name is None else processors()[name].per_instruction(isa)
        return own * self.slowdown.get(arch, 1.0)


def cycles_per_instruction(chip: Chip | None, arch: str, isa: InstructionSet) -> float:
    """As the method of a chip; 1 where the description is of no real part."""
    return 1.0 if chip is None else chip.cycles_per_instruction(arch, isa)
