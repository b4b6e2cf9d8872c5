"""The part that a SoC file describes: its processors, and what of the description is known from where."""

from collections.abc import Mapping

from attrs import field, frozen

from target_arch.soc.chip.processors import processors
from target_arch.soc.words import InstructionSet


@frozen(kw_only=True)
class Chip:
    """A real part. `processor` is, by target_arch, one of `processors.toml`, whose cycles instructions take
    there; `slowdown` the factor by which they take longer, for caches that miss, wait states and the
    compiler. `active` and `idle` are watts of the whole chip while a target_arch computes, and while it
    waits.

    Each text in `published` says what a data sheet or manual states, with the document; in `fitted` what was
    fitted, to what and how far off; in `assumed` what nothing states. What was measured is in cost files.
    """

    part: str
    processor: Mapping[str, str] = field(factory=dict)
    slowdown: Mapping[str, float] = field(factory=dict)
    active: Mapping[str, float] = field(factory=dict)
    idle: Mapping[str, float] = field(factory=dict)
    published: tuple[str, ...] = ()
    fitted: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

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
