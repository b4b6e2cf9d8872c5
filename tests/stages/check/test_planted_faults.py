"""Faults of every class, planted in valid plans of random models: the checker finds each and names its rule.

What is right stays without a fault (`tests/stages/lowering/test_ladder.py` runs such plans in a simulator).
"""

import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Operand
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, StepOrder, Wait
from target_arch.soc.model import SoC
from target_arch.stages.check.plan import check
from target_arch.stages.errors import CheckError
from target_arch.stages.lowering.ladder import Lowered, sizes
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered, models

Case = tuple[StepOrder, MemoryPlan]

RESULTS = st.tuples(models(), st.sampled_from((chips.EDGE, chips.quad()))).map(
    lambda pair: (lowered(*pair), pair[1])
)
SETTINGS = settings(max_examples=15, deadline=None)


def rules(
    result: Lowered, soc: SoC, steps: StepOrder | None = None, plan: MemoryPlan | None = None
) -> set[str]:
    """The rules that the checker names."""
    try:
        check(soc, steps or result.steps, plan or result.plan, sizes(result.graph, result.kernels))
    except CheckError as error:
        return {diagnostic.rule for diagnostic in error.diagnostics}
    return set()


def moved(plan: MemoryPlan, **offsets: int) -> MemoryPlan:
    return evolve(plan, offsets={**plan.offsets, **offsets}, in_place=_without(plan, set(offsets)))


def _without(plan: MemoryPlan, names: set[str]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in plan.in_place if not names & {*pair})


