"""The exact search for offsets: do these buffers fit below this capacity?

The search is that of the minimalloc paper (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-
Accelerated Machine Learning", ASPLOS 2023) with a stronger bound. It goes down a tree; every node puts one
more buffer at the lowest offset that is free above all buffers already there.

**Candidates.** Push every buffer of a plan down until it rests on another or on the ground, and number
the buffers by offset: that *canonical* plan is no higher, so only canonical plans are sought. A buffer is put
down only at its lowest offset (`pool.offset`), and no lower than the one before it (a monotonic floor); of
two at one offset, which do not touch, the one with the lower number goes first. A buffer that starts at or
above the place where another could already end would leave a gap for nothing: it is not tried there
(dominance). A buffer that raises no other hinders none at its lowest offset: if the rest has no plan with
it there, it has none at all, and no other candidate is tried.

**In which order.** The lowest offset first; where offsets are equal, the buffer with the lower number. The
numbers are the *preference*, which the caller chooses: it decides between milliseconds and never.

**When to turn back.** Time is cut into *sections*: the largest sets of buffers that are all live at once. In
each section the rest must be stacked, none below its lowest offset. Stacked by rising lowest offset they end
at `max over k of (offset of k + bytes of k and of all after it)`, the least possible end, as for jobs with
release dates on one machine. Where that is above the capacity, nothing below this node fits. (minimalloc uses
the lowest of these offsets plus the bytes of all, which is never higher.) A buffer that was passed over,
because another was put down at or above its lowest offset, can only come to rest on one that is left: it is
*lifted* to the lowest place where one of those can end, before the stacks are made once more. minimalloc does
not lift; it saves between a tenth and nine tenths of the nodes.

**Parts.** Where no remaining buffer crosses from one section to the next, the buffers before and after that
border are independent: each part is solved on its own, and where a part has no solution, the search goes
back at once to the choice that made the part, not to its neighbours.

**How it is written.** There is no recursion: a *frame* is an open choice on a stack, an *entry* is a part
that waits on the agenda, a linked list whose tail outlives the frames above it; so going back is forgetting
the frames above, and nothing has to be undone. The list of remaining buffers is in the pool, once per frame,
sorted by (lowest offset, number). The file uses indices and integers only, so that it means the same on lists
and interpreted as on arrays and compiled (`cores` does both): the result never depends on which it was.

Tests: `tests/stages/memory/packing/test_descend.py`.
"""

from collections.abc import MutableSequence
from typing import NamedTuple

Ints = MutableSequence[int]

FOUND, INFEASIBLE, LIMIT = 1, 0, 2
"""The end of a search: a plan, the proof that there is none, or all nodes spent."""


_FAR = 2**62
"""Above every offset."""


class Task(NamedTuple):
    """The buffers by preference: bytes, alignment, and the sections `left <= s < right` they live in."""

    bytes: Ints
    alignment: Ints
    left: Ints
    right: Ints


class Pool(NamedTuple):
    """Lists of numbers and their lowest offsets, one after the other. A number taken out is marked as
    -number - 1.
    """

    number: Ints
    offset: Ints


class Agenda(NamedTuple):
    """Waiting parts: their list in the pool, the frame that made them, the next entry, and the last buffer
    placed before, which bounds the offsets of the part from below.
    """

    begin: Ints
    end: Ints
    parent: Ints
    rest: Ints
    offset: Ints
    number: Ints


class Stack(NamedTuple):
    """Open choices: the entry, the next candidate in the pool, the offset at which candidates end, and how
    much of pool and agenda was in use before.
    """

    entry: Ints
    next: Ints
    ceiling: Ints
    pool: Ints
    agenda: Ints


class Sections(NamedTuple):
    """Scratch, an item per section: the end of the stack, the lowest place where a buffer can end, which one
    does, and the second lowest, buffers that cross to the next section, the number of the part, and where in
    the pool the part is filled. `overfull` is no scratch: how often a stack did not fit.
    """

    end: Ints
    lowest: Ints
    lowest_of: Ints
    second: Ints
    crossing: Ints
    part: Ints
    fill: Ints
    overfull: Ints


