"""The changes after which steps and a memory plan that did not fit may fit, in the order in which they are
tried.

What is cheap comes first: steps that wait earlier, copies that are earlier, and tiles that are moved again,
cost some time; pieces cost copies; a tensor in another memory costs time at every access.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from attrs import evolve, field, frozen

from target_arch.plan.steps import Copy, StepOrder
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.program.homes import ALL_WHOLE, NOTHING, OnTheWay, TensorHomes, choose_homes
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.spill import Spilling
from target_arch.stages.steps.staged import pieces

Change_co = TypeVar("Change_co", covariant=True)


@frozen(kw_only=True)
class Assumptions:
    """The assumptions of a plan, see `TensorHomes`. `spilled` is how many candidates of a tensor are
    skipped, `left` are the memories that bytes leave as early as they can.
    """

    drained: tuple[str, ...]
    left: tuple[str, ...] = ()
    reuse: bool = True
    streamed: Mapping[OnTheWay, int] = field(default=ALL_WHOLE, repr=False)
    spilled: Mapping[str, int] = field(default=NOTHING, repr=False)
    streamable: bool = True
    """False once no path carried a constant in pieces."""

    @property
    def original(self) -> bool:
        """True while no constant ever went in pieces and no tensor was spilled."""
        return self.streamable and not self.streamed and not self.spilled

    def homes(self, work: PartialLowering) -> TensorHomes:
        """The homes of tensors under these assumptions."""
        chosen = choose_homes(work, self.drained, self.spilled)
        return evolve(chosen, reuse=self.reuse, streamed=dict(self.streamed))

    def whole(self) -> "Assumptions | None":
        """The assumptions with all constants whole, for good; None if they are already."""
        return evolve(self, streamed=ALL_WHOLE, streamable=False) if self.streamed else None


@frozen(kw_only=True)
class Overflow:
    """Steps that do not fit under these assumptions: the refusal of their memory plan."""

    work: PartialLowering = field(repr=False)
    assumed: Assumptions
    homes: TensorHomes = field(repr=False)
    steps: StepOrder = field(repr=False)
    refusal: DoesNotFitError

    @property
    def memory(self) -> str:
        """The memory that overflows."""
        return self.refusal.memory


@frozen(kw_only=True)
class Remedy(Generic[Change_co]):
    """A change of a kind. `change` returns None where it does not help, or not any more."""

    name: str
    change: Callable[[Overflow], Change_co | None]


def waiting_and_moving() -> tuple[Remedy[Assumptions], ...]:
    """The remedies that leave every tensor in its home, and every constant whole."""
    return (
        Remedy(name="wait for dead bytes in flight", change=_drained),
        Remedy(name="copy out early", change=_left_early),
        Remedy(name="move tiles again", change=_moved_again),
    )


def pieces_and_spills() -> tuple[Remedy[Assumptions], ...]:
    """The remedies that change where bytes are; new ones for every plan, as spills count their effort."""
    spilling = Spilling()

    def spilled(overflow: Overflow) -> Assumptions | None:
        tensors = spilling.next(overflow.refusal, overflow.steps, overflow.homes)
        skipped = overflow.assumed.spilled
        further = {tensor: skipped.get(tensor, 0) + 1 for tensor in tensors}
        return evolve(overflow.assumed, spilled={**skipped, **further}) if tensors else None

    return (
        Remedy(name="copy constants in pieces", change=_in_pieces),
        Remedy(name="spill tensors", change=spilled),
    )


def _drained(overflow: Overflow) -> Assumptions | None:
    assumed = overflow.assumed
    if not overflow.refusal.pool.shareable or overflow.memory in assumed.drained:
        return None
    return evolve(assumed, drained=(*assumed.drained, overflow.memory))


def _left_early(overflow: Overflow) -> Assumptions | None:
    """Slices that are copied out of the full memory, as soon as they are there: their reader is often the
    join of all of them.
    """
    assumed, memories = overflow.assumed, {buffer.name: buffer.memory for buffer in overflow.steps.buffers}
    if overflow.memory in assumed.left or not overflow.work.graph.model.slices:
        return None
    copies = (step for step in overflow.steps.steps if isinstance(step, Copy))
    if all(memories[copy.source.of] != overflow.memory for copy in copies):
        return None
    return evolve(assumed, left=(*assumed.left, overflow.memory))


def _moved_again(overflow: Overflow) -> Assumptions | None:
    return evolve(overflow.assumed, reuse=False) if overflow.assumed.reuse else None


def _in_pieces(overflow: Overflow) -> Assumptions | None:
    assumed = overflow.assumed
    if not assumed.streamable:
        return None
    further = pieces(overflow.work, overflow.steps, overflow.refusal, assumed.streamed)
    return evolve(assumed, streamed={**assumed.streamed, **further}) if further else None
