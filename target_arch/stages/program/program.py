"""The program: all kernels joined, before waits, events and lifetimes (`join` makes it)."""

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from target_arch.plan.steps import StateBuffers
from target_arch.stages.program.items import Item, Slot, Transfer
from target_arch.stages.program.liveness import Liveness


@frozen(kw_only=True, slots=False)
class Program:
    """All items in order, the buffers they name, and the buffers of the model's inputs and outputs. `fills`
    are transfers that are made once, before any run, to residents.
    """

    items: tuple[Item, ...] = field(repr=False)
    buffers: Mapping[str, Slot] = field(repr=False)
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    states: tuple[StateBuffers, ...] = ()
    fills: tuple[Transfer, ...] = field(default=(), repr=False)

    @cached_property
    def kept(self) -> frozenset[str]:
        """The buffers that are read after the last item: of outputs by the caller, of next values of states
        by the next run.
        """
        return frozenset((*(name for _, name in self.outputs), *(state.next for state in self.states)))

    @cached_property
    def liveness(self) -> Liveness:
        """When its buffers are live."""
        return Liveness(items=self.items, slots=self.buffers, kept=self.kept)
