"""The checker of step order and memory plan. It shares no code with the planner and relies on none of its
results.

It replays the steps: which steps are in flight, which bytes were written, when each buffer is really live.
Then it sweeps over time: buffers that are live together must not share bytes. Obvious before fast, yet
near-linear. The rules are in the files of this folder, one family each.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from target_arch.diagnostics import Diagnostic
from target_arch.plan.memory import BufferKind, MemoryPlan
from target_arch.plan.model import State
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Load, Step, StepOrder, Wait
from target_arch.soc.model import SoC
from target_arch.stages.check.rules import at_rest
from target_arch.stages.check.rules.aliases import EqualBytes, Holders
from target_arch.stages.check.rules.contents import WrittenBytes
from target_arch.stages.check.rules.copies import copy_faults
from target_arch.stages.check.rules.faults import Fault, at, described
from target_arch.stages.check.rules.fills import Fills
from target_arch.stages.check.rules.instances import Instances
from target_arch.stages.check.rules.itself import own_faults
from target_arch.stages.check.rules.lives import Lives
from target_arch.stages.check.rules.sharing import InPlace, sharing
from target_arch.stages.check.rules.states import state_faults
from target_arch.stages.check.rules.timelines import Timelines
from target_arch.stages.check.rules.touches import Touch, bounds, touches
from target_arch.stages.errors import CheckError
from target_arch.stages.garbage_collector import gc_paused


@gc_paused()
def check(
    soc: SoC,
    steps: StepOrder,
    plan: MemoryPlan,
    sizes: Mapping[str, int] = MappingProxyType({}),
    parts: Iterable[EqualBytes] = (),
    states: Iterable[State] = (),
) -> None:
    """Raises CheckError with every fault. `sizes` are the bytes of tensors, and of buffers that hold none, by
    name, `parts` are tensors that the model makes parts of others, `states` its states.

    Covers: offsets, alignment and capacity, in whole cache lines where a memory is shared behind the cache;
    buffers that share bytes and time, unless a call that may do so writes one over the other; steps that
    write over what they read, or twice; constants, inputs and outputs where the host does not put or find
    them; tensors inside the buffers of others; declared copy paths with their engine, limits and cache
    duties; which memories an instance can touch; numbering of events, steps that race with one in flight,
    steps still in flight at the end; bytes read before they were written; instances used before they are
    loaded, or loaded otherwise than described; residents that are filled too late, twice, or with what is no
    constant, or written by a run; states whose next value the next run would not find, or that
    are read after it was written.
    """
    unfound = (("wrong-state", said) for said in state_faults(soc, steps, plan, states))
    faults = (*_faults(soc, steps, plan, sizes, parts), *at("memory plan", unfound))
    if faults:
        raise CheckError(faults)


def _faults(
    soc: SoC, order: StepOrder, plan: MemoryPlan, sizes: Mapping[str, int], parts: Iterable[EqualBytes]
) -> Iterator[Diagnostic]:
    replay = _Replay(soc, order, plan)
    yield from at("memory plan", at_rest.offsets(soc, order, plan))
    yield from at("memory plan", at_rest.sizes(order.buffers, sizes))
    yield from at("memory plan", replay.holders.resting(soc, plan, sizes, parts))
    yield from at("memory plan", at_rest.ends(order))
    yield from at("memory plan", at_rest.owners(soc, order))
    yield from at("memory plan", at_rest.unseen(soc, order))
    yield from _replayed(replay, order, plan)
    yield from at("memory plan", at_rest.capacities(soc, order.buffers, plan))


def step_faults(soc: SoC, order: StepOrder, plan: MemoryPlan) -> Iterator[Diagnostic]:
    """The faults of the steps alone, and of the bytes that their buffers share."""
    yield from _replayed(_Replay(soc, order, plan), order, plan)


def _replayed(replay: "_Replay", order: StepOrder, plan: MemoryPlan) -> Iterator[Diagnostic]:
    for number, step in enumerate(order.steps):
        for fault in replay.step(number, step):
            yield from at(described(number, step), (fault,))
    yield from at("end of run", replay.end())
    yield from at("memory plan", replay.lives.faults())
    yield from at("memory plan", sharing(order, plan, replay.lives, replay.in_place))


class _Replay:
    """A run of the steps, one after the other, with the facts known after each."""

    def __init__(self, soc: SoC, order: StepOrder, plan: MemoryPlan) -> None:
        self._soc, self._plan = soc, plan
        self._buffers = {buffer.name: buffer for buffer in order.buffers}
        self._instances = Instances(soc)
        self._timelines = Timelines()
        self._contents = WrittenBytes(order)
        self._fills = Fills(order)
        self._started = False
        staying = (BufferKind.CONSTANT, BufferKind.RESIDENT)
        constants = (buffer.name for buffer in order.buffers if buffer.kind in staying)
        left = (*(name for _, name in order.outputs), *(each.next for each in order.states))
        self.in_place = InPlace((*left, *constants))
        self.lives = Lives(order)
        self.holders = Holders(order.buffers)

    def step(self, number: int, step: Step) -> Iterator[Fault]:
        """The faults of a step, which is then done."""
        if isinstance(step, Load):
            yield from self._instances.load(step, late=self._started or self._fills.begun)
            return
        if isinstance(step, Fill):
            yield from self._fill(step.copy)
            return
        self._started = True
        if isinstance(step, Wait):
            yield from self._wait(number, step.event)
            return
        touched = touches(step, self._buffers)
        outside = tuple(bounds(touched, self._buffers))
        yield from outside
        if not outside:
            yield from self._execute(number, step, touched)

    def end(self) -> Iterator[Fault]:
        """Actions that are not over at the end of the run."""
        yield from self._timelines.left()
        yield from self._contents.missing()

    def _wait(self, number: int, event: Event) -> Iterator[Fault]:
        yield from self._timelines.unknown(event)
        for flight in self._timelines.over(event):
            self.lives.touch(number, (touch.part.of for touch in flight.touches))

    def _fill(self, copy: Copy) -> Iterator[Fault]:
        """A fill is over before the next step begins; it belongs to no run."""
        touched = touches(copy, self._buffers)
        outside = tuple(bounds(touched, self._buffers))
        yield from outside
        yield from self._fills.fill(copy, late=self._started)
        if not outside:
            yield from own_faults(copy, self._buffers)
            yield from self._contents.fill(touched)
            yield from copy_faults(self._soc, copy, self._buffers, self._plan)

    def _execute(self, number: int, step: Copy | Dispatch, touched: tuple[Touch, ...]) -> Iterator[Fault]:
        names = [touch.part.of for touch in touched]
        yield from own_faults(step, self._buffers)
        if isinstance(step, Dispatch):
            self.in_place.dispatched(number, step, self._timelines.busy)
        yield from self._timelines.races(step.event, touched)
        self.lives.touch(number, names)
        self.in_place.touched(number, names)
        yield from self._contents.touch(touched)
        if step.event is not None:
            yield from self._timelines.issue(number, step.event, touched)
        for part in (touch.part for touch in touched if touch.write):
            other = self.holders.write(part, step)
            if other is not None:
                yield "written-twice", f"`{part}` is written over what `{other}` wrote there"
        if isinstance(step, Copy):
            yield from copy_faults(self._soc, step, self._buffers, self._plan)
        else:
            yield from self._instances.dispatch(step, self._buffers)
