"""Local search over the orders of first fit, for few buffers: whoever sits at the peak is placed earlier."""

from collections.abc import Sequence
from random import Random

from target_arch.plan.memory import Buffer
from target_arch.stages.packing.greedy import KEYS, FirstFit
from target_arch.stages.packing.measure import Offsets, bound

_WORK = 400_000
"""Pairs of buffers the search may look at; it ends where this is spent."""


def local_search(buffers: Sequence[Buffer]) -> Offsets:
    """Move what sits at the peak, or a neighbour of it, to an earlier turn while that does not raise the
    peak.
    """
    packing, limit, random = FirstFit(buffers), bound(buffers), Random(0)
    order = min((packing.sorted(key) for key in KEYS.values()), key=lambda order: packing.place(order)[0])
    if packing.conflicts is None:
        return packing.named(order, "first fit")
    lowest, offsets = packing.place(order)
    best_order, current = list(order), lowest
    for _ in range(_WORK // (2 * packing.pairs + len(buffers))):
        if lowest <= limit:
            break
        at_peak = [n for n in order if offsets[n] + buffers[n].bytes == current]
        number = random.choice(at_peak)
        if random.random() < 0.5 and packing.conflicts[number]:
            number = random.choice(packing.conflicts[number])
        trial = [other for other in order if other != number]
        trial.insert(random.randrange(order.index(number) + 1), number)
        height, placed = packing.place(trial)
        if height <= current or random.random() < 0.02:
            order, offsets, current = trial, placed, height
        if height < lowest:
            lowest, best_order = height, trial
    return packing.named(best_order, "local search")
