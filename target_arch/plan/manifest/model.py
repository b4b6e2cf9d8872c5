"""The entry of one model in a manifest: its tensors, orders, budgets, buffers and steps."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from math import prod
from typing import Annotated

from attrs import frozen

from target_arch.plan.execution import ActivityKind, below_bound
from target_arch.plan.input_range import InputRange
from target_arch.plan.manifest.operators import DividedEntry, OperatorEntry, PartitionEntry
from target_arch.plan.manifest.verification import VerificationEntry
from target_arch.plan.memory import IoOwner
from target_arch.plan.model import DTYPE_BYTES
from target_arch.plan.objective import Objective
from target_arch.plan.workloads.workload import Overload, Schedule
from target_arch.soc.faults import Path
from target_arch.soc.schema.records import WHERE_THERE, Real, Whole, WordKind

Signed = Annotated[int, Whole(least=-(2**63))]
"""Of at most 63 bits, either side of zero."""
SignedNumber = Annotated[float, Real(signed=True)]
ElementType = Annotated[str, WordKind(tuple(DTYPE_BYTES))]


class StepKind(StrEnum):
    """The kind of a step."""

    LOAD = "load"
    FILL = "fill"
    COPY = "copy"
    DISPATCH = "dispatch"
    WAIT = "wait"


@frozen(kw_only=True)
class TuningEntry:
    """The records of a tuning file that were used."""

    used: Annotated[tuple[str, ...], "tasks with a record that chose a kernel's code or schedule"]
    unused: Annotated[tuple[str, ...], "tasks of the file whose record chose nothing here"]


@frozen(kw_only=True)
class InputShapesEntry:
    """Shapes and values of inputs, and the part of the model, that were asked for."""

    shapes: Annotated[Mapping[str, tuple[int, ...]], "the extents of an input by its name"]
    batch: Annotated[int | None, "the extent of every open first dimension; null if not asked for"]
    values: Annotated[
        Mapping[str, SignedNumber],
        "the number that all elements of an input are by its name; such an input is a constant",
    ]
    inputs: Annotated[
        tuple[str, ...], "the tensors of the file at which the model begins; empty for the file's inputs"
    ]
    outputs: Annotated[
        tuple[str, ...], "the tensors of the file that are its outputs; empty for the file's outputs"
    ]


@frozen(kw_only=True)
class OptionsEntry:
    """The options that a model was planned with, by their names in Python, but for those that are files; a
    key is missing where the option has its default.
    """

    memory_limits: Annotated[
        Mapping[str, int] | None, "the most bytes that models may take of a memory", WHERE_THERE
    ] = None
    require: Annotated[Mapping[str, str] | None, "where an operator must be", WHERE_THERE] = None
    prefer: Annotated[Mapping[str, str] | None, "where it is if possible", WHERE_THERE] = None
    forbid: Annotated[Mapping[str, tuple[str, ...]] | None, "where it must not be", WHERE_THERE] = None
    targets: Annotated[tuple[str, ...] | None, "the only target_archs beside the host", WHERE_THERE] = None
    order: Annotated[tuple[str, ...] | None, "the partitioning order", WHERE_THERE] = None
    lowering_order: Annotated[
        Mapping[str, str] | None,
        "the policy, or partitions with commas, of each phase; of all phases where it is empty",
        WHERE_THERE,
    ] = None
    states: Annotated[
        Mapping[str, str] | None, "inputs, and the outputs that are their next values", WHERE_THERE
    ] = None
    frames: Annotated[str | None, "how many may be in flight, or `auto`", WHERE_THERE] = None
    divide: Annotated[
        str | None,
        "`auto` where operators could be divided, `host` where those of the host could",
        WHERE_THERE,
    ] = None
    objective: Annotated[
        str | None, "`throughput` or `energy` where placement made that least", WHERE_THERE
    ] = None
    within: Annotated[str | None, "the time that a run may take at most", WHERE_THERE] = None
    resident: Annotated[str | None, "`auto` where constants could be resident", WHERE_THERE] = None
    exact: Annotated[bool | None, "true where a solver went on after the search", WHERE_THERE] = None
    planner: Annotated[str | None, "the algorithm of the memory plan and its limits", WHERE_THERE] = None


@frozen(kw_only=True)
class SelfTestEntry:
    """The self-test of a model, or why it has none."""

    reference: Annotated[
        str | None, "the reference whose answer the self-test compares with; null without one"
    ]
    missing: Annotated[str | None, "why there is none; else null"]


@frozen(kw_only=True)
class SimplificationEntry:
    """The part of the file's model that is computed, where some influences no result."""

    channels: Annotated[int, "channels (indices of the last axis) of the results of all operators"]
    all_channels: Annotated[int, "as `channels`, of the file's model"]
    macs: Annotated[int, "multiply-accumulates of a run"]
    all_macs: Annotated[int, "as `macs`, of the file's model"]
    constant_bytes: Annotated[int, "bytes of weights and other constants, before a backend packs them"]
    all_constant_bytes: Annotated[int, "as `constant_bytes`, of the file's model"]


