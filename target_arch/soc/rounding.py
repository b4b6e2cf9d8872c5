"""Whole units: division that rounds up, and sizes and addresses up to the next multiple."""


def ceil_div(value: int, unit: int) -> int:
    """How many units it takes to cover the value."""
    return -(-value // unit)


def round_up(value: int, unit: int) -> int:
    """The least multiple of the unit that is not below the value."""
    return -(-value // unit) * unit
