"""The outcome of a point: numbers of every model, or the reason why there are none.

Tests: `tests/explore/test_evaluate.py`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, TypedDict, cast

from attrs import asdict, field, frozen

PROCESS_ENDED = "process-ended"
"""The rule of points with which processes ended, such as for want of memory."""


class Status(StrEnum):
    """Whether the models fit the chip; it refuses one; the values are no chip; the program failed; or a bound
    says that a better point is known, and nothing was compiled.
    """

    FITS = "fits"
    REFUSED = "refused"
    NO_CHIP = "no chip"
    CRASHED = "crashed"
    DOMINATED = "dominated"


@frozen(kw_only=True)
class ModelNumbers:
    """A model at a point: seconds and joules of a run, and bytes by memory. The energy is None where that of
    an operator is not known. The latency is expected between `low` and `high` where costs were fitted;
    else both are None. The period are the seconds from one result to the next with frames in flight, None
    where these were not asked for.
    """

    latency: float
    energy: float | None
    bytes: Mapping[str, int]
    low: float | None = None
    high: float | None = None
    period: float | None = None


class _Status(TypedDict):
    status: Status


class PrintedOutcome(_Status, total=False):
    """The result of a point or chip: what says nothing is absent."""

    reason: Annotated[str, "the whole text of a refusal or failure"]
    rule: Annotated[str, "the name of the rule that refuses"]
    models: dict[str, ModelNumbers]
    bytes: Annotated[dict[str, int], "of the bundle of all models, by memory"]
    bound: Annotated[float, "seconds that no run takes less than, where nothing was compiled for that"]


@frozen(kw_only=True)
class PointOutcome:
    """The result of a point. `reason` is the whole text of a refusal or failure, `rule` its name; `bytes` are
    those of the bundle of all models by memory.
    """

    status: Status = field(converter=Status)
    reason: str = ""
    rule: str = ""
    models: Mapping[str, ModelNumbers] = field(factory=dict)
    bytes: Mapping[str, int] = field(factory=dict)
    bound: float | None = None
    """The seconds that no run takes less than, of a point that is dominated."""

    @property
    def fits(self) -> bool:
        """Whether there are numbers."""
        return self.status is Status.FITS

    def to_json(self) -> PrintedOutcome:
        """The outcome for a file of JSON; `from_json` reads it."""
        values = asdict(self)
        kept = {name: value for name, value in values.items() if value}
        return cast(PrintedOutcome, {**kept, "status": str(self.status)})

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "PointOutcome":
        """The outcome that was written. KeyError, TypeError or ValueError for other values."""
        models = {name: ModelNumbers(**numbers) for name, numbers in values.get("models", {}).items()}
        return cls(**{**values, "models": models})