@frozen(kw_only=True)
class BoundedEntry:
    """The size of an output, which depends on values."""

    axis: Annotated[int, "the dimension of which the shape has the largest extent"]
    count: Annotated[str, "the output that says how much of it is there; behind are zeros"]


@frozen(kw_only=True)
class RangeEntry:
    """The values that an input may have; integers are stored values."""

    low: Annotated[SignedNumber, "the least value of an element"]
    high: Annotated[SignedNumber, "the greatest"]


@frozen(kw_only=True)
class TensorEntry:
    """An input or output of a model. Its bytes are those of its shape and type."""

    name: Annotated[str, "of the tensor, as in the model file"]
    shape: tuple[int, ...]
    dtype: Annotated[ElementType, "`int8`, `uint8`, `int32`, `float32`, …"]
    bytes: int
    buffer: Annotated[str, "the buffer that holds it, one of `buffers`"]
    bounded: Annotated[BoundedEntry | None, "where its size depends on values", WHERE_THERE] = None
    range: Annotated[
        RangeEntry | None,
        "the values that were [promised](models.md#a-range-that-is-promised) of an input",
        WHERE_THERE,
    ] = None

    @property
    def promised(self) -> InputRange | None:
        """The range that was promised of an input; None without one."""
        return None if self.range is None else InputRange(low=self.range.low, high=self.range.high)

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A size that is not that of the shape and type."""
        size = prod(self.shape) * DTYPE_BYTES[self.dtype]
        if self.bytes != size:
            has = f"`{self.name}` has {self.bytes:,} B"
            yield ("bytes",), f"{has}, its shape and type need {size:,} B"


@frozen(kw_only=True)
class StateEntry(TensorEntry):
    """A state of a model. `buffer` is the one that a run finds it in."""

    next_buffer: Annotated[str, "the buffer of the value that a run leaves; it has the bytes of `buffer`"]
    initial_buffer: Annotated[str | None, "the constant it starts with; null for zeros"]
    pair: Annotated[
        tuple[int, ...] | None,
        "the numbers of the input and the output that were [made a state](states.md); null if the model file "
        "itself has the state",
    ]


@frozen(kw_only=True)
class SlotEntry:
    """A turn in the lowering order."""

    partition: str
    phase: Annotated[str, "the last phase of lowering that this turn reaches"]
    reason: Annotated[str, "why it comes at this place in the order"]


@frozen(kw_only=True)
class PlacementEntry:
    """How the placement was found, and its costs beside a run."""

    method: Annotated[str, "how the placement was found"]
    search_makespan: Annotated[float, "seconds of a run in the search model"]
    search_bound: Annotated[
        float,
        "seconds that no placement undercuts in the search model: the critical path, or the busiest "
        "instances",
    ]
    load: Annotated[float, "seconds to load and start all used instances, once, before the first run"]
    load_bytes: Annotated[int, "size of the images that are loaded"]
    energy: Annotated[
        float | None, "joules of computing, of the operators whose energy is known; null if there is none"
    ]
    metered: Annotated[int, "the number of operators whose energy is known"]


@frozen(kw_only=True)
class ObjectiveEntry:
    """The objective of placement, and how near to the least possible it came, by the costs of placement."""

    objective: Annotated[Objective, "`latency`, `throughput` or `energy`"]
    within: Annotated[
        float | None, "seconds that a run, or a frame in flight, may take; null without a limit"
    ]
    value: Annotated[
        float,
        "seconds of a run; or in which the busiest instance, engine or host works for a frame; or joules",
    ]
    bound: Annotated[float, "what no placement goes below"]
    busiest: Annotated[str, "for throughput, the instance, engine or host; else empty"]

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A value that is less than its lower bound."""
        if self.value < self.bound * (1 - 1e-9):
            yield ("value",), f"it is {self.value:.9g}, and its lower bound is {self.bound:.9g}"


