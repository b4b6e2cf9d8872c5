"""Local search over the orders of first fit, for few buffers: a buffer at the peak is placed earlier."""

from collections.abc import Sequence
from random import Random

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.fast import KEYS, Packing
from target_arch.stages.memory.packing.measure import Offsets, least

_WORK = 400_000
"""Pairs of buffers the search may look at; it ends where this is spent."""


def local_search(buffers: Sequence[Buffer]) -> Offsets:
    """Move a buffer at the peak, or a neighbour of it, to an earlier position while that does not raise the
    peak.
    """
    packing, limit, random = Packing(buffers), least(buffers), Random(0)
    order = min((packing.sorted(key) for key in KEYS.values()), key=lambda order: packing.first_fit(order)[0])
    lowest, offsets = packing.first_fit(order)
    lowest_offsets, current = offsets, lowest
    for _ in range(_WORK // (2 * packing.pairs + len(buffers))):
        if lowest <= limit:
            break
        at_peak = [n for n in order if offsets[n] + buffers[n].bytes == current]
        number = random.choice(at_peak)
        beside = packing.conflicts[number] if packing.conflicts is not None else []
        if random.random() < 0.5 and beside:
            number = random.choice(beside)
        trial = [other for other in order if other != number]
        trial.insert(random.randrange(order.index(number) + 1), number)
        height, placed = packing.first_fit(trial)
        if height <= current or random.random() < 0.02:
            order, offsets, current = trial, placed, height
        if height < lowest:
            lowest, lowest_offsets = height, placed
    return packing.named(lowest_offsets, "local search")
