"""Residents, for the checker alone: `init` fills them before any run, from constants or from residents that
are filled already.
"""

from collections import Counter
from collections.abc import Iterator

from target_arch.plan.memory import BufferKind
from target_arch.plan.steps import Copy, StepOrder
from target_arch.stages.check.rules.faults import Fault


class Fills:
    """The fills so far."""

    def __init__(self, order: StepOrder) -> None:
        self._kinds = {buffer.name: buffer.kind for buffer in order.buffers}
        self._issued = Counter[str]()
        self.begun = False

    def fill(self, copy: Copy, *, late: bool) -> Iterator[Fault]:
        """The next fill; `late` after a step of a run. Its event is the next of the fills of its timeline."""
        self.begun = True
        if late:
            yield "late-fill", f"`{copy.target}` is filled after a step of the run"
        if self._kinds.get(copy.target.of) is not BufferKind.RESIDENT:
            yield "wrong-fill", f"`{copy.target}` is no resident, and filled before the run"
        if self._kinds.get(copy.source.of) not in (BufferKind.CONSTANT, BufferKind.RESIDENT):
            yield "wrong-fill", f"`{copy.source}` is no constant, and a resident is filled with it"
        if copy.event is not None:
            self._issued[copy.event.timeline] += 1
            expected = self._issued[copy.event.timeline]
            if copy.event.value != expected:
                said = f"it signals `{copy.event}`, value {expected} is the next of that timeline"
                yield "wrong-event", said