@frozen(kw_only=True)
class SpanEntry:
    """A busy interval of an instance or channel, or one in which the host waits or sees to others."""

    step: Annotated[int, "one of `steps`"]
    kind: Annotated[
        ActivityKind,
        "`run` or `copy`; `wait` where the host waits, `order` where it starts such a step, `settle` where "
        "it sees that it is over",
    ]
    what: Annotated[str, "the operator, the buffer that a copy fills, or the event that is waited for"]
    where: Annotated[str, "the instance, the channel by its engine and number, or the host"]
    start: Annotated[float, "seconds from the start of a run"]
    end: Annotated[float, "likewise"]


@frozen(kw_only=True)
class ExecutionEntry:
    """The simulated run of a model."""

    makespan: Annotated[float, "seconds from the start of a run to the end of the last step"]
    bound: Annotated[
        float,
        "a lower bound in seconds for every order of these steps: the longest path along which data flows, "
        "or the time of the busiest instance, engine or host",
    ]
    gap: Annotated[float, "makespan less bound, divided by the bound; never negative"]
    division_bound: Annotated[
        float,
        "a lower bound in seconds for any division of the operators over the instances that accept them or "
        "slices of them, with copies for nothing; 0 where no costs are known",
    ]
    busy: Annotated[float, "instances that compute at a time, on average over the run"]
    instances: Annotated[int, "instances of the chip"]
    undivided: Annotated[
        float, "makespan in seconds before operators were divided over instances; 0 where none is"
    ]
    copied: Annotated[
        float,
        "makespan in seconds where every run copies all constants; 0 where none is "
        "[resident](memory.md#resident-constants)",
    ]
    filling: Annotated[float, "seconds in which `init` copies the residents"]
    alone: Annotated[float, "makespan in seconds if partitions run one after the other"]
    overlap: Annotated[str, "what overlaps, and what does not for lack of memory"]
    entries: Annotated[tuple[SpanEntry, ...], "the busy intervals of instances and DMA channels"]
    waits: Annotated[
        tuple[SpanEntry, ...],
        "the intervals in which the host waits for an event, and those in which it starts and settles steps "
        "of others; the latter are parts of waits, too",
    ]

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A run that takes less than a lower bound."""
        below = below_bound(self.makespan, max(self.bound, self.division_bound))
        if below is not None:
            yield ("makespan",), below


@frozen(kw_only=True)
class CostsEntry:
    """The costs that a placement rests on."""

    origin: Annotated[str, "the name of the [cost file](cost-file.md)"]
    about: Annotated[str, "what was counted, where and of which models; empty for costs given by hand"]
    measured: Annotated[int, "operators whose cost was measured or given by hand"]
    fitted: Annotated[int, "operators whose cost was fitted to measurements of others"]
    estimated: Annotated[int, "operators whose cost is their backend's estimate"]
    error: Annotated[str, "the error of calls of models left out of the fit; empty where none is stated"]
    low: Annotated[float, "seconds: the simulated run is expected to take that at least"]
    high: Annotated[float, "and that at most"]
    changed: Annotated[tuple[str, ...], "operators whose code is another than the one that was measured"]


@frozen(kw_only=True)
class BudgetEntry:
    """The bytes that one call of an accelerator was offered in one memory."""

    partition: str
    target_arch: str
    site: Annotated[str, "the operator"]
    pool: Annotated[str, "the memory"]
    live: Annotated[Signed, "bytes of other buffers that are live there at that time"]
    remaining: Annotated[Signed, "capacity less `live`"]
    guaranteed: Annotated[
        Signed, "the largest block promised to the call; a kernel that takes it always has a feasible plan"
    ]
    gap: Annotated[Signed, "`remaining` less `guaranteed`: alignment and holes"]
    used: Annotated[Signed | None, "bytes that the partition's own buffers took there; null if not known"]


@frozen(kw_only=True)
class AttemptEntry:
    """A change that was made because something did not fit."""

    kind: Annotated[
        str,
        "`re-tile`: lowered again with a smaller budget; `split`: its partition was cut; `re-place`: it "
        "went elsewhere; `stripe`: a core computes neighbours a stripe at a time; `targets`: the whole "
        "model was placed on fewer target_archs; `divide`: operators were divided; `improve`: it fitted, "
        "and another placement may be faster",
    ]
    operator: Annotated[str, "`*` for the whole model"]
    instance: Annotated[
        str,
        "the instance where it did not fit; of the whole model, its target_archs; to improve, where it was "
        "tried",
    ]
    reason: Annotated[str, "why; to improve, the simulated run so far"]
    outcome: Annotated[
        str,
        "the new budget, the place of the cut, or the new instance; to improve, the simulated run, or why "
        "there is none",
    ]


@frozen(kw_only=True)
class PoolEntry:
    """The bytes that one model takes of a part of a memory."""

    memory: Annotated[str, "the memory it is a part of"]
    capacity: Annotated[int, "size of that memory"]
    peak: Annotated[int, "bytes the model takes"]
    bound: Annotated[
        int,
        "the largest sum of bytes that are live in one step: no plan of these steps takes less while "
        "each buffer has bytes of its own",
    ]
    in_place_bound: Annotated[
        int,
        "the same sum with every permitted in-place reuse, and where calls of an instance have bytes in turn "
        "the most of one call: no plan of these steps takes less",
    ]


@frozen(kw_only=True)
class HeldTensor:
    """A tensor that is a part of a buffer."""

    tensor: str
    offset: Annotated[int, "from the start of the buffer"]
    bytes: int


@frozen(kw_only=True)
class BufferEntry:
    """The place and lifetime of a buffer."""

    name: Annotated[str, "`tensor@memory`, or `partition.name` for a local buffer of a kernel"]
    kind: Annotated[
        str, "`input`, `output`, `activation`, `constant`, `local`, `state`, `next state` or `resident`"
    ]
    pool: Annotated[str, "one of `pools`"]
    offset: Annotated[int, "from the start of the pool"]
    bytes: Annotated[int, Whole(least=1)]
    first: Annotated[int, "the number of the step from which on it is live"]
    last: Annotated[int, "the number of the last step in which it is live"]
    over: Annotated[
        str | None,
        "the buffer that it reuses, whose last read is in step `first` as well; null if it has bytes of "
        "its own",
    ]
    holds: Annotated[
        tuple[HeldTensor, ...],
        "further tensors that are parts of it: `tensor`, `offset` from its start, `bytes`",
    ]


@frozen(kw_only=True)
class StepEntry:
    """A step of the bundle."""

    number: Annotated[int, "its place, from 0; the C runtime reports a failed step by it"]
    kind: Annotated[StepKind, "`load`, `fill`, `copy`, `dispatch` or `wait`"]
    what: Annotated[str, "the step in words"]
    event: Annotated[
        str | None,
        "`axi_dma.0#3`: the third asynchronous step on that timeline (of an instance or channel); for a "
        "wait, the event it waits for; null if the step is synchronous",
    ]


@frozen(kw_only=True)
class FramesPoint:
    """A number of frames in flight, and what it takes."""

    frames: Annotated[int, "frames in flight at most"]
    period: Annotated[float, "seconds from one result to the next"]
    pools: Annotated[Mapping[str, int], "bytes of each part of a memory by its name"]


@frozen(kw_only=True)
class FramesEntry:
    """Frames in flight, by the simulated clock."""

    frames: Annotated[int, "frames in flight"]
    rounds: Annotated[int, "rounds of the table of steps, after which the addresses are the same again"]
    round_steps: Annotated[int, "steps of a round"]
    period: Annotated[float, "seconds from one result to the next in steady state"]
    latency: Annotated[float, "seconds from the start of a frame to its result"]
    bound: Annotated[float, "a lower bound of the period in seconds, for any order of the steps"]
    busiest: Annotated[
        str, "the instance, engine, host or memory that is busy for that long with a frame, or `states`"
    ]
    curve: Annotated[tuple[FramesPoint, ...], "fewer frames, and what they take"]
    cores: Annotated[
        tuple[str, ...] | None,
        "equal cores that compute a whole frame each, in turns: the first one the frames that round 0 starts",
        WHERE_THERE,
    ] = None

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A period that is less than its lower bound."""
        below = below_bound(self.period, self.bound * (1 - 1e-9))
        if below is not None:
            yield ("period",), below


