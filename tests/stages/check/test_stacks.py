"""The checker of stacks: what is planned for a chip passes, and each planted fault is said with its core."""

import pytest
from attrs import evolve

from target_arch.soc import Cores, DLDevice, Memory, MemoryMode, SoC, TargetArch, check_soc
from target_arch.soc.stacks import CoreStack, core_stacks, stack_bytes
from target_arch.stages.check.stacks import check_stacks
from target_arch.stages.errors import CheckError
from target_arch.stages.memory.model_pools import reduced


def _arch(name: str, number: int, **facts: object) -> TargetArch:
    return TargetArch(name=name, backend="c", device=DLDevice(type="kDLCPU", id=number), **facts)  # type: ignore[arg-type]


SEEN = {"other": 0x2000_0000, "cluster": 0x2000_0000}
CHIP = SoC(
    name="four",
    memories=(
        Memory(name="ram", size=4096, base=0x2000_0000, observers=SEEN),
        Memory(name="rom", size=4096, base=0, writable=False, observers={"other": 0}),
        Memory(name="tcm_0", size=1024, observers={"cluster": 0}, replica_of="tcm"),
        Memory(name="tcm_1", size=1024, observers={"cluster": 0}, replica_of="tcm"),
    ),
    dmas=(),
    copies=(),
    archs=(
        _arch("cpu", 0, host=True, memory=("ram",)),
        _arch("other", 1, memory=("ram",), cores=Cores(stack=500)),
        _arch("cluster", 2, instances=2, memory=("ram",), cores=Cores(stack=256, stack_memory="tcm")),
    ),
    modes=(MemoryMode(name="default", workspace=("ram",), constants=("ram",), io=("ram",)),),
    partitioning=("cpu", "other", "cluster"),
)
STACKS = core_stacks(CHIP)
LEFT = reduced(CHIP, stack_bytes(CHIP))


def said(*stacks: CoreStack, left: SoC = LEFT) -> str:
    """What the checker says of these stacks; empty where it says nothing."""
    try:
        check_stacks(CHIP, stacks, left)
    except CheckError as error:
        return str(error) or "an error without a fault"
    return ""


def test_stacks_are_at_the_ends_of_their_memories() -> None:
    assert check_soc(CHIP) == ()
    assert [str(stack) for stack in STACKS] == [
        "stack of other: 512 B at 3,584 of ram",
        "stack of cluster[0]: 256 B at 768 of tcm_0",
        "stack of cluster[1]: 256 B at 768 of tcm_1",
    ]
    assert {memory.name: memory.size for memory in LEFT.memories} == {
        "ram": 3584,
        "rom": 4096,
        "tcm_0": 768,
        "tcm_1": 768,
    }
    assert said(*STACKS) == ""


def test_two_stacks_of_one_memory_are_whole_cache_lines_where_others_see_it_behind_the_cache() -> None:
    memories = (evolve(CHIP.memories[0], cached=True, cache_line=128), *CHIP.memories[1:])
    both = evolve(CHIP.archs[1], instances=2)
    archs = (CHIP.archs[0], both, evolve(CHIP.archs[2], device=DLDevice(type="kDLCPU", id=3)))
    chip = evolve(CHIP, memories=memories, archs=archs)
    assert [(stack.offset, stack.bytes) for stack in core_stacks(chip)[:2]] == [(3584, 512), (3072, 512)]
    small = evolve(both, cores=Cores(stack=16))
    assert core_stacks(evolve(chip, archs=(archs[0], small, archs[2])))[1].offset == 4096 - 2 * 128


OTHER, FIRST, SECOND = STACKS


ELSEWHERE = "where its description does not have it [wrong-stack]"


@pytest.mark.parametrize(
    ("stacks", "message"),
    [
        ((OTHER, FIRST), "core cluster[1]: error: it has 0 stacks [wrong-stack]"),
        ((OTHER, FIRST, SECOND, SECOND), "core cluster[1]: error: it has 2 stacks [wrong-stack]\n\n"
         "core cluster[1]: error: its stack overlaps that of `cluster[1]` [overlap]"),
        ((OTHER, FIRST, SECOND, evolve(OTHER, instance="cpu", offset=3072)),
         "core cpu: error: it is no core, and has a stack [wrong-stack]"),
        ((),
         "core cluster[0]: error: it has 0 stacks [wrong-stack]\n\n"
         "core cluster[1]: error: it has 0 stacks [wrong-stack]\n\n"
         "core other: error: it has 0 stacks [wrong-stack]"),
        ((FIRST,),
         "core cluster[1]: error: it has 0 stacks [wrong-stack]\n\n"
         "core other: error: it has 0 stacks [wrong-stack]"),
        ((OTHER, evolve(FIRST, instance="cpu"), SECOND),
         "core cluster[0]: error: it has 0 stacks [wrong-stack]\n\n"
         "core cpu: error: it is no core, and has a stack [wrong-stack]"),
        ((evolve(OTHER, bytes=496), FIRST, SECOND),
         "core other: error: its stack has 496 B, described are 500 B [wrong-stack]"),
        ((OTHER, evolve(FIRST, memory="tcm_1"), evolve(SECOND, memory="tcm_0")),
         f"core cluster[0]: error: its stack is in `tcm_1`, {ELSEWHERE}\n\n"
         f"core cluster[1]: error: its stack is in `tcm_0`, {ELSEWHERE}"),
        ((evolve(OTHER, memory="rom"), FIRST, SECOND),
         f"core other: error: its stack is in `rom`, {ELSEWHERE}"),
        ((evolve(OTHER, memory="attic"), FIRST, SECOND),
         f"core other: error: its stack is in `attic`, {ELSEWHERE}"),
        ((evolve(OTHER, offset=3600), FIRST, SECOND),
         "core other: error: its stack ends outside `ram` [out-of-bounds]"),
        ((evolve(OTHER, offset=3568), FIRST, SECOND),
         "core other: error: its stack begins at 3,568 of `ram`, within the bytes of models [overlap]"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(stacks: tuple[CoreStack, ...], message: str) -> None:
    assert said(*stacks) == message


def test_models_that_reach_into_a_stack() -> None:
    message = "core other: error: its stack begins at 3,584 of `ram`, within the bytes of models [overlap]"
    assert said(*STACKS, left=evolve(LEFT, memories=(CHIP.memories[0], *LEFT.memories[1:]))) == message


LOW, HIGH = evolve(OTHER, offset=3072, bytes=512), evolve(OTHER, instance="cpu", offset=3584)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (LOW, HIGH, True),
        (HIGH, LOW, True),
        (evolve(LOW, bytes=513), HIGH, False),
        (HIGH, evolve(LOW, bytes=513), False),
        (evolve(LOW, bytes=513), evolve(HIGH, memory="rom"), True),
        (evolve(LOW, offset=8, bytes=16), evolve(HIGH, offset=24, bytes=8), True),
        (evolve(LOW, offset=8, bytes=17), evolve(HIGH, offset=24, bytes=8), False),
        (evolve(LOW, offset=8, bytes=40), evolve(HIGH, offset=40, bytes=4), False),
    ],
)
def test_stacks_that_touch_are_apart(one: CoreStack, other: CoreStack, apart: bool) -> None:
    assert ("its stack overlaps" not in said(one, other)) == apart
