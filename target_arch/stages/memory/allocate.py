"""Offsets for all buffers of all memories: buffers and capacities in, a memory plan out."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from math import isfinite, lcm

from target_arch.backend.planner import Algorithm, Effort, Pack
from target_arch.diagnostics import Diagnostic, listed, name_hint
from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.soc.model import SoC
from target_arch.soc.rounding import round_up
from target_arch.stages.errors import DoesNotFitError, PlanError, failure
from target_arch.stages.memory.packing import (
    ALGORITHMS,
    Offsets,
    bound,
    improve,
    live_bytes,
    peak,
)
from target_arch.stages.memory.packing.best import FEWEST_NODES
from target_arch.stages.memory.packing.measure import groups
from target_arch.stages.memory.packing.shapes import by_shapes, narrows
from target_arch.stages.memory.packing.sharing import choices, rectangles, roots, shared_bounds
from target_arch.stages.memory.packing.turns import in_blocks

_LAST_NODES = 20_000
"""The nodes that `best` goes through if its plan does not fit, although the lower bound does."""

_LAST_WORK = 20_000_000
"""The most nodes times buffers that share steps: a node takes the longer the more of them there are. Compiled
that is some 20 s.
"""


def capacities(soc: SoC) -> dict[str, int]:
    """The size of every memory in bytes."""
    return {memory.name: memory.size for memory in soc.memories}


def allocate(
    buffers: Sequence[Buffer],
    capacities: Mapping[str, int],
    algorithm: str = "best",
    algorithms: Mapping[str, Algorithm] = ALGORITHMS,
    *,
    effort: Effort | None = None,
    known: MutableMapping[object, MemoryPlan] | None = None,
) -> MemoryPlan:
    """Give every buffer an offset in its arena.

    `capacities` are bytes per memory; the arenas of a memory share those, constants, states and residents
    first. `effort` limits the search per arena, for an algorithm that takes one. A buffer without bytes gets
    offset 0. A buffer reuses the place of another (`Buffer.over`) if that makes the plan lower. Plans of
    arenas are taken from `known`, and kept there, if it is given; but for those that an effort of seconds
    makes.

    Raises DoesNotFitError for the first memory (by name) that overflows; PlanError for an unknown algorithm,
    an effort it does not take, and invalid buffers or capacities.
    """
    run = packer(algorithm, algorithms, effort)
    _check(buffers, capacities)
    arenas: dict[Arena, list[Buffer]] = {}
    for buffer in buffers:
        arenas.setdefault(buffer.arena, []).append(buffer)
    timed = effort is not None and effort.seconds is not None
    plan_one = partial(_plan, name=algorithm, run=run)
    if known is not None and not timed:
        plan_one = partial(_kept, known, (algorithm, effort), plan_one)
    parts = [plan_one(arena, arenas[arena]) for arena in sorted(arenas, key=str)]
    plan = _joined(buffers, parts)
    for memory in sorted({buffer.memory for buffer in buffers}):
        plan = _fitted(plan, memory, capacities[memory], arenas, algorithm)
    return plan


def packer(name: str, algorithms: Mapping[str, Algorithm], effort: Effort | None) -> Pack:
    """The algorithm with its effort; raises PlanError for an unknown one, and an effort it does not take."""
    if name not in algorithms:
        hint = name_hint(name, algorithms, "registered")
        raise failure(PlanError, "unknown-algorithm", "memory plan", f"there is no algorithm `{name}`", hint)
    if effort is None:
        return algorithms[name]
    if not algorithms[name].takes_effort:
        raise failure(
            PlanError,
            "no-effort",
            "memory plan",
            f"the algorithm `{name}` takes no limit of nodes or seconds",
            "those that do: " + listed(other for other in algorithms if algorithms[other].takes_effort),
        )
    seconds = effort.seconds
    if effort.nodes < 1 or (seconds is not None and not (isfinite(seconds) and seconds > 0)):
        limit = f"{effort.nodes} nodes" if seconds is None else f"{seconds} s"
        raise failure(PlanError, "no-effort", "memory plan", f"no search takes {limit}")
    return partial(algorithms[name].pack, effort=effort)


def _check(buffers: Sequence[Buffer], capacities: Mapping[str, int]) -> None:
    """Raise all errors of the arguments at once."""
    found = [
        ("negative-capacity", f"memory `{memory}` has {size:,} B")
        for memory, size in sorted(capacities.items())
        if size < 0
    ]
    seen: set[str] = set()
    for buffer in buffers:
        name = f"buffer `{buffer.name}`"
        if buffer.name in seen:
            found.append(("duplicate-buffer", f"{name} is there twice"))
        seen.add(buffer.name)
        if buffer.bytes < 0:
            found.append(("wrong-buffer", f"{name} has {buffer.bytes:,} B"))
        if buffer.alignment < 1:
            found.append(("wrong-buffer", f"{name} has an alignment of {buffer.alignment:,} B"))
        if buffer.last < buffer.first:
            found.append(("wrong-buffer", f"{name} ends in step {buffer.last}, before step {buffer.first}"))
        if buffer.memory not in capacities:
            found.append(("unknown-memory", f"{name} is in memory `{buffer.memory}`, which has no capacity"))
    if found:
        raise PlanError(
            tuple(Diagnostic(rule=rule, place="memory plan", message=message) for rule, message in found)
        )


def _kept(
    known: MutableMapping[object, MemoryPlan],
    asked: tuple[str, Effort | None],
    plan_one: Callable[[Arena, Sequence[Buffer]], MemoryPlan],
    arena: Arena,
    buffers: Sequence[Buffer],
) -> MemoryPlan:
    """The plan of one arena, made now if it was not before: it depends on its buffers and what is `asked`."""
    key = (asked, *buffers)
    found = known.get(key)
    if found is None:
        found = known[key] = plan_one(arena, buffers)
    return found


def _plan(
    arena: Arena, buffers: Sequence[Buffer], name: str, run: Pack, places: Mapping[str, str] | None = None
) -> MemoryPlan:
    """The plan of one arena: the lowest over several choices of reused places, unless these are given."""
    there = [buffer for buffer in buffers if buffer.bytes]
    ways = choices(there) if places is None else iter((places,))
    best: tuple[int, Offsets, Mapping[str, str]] | None = None
    alone = bound(there)
    floor, least = shared_bounds(there)
    for way in ways:
        if best is not None and best[0] <= (least if way else alone):
            break
        found = _placed(there, way, run)
        highest = peak(there, found)
        if best is None or highest < best[0]:
            best = (highest, found, way)
    assert best is not None
    highest, notes, way = best
    shares = any(buffer.over or buffer.calls for buffer in there)
    limit = least if shares else max(least, notes.lower)
    return MemoryPlan(
        buffers=tuple(buffers),
        offsets={buffer.name: 0 for buffer in buffers} | dict(notes),
        peaks={arena: highest},
        bounds={arena: alone},
        shared={arena: floor},
        in_place=tuple(way.items()),
        found_by={arena: notes.found_by or name},
        proven=(arena,) if highest <= limit else (),
    )


def _placed(buffers: Sequence[Buffer], places: Mapping[str, str], run: Pack) -> Offsets:
    """The offsets of all buffers: the lowest of those that the algorithm finds for the rectangles and for
    blocks of them, and of shapes.
    """
    if not buffers:
        return Offsets()
    there, first = rectangles(buffers, places), roots(buffers, places)
    plans = []
    for found in (run(there), in_blocks(there, run)):
        if found is not None:
            notes = found if isinstance(found, Offsets) else Offsets(found)
            offsets = {name: found[root] for name, root in first.items()}
            plans.append(Offsets(offsets, notes.found_by, notes.lower, notes.core))
    if narrows(buffers, places):
        plans.append(by_shapes(buffers, places))
    return min(plans, key=lambda found: peak(buffers, found))


def _joined(buffers: Sequence[Buffer], parts: Sequence[MemoryPlan]) -> MemoryPlan:
    """One plan from the plans of all arenas; if an arena comes twice, the later plan is used."""
    offsets, places = dict[str, int](), dict[str, str]()
    peaks, bounds, shared = dict[Arena, int](), dict[Arena, int](), dict[Arena, int]()
    found_by, proven = dict[Arena, str](), set[Arena]()
    for part in parts:
        for buffer in part.buffers:
            places.pop(buffer.name, None)
        places.update(part.in_place)
        offsets.update(part.offsets)
        peaks.update(part.peaks)
        bounds.update(part.bounds)
        shared.update(part.shared)
        found_by.update(part.found_by)
        proven.update(part.proven)
    return MemoryPlan(
        buffers=tuple(buffers),
        offsets=offsets,
        peaks=peaks,
        bounds=bounds,
        shared=shared,
        in_place=tuple(sorted(places.items())),
        found_by=found_by,
        proven=tuple(sorted(proven)),
    )


def arena_capacity(plan: MemoryPlan, memory: str, size: int) -> int:
    """The bytes of a memory that its constants, states and residents leave."""
    settled = (
        Arena(memory, constant=True),
        Arena(memory, state=True),
        Arena(memory, resident=True),
    )
    return size - sum(_whole(plan, arena) for arena in settled)


def _whole(plan: MemoryPlan, arena: Arena) -> int:
    """The bytes of an arena in whole units of its memory, so that any other may follow it."""
    if not plan.peaks.get(arena):
        return 0
    alignments = (buffer.alignment for buffer in plan.buffers if buffer.memory == arena.memory)
    return round_up(plan.peaks[arena], lcm(*alignments))


def _fitted(
    plan: MemoryPlan, memory: str, size: int, arenas: Mapping[Arena, Sequence[Buffer]], algorithm: str
) -> MemoryPlan:
    """The plan if it fits its memory; `best` searches longer before it gives up.

    Constants are one object in C, which is as long as whole units of its alignment, whatever follows it.
    """
    arena, constants, states = Arena(memory), Arena(memory, constant=True), Arena(memory, state=True)
    fixed, left = _whole(plan, constants), size - _whole(plan, constants)
    if left < 0:
        raise _refusal(plan, constants, fixed, size, arenas)
    if plan.peaks.get(states, 0) > left:
        raise _refusal(plan, states, plan.peaks[states], left, arenas)
    residents, left = Arena(memory, resident=True), left - _whole(plan, states)
    if plan.peaks.get(residents, 0) > max(left, 0):
        raise _refusal(plan, residents, plan.peaks[residents], left, arenas)
    available = arena_capacity(plan, memory, size)
    if plan.peaks.get(arena, 0) <= max(available, 0):
        return plan
    there, able = arenas[arena], plan.shared[arena] <= available and arena not in plan.proven
    nodes = _last_nodes(there) if able and algorithm == "best" else 0
    if nodes:
        start = Offsets({buffer.name: plan.offsets[buffer.name] for buffer in there if buffer.bytes})
        places = dict(plan.in_place)

        def search(placed: Sequence[Buffer]) -> Offsets:
            return improve(placed, start, Effort(nodes=nodes, goal=available))

        plan = _joined(plan.buffers, (plan, _plan(arena, there, algorithm, search, places)))
    if plan.peaks[arena] > available:
        raise _refusal(plan, arena, plan.peaks[arena], max(available, 0), arenas)
    return plan


def _last_nodes(buffers: Sequence[Buffer]) -> int:
    """The nodes that are worth it for these buffers; 0 where they are too few to place each of them. Groups
    of buffers that share no step are searched one by one.
    """
    nodes = min(_LAST_NODES, _LAST_WORK // max(map(len, groups(buffers))))
    return nodes if nodes >= FEWEST_NODES * len(buffers) else 0


def _refusal(
    plan: MemoryPlan, arena: Arena, needed: int, available: int, arenas: Mapping[Arena, Sequence[Buffer]]
) -> DoesNotFitError:
    live = live_bytes(rectangles(arenas[arena], dict(plan.in_place)))
    step = max(live, key=lambda step: (live[step], -step))
    alive = [buffer for buffer in arenas[arena] if buffer.first <= step <= buffer.last]
    largest = sorted(alive, key=lambda buffer: (-buffer.bytes, buffer.name))
    return DoesNotFitError(
        pool=arena,
        step=step,
        needed=needed,
        available=available,
        bound=plan.shared[arena],
        alive=tuple((buffer.name, buffer.bytes) for buffer in largest),
    )
