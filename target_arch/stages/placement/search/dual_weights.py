"""The weights of resources with which a weighted mean of what they have to do is the best lower bound."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

PIVOTS = 500
_LITTLE = 1e-9


def dual_weights(count: int, cheapest: Callable[[Numbers], Numbers], pivots: int = PIVOTS) -> Numbers:
    """The weights of so many resources with which the bound is the largest, up to rounding.

    `cheapest` has for the prices of the resources the loads of the assignment that costs least by them, in
    parts of some scale near to the sum of the least loads. With the loads of an assignment as a column, a
    mixture is a sum of assignments, each as often as fits in a unit of time: the most of them are wanted.
    Prices of the resources are the weights, and the next assignment is the cheapest by them.
    """
    best, most = np.ones(count), 0.0
    basis, gains = np.eye(count), np.zeros(count)
    for _ in range(pivots):
        inverse = np.linalg.inv(basis)
        prices = gains @ inverse
        if prices.min() < -_LITTLE:
            column, gain = np.eye(count)[prices.argmin()], 0.0
        else:
            column, gain = cheapest(prices), 1.0
            cost, offered = float(prices @ column), float(prices.sum())
            if offered > 0 and cost / offered > most:
                best, most = prices.clip(min=0.0), cost / offered
            if cost >= 1 - _LITTLE:
                break
        moved, room = inverse @ column, inverse @ np.ones(count)
        able = moved > _LITTLE
        if not able.any():
            break
        leaving = int(np.where(able, room / np.where(able, moved, 1.0), np.inf).argmin())
        basis[:, leaving], gains[leaving] = column, gain
    return best