class SearchMemory(NamedTuple):
    """All memory of the search. `raised` are the buffers to be merged into a list; `used` is the length in
    use of pool and agenda.
    """

    pool: Pool
    raised: Pool
    agenda: Agenda
    stack: Stack
    sections: Sections
    used: Ints


def descend(task: Task, capacity: int, nodes: int, work: SearchMemory, offsets: Ints) -> tuple[int, int]:
    """Search for a plan with a peak of at most `capacity`, trying at most that many placements.

    Writes `offsets`, a number each, where it is FOUND. Returns how it ended and the placements tried. A full
    pool counts as the end of the nodes.
    """
    pool, agenda, stack = work.pool, work.agenda, work.stack
    tried, frame, entry = 0, -1, _start(len(task.bytes), work)
    if not _fits(task, work, 0, len(task.bytes), 0, capacity):
        return INFEASIBLE, 0
    while entry >= 0:
        frame += 1
        _open(task, work, frame, entry)
        entry = -2
        while entry == -2:
            position = _candidate(pool, agenda, stack, frame)
            if position < 0:
                frame = agenda.parent[stack.entry[frame]]
                if frame < 0:
                    return INFEASIBLE, tried
                continue
            begin, floor = stack.pool[frame], pool.offset[position]
            end = begin + agenda.end[stack.entry[frame]] - agenda.begin[stack.entry[frame]] - 1
            if tried >= nodes or 2 * end - begin > len(pool.number):
                return LIMIT, tried
            tried += 1
            if _leave(task, work, frame, position) == 0:
                stack.next[frame] = agenda.end[stack.entry[frame]]
            if _fits(task, work, begin, end, floor, capacity) and _lift(
                task, work, frame, position, end, capacity
            ):
                offsets[pool.number[position]] = floor
                entry = _split(task, work, frame, position, end)
    return FOUND, tried


def _start(count: int, work: SearchMemory) -> int:
    """One entry with all buffers on the ground."""
    for number in range(count):
        work.pool.number[number], work.pool.offset[number] = number, 0
    work.agenda.begin[0], work.agenda.end[0] = 0, count
    work.agenda.parent[0] = work.agenda.rest[0] = -1
    work.agenda.offset[0] = work.agenda.number[0] = -1
    work.used[0], work.used[1] = count, 1
    return 0 if count else -1


def _open(task: Task, work: SearchMemory, frame: int, entry: int) -> None:
    """Begin to choose the first buffer of an entry."""
    begin, end, pool = work.agenda.begin[entry], work.agenda.end[entry], work.pool
    ceiling = pool.offset[begin] + task.bytes[pool.number[begin]]
    for position in range(begin, end):
        ceiling = min(ceiling, pool.offset[position] + task.bytes[pool.number[position]])
    work.stack.entry[frame] = entry
    work.stack.next[frame] = begin
    work.stack.ceiling[frame] = ceiling
    work.stack.pool[frame], work.stack.agenda[frame] = work.used[0], work.used[1]


def _candidate(pool: Pool, agenda: Agenda, stack: Stack, frame: int) -> int:
    """The position in the pool of the frame's next candidate; -1 where none is left."""
    entry = stack.entry[frame]
    for position in range(stack.next[frame], agenda.end[entry]):
        offset = pool.offset[position]
        if offset >= stack.ceiling[frame]:
            break
        if offset > agenda.offset[entry] or (
            offset == agenda.offset[entry] and pool.number[position] > agenda.number[entry]
        ):
            stack.next[frame] = position + 1
            return position
    stack.next[frame] = agenda.end[entry]
    return -1


