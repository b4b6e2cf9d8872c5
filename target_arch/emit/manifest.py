"""`manifest.json`: the description of a bundle, for programs. The command line prints the same with
`--format=json`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import asdict

from target_arch.backend.port import PortKind
from target_arch.emit.build.libraries import described, libraries
from target_arch.emit.build.machine import machine_of, toolchain
from target_arch.emit.manifest_operators import divided_entries, operator_entries
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.naming import describe
from target_arch.plan.execution import Activity, Execution
from target_arch.plan.frames import FramePipeline
from target_arch.plan.input_range import InputRange
from target_arch.plan.lowered import Lowered
from target_arch.plan.manifest.bundle import (
    BundlePool,
    CoreStackEntry,
    MachineEntry,
    MachineMemory,
    Manifest,
)
from target_arch.plan.manifest.model import (
    AttemptEntry,
    BoundedEntry,
    BudgetEntry,
    BufferEntry,
    CostsEntry,
    ExecutionEntry,
    FramesEntry,
    FramesPoint,
    HeldTensor,
    InputShapesEntry,
    ModelEntry,
    ObjectiveEntry,
    PlacementEntry,
    PoolEntry,
    RangeEntry,
    SelfTestEntry,
    SimplificationEntry,
    SlotEntry,
    SpanEntry,
    StateEntry,
    StepEntry,
    StepKind,
    TensorEntry,
    TimingEntry,
    TimingSpan,
    TuningEntry,
)
from target_arch.plan.manifest.operators import PartitionEntry
from target_arch.plan.memory import Budget, IoOwner, MemoryPlan
from target_arch.plan.model import Model, Tensor
from target_arch.plan.model_pools import ModelPool, ModelPools
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Copy, Dispatch, Fill, Load, Step, StepOrder, Wait, event_of
from target_arch.plan.workloads.workload import PICO
from target_arch.soc.model import SoC
from target_arch.soc.numbering import abi_hash

if TYPE_CHECKING:
    from target_arch.plan.workloads.answers import TimedTasks

SCHEMA = 2

_KINDS = {
    Load: StepKind.LOAD,
    Fill: StepKind.FILL,
    Copy: StepKind.COPY,
    Dispatch: StepKind.DISPATCH,
    Wait: StepKind.WAIT,
}


def manifest(inputs: EmitInputs) -> Manifest:
    """The manifest with names and numbers as in the plan; hashes are hexadecimal text.

    `models` has an entry for each model of the bundle, in their order. The `verification` of a model is None
    until `verify` writes it, `image` and `firmware` of the bundle until programs were built for its machine
    or its cores, and `files` are empty until every file is there.
    """
    soc = inputs.soc
    return Manifest(
        schema=SCHEMA,
        name=inputs.name,
        soc=soc.name,
        mode=inputs.mode.name,
        port=inputs.port.name,
        machine=_machine(soc, inputs.port),
        toolchain=toolchain(soc, inputs.port),
        libraries=described(libraries(inputs.kernels)),
        abi_hash=f"0x{abi_hash(soc):016x}",
        optimize=inputs.goal,
        arenas=inputs.pools.arenas,
        models=tuple(_model(soc, member, inputs.timed) for member in inputs.members),
        pools={str(pool.pool): _bundle_pool(inputs.pools, pool) for pool in inputs.pools.pools},
        stacks=tuple(CoreStackEntry(**asdict(stack)) for stack in inputs.pools.stacks),
        image=None,
        firmware=None,
    )


def _bundle_pool(pools: ModelPools, pool: ModelPool) -> BundlePool:
    return BundlePool(
        memory=pool.memory,
        capacity=pool.capacity,
        bytes=pool.bytes,
        apart=pool.apart,
        overlaid=pool.overlaid,
        peaks=dict(zip(pools.models, pool.peaks, strict=True)),
    )


def _model(soc: SoC, member: Member, timed: "TimedTasks | None") -> ModelEntry:
    model, lowered = member.model, member.lowered
    graph, order, steps = lowered.graph, lowered.lowering, lowered.steps
    return ModelEntry(
        name=model.name,
        tuning=_used_records(member),
        input_shapes=_input_shapes(member),
        self_test=_self_test(member),
        io=IoOwner.CALLER if member.lends else IoOwner.ARENA,
        simplification=_simplification(model),
        inputs=_tensors(model, steps.inputs),
        outputs=_tensors(model, steps.outputs),
        states=_states(model, steps),
        operators=operator_entries(model, graph),
        partitions=_partitions(soc, lowered),
        lowering_order=tuple(SlotEntry(**asdict(slot)) for slot in order.slots),
        lowering_policy=order.policy,
        placement=placement_entry(graph),
        costs=None if lowered.costs is None else CostsEntry(**asdict(lowered.costs)),
        execution=execution_entry(lowered.execution),
        budgets=_budgets(soc, graph, lowered.budgets),
        attempts=tuple(AttemptEntry(**asdict(attempt)) for attempt in lowered.attempts),
        pools=_pools(soc, lowered.memory),
        buffers=_buffers(lowered.plan),
        steps=tuple(_step(number, step) for number, step in enumerate(steps.steps)),
        verification=None,
        frames=None if lowered.frames is None else frames_entry(lowered.frames),
        timing=None if timed is None else timing_entry(timed, member.name),
        options=member.options,
        objective=objective_entry(lowered.graph),
        divided=divided_entries(lowered),
    )


def timing_entry(timed: "TimedTasks", name: str) -> TimingEntry:
    """The model of a workload in time, in seconds."""
    number = next(number for number, task in enumerate(timed.tasks) if task.name == name)
    response, waits = timed.analysis.responses[number], timed.analysis.waits
    timing, times = response.task.timing, response.times
    return TimingEntry(
        schedule=timed.analysis.schedule,
        period=timing.period / PICO,
        deadline=timing.deadline / PICO,
        offset=timing.offset / PICO,
        jitter=timing.jitter / PICO,
        priority=timing.priority,
        on_demand=timing.demand,
        overload=timing.overload,
        run=times.cost / PICO,
        longest_step=times.longest / PICO,
        worst_response=(response.worst or 0) / PICO,
        blocked=response.blocked / PICO,
        beside=response.beside / PICO,
        waits_for=tuple(timed.tasks[other].name for other in sorted(waits[number])) if waits else (),
        spans=tuple(
            TimingSpan(start=start / PICO, end=end / PICO)
            for task, start, end in timed.spans
            if timed.tasks[task].name == name
        ),
    )


def frames_entry(pipeline: FramePipeline) -> FramesEntry:
    """The pipeline as the manifest has it, in seconds."""
    return FramesEntry(
        frames=pipeline.frames,
        rounds=pipeline.rounds,
        round_steps=pipeline.round_steps,
        period=pipeline.period,
        latency=pipeline.latency,
        bound=pipeline.bound,
        busiest=pipeline.busiest,
        cores=pipeline.cores or None,
        curve=tuple(
            FramesPoint(
                frames=point.frames,
                period=point.period,
                pools={str(arena): size for arena, size in sorted(point.bytes.items())},
            )
            for point in pipeline.curve
        ),
    )


def _simplification(model: Model) -> SimplificationEntry | None:
    """The work that is left out of the file's model; None where everything was to be kept."""
    left = model.simplification
    return None if left is None else SimplificationEntry(**asdict(left))


