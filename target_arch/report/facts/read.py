"""A manifest becomes the values of a report."""

from collections.abc import Iterable, Iterator, Mapping

from attrs import asdict, evolve

from target_arch.plan.execution import Activity
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.image import CoreSectionEntry, FillEntry, SectionEntry, StackEntry
from target_arch.plan.manifest.model import (
    BudgetEntry,
    BufferEntry,
    ExecutionEntry,
    ModelEntry,
    SimplificationEntry,
    SpanEntry,
)
from target_arch.plan.manifest.operators import (
    CandidateEntry,
    DividedEntry,
    OperatorEntry,
    PartitionEntry,
)
from target_arch.plan.printed.verdict import verdict
from target_arch.plan.simplification import Simplification
from target_arch.report.facts.divided import cut_of, makers, whole_operators
from target_arch.report.facts.shown import (
    ShownBudget,
    ShownBuffer,
    ShownBundle,
    ShownImage,
    ShownModel,
    ShownOperator,
    ShownPlace,
    ShownPool,
    ShownRun,
)
from target_arch.soc.model import SoC


def read_shown(manifest: Manifest, soc: SoC) -> ShownBundle:
    """The values of a bundle's report."""
    return ShownBundle(
        name=manifest.name,
        soc=soc,
        port=manifest.port,
        machine=None if manifest.machine is None else manifest.machine.name,
        abi_hash=manifest.abi_hash,
        mode=manifest.mode,
        models=tuple(map(_model, manifest.models)),
        pools={name: (pool.capacity, pool.bytes) for name, pool in sorted(manifest.pools.items())},
        images=tuple(_images(manifest)),
    )


def _model(model: ModelEntry) -> ShownModel:
    return ShownModel(
        name=model.name,
        verdict=verdict(model),
        left_out=_left_out(model.simplification),
        inputs=model.inputs,
        outputs=model.outputs,
        states=tuple(state.name for state in model.states),
        operators=_operators(model),
        partitions=model.partitions,
        method="" if model.placement is None else model.placement.method,
        run=None if model.execution is None else _run(model.execution),
        steps=model.steps,
        pools=_pools(model),
        budgets=_budgets(model.budgets),
        policy=model.lowering_policy,
        lowering=model.lowering_order,
        attempts=model.attempts,
        verification=model.verification,
        timing=model.timing,
        frames=model.frames,
    )


def _left_out(entry: SimplificationEntry | None) -> str:
    """The sentence about work that is left out; empty where there is none."""
    return "" if entry is None else str(Simplification(**asdict(entry)))


def _operators(model: ModelEntry) -> tuple[ShownOperator, ...]:
    partitions = {operator: part for part in model.partitions for operator in part.operators}
    made_by = makers(model)
    return tuple(
        _operator(operator, partitions[operator.id], made_by)
        if divided is None
        else _divided(divided, partitions, made_by)
        for operator, divided in whole_operators(model)
        if divided is not None or operator.id in partitions
    )


def _divided(
    entry: DividedEntry, partitions: Mapping[str, PartitionEntry], makers: Mapping[str, str]
) -> ShownOperator:
    cut = cut_of(entry)
    largest = max(cut.shares, key=lambda share: len(share.places)).instance
    parts = dict.fromkeys(partitions[each.slice].id for each in entry.shares)
    whole = evolve(entry.whole, reason=f"divided along axis {cut.axis}: {cut.words}", way="")
    first = evolve(partitions[entry.shares[0].slice], id=", ".join(parts), instance=largest)
    return evolve(_operator(whole, first, makers), cut=cut)


def _operator(entry: OperatorEntry, partition: PartitionEntry, makers: Mapping[str, str]) -> ShownOperator:
    return ShownOperator(
        id=entry.id,
        kind=entry.kind,
        location=entry.location,
        before=tuple(dict.fromkeys(makers.get(name, name) for name in entry.inputs)),
        output=entry.output,
        shape=entry.shape,
        dtype=entry.dtype,
        macs=entry.macs,
        constant_bytes=entry.constant_bytes,
        partition=partition.id,
        instance=partition.instance,
        reason="; by ".join(filter(None, (entry.reason or partition.reason, entry.way))),
        places=tuple(map(_place, entry.candidates)),
    )


