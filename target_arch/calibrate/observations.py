"""The counted amounts, by the operators of each call and by copy."""

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from target_arch.backend.contract import Backend, Question
from target_arch.calibrate.counters import HostOrder
from target_arch.pipeline import CompiledModel
from target_arch.plan.code_identity import code_hashes
from target_arch.plan.kernels import Call, Kernel
from target_arch.plan.model import Operator
from target_arch.plan.partitions import Partition
from target_arch.plan.signature import signature
from target_arch.plan.steps import Copy, Dispatch
from target_arch.stages.placement.work_units import work_parts


@frozen(kw_only=True)
class Work:
    """The operators of one call, the first of them `operator`: their units of work, what the backend expects
    of each unit, and of all, in the unit of the counter. `shares` has the part of each operator in it, by
    signature.
    """

    model: str
    target_arch: str
    operator: str
    units: Mapping[str, float] = field(repr=False)
    priced: Mapping[str, float] = field(repr=False)
    estimate: float
    shares: tuple[tuple[str, float], ...] = field(repr=False)
    kernel: str


@frozen(kw_only=True)
class Observation:
    """The work of a call, and what it took: seconds, cycles or instructions."""

    work: Work
    amount: float


@frozen(kw_only=True)
class CopyObservation:
    """A copy step, and what it took."""

    model: str
    source: str
    target: str
    engine: str
    bytes: int
    amount: float


@frozen(kw_only=True)
class OrderObservation:
    """The seconds of the host for a step of a target_arch or a DMA engine."""

    device: str
    start: float
    end: float


def works(made: CompiledModel, arch: str, backend: Backend, *, cycles: bool) -> tuple[Work, ...]:
    """The calls of a model at a target_arch; estimates in cycles of its clock where `cycles`."""
    soc = made.request.soc
    partitions = [p for p in made.graph.partitions if soc.instance(p.instance).arch.name == arch]
    return tuple(
        work
        for partition in partitions
        for work in _of_partition(made, partition, made.kernels[partition.id], backend, cycles)
    )


def _of_partition(
    made: CompiledModel, partition: Partition, kernel: Kernel, backend: Backend, cycles: bool
) -> Iterator[Work]:
    instance = made.request.soc.instance(partition.instance)
    hashes = code_hashes(kernel, {**backend.runtime.files(), **backend.runtime.simulator()})
    for first, operators in _grouped(partition, kernel):
        questions = [
            Question(
                operator=operator,
                model=made.model,
                instance=instance,
                soc=made.request.soc,
                goal=made.request.optimize,
            )
            for operator in operators
        ]
        scale = instance.arch.clock if cycles else 1.0
        estimates = [backend.cost(question) * scale for question in questions]
        units, priced = dict[str, float](), dict[str, float]()
        for question in questions:
            for unit, part in work_parts(question, backend).items():
                units[unit] = units.get(unit, 0.0) + part.count
                priced[unit] = priced.get(unit, 0.0) + part.seconds * scale
        total = sum(estimates) or 1.0
        yield Work(
            model=made.model.name,
            target_arch=instance.arch.name,
            operator=first,
            units=units,
            priced=priced,
            estimate=sum(estimates),
            shares=tuple(
                (signature(operator, made.model), estimate / total)
                for operator, estimate in zip(operators, estimates, strict=True)
            ),
            kernel=hashes[first],
        )


def _grouped(partition: Partition, kernel: Kernel) -> Iterator[tuple[str, Sequence[Operator]]]:
    """The operators of each call, by the operator that the call is named after: those without a call of their
    own belong to the call before them, or the first one; those of a region to its call.
    """
    called = {call.operator for call in kernel.actions if isinstance(call, Call)}
    ends = {region.operators[-1]: region.operators for region in partition.regions}
    inside = {name: last for last in ends for name in ends[last]}
    waiting: list[Operator] = []
    groups: dict[str, list[Operator]] = {}
    current = ""
    for operator in partition.operators:
        name = inside.get(operator.id, operator.id)
        if name in called:
            current = name
            groups.setdefault(current, []).extend((*waiting, operator))
            waiting = []
        elif current:
            groups[current].append(operator)
        else:
            waiting.append(operator)
    yield from groups.items()


def observations(
    made: CompiledModel, found: Sequence[Work], amounts: Mapping[int, float]
) -> tuple[Observation, ...]:
    """The calls that were counted: a call of several commands takes all of them."""
    totals: dict[str, float] = {}
    for number, step in enumerate(made.steps.steps):
        if isinstance(step, Dispatch) and number in amounts:
            totals[step.operator] = totals.get(step.operator, 0.0) + amounts[number]
    return tuple(
        Observation(work=work, amount=totals[work.operator])
        for work in found
        if totals.get(work.operator, 0.0) > 0
    )


def copies(made: CompiledModel, amounts: Mapping[int, float]) -> tuple[CopyObservation, ...]:
    """The copies that were counted."""
    memories = {buffer.name: buffer.memory for buffer in made.steps.buffers}
    return tuple(
        CopyObservation(
            model=made.model.name,
            source=memories[step.source.of],
            target=memories[step.target.of],
            engine=step.engine,
            bytes=step.source.bytes,
            amount=amounts[number],
        )
        for number, step in enumerate(made.steps.steps)
        if isinstance(step, Copy) and number in amounts
    )


def orders(made: CompiledModel, counted: Mapping[int, HostOrder]) -> tuple[OrderObservation, ...]:
    """The orders that were timed."""
    soc = made.request.soc
    return tuple(
        OrderObservation(
            device=step.engine if isinstance(step, Copy) else soc.instance(step.instance).arch.name,
            start=counted[number].start,
            end=counted[number].end,
        )
        for number, step in enumerate(made.steps.steps)
        if isinstance(step, Copy | Dispatch) and number in counted
    )
