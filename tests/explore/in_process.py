"""Workers that are no processes: a function answers."""

from collections.abc import Callable, Iterable, Iterator

from attrs import define, field

from target_arch.explore.evaluate import PointTask
from target_arch.explore.outcome import ModelNumbers, PointOutcome, Status


@define
class InProcess:
    """Answers in the order of the tasks, or backwards in groups of `mixed`."""

    evaluate: Callable[[PointTask], PointOutcome]
    mixed: int = 1
    asked: list[PointTask] = field(factory=list)
    checked: int = 0

    def check(self, task: PointTask) -> None:
        self.checked += 1

    def run(self, tasks: Iterable[tuple[str, PointTask]]) -> Iterator[tuple[str, PointOutcome]]:
        held: list[tuple[str, PointTask]] = []
        for each in tasks:
            held.append(each)
            if len(held) == self.mixed:
                yield from self._answers(held)
        yield from self._answers(held)

    def _answers(self, held: list[tuple[str, PointTask]]) -> Iterator[tuple[str, PointOutcome]]:
        while held:
            key, task = held.pop()
            self.asked.append(task)
            yield key, self.evaluate(task)


def fits(latency: float, **bytes: int) -> PointOutcome:
    """An outcome of the model `digits`."""
    numbers = ModelNumbers(latency=latency, energy=None, bytes=bytes)
    return PointOutcome(status=Status.FITS, models={"digits": numbers}, bytes=bytes)


def by_size(task: PointTask) -> PointOutcome:
    """Faster with more TCM and bandwidth; too little SRAM is refused."""
    if "1 KiB" in task.chip.shown:
        return PointOutcome(
            status=Status.REFUSED, rule="does-not-fit", reason="step 3: error: too small [does-not-fit]"
        )
    words = task.chip.shown.replace(",", "").split()
    tcm, bus = int(words[words.index("tcm") + 2]), int(words[words.index("bus") + 2])
    return fits(1 / (tcm * bus), sram=1000 * tcm)