def _leave(task: Task, work: SearchMemory, frame: int, chosen: int) -> int:
    """Write the list that remains once the chosen buffer is placed: buffers live with it are raised above it
    where they are lower, the others keep their order. Returns how many are raised.
    """
    number, offset, entry = work.pool.number, work.pool.offset, work.stack.entry[frame]
    buffer = number[chosen]
    top = offset[chosen] + task.bytes[buffer]
    left, right = task.left[buffer], task.right[buffer]
    begin, end = work.agenda.begin[entry], work.agenda.end[entry]
    count = 0
    for position in range(begin, end):
        other = number[position]
        if position == chosen:
            number[position] = -other - 1
        elif offset[position] < top and task.left[other] < right and left < task.right[other]:
            _insert(work.raised, count, other, _aligned(top, task.alignment[other]))
            number[position] = -other - 1
            count += 1
    _merge(work, begin, end, work.stack.pool[frame], count)
    return count


def _aligned(offset: int, unit: int) -> int:
    """`round_up`, written here because the compiled core consists of this file's functions alone."""
    return (offset + unit - 1) // unit * unit


def _insert(raised: Pool, count: int, number: int, offset: int) -> None:
    """Put one more among the first `count`, in order."""
    turn = count
    while turn > 0 and (
        raised.offset[turn - 1] > offset
        or (raised.offset[turn - 1] == offset and raised.number[turn - 1] > number)
    ):
        raised.number[turn], raised.offset[turn] = raised.number[turn - 1], raised.offset[turn - 1]
        turn -= 1
    raised.number[turn], raised.offset[turn] = number, offset


def _merge(work: SearchMemory, begin: int, end: int, target: int, count: int) -> None:
    """Merge a list and the first `count` raised ones into the pool from `target` on, which may be before the
    list in the same array. A marked (negative) entry was taken out: only the mark is removed.
    """
    number, offset, raised = work.pool.number, work.pool.offset, work.raised
    turn = 0
    for position in range(begin, end):
        other, lowest = number[position], offset[position]
        if other < 0:
            number[position] = -other - 1
            continue
        while turn < count and (
            raised.offset[turn] < lowest or (raised.offset[turn] == lowest and raised.number[turn] < other)
        ):
            number[target], offset[target] = raised.number[turn], raised.offset[turn]
            target, turn = target + 1, turn + 1
        number[target], offset[target] = other, lowest
        target += 1
    for rest in range(turn, count):
        number[target], offset[target] = raised.number[rest], raised.offset[rest]
        target += 1


def _lift(task: Task, work: SearchMemory, frame: int, chosen: int, end: int, capacity: int) -> bool:
    """Lift the buffers that were passed over: none may be placed below the chosen one any more, so each must
    rest on another remaining one. False where one cannot, or where the stacks no longer fit.
    """
    number, offset, begin = work.pool.number, work.pool.offset, work.stack.pool[frame]
    floor, buffer = offset[chosen], number[chosen]
    passed = begin
    while passed < end and (offset[passed] < floor or (offset[passed] == floor and number[passed] < buffer)):
        passed += 1
    if passed == begin:
        return True
    _find_supports(task, work, begin, end, floor)
    sections = work.sections
    for position in range(begin, passed):
        other, support = number[position], capacity
        for section in range(task.left[other], task.right[other]):
            mine = sections.lowest_of[section] == other
            support = min(support, sections.second[section] if mine else sections.lowest[section])
        support = _aligned(support, task.alignment[other])
        if support + task.bytes[other] > capacity:
            return False
        _insert(work.raised, position - begin, other, support)
    _merge(work, passed, end, begin, passed - begin)
    return _fits(task, work, begin, end, floor, capacity)


