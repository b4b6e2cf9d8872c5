"""Functions of stored values by their tables."""

import numpy as np

from target_arch.run.exact.case import Array, NotDefined, OperatorCase
from target_arch.run.exact.scaling import Integers


def lookup(case: OperatorCase) -> Array:
    """The result of every stored value; of int16 values between entries of the table. NotDefined for LiteRT's
    sigmoid of int16 values.
    """
    x, table, curve = case.operand(0), case.operand(1).astype(np.int64), case.attribute("curve")
    if curve == "each":
        found = table[x.astype(np.int64) - np.iinfo(x.dtype).min]
    elif curve == "lines":
        found = _between(table, x.astype(np.int64) + 32768)
    else:
        raise NotDefined
    return found.astype(case.out.dtype).reshape(case.out.shape)


def _between(table: Integers, place: Integers) -> Integers:
    """Entries are 128 values apart; a rise is one of 16 bits, rounded half up."""
    first, rest = place // 128, place % 128
    rise = (table[first + 1] - table[first]).astype(np.int16).astype(np.int64)
    return table[first] + (rise * rest + 64) // 128
