"""The alignment of buffers, and of tensors inside them."""

from attrs import evolve

from target_arch.soc.model import SoC
from target_arch.soc.words import InstructionSet
from target_arch.stages.paths.alignment import least_alignment, part_alignment
from tests.stages import chips


def _of_computers(soc: SoC) -> SoC:
    return evolve(soc, archs=tuple(evolve(arch, isa=InstructionSet.X86_64) for arch in soc.archs))


def test_buffers_of_a_computer_begin_with_lines_of_its_cache() -> None:
    plain, computer = chips.EDGE, _of_computers(chips.EDGE)
    used = {name for arch in plain.archs for name in arch.memory}
    for memory in plain.memories:
        before, after = (least_alignment(soc, memory.name) for soc in (plain, computer))
        assert after % before == 0
        assert (after % 64 == 0) or memory.name not in used
        assert part_alignment(computer, memory.name) == part_alignment(plain, memory.name)
    assert any(least_alignment(plain, name) < 64 for name in used)
