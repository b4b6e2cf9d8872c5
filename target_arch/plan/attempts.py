"""What was tried to make a model fit before it did."""

from enum import StrEnum

from attrs import field, frozen


class AttemptKind(StrEnum):
    """In the order in which they are tried: a smaller budget, smaller partitions, another instance."""

    RETILE = "re-tile"
    SPLIT = "split"
    REPLACE = "re-place"


@frozen(kw_only=True)
class Attempt:
    """Something that did not fit, and what was done about it.

    `operator` and `instance` say where, `reason` why it did not fit, `kind` and `outcome` what was tried.
    """

    kind: AttemptKind = field(converter=AttemptKind)
    operator: str
    instance: str
    reason: str
    outcome: str = ""

    def __str__(self) -> str:
        done = f"; {self.kind}: {self.outcome}" if self.outcome else ""
        return f"{self.operator} does not fit on `{self.instance}`: {self.reason}{done}"
