"""The host's own time for each step of a device, in whole picoseconds, by resource.

A step that another resource works on is ordered by the host, and settled by it: each takes a part of its
time. Steps of a timeline are settled one after the other, as the runtime does.
"""

from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from target_arch.soc.model import SoC
from target_arch.soc.numbering import channels
from target_arch.stages.paths.routes import PICO


@frozen
class OrderTime:
    """The host's picoseconds to start a step, and to see that it is over once it is."""

    start: int = 0
    end: int = 0

    @property
    def both(self) -> int:
        """All that a step takes of the host."""
        return self.start + self.end


FREE = OrderTime()

Orders = Mapping[str, OrderTime]
"""By resource: instances, DMA engines and their channels; for nothing where a resource is left out."""

NO_ORDERS: Orders = {}


def orders_of(soc: SoC, seconds: Callable[[str], tuple[float, float]]) -> dict[str, OrderTime]:
    """The orders of a chip, from the seconds of a target_arch or an engine, without those that are free."""
    named = {name: OrderTime(*(round(each * PICO) for each in seconds(of))) for name, of in _owners(soc)}
    return {name: order for name, order in named.items() if order != FREE}


def _owners(soc: SoC) -> Iterator[tuple[str, str]]:
    """Every resource but the host, with the target_arch or the engine whose costs count."""
    for instance in soc.instances:
        if not instance.arch.host:
            yield instance.name, instance.arch.name
    for dma in soc.dmas:
        yield dma.name, dma.name
    for channel in channels(soc):
        yield channel, channel.rpartition(".")[0]