@frozen(kw_only=True)
class TimingSpan:
    """A time in which a job of the model has the chip."""

    start: Annotated[float, "seconds from the start of the workload"]
    end: Annotated[float, "likewise"]


@frozen(kw_only=True)
class TimingEntry:
    """A model of a workload in time."""

    schedule: Annotated[Schedule, "`priorities`, or `table` where a table of times decides"]
    period: Annotated[float, "seconds from one job to the next; on demand at least"]
    deadline: Annotated[float, "seconds from when a job is due until it has to be over"]
    offset: Annotated[float, "seconds until the first job is due"]
    jitter: Annotated[float, "seconds from when a job is due until it is released, at most"]
    priority: Annotated[int, "larger ones go first"]
    on_demand: Annotated[bool, "whether the program says when jobs are due"]
    overload: Annotated[Overload, "`skip`, `queue` or `drop_oldest`, where the job before is not over"]
    run: Annotated[float, "seconds of a job alone, with worst times"]
    longest_step: Annotated[float, "seconds that a more urgent job waits at most"]
    worst_response: Annotated[float, "seconds from when a job is due until it is over, at most"]
    blocked: Annotated[float, "of these, by the longest step of a less urgent model"]
    beside: Annotated[float, "of these, by what the host does for models that run at once with it"]
    waits_for: Annotated[
        tuple[str, ...],
        "models, as urgent or more, with whose jobs it does not run at once; by priorities",
    ]
    spans: Annotated[
        tuple[TimingSpan, ...],
        "the times in which the host or a device works for its jobs in a simulation of worst times, at first",
    ]

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """A job that is late."""
        if self.worst_response > self.deadline:
            yield ("worst_response",), "it is longer than the deadline"


