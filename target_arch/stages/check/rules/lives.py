"""Lives of buffers, from the steps alone."""

from collections.abc import Iterable, Iterator

from target_arch.plan.memory import BufferKind
from target_arch.plan.steps import StepOrder
from target_arch.stages.check.rules.faults import Fault


class Lives:
    """From which step to which each buffer is live, both included. Inputs are written before the run, outputs
    and next values of states read after it, constants and residents are there always.
    """

    def __init__(self, order: StepOrder) -> None:
        self._live: dict[str, tuple[int, int]] = {}
        self._buffers = order.buffers
        last = max(len(order.steps) - 1, 0)
        outputs = {name for _, name in order.outputs} | {each.next for each in order.states}
        for buffer in order.buffers:
            stays = buffer.kind in (BufferKind.CONSTANT, BufferKind.RESIDENT)
            if stays or buffer.kind == BufferKind.INPUT:
                self.touch(0, (buffer.name,))
            if stays or buffer.name in outputs:
                self.touch(last, (buffer.name,))

    def touch(self, step: int, names: Iterable[str]) -> None:
        """The buffers are live at that step."""
        for name in names:
            first, last = self._live.get(name, (step, step))
            self._live[name] = (min(first, step), max(last, step))

    def of(self, name: str) -> tuple[int, int] | None:
        """First and last step; None for a buffer that nothing touches."""
        return self._live.get(name)

    def faults(self) -> Iterator[Fault]:
        """Buffers that are live outside the life that they state. A state that is read is there from the
        start.
        """
        for buffer in self._buffers:
            if buffer.kind == BufferKind.STATE and buffer.name in self._live:
                self.touch(0, (buffer.name,))
        for buffer in self._buffers:
            first, last = self._live.get(buffer.name, (buffer.first, buffer.last))
            if first < buffer.first or last > buffer.last:
                stated = f"{buffer.first}..{buffer.last}"
                yield "wrong-lifetime", f"buffer `{buffer.name}` says {stated}, is live {first}..{last}"
