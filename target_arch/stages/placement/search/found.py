"""The result of a search for a placement."""

from attrs import field, frozen

from target_arch.stages.placement.search.list_scheduler import JobSchedule


@frozen(kw_only=True)
class Reached:
    """The value that a search for another objective than a short run reached, and its lower bound:
    picoseconds of the busiest resource, which is `where`, or femtojoules.
    """

    value: int
    bound: int
    where: str = ""


@frozen(kw_only=True)
class Found:
    """A schedule, a bound on every makespan in picoseconds, and how the schedule was found.

    `reached` is None where the objective was the makespan itself. For throughput the machines are those of
    the search, not the ones that are free first.
    """

    schedule: JobSchedule = field(repr=False)
    bound: int
    method: str
    reached: Reached | None = None