def _place(candidate: CandidateEntry) -> ShownPlace:
    cost = candidate.cost
    return ShownPlace(
        instance=candidate.instance,
        compute=None if cost is None else cost.compute,
        copies=() if cost is None else tuple((copy.what, copy.seconds) for copy in cost.copies),
        measured=cost is not None and cost.measured,
        refusal=candidate.refusal,
        change=candidate.change,
    )


def _run(entry: ExecutionEntry) -> ShownRun:
    return ShownRun(
        makespan=entry.makespan,
        bound=entry.bound,
        division_bound=entry.division_bound,
        alone=entry.alone,
        busy=entry.busy,
        instances=entry.instances,
        overlap=entry.overlap,
        spans=tuple(map(_span, entry.entries)),
        waits=tuple(map(_span, entry.waits)),
    )


def _span(entry: SpanEntry) -> Activity:
    return Activity(
        step=entry.step, kind=entry.kind, what=entry.what, where=entry.where, start=entry.start, end=entry.end
    )


def _pools(model: ModelEntry) -> tuple[ShownPool, ...]:
    buffers: dict[str, list[ShownBuffer]] = {}
    for buffer in model.buffers:
        buffers.setdefault(buffer.pool, []).append(_buffer(buffer))
    return tuple(
        ShownPool(
            name=name,
            memory=pool.memory,
            capacity=pool.capacity,
            peak=pool.peak,
            bound=pool.bound,
            in_place_bound=pool.in_place_bound,
            buffers=tuple(buffers.get(name, ())),
        )
        for name, pool in sorted(model.pools.items())
    )


def _buffer(entry: BufferEntry) -> ShownBuffer:
    return ShownBuffer(
        name=entry.name,
        kind=entry.kind,
        offset=entry.offset,
        bytes=entry.bytes,
        first=entry.first,
        last=entry.last,
        over=entry.over,
        holds=tuple((held.tensor, held.offset, held.bytes) for held in entry.holds),
    )


def _budgets(budgets: Iterable[BudgetEntry]) -> tuple[ShownBudget, ...]:
    """One for all call sites with the same numbers, in the order of lowering."""
    alike: dict[tuple[object, ...], list[BudgetEntry]] = {}
    for each in budgets:
        numbers = (each.live, each.remaining, each.guaranteed, each.gap, each.used)
        alike.setdefault((each.partition, each.pool, *numbers), []).append(each)
    return tuple(_budget(entries) for entries in alike.values())


def _budget(entries: list[BudgetEntry]) -> ShownBudget:
    first = entries[0]
    return ShownBudget(
        partition=first.partition,
        pool=first.pool,
        sites=tuple(entry.site for entry in entries),
        live=first.live,
        remaining=first.remaining,
        guaranteed=first.guaranteed,
        gap=first.gap,
        used=first.used,
    )


def _images(manifest: Manifest) -> Iterator[ShownImage]:
    """The program of the machine, then the firmware of every core; as far as they were built."""
    image, machine = manifest.image, manifest.machine
    if image is not None:
        name = "the program" if machine is None else f"the program on {machine.name}"
        sections = [_section(section, section.memory) for section in image.sections]
        yield _image(name, sections, image.memories, image.stack)
    for core in manifest.firmware or ():
        sections = [_section(section, core.memory.memory) for section in core.sections]
        name = f"firmware of {core.target_arch} ({core.core})"
        yield _image(name, sections, [core.memory], core.stack)


def _section(entry: CoreSectionEntry, memory: str) -> SectionEntry:
    return SectionEntry(
        memory=memory,
        section=entry.section,
        what=entry.what,
        predicted=entry.predicted,
        linked=entry.linked,
    )


def _image(
    name: str, sections: Iterable[SectionEntry], memories: Iterable[FillEntry], stack: StackEntry
) -> ShownImage:
    return ShownImage(
        name=name,
        sections=tuple(sections),
        memories=tuple((fill.memory, fill.capacity, fill.linked or 0) for fill in memories),
        stack=stack.predicted,
        stack_reserved=stack.reserved,
        stack_path=stack.path,
    )
