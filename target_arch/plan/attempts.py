"""What was tried to make a model fit before it did."""

from attrs import frozen

RETILE = "re-tile"
SPLIT = "split"
REPLACE = "re-place"
RUNGS = (RETILE, SPLIT, REPLACE)
"""In the order in which they are tried."""


@frozen(kw_only=True)
class Attempt:
    """Something that did not fit, and what was done about it.

    `operator` and `instance` say where, `reason` why it did not fit, `kind` (one of RUNGS) and `outcome` what
    was tried: a smaller budget, smaller partitions, another instance.
    """

    kind: str
    operator: str
    instance: str
    reason: str
    outcome: str = ""

    def __str__(self) -> str:
        done = f"; {self.kind}: {self.outcome}" if self.outcome else ""
        return f"{self.operator} does not fit on `{self.instance}`: {self.reason}{done}"
