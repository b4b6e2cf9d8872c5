"""The alignment of buffers, and of tensors inside them."""

import pytest
from attrs import evolve

from target_arch.soc.model import SoC
from target_arch.soc.words import InstructionSet
from target_arch.stages.paths.alignment import least_alignment, part_alignment
from tests.stages import chips


def _with_isa(soc: SoC, isa: InstructionSet) -> SoC:
    return evolve(soc, archs=tuple(evolve(arch, isa=isa) for arch in soc.archs))


@pytest.mark.parametrize(("isa", "vector"), [(InstructionSet.X86_64, 64), (InstructionSet.HVXV67, 128)])
def test_buffers_begin_with_whole_vectors_of_their_core(isa: InstructionSet, vector: int) -> None:
    plain, computer = chips.EDGE, _with_isa(chips.EDGE, isa)
    used = {name for arch in plain.archs for name in arch.memory}
    for memory in plain.memories:
        before, after = (least_alignment(soc, memory.name) for soc in (plain, computer))
        assert after % before == 0
        assert (after % vector == 0) or memory.name not in used
        assert part_alignment(computer, memory.name) == part_alignment(plain, memory.name)
    assert any(least_alignment(plain, name) < vector for name in used)