@frozen(kw_only=True)
class ModelEntry:
    """A model of a bundle."""

    name: str
    input_shapes: Annotated[
        InputShapesEntry | None,
        "shapes and values of inputs that were [asked for](models.md#open-dimensions); null if none",
    ]
    self_test: Annotated[
        SelfTestEntry, "`reference`, whose answer the self-test has, or `missing`, why it has none"
    ]
    io: Annotated[
        IoOwner,
        "`caller` where inputs and outputs are [memory of the caller](embed.md#memory-of-the-caller), "
        "else `arena`",
    ]
    simplification: Annotated[
        SimplificationEntry | None,
        "what of the file's model is [left out](models.md#what-influences-no-result); null where "
        "it was to be kept",
    ]
    inputs: Annotated[tuple[TensorEntry, ...], "the model's inputs, in its order"]
    outputs: Annotated[tuple[TensorEntry, ...], "the model's outputs, in its order"]
    states: Annotated[
        tuple[StateEntry, ...], "the [states](states.md) of the model, which live from run to run"
    ]
    operators: Annotated[tuple[OperatorEntry, ...], "every operator of the model with the places it could be"]
    partitions: Annotated[tuple[PartitionEntry, ...], "the operators that each instance executes"]
    lowering_order: Annotated[
        tuple[SlotEntry, ...], "the order in which partitions were lowered, with reasons"
    ]
    lowering_policy: Annotated[str, "the policy that made this order"]
    placement: Annotated[PlacementEntry | None, "how the placement was found, and its costs outside of a run"]
    costs: Annotated[
        CostsEntry | None, "where the costs of operators come from; null where all are estimates of backends"
    ]
    execution: Annotated[ExecutionEntry | None, "a simulated run of the steps below"]
    budgets: Annotated[
        tuple[BudgetEntry, ...], "the bytes that each call of an accelerator was offered and took"
    ]
    attempts: Annotated[tuple[AttemptEntry, ...], "what did not fit at first, and how that was solved"]
    pools: Annotated[Mapping[str, PoolEntry], "how full each part of a memory gets, by its name"]
    buffers: Annotated[tuple[BufferEntry, ...], "the place and lifetime of every buffer"]
    steps: Annotated[tuple[StepEntry, ...], "the steps that the bundle executes, in order"]
    tuning: Annotated[
        TuningEntry | None, "the records of a [tuning file](tuning.md) that were used; null without one"
    ]
    verification: Annotated[VerificationEntry | None, "the result of `verify`; null until it has run"]
    frames: Annotated[
        FramesEntry | None, "[frames in flight](frames.md); missing where none were asked for", WHERE_THERE
    ] = None
    timing: Annotated[
        TimingEntry | None,
        "when the model runs in a [workload](workloads.md); missing where there is none",
        WHERE_THERE,
    ] = None
    options: Annotated[
        OptionsEntry | None,
        "the options that it was planned with; missing where all are defaults",
        WHERE_THERE,
    ] = None
    objective: Annotated[
        ObjectiveEntry | None,
        "the [objective of placement](placement.md#objectives); missing where it was a short run without a "
        "limit",
        WHERE_THERE,
    ] = None

    divided: Annotated[
        tuple[DividedEntry, ...] | None,
        "operators of the file that are computed in slices; missing where none is",
        WHERE_THERE,
    ] = None

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """Buffers of pools that the model does not have."""
        for index, buffer in enumerate(self.buffers):
            if buffer.pool not in self.pools:
                yield ("buffers", index), f"there is no pool `{buffer.pool}`"
