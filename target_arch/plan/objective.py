"""The objective of placement: what is to be least, and how near to the least possible it came."""

from enum import StrEnum

from attrs import frozen

from target_arch.soc.words import member_or_text


class Objective(StrEnum):
    """The quantity that placement makes as small as it can: the time of a run, the time from one result to
    the next with frames in flight, or the energy of a run.
    """

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    ENERGY = "energy"


def objective(text: str) -> Objective:
    """Converter: the objective of that text."""
    return member_or_text(Objective, text)


@frozen(kw_only=True)
class ObjectiveFacts:
    """How far the search came by its objective and the costs of placement. `within` is the limit of time in
    seconds, None without one.

    For latency `value` and `bound` are seconds of a run in the search model. For throughput they are seconds
    in which the `busiest` instance, engine or host works for a frame, and in which some resource has to work
    in any placement. For energy they are joules of a run, and of any run in time.
    """

    objective: Objective
    value: float
    bound: float
    busiest: str = ""
    within: float | None = None

    @property
    def gap(self) -> float:
        """How much more than the bound, as a part of the bound; 0 where the bound is 0."""
        return self.value / self.bound - 1 if self.bound else 0.0