def _find_supports(task: Task, work: SearchMemory, begin: int, end: int, floor: int) -> None:
    """In every section the lowest and the second lowest place where one that is left can end."""
    number, offset, sections = work.pool.number, work.pool.offset, work.sections
    for position in range(begin, end):
        for section in range(task.left[number[position]], task.right[number[position]]):
            sections.lowest[section] = sections.second[section] = _FAR
    for position in range(begin, end):
        buffer = number[position]
        top = max(offset[position], floor) + task.bytes[buffer]
        for section in range(task.left[buffer], task.right[buffer]):
            if top < sections.lowest[section]:
                sections.second[section] = sections.lowest[section]
                sections.lowest[section], sections.lowest_of[section] = top, buffer
            elif top < sections.second[section]:
                sections.second[section] = top


def _fits(task: Task, work: SearchMemory, begin: int, end: int, floor: int, capacity: int) -> bool:
    """True where in every section the stack of remaining buffers ends within the capacity."""
    number, offset, ends = work.pool.number, work.pool.offset, work.sections.end
    for position in range(begin, end):
        for section in range(task.left[number[position]], task.right[number[position]]):
            ends[section] = floor
    for position in range(begin, end):
        buffer, lowest = number[position], offset[position]
        highest = 0
        for section in range(task.left[buffer], task.right[buffer]):
            top = max(ends[section], lowest) + task.bytes[buffer]
            ends[section] = top
            highest = max(highest, top)
        if highest > capacity:
            for section in range(task.left[buffer], task.right[buffer]):
                if ends[section] > capacity:
                    work.sections.overfull[section] += 1
            return False
    return True


def _split(task: Task, work: SearchMemory, frame: int, chosen: int, end: int) -> int:
    """Put the parts of the remaining buffers on the agenda. Returns its first entry, -1 where it is empty."""
    pool, sections, begin = work.pool, work.sections, work.stack.pool[frame]
    work.used[0], work.used[1] = begin, work.stack.agenda[frame]
    first, last = len(sections.part), 0
    for position in range(begin, end):
        first = min(first, task.left[pool.number[position]])
        last = max(last, task.right[pool.number[position]])
    parts = _parts(task, work, begin, end, first, last)
    head = work.agenda.rest[work.stack.entry[frame]]
    if parts == 1:
        return _push(work, frame, chosen, begin, end, head)
    for part in range(parts - 1, -1, -1):
        stop = end + (sections.fill[part + 1] if part + 1 < parts else end - begin)
        if stop > end + sections.fill[part]:
            head = _push(work, frame, chosen, end + sections.fill[part], stop, head)
    for position in range(begin, end):
        part = sections.part[task.left[pool.number[position]]]
        target = end + sections.fill[part]
        pool.number[target], pool.offset[target] = pool.number[position], pool.offset[position]
        sections.fill[part] += 1
    return head


def _parts(task: Task, work: SearchMemory, begin: int, end: int, first: int, last: int) -> int:
    """Number the parts and give each its place after the list (`fill`). Returns how many there are."""
    number, sections = work.pool.number, work.sections
    for section in range(first, last):
        sections.crossing[section] = 0
        sections.fill[section - first] = 0
    for position in range(begin, end):
        sections.crossing[task.left[number[position]]] += 1
        sections.crossing[task.right[number[position]] - 1] -= 1
    parts = crossing = 0
    for section in range(first, last):
        crossing += sections.crossing[section]
        sections.part[section] = parts
        if crossing == 0:
            parts += 1
    for position in range(begin, end):
        sections.fill[sections.part[task.left[number[position]]]] += 1
    total = 0
    for part in range(parts):
        total, sections.fill[part] = total + sections.fill[part], total
    return parts


def _push(work: SearchMemory, frame: int, chosen: int, begin: int, end: int, rest: int) -> int:
    """A new entry before the rest of the agenda."""
    entry, agenda = work.used[1], work.agenda
    agenda.begin[entry], agenda.end[entry] = begin, end
    agenda.parent[entry], agenda.rest[entry] = frame, rest
    agenda.offset[entry], agenda.number[entry] = work.pool.offset[chosen], work.pool.number[chosen]
    work.used[0], work.used[1] = max(work.used[0], end), entry + 1
    return entry
