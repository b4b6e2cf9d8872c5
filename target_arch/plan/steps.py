"""The steps of a bundle: Load, Fill, Copy, Dispatch and Wait, in a total order, over logical buffers.

Events: every asynchronous step runs on a *timeline* (a DMA channel such as `axi_dma.0`, or an instance such
as `fpga_conv2d[1]`), in order. The n-th asynchronous step of a run on a timeline completes value n of it
(counted from 1); fills, which belong to no run, are counted by themselves.
"""

from attrs import field, frozen

from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.memory import Buffer
from target_arch.soc.words import CacheDuty, cache_duty


@frozen(kw_only=True)
class Event:
    """A point on a timeline."""

    timeline: str
    value: int

    def __str__(self) -> str:
        return f"{self.timeline}#{self.value}"


@frozen(kw_only=True)
class Load:
    """Bring up an instance. Executed by `init`, before any other step."""

    instance: str
    process: str
    image: str | None = None


@frozen(kw_only=True)
class Copy:
    """Copy between two buffers. `engine` is `cpu` or a DMA engine; an asynchronous copy has an event."""

    source: Slice
    target: Slice
    engine: str
    cache: CacheDuty = field(default=CacheDuty.NONE, converter=cache_duty)
    event: Event | None = None
    partition: str = ""


@frozen(kw_only=True)
class Fill:
    """Copy constants to where they stay. Executed by `init`, after all loads and before any other step; the
    copy is over before the next one begins.
    """

    copy: Copy


@frozen(kw_only=True)
class Dispatch:
    """Start a call on an instance.

    Operands name buffers. A dispatch to the host is synchronous and has no event.
    """

    partition: str
    operator: str
    instance: str
    function: str
    operands: tuple[Operand, ...]
    words: tuple[int, ...] = ()
    event: Event | None = None


@frozen(kw_only=True)
class Wait:
    """Go on only when the event has happened."""

    event: Event


Step = Load | Fill | Copy | Dispatch | Wait


def event_of(step: Step) -> Event | None:
    """The event that a step signals or waits for."""
    if isinstance(step, Load):
        return None
    return step.copy.event if isinstance(step, Fill) else step.event


@frozen(kw_only=True)
class StateBuffers:
    """The buffers of the state that a model has in `tensor`: of its value, of its next one, which has the
    same bytes, and of the constant it starts with; None where it starts with zeros.
    """

    tensor: str
    now: str
    next: str
    initial: str | None = None


@frozen(kw_only=True)
class StepOrder:
    """All steps, and the buffers they name with the steps over which each is live.

    `inputs` and `outputs` pair a model input or output tensor with the buffer that holds it. `states` are
    the buffers of states.
    """

    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    states: tuple[StateBuffers, ...] = ()

    @property
    def at_init(self) -> tuple[Load | Fill, ...]:
        """The steps that `init` executes."""
        return tuple(step for step in self.steps if isinstance(step, Load | Fill))


@frozen(kw_only=True)
class Probe:
    """Where and when a tensor can be seen while the steps are executed one by one.

    Its `bytes` in one of its buffers are complete after `step`: they begin `skip` bytes before operand number
    `operand` of a dispatch, or before the target of a copy. `observed` in one buffer of each tensor, the one
    that is complete first. `replaced` where other bytes put there reach every reader of the tensor.
    """

    tensor: str
    step: int
    operand: int
    skip: int
    bytes: int
    observed: bool
    replaced: bool