def _input_shapes(member: Member) -> InputShapesEntry | None:
    """Shapes that were asked for; None where the file's count."""
    wanted = member.input_shapes
    if not wanted:
        return None
    return InputShapesEntry(
        shapes=dict(sorted(wanted.shapes.items())),
        batch=wanted.batch,
        values=dict(sorted(wanted.values.items())),
        inputs=wanted.cut.inputs,
        outputs=wanted.cut.outputs,
    )


def _self_test(member: Member) -> SelfTestEntry:
    """The reference whose answer the self-test has, or why it has none."""
    test = member.self_test
    if test is None:
        return SelfTestEntry(reference=None, missing=member.no_self_test)
    return SelfTestEntry(reference=test.reference, missing=None)


def _used_records(member: Member) -> TuningEntry | None:
    """Tasks of the tuning records that gave kernels their schedules, and the others; None without records."""
    if not member.tuning:
        return None
    used = {task for kernel in member.lowered.kernels.values() for task in kernel.tuned}
    return TuningEntry(used=tuple(sorted(used)), unused=tuple(sorted(member.tuning.records.keys() - used)))


def _machine(soc: SoC, port: PortKind) -> MachineEntry | None:
    """The machine of a port and its memories; None for a port that needs no machine."""
    on_machine = machine_of(soc, port)
    if on_machine is None:
        return None
    about, _, machine = on_machine
    return MachineEntry(
        name=machine.name,
        code=about.code,
        data=about.data,
        stack=about.stack,
        memories=tuple(
            MachineMemory(name=memory.name, base=memory.base, bytes=memory.size, writable=memory.writable)
            for memory in soc.memories
            if memory.base is not None
        ),
    )


def _tensors(model: Model, pairs: tuple[tuple[str, str], ...]) -> tuple[TensorEntry, ...]:
    return tuple(
        TensorEntry(
            name=name,
            shape=model.tensors[name].shape,
            dtype=model.tensors[name].dtype,
            bytes=model.tensors[name].bytes,
            buffer=buffer,
            bounded=_bounded(model.tensors[name]),
            range=_range(model.input_ranges.get(name)),
        )
        for name, buffer in pairs
    )


