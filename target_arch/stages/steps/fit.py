"""Steps and memory plan together: the homes of tensors are changed until everything fits, or no change is
left.

The changes are `remedies`, one at a time: wait earlier for steps in flight in the memory that overflows,
which frees its dead bytes; copy what leaves it as early as that can be; move tiles again instead of keeping
them; copy constants on their way in pieces; leave a tensor in the next memory that its producer can write.
Before the last two, the plan behind the promised budgets is used, if there is one.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from target_arch.plan.execution import Execution
from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, StepOrder
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError, StepError
from target_arch.stages.garbage_collector import gc_paused
from target_arch.stages.memory.allocate import arena_capacity, capacities
from target_arch.stages.memory.packing import bound, peak
from target_arch.stages.memory.packing.sharing import roots, shared_bound
from target_arch.stages.paths import reach as access
from target_arch.stages.program.alias import alias_whole, elide_copies
from target_arch.stages.program.homes import ALL_WHOLE, NOWHERE, OnTheWay, TensorHomes, choose_homes
from target_arch.stages.program.joining.join import join
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.program.program import Program
from target_arch.stages.steps.crowd import running, touching
from target_arch.stages.steps.early_copies import leaving_early
from target_arch.stages.steps.order import steps_of
from target_arch.stages.steps.remedies import (
    Assumptions,
    Overflow,
    Remedy,
    pieces_and_spills,
    waiting_and_moving,
)
from target_arch.stages.steps.simulation.times import Times
from target_arch.stages.steps.staged import crowding, readers


@frozen(kw_only=True)
class Fitted:
    """A step order that fits, its memory plan, the homes of tensors, and a simulated run."""

    steps: StepOrder
    plan: MemoryPlan
    homes: TensorHomes = field(repr=False)
    program: Program = field(repr=False)
    execution: Execution | None = None


@frozen(kw_only=True)
class KnownPlan:
    """A feasible plan that backs the promised budgets: tensor homes, and offsets that are valid if every step
    waits for dead bytes in flight, if only the copies of the `aliased` partitions were elided, and if the
    constants that are `streamed` (see `TensorHomes`) go in these pieces.
    """

    homes: Mapping[str, str] = field(repr=False)
    offsets: Mapping[str, int] = field(repr=False)
    aliased: frozenset[str] = frozenset()
    streamed: Mapping[OnTheWay, int] = field(factory=dict, repr=False)


@gc_paused()
def fit_memory(work: PartialLowering, known: KnownPlan | None = None) -> Fitted:
    """Order the steps and plan the memory. Raises DoesNotFitError if no change helps, StepError for a wrong
    kernel.

    The planner may do better than the `known` plan; where it finds no plan that fits, the known plan stays.
    """
    times, remedies = Times(work), _remedies(known)
    assumed = Assumptions(drained=scarce(work))
    while True:
        try:
            planned = _planned(work, assumed, times)
        except StepError:
            whole = assumed.whole()
            if whole is None:
                raise
            assumed = whole
            continue
        if isinstance(planned, Fitted):
            return planned
        changed = _first(remedies, planned)
        if isinstance(changed, Fitted):
            return changed
        assumed = changed


def _remedies(known: KnownPlan | None) -> tuple[Remedy[Assumptions | Fitted], ...]:
    """In the order in which they are tried; the known plan is one of them."""

    def proven(overflow: Overflow) -> Fitted | None:
        if known is None or not overflow.assumed.original:
            return None
        return _proven(overflow.work, known)

    return (
        *waiting_and_moving(),
        Remedy(name="the plan behind the promised budgets", change=proven),
        *pieces_and_spills(),
    )


def _first(remedies: Sequence[Remedy[Assumptions | Fitted]], overflow: Overflow) -> Assumptions | Fitted:
    """The change of the first remedy that has one. Raises the refusal where none has."""
    for remedy in remedies:
        changed = remedy.change(overflow)
        if changed is not None:
            return changed
    work, steps, refusal = overflow.work, overflow.steps, overflow.refusal
    raise _blaming(work, steps, refusal.at(describe(steps, refusal.step)))


def with_slices(work: PartialLowering, joined: Program) -> Program:
    """The program without unnecessary copies, with tensors in slices of others."""
    setting = work.setting
    return elide_copies(joined, slices=True, held=scarce(work), alignments=setting.part_alignments)


def _planned(work: PartialLowering, assumed: Assumptions, times: Times) -> Fitted | Overflow:
    """The lower of two plans, with tensors in slices of others and without, of a divided model the former if
    it fits: copies would come between its slices. If neither fits, the refusal of the latter.
    """
    homes = assumed.homes(work)
    joined = join(work, homes)
    programs = [with_slices(work, joined), elide_copies(joined, slices=False)]
    if len(programs[0].buffers) == len(programs[1].buffers):
        del programs[0]
    found: list[Fitted] = []
    for each in programs:
        program = leaving_early(each, assumed.left)
        steps = steps_of(work, program, homes, times)
        try:
            plan = work.setting.planner.plan(steps.buffers, capacities(work.soc))
        except DoesNotFitError as refusal:
            refused = refusal
        else:
            found.append(Fitted(steps=steps, plan=plan, homes=homes, program=program))
    if found and work.graph.model.slices:
        return found[0]
    if found:
        return min(found, key=lambda settled: sum(settled.plan.peaks.values()))
    return Overflow(work=work, assumed=assumed, homes=homes, steps=steps, refusal=refused)


def _proven(work: PartialLowering, known: KnownPlan) -> Fitted | None:
    """The memory plan with the offsets of the known plan; None where it does not cover these kernels."""
    homes = foreseen(work, known.homes, known.streamed)
    program, _ = alias_whole(join(work, homes), known.aliased)
    steps = steps_of(work, program, homes, Times(work))
    moving = [buffer for buffer in steps.buffers if not buffer.settled]
    open_ = {buffer.memory for buffer in moving if buffer.name not in known.offsets}
    fixed = [buffer for buffer in moving if buffer.memory not in open_]
    held = frozenset(buffer.name for buffer in fixed)
    try:
        rest = work.setting.planner.plan(
            [b for b in steps.buffers if b.name not in held], capacities(work.soc)
        )
    except DoesNotFitError:
        return None
    offsets = {**rest.offsets, **{name: known.offsets[name] for name in held}}
    places = _places(fixed, offsets)
    if not apart(fixed, offsets, places):
        return None
    plan = MemoryPlan(
        buffers=steps.buffers,
        offsets={buffer.name: offsets[buffer.name] for buffer in steps.buffers},
        peaks={**rest.peaks, **_by_arena(fixed, lambda buffers: peak(buffers, offsets))},
        bounds={**rest.bounds, **_by_arena(fixed, bound)},
        shared={**rest.shared, **_by_arena(fixed, shared_bound)},
        in_place=tuple(sorted((*rest.in_place, *places.items()))),
    )
    for memory in sorted({buffer.memory for buffer in fixed}):
        if plan.peaks[Arena(memory)] > arena_capacity(plan, memory, work.soc.memory(memory).size):
            return None
    return Fitted(steps=steps, plan=plan, homes=homes, program=program)


def _places(buffers: Sequence[Buffer], offsets: Mapping[str, int]) -> dict[str, str]:
    """The buffers that reuse the place of another that they may replace. No two reuse the same one."""
    places: dict[str, str] = {}
    gone: set[str] = set()
    for buffer in buffers:
        free = (name for name in buffer.over if name not in gone)
        there = next((name for name in free if offsets.get(name) == offsets[buffer.name]), None)
        if there is not None:
            places[buffer.name] = there
            gone.add(there)
    return places


def apart(buffers: Sequence[Buffer], offsets: Mapping[str, int], places: Mapping[str, str] = NOWHERE) -> bool:
    """True if no two buffers of one arena share bytes while both are live, except for reuse stated in
    `places`.
    """
    live: dict[Arena, list[Buffer]] = {}
    first = roots(buffers, places)
    for buffer in sorted(buffers, key=lambda buffer: buffer.first):
        start, own = offsets[buffer.name], first[buffer.name]
        others = [other for other in live.get(buffer.arena, ()) if other.last >= buffer.first]
        for other in others:
            there = offsets[other.name]
            shared = start < there + other.bytes and there < start + buffer.bytes
            if shared and first[other.name] != own:
                return False
        live[buffer.arena] = [*others, buffer]
    return True


def _by_arena(buffers: Sequence[Buffer], measure: Callable[[Sequence[Buffer]], int]) -> dict[Arena, int]:
    arenas: dict[Arena, list[Buffer]] = {}
    for buffer in buffers:
        arenas.setdefault(buffer.arena, []).append(buffer)
    return {arena: measure(there) for arena, there in arenas.items()}


def foreseen(
    work: PartialLowering, pinned: Mapping[str, str] = NOWHERE, streamed: Mapping[OnTheWay, int] = ALL_WHOLE
) -> TensorHomes:
    """The homes of tensors by the lowering so far, with a wait for all steps in flight on dead bytes.
    Constants on their way that are `streamed` go in pieces.
    """
    everywhere = tuple(memory.name for memory in work.soc.memories)
    homes = choose_homes(work, everywhere, pinned=pinned)
    return evolve(homes, reuse=False, strict=True, streamed=streamed)


def scarce(work: PartialLowering) -> tuple[str, ...]:
    """The memories of accelerators in use: a partition there needs the bytes of the one before it."""
    used = {partition.instance for partition in work.graph.partitions}
    instances = [i for i in work.soc.instances if i.name in used and not work.setting.touches_whole(i.name)]
    return tuple(dict.fromkeys(memory for instance in instances for memory in access.owned(instance)))


def describe(steps: StepOrder, number: int) -> str:
    """A step as a place in a message: `step 12 (dispatch conv3 on npu)`."""
    step = steps.steps[number] if number < len(steps.steps) else None
    if isinstance(step, Dispatch):
        return f"step {number} (dispatch {step.operator} on {step.instance})"
    if isinstance(step, Copy):
        return f"step {number} (copy {step.source.of} to {step.target.of})"
    return f"step {number}"


def _blaming(work: PartialLowering, steps: StepOrder, refusal: DoesNotFitError) -> DoesNotFitError:
    """The refusal with the operators on accelerators that need the memory: the one near the peak where it is
    their own, else those that constants are on their way to. Where there are none, with the operators that
    crowd it.
    """
    nearest = _nearest_operator(work.soc, steps, refusal)
    if nearest is not None:
        return refusal.blaming(nearest)
    if not refusal.pool.shareable:
        return refusal
    found = readers(work, steps, crowding(work, steps, refusal.pool, refusal.missing))
    if found:
        return refusal.blaming(*found, staged=True)
    return refusal.crowded_by(running(steps, refusal), touching(work.graph.model, steps, refusal))


def _nearest_operator(soc: SoC, steps: StepOrder, refusal: DoesNotFitError) -> str | None:
    """The operator on an accelerator with this local memory that runs at the peak or next after it, else last
    before.
    """
    units = soc.instances if refusal.pool.shareable else ()
    owners = {i.name for i in units if not i.arch.host and refusal.memory in access.owned(i)}
    mine = [
        (number < refusal.step, abs(number - refusal.step), step)
        for number, step in enumerate(steps.steps)
        if isinstance(step, Dispatch) and step.instance in owners
    ]
    return min(mine, key=lambda entry: entry[:2])[2].operator if mine else None
