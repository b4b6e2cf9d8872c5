"""The costs that a placement rests on: how many of its operators were measured, fitted or estimated, and how
far the run may be off.
"""

from attrs import frozen


@frozen(kw_only=True)
class CostsUsed:
    """Of the operators where they are, how many costs were `measured` (or given by hand), `fitted` to
    measurements, or are `estimated`.

    `about` says what was counted, where and of which models; empty for costs that nobody calibrated. `error`
    is that of calls of models left out, in words, empty where none is stated. `low` and `high` are the
    seconds between which the simulated run is expected; both are its makespan where nothing is fitted, or
    some operator is estimated.
    `changed` are operators whose code is another than the one that was measured.
    """

    origin: str
    about: str
    measured: int
    fitted: int
    estimated: int
    error: str
    low: float
    high: float
    changed: tuple[str, ...]