def _bounded(tensor: Tensor) -> BoundedEntry | None:
    bound = tensor.bounded
    return None if bound is None else BoundedEntry(axis=bound.axis, count=bound.count)


def _range(promised: InputRange | None) -> RangeEntry | None:
    return None if promised is None else RangeEntry(low=promised.low, high=promised.high)


def _states(model: Model, steps: StepOrder) -> tuple[StateEntry, ...]:
    """The states, with the numbers of the input and output that they are in the model's file."""
    authors = {state.tensor: state for state in model.states}
    return tuple(
        StateEntry(
            name=state.tensor,
            shape=model.tensors[state.tensor].shape,
            dtype=model.tensors[state.tensor].dtype,
            bytes=model.tensors[state.tensor].bytes,
            buffer=state.now,
            next_buffer=state.next,
            initial_buffer=state.initial,
            pair=authors[state.tensor].pair,
        )
        for state in steps.states
    )


def _partitions(soc: SoC, lowered: Lowered) -> tuple[PartitionEntry, ...]:
    """The partitions, with the backends' notes on their kernels."""
    notes = {partition: kernel.notes for partition, kernel in lowered.kernels.items()}
    return tuple(
        PartitionEntry(
            id=partition.id,
            target_arch=soc.instance(partition.instance).arch.name,
            instance=partition.instance,
            operators=tuple(operator.id for operator in partition.operators),
            reason=partition.reason,
            notes=tuple(notes.get(partition.id, ())),
        )
        for partition in lowered.graph.partitions
    )


def placement_entry(graph: PartitionGraph) -> PlacementEntry | None:
    """How the placement was found, in seconds and joules; None for a graph that placement did not make."""
    facts = graph.facts
    if facts is None:
        return None
    own = {name: value for name, value in asdict(facts).items() if name != "objective"}
    return PlacementEntry(**{**own, "energy": facts.energy if facts.metered else None})


def objective_entry(graph: PartitionGraph) -> ObjectiveEntry | None:
    """The objective of the placement; None for a short run without a limit."""
    value = None if graph.facts is None else graph.facts.objective
    return None if value is None else ObjectiveEntry(**asdict(value))


def execution_entry(run: Execution | None) -> ExecutionEntry | None:
    """The simulated run as the manifest has it, in seconds; None where there is none."""
    if run is None:
        return None
    return ExecutionEntry(
        makespan=run.makespan,
        bound=run.bound,
        gap=run.gap,
        division_bound=run.division_bound,
        busy=run.busy,
        instances=run.instances,
        undivided=run.undivided,
        copied=run.copied,
        filling=run.filling,
        alone=run.alone,
        overlap=run.overlap,
        entries=tuple(map(_span, run.spans)),
        waits=tuple(map(_span, run.waits)),
    )


def _span(activity: Activity) -> SpanEntry:
    return SpanEntry(**asdict(activity))


def _budgets(soc: SoC, graph: PartitionGraph, budgets: Iterable[Budget]) -> tuple[BudgetEntry, ...]:
    return tuple(
        BudgetEntry(
            partition=budget.partition,
            target_arch=soc.instance(graph.partition(budget.partition).instance).arch.name,
            site=site,
            pool=pool.memory,
            live=pool.live,
            remaining=pool.remaining,
            guaranteed=pool.guaranteed,
            gap=pool.gap,
            used=pool.used,
        )
        for budget in budgets
        for site in budget.sites
        for pool in budget.sites[site]
    )


def _pools(soc: SoC, plan: MemoryPlan) -> dict[str, PoolEntry]:
    return {
        str(arena): PoolEntry(
            memory=arena.memory,
            capacity=soc.memory(arena.memory).size,
            peak=plan.peaks[arena],
            bound=plan.bounds[arena],
            in_place_bound=plan.shared.get(arena, plan.bounds[arena]),
        )
        for arena in dict.fromkeys(buffer.arena for buffer in plan.buffers)
    }


def _buffers(plan: MemoryPlan) -> tuple[BufferEntry, ...]:
    over = dict(plan.in_place)
    return tuple(
        BufferEntry(
            name=buffer.name,
            kind=buffer.kind,
            pool=str(buffer.arena),
            offset=plan.offsets[buffer.name],
            bytes=buffer.bytes,
            first=buffer.first,
            last=buffer.last,
            over=over.get(buffer.name),
            holds=tuple(HeldTensor(**asdict(alias)) for alias in buffer.aliases),
        )
        for buffer in plan.buffers
    )


def _step(number: int, step: Step) -> StepEntry:
    event = event_of(step)
    return StepEntry(
        number=number,
        kind=_KINDS[type(step)],
        what=describe(step),
        event=str(event) if event is not None else None,
    )