def replaced(case: Case, name: str, **values: object) -> Case:
    """One buffer changed, in the plan and in the step order alike."""

    def change(buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
        return tuple(evolve(b, **values) if b.name == name else b for b in buffers)  # type: ignore[arg-type]

    steps, plan = case
    return evolve(steps, buffers=change(steps.buffers)), evolve(plan, buffers=change(plan.buffers))


def touched(result: Lowered) -> list[Buffer]:
    names = set()
    for step in result.steps.steps:
        if isinstance(step, Dispatch):
            names |= {operand.of for operand in step.operands}
    return [buffer for buffer in result.steps.buffers if buffer.name in names]


def together(result: Lowered) -> list[tuple[Buffer, Buffer]]:
    """Buffers of one arena that are live in a common step, each used, and not in the place of each other."""
    used = touched(result)
    chained = {name for pair in result.plan.in_place for name in pair}
    return [
        (one, other)
        for n, one in enumerate(used)
        for other in used[:n]
        if one.arena == other.arena and one.overlaps(other) and not chained & {one.name, other.name}
    ]


@SETTINGS
@given(RESULTS)
def test_nothing_planted_nothing_found(found: tuple[Lowered, SoC]) -> None:
    assert rules(*found) == set()


@SETTINGS
@given(RESULTS, st.data())
def test_bounds(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    buffer = data.draw(st.sampled_from(result.steps.buffers))
    size = soc.memory(buffer.memory).size
    wrong = data.draw(st.sampled_from((-buffer.alignment, size - buffer.bytes + buffer.alignment, size * 2)))
    assert "out-of-bounds" in rules(result, soc, plan=moved(result.plan, **{buffer.name: wrong}))


@SETTINGS
@given(RESULTS, st.data())
def test_alignment(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    buffer = data.draw(st.sampled_from(result.steps.buffers))
    offset = data.draw(st.integers(1, 200).filter(lambda value: value % buffer.alignment))
    assert "misaligned" in rules(result, soc, plan=moved(result.plan, **{buffer.name: offset}))


@SETTINGS
@given(RESULTS, st.data())
def test_bytes_shared_while_both_are_live(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    pairs = together(result)
    assume(pairs)
    one, other = data.draw(st.sampled_from(pairs))
    plan = moved(result.plan, **{one.name: result.plan.offsets[other.name]})
    assert "overlap" in rules(result, soc, plan=plan)


@SETTINGS
@given(RESULTS, st.data())
def test_bytes_of_what_is_in_flight_used_anew(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    """The life of a buffer that ends in a wait is said to end where its last step starts."""
    result, soc = found
    last: dict[str, int] = {}
    for number, step in enumerate(result.steps.steps):
        names: tuple[str, ...] = ()
        if isinstance(step, Dispatch):
            names = tuple(operand.of for operand in step.operands)
        elif isinstance(step, Copy):
            names = (step.source.of, step.target.of)
        last |= dict.fromkeys(names, number)
    kept = {name for _, name in result.steps.outputs}
    flying = [
        b
        for b in result.steps.buffers
        if b.kind != "constant" and b.name not in kept and b.name in last and b.last > last[b.name]
    ]
    assume(flying)
    buffer = data.draw(st.sampled_from(flying))
    case = replaced((result.steps, result.plan), buffer.name, last=last[buffer.name])
    assert "wrong-lifetime" in rules(result, soc, *case)
    pairs = [
        other
        for other in touched(result)
        if other.arena == buffer.arena and last[buffer.name] < other.first <= buffer.last
    ]
    if pairs:
        other = data.draw(st.sampled_from(pairs))
        plan = moved(case[1], **{other.name: result.plan.offsets[buffer.name]})
        assert "overlap" in rules(result, soc, case[0], plan)


@SETTINGS
@given(RESULTS, st.data())
def test_a_wait_that_is_missing(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    waits = [n for n, step in enumerate(result.steps.steps) if isinstance(step, Wait)]
    assume(waits)
    number = data.draw(st.sampled_from(waits))
    steps = (*result.steps.steps[:number], *result.steps.steps[number + 1 :])
    named = rules(result, soc, evolve(result.steps, steps=steps))
    assert named & {"race", "in-flight", "overlap", "unsafe-in-place"} or (
        named <= {"wrong-lifetime"} and named
    )


@SETTINGS
@given(RESULTS, st.data())
def test_capacity(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    memory = data.draw(st.sampled_from(sorted({buffer.memory for buffer in result.steps.buffers})))
    arenas = {buffer.arena for buffer in result.steps.buffers if buffer.memory == memory}
    needed = sum(result.plan.peaks[arena] for arena in arenas)
    assume(needed)
    small = tuple(evolve(m, size=needed - 1) if m.name == memory else m for m in soc.memories)
    assert rules(result, evolve(soc, memories=small)) & {"over-capacity", "out-of-bounds"}


@SETTINGS
@given(RESULTS, st.data())
def test_an_observer_that_sees_something_else(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    calls = [
        (number, step, buffer)
        for number, step in enumerate(result.steps.steps)
        if isinstance(step, Dispatch)
        for buffer in result.steps.buffers
        if not soc.sees(soc.instance(step.instance), buffer.memory)
    ]
    assume(calls)
    number, step, buffer = data.draw(st.sampled_from(calls))
    wrong = evolve(step, operands=(*step.operands, Operand(of=buffer.name, access="r")))
    steps = (*result.steps.steps[:number], wrong, *result.steps.steps[number + 1 :])
    assert "not-observed" in rules(result, soc, evolve(result.steps, steps=steps))


@pytest.mark.slow
@SETTINGS
@given(RESULTS, st.data())
def test_another_pool(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    buffer = data.draw(st.sampled_from(touched(result)))
    elsewhere = [
        memory.name
        for memory in soc.memories
        if not any(
            soc.sees(soc.instance(step.instance), memory.name)
            for step in result.steps.steps
            if isinstance(step, Dispatch) and buffer.name in {operand.of for operand in step.operands}
        )
    ]
    assume(elsewhere)
    memory = data.draw(st.sampled_from(elsewhere))
    case = replaced((result.steps, result.plan), buffer.name, memory=memory)
    assert "not-observed" in rules(result, soc, *case)
    one_sided = replaced((result.steps, result.plan), buffer.name, memory=memory)[1]
    assert "wrong-buffers" in rules(result, soc, plan=one_sided)


@SETTINGS
@given(RESULTS, st.data())
def test_a_buffer_that_is_missing(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    buffer = data.draw(st.sampled_from(touched(result)))
    offsets = {name: offset for name, offset in result.plan.offsets.items() if name != buffer.name}
    assert "no-offset" in rules(result, soc, plan=evolve(result.plan, offsets=offsets))
    left = tuple(b for b in result.steps.buffers if b.name != buffer.name)
    assert "wrong-buffers" in rules(result, soc, plan=evolve(result.plan, buffers=left))
    assert "unknown-buffer" in rules(result, soc, evolve(result.steps, buffers=left))


@SETTINGS
@given(RESULTS, st.data())
def test_a_size_that_is_wrong(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    buffer = data.draw(st.sampled_from(result.steps.buffers))
    size = data.draw(st.integers(1, 2 * buffer.bytes).filter(lambda value: value != buffer.bytes))
    case = replaced((result.steps, result.plan), buffer.name, bytes=size)
    assert "wrong-size" in rules(result, soc, *case)


@SETTINGS
@given(RESULTS, st.data())
def test_a_place_that_is_not_safe_to_take(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    pairs = [pair for pair in together(result) if pair[0].name not in pair[1].over]
    assume(pairs)
    one, other = data.draw(st.sampled_from(pairs))
    plan = moved(result.plan, **{one.name: result.plan.offsets[other.name]})
    plan = evolve(plan, in_place=(*plan.in_place, (one.name, other.name)))
    assume(one.name not in other.over and other.name not in one.over)
    assert "unsafe-in-place" in rules(result, soc, plan=plan)


@SETTINGS
@given(RESULTS, st.data())
def test_a_place_that_is_taken_without_a_word(found: tuple[Lowered, SoC], data: st.DataObject) -> None:
    result, soc = found
    assume(result.plan.in_place)
    pair = data.draw(st.sampled_from(result.plan.in_place))
    left = tuple(other for other in result.plan.in_place if other != pair)
    assert "overlap" in rules(result, soc, plan=evolve(result.plan, in_place=left))
