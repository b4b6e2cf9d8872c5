"""The printed form of every value between stages: plain text, aligned columns, the same bytes for the same
value.

Every function returns whole lines with a final newline, a heading first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from target_arch.diagnostics import listed
from target_arch.plan.costs_used import CostsUsed
from target_arch.plan.division import DivisionProof, ShareChoice, ShareRun
from target_arch.plan.execution import Execution
from target_arch.plan.kernels import Operand
from target_arch.plan.lowered import Attempt
from target_arch.plan.memory import Arena, Budget, Buffer, MemoryPlan, PoolBudget
from target_arch.plan.model import Model
from target_arch.plan.model_pools import ModelPools, Sharing
from target_arch.plan.objective import Objective, ObjectiveFacts
from target_arch.plan.orders import LoweringOrder
from target_arch.plan.partitions import Candidate, PartitionGraph, PlacementFacts
from target_arch.plan.printed.reasoning import duration, joules, reasoning
from target_arch.plan.steps import Copy, Dispatch, Fill, Load, Step, StepOrder, Wait
from target_arch.soc.words import CacheDuty

_NAMED = 4
"""The operators that a line names before it counts the rest."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Aligned columns, two blanks between them; the columns numbered in `right` are right-aligned."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    aligned = frozenset(right)

    def cell(text: str, column: int) -> str:
        return text.rjust(widths[column]) if column in aligned else text.ljust(widths[column])

    return "".join(
        "  ".join(cell(text, column) for column, text in enumerate(line)).rstrip() + "\n" for line in lines
    )


def placed_operators(graph: PartitionGraph) -> str:
    """How many operators or slices of them each instance has: `2 on host_cpu, 3 on dsp_cpu`."""
    counts: dict[str, int] = {}
    for partition in graph.partitions:
        count = sum(operator.id not in graph.model.links for operator in partition.operators)
        counts[partition.instance] = counts.get(partition.instance, 0) + count
    return ", ".join(f"{count} on {instance}" for instance, count in counts.items() if count)


def counted_operators(model: Model) -> str:
    """How many operators a model has, and how many of them are divided: `15 operators, 4 in 16 slices`."""
    divided = {part.operator for part in model.slices.values()}
    count = len(model.operators) - len(model.slices) - len(model.links) + len(divided)
    slices = f", {len(divided)} of them in {len(model.slices)} slices" if divided else ""
    return f"{count} operators{slices}"


def partition_table(graph: PartitionGraph) -> str:
    """One line per operator in execution order: partition, operator, kind, instance and the reason for it."""
    rows = []
    for partition in graph.partitions:
        for number, operator in enumerate(partition.operators):
            name = partition.id if number == 0 else ""
            rows.append(
                (name, operator.id, operator.kind, partition.instance, graph.choice(operator.id).reason)
            )
    return f"partitions: {len(graph.partitions)}\n" + table(
        ("id", "operator", "kind", "instance", "why there"), rows
    )


_CANDIDATE = ("", "instance", "compute", "copies", "order", "total", "expected run", "refused because")


def explanation(graph: PartitionGraph, operator: str) -> str:
    """Why one operator is where it is and why it is nowhere else, with the run of each candidate where these
    are known. KeyError for an operator the model lacks.
    """
    choice = graph.choice(operator)
    ordered = any(each.cost is not None and each.cost.order for each in choice.candidates)
    shown = (("order", ordered), ("expected run", any(each.run is not None for each in choice.candidates)))
    empty = [_CANDIDATE.index(name) for name, known in shown if not known]
    every = (_CANDIDATE, *(_candidate_row(candidate, choice.instance) for candidate in choice.candidates))
    rows = [tuple(cell for place, cell in enumerate(row) if place not in empty) for row in every]
    heading = f"operator {operator}: on {choice.instance}; {choice.reason}\n"
    heading += f"by {choice.way}\n" if choice.way else ""
    heading += _in_region(graph, operator)
    return heading + table(rows[0], rows[1:], right=range(2, len(rows[0]) - 1)) + reasoning(choice)


def share_choice(choice: ShareChoice) -> str:
    """The expected run of an operator in its shares, and in others."""
    chosen, rest = choice.chosen, sorted(choice.others, key=lambda each: (each.run is None, each.run))
    rows = [
        (
            "*" if each is chosen else "",
            "-" if each.run is None else duration(each.run),
            _places(each, choice),
        )
        for each in (chosen, *rest)
    ]
    heading = f"shares of its {choice.extent} places along axis {choice.axis}\n"
    return heading + table(("", "expected run", "places"), rows, right=(1,))


def _places(each: ShareRun, choice: ShareChoice) -> str:
    """The places of shares, which may be along another axis than most."""
    if each.cut is None or each.cut.axis == choice.axis:
        return each.words
    return f"{each.words}, along axis {each.cut.axis}"


def _in_region(graph: PartitionGraph, operator: str) -> str:
    """A line about the region that an operator is in, which its costs by itself do not have."""
    region = graph.region(operator)
    if region is None:
        return ""
    return f"in a region, which adds {duration(graph.added(region))} to a run: {region}\n"


def lowering_order(order: LoweringOrder) -> str:
    """One line per slot, in order."""
    rows = ((str(n), slot.partition, slot.phase, slot.reason) for n, slot in enumerate(order.slots, start=1))
    return f"lowering order: {order.policy}\n" + table(("slot", "id", "phase", "reason"), rows, right=(0,))


def search(value: PlacementFacts) -> str:
    """How the placement was found, and how far from the bound its makespan is in the search's own model."""
    return (
        f"search: {duration(value.search_makespan)}, "
        f"{_above(value.search_makespan, value.search_bound)} the lower bound of "
        f"{duration(value.search_bound)}, both of the search model; found by {value.method}\n"
    )


def _above(makespan: float, bound: float) -> str:
    return f"{makespan / bound - 1:.1%} above" if makespan > bound > 0 else "at"


def execution(value: Execution) -> str:
    """How long a run takes, then one line per entry in the order of their starts."""
    rows = [
        (duration(span.start), duration(span.end), span.where, span.kind, span.what) for span in value.spans
    ]
    return simulated_run(value) + table(("from", "to", "where", "kind", "what"), rows, right=(0, 1))


def simulated_run(
    value: Execution,
    facts: PlacementFacts | None = None,
    *,
    lowered: bool = True,
    costs: CostsUsed | None = None,
) -> str:
    """The time of a run, its gaps to the bounds, how much of the chip is busy, overlapping steps, how the
    placement was found, and costs beside a run. One that is not `lowered` is of stand-ins for kernels,
    without bounds: real kernels can have fewer steps. `costs` have the interval of the run.
    """
    alone = f"; {duration(value.alone)} one after the other" if value.alone > value.makespan else ""
    name = "simulated run" if lowered else "expected run, before lowering"
    before = f"; {duration(value.undivided)} undivided" if value.undivided else ""
    before += f"; {duration(value.copied)} with all constants copied" if value.copied else ""
    said = f"{_bounds(value) if lowered else ''}{_busy(value)}{before}{alone}; {value.overlap}"
    within = "" if costs is None else interval(costs)
    placed = "" if facts is None else _placed(facts, value.makespan)
    origin = "" if costs is None else costs_used(costs)
    return f"{name}: {duration(value.makespan)}{within}{said}{placed}\n{origin}"


def division_proof(proof: DivisionProof) -> str:
    """A line: how good the best division is among all that the search chooses from."""
    count, run = f"{proof.divisions:,}", duration(proof.run)
    if not proof.proven:
        said = f"at most {proof.most:,} are gone through, so nothing is proved"
        return f"divisions: {count}, the shortest expected run found is {run}; {said}\n"
    left = proof.divisions - proof.asked
    said = f"{proof.asked:,} were replayed, and the bounds of {left:,} are no shorter"
    return f"divisions: none of {count} has a shorter expected run than {run}: {said}\n"


def interval(costs: CostsUsed) -> str:
    """The seconds between which the run is expected, where costs were fitted with a known error."""
    if costs.low >= costs.high:
        return ""
    low, high = duration(costs.low), duration(costs.high)
    same = low.split()[1] == high.split()[1]
    return f", {low.split()[0] if same else low} to {high}"


def costs_used(value: CostsUsed) -> str:
    """How many costs of operators were measured, fitted or estimated, and where and with what error; whose
    code changed since.
    """
    counts = ((value.measured, "measured"), (value.fitted, "fitted"), (value.estimated, "estimated"))
    said = ", ".join(f"{count} {how}" for count, how in counts if count)
    about = f" ({value.about})" if value.about else ""
    error = f"; error of calls of models left out: {value.error}" if value.error else ""
    return f"costs of operators: {said}, from {value.origin}{about}{error}\n{_changed(value.changed)}"


def _changed(operators: Sequence[str]) -> str:
    if not operators:
        return ""
    more = len(operators) - _NAMED
    rest = f" and {more} more" if more > 0 else ""
    return (
        f"code that changed since its cost was measured: {listed(operators[:_NAMED])}{rest}; "
        "`target-arch calibrate --update` measures just that\n"
    )


def _bounds(value: Execution) -> str:
    """The gaps of a run to its bounds."""
    above = _above(value.makespan, value.bound)
    bound = f", {above} the lower bound of {duration(value.bound)} for any order of its steps"
    if not value.division_bound:
        return bound
    above, least = _above(value.makespan, value.division_bound), duration(value.division_bound)
    return f"{bound} and {above} that of {least} for any division of its operators over this chip"


def _busy(value: Execution) -> str:
    """How many instances compute at a time, where there are several."""
    if value.instances < 2:
        return ""
    return f"; {value.busy:.2f} of {value.instances} instances busy on average"


def _placed(facts: PlacementFacts, makespan: float) -> str:
    energy = f"; energy of operators ({facts.metered}): {facts.energy * 1e6:.3g} uJ" if facts.metered else ""
    aim = _objective(facts.objective, makespan)
    return f"; placement found by {facts.method}{_before(facts)}{energy}{aim}"


def _objective(value: ObjectiveFacts | None, makespan: float) -> str:
    """The result of a search for another objective than a short run, and its gap to the bound; the limit of
    time, and by how much a run misses it.
    """
    if value is None:
        return ""
    limit = "" if value.within is None else f"; to take {duration(value.within)} at most"
    if value.within is not None and makespan > value.within:
        limit += f", which a run misses by {duration(makespan - value.within)}"
    above = _above(value.value, value.bound)
    if value.objective is Objective.ENERGY:
        in_time = "" if value.within is None else " in time"
        said = f"least energy: {joules(value.value)}, {above} the lower bound of {joules(value.bound)}"
        return f"; {said} for any placement{in_time}{limit}"
    if value.objective is Objective.THROUGHPUT:
        busy = f"`{value.busiest}` is busy {duration(value.value)} for a frame"
        least = f"{above} the lower bound of {duration(value.bound)} for any placement"
        return f"; for throughput: {busy}, {least}, both of the search model{limit}"
    return limit


def _before(value: PlacementFacts) -> str:
    """The work done once, before the first run."""
    if value.load and value.load_bytes:
        return f"; before the first run {duration(value.load)} to load {value.load_bytes:,} B"
    if value.load or value.load_bytes:
        once = duration(value.load) if value.load else f"{value.load_bytes:,} B"
        return f"; before the first run {once} to load"
    return ""


def budgets(values: Iterable[Budget]) -> str:
    """One line per partition, pool and budget, with the first of the call sites that have it; `used` are the
    bytes that the kernel uses.
    """
    sites: dict[tuple[str, PoolBudget], list[str]] = {}
    for budget in values:
        for site, pools in budget.sites.items():
            for pool in pools:
                sites.setdefault((budget.partition, pool), []).append(site)
    rows = [
        (
            partition,
            named[0] + (f" and {len(named) - 1} more" if len(named) > 1 else ""),
            pool.memory,
            f"{pool.live + pool.remaining:,}",
            f"{pool.live:,}",
            f"{pool.remaining:,}",
            f"{pool.guaranteed:,}",
            f"{pool.gap:,}",
            "" if pool.used is None else f"{pool.used:,}",
        )
        for (partition, pool), named in sites.items()
    ]
    header = ("id", "call site", "pool", "capacity", "live", "remaining", "guaranteed", "gap", "used")
    return "budgets in bytes\n" + table(header, rows, right=range(3, 9))


def attempts(values: Iterable[Attempt]) -> str:
    """One line per attempt, in order; empty where everything fitted at once."""
    rows = [(a.kind, a.operator, a.instance, a.outcome, a.reason) for a in values]
    header = ("tried", "operator", "instance", "outcome", "as it did not fit")
    return f"attempts: {len(rows)}\n" + table(header, rows) if rows else ""


def memory_plan(plan: MemoryPlan, capacities: Mapping[Arena, int] | None = None) -> str:
    """Each arena's capacity, peak, its bound with every buffer apart and with those in place that may be, the
    gap to the lower one, then its buffers by offset.
    """
    known = capacities or {}
    arenas = sorted(plan.peaks)
    rows = [_arena_row(plan, arena, known) for arena in arenas]
    text = "memory plan in bytes\n" + table(
        ("arena", "capacity", "peak", "bound", "in place", "gap"), rows, right=range(1, 6)
    )
    for arena in arenas:
        text += f"\n{arena}\n" + table(
            ("offset", "bytes", "steps", "kind", "buffer"), _buffer_rows(plan, arena), right=(0, 1)
        )
    return text


def model_pools(value: ModelPools) -> str:
    """One line per pool: the bytes of each model, and of all of them, sharing bytes or apart."""
    rows = [
        (
            str(pool.pool),
            f"{pool.capacity:,}",
            *(f"{peak:,}" for peak in pool.peaks),
            f"{pool.bytes:,}",
            f"{pool.apart:,}",
        )
        for pool in value.pools
    ]
    shared = "they run in turn" if value.arenas == Sharing.SHARED else "each keeps its inputs and outputs"
    shared = shared if value.apart is None else "but for jobs that may be open at once"
    heading = f"memory of {len(value.models)} models in bytes, arenas {value.arenas}: {shared}\n"
    header = ("pool", "capacity", *value.models, "together", "apart")
    return heading + table(header, rows, right=range(1, len(header)))


def step_list(order: StepOrder) -> str:
    """One line per step with its event, then which buffers hold the model's inputs and outputs."""
    rows = [(str(number), *_step_row(step)) for number, step in enumerate(order.steps)]
    text = f"steps: {len(order.steps)}\n" + table(
        ("step", "kind", "where", "what", "event"), rows, right=(0,)
    )
    text += "".join(f"input {tensor} in {buffer}\n" for tensor, buffer in order.inputs)
    text += "".join(
        f"state {each.tensor} in {each.now}, then {each.next}, at first {each.initial or 'zeros'}\n"
        for each in order.states
    )
    return text + "".join(f"output {tensor} in {buffer}\n" for tensor, buffer in order.outputs)


def _candidate_row(candidate: Candidate, chosen: str) -> tuple[str, ...]:
    mark = "*" if candidate.instance == chosen else ""
    if candidate.cost is None:
        return (mark, candidate.instance, "", "", "", "", "", candidate.refusal or "")
    cost, run = candidate.cost, "" if candidate.run is None else duration(candidate.run)
    seconds = map(duration, (cost.compute, cost.copy, cost.order, cost.total))
    return (mark, candidate.instance, *seconds, run, "")


def _arena_row(plan: MemoryPlan, arena: Arena, capacities: Mapping[Arena, int]) -> tuple[str, ...]:
    peak, bound = plan.peaks[arena], plan.bounds[arena]
    capacity = f"{capacities[arena]:,}" if arena in capacities else ""
    shared = plan.shared.get(arena, bound)
    return (str(arena), capacity, f"{peak:,}", f"{bound:,}", f"{shared:,}", f"{peak - shared:,}")


def _buffer_rows(plan: MemoryPlan, arena: Arena) -> list[tuple[str, ...]]:
    over = dict(plan.in_place)

    def place(buffer: Buffer) -> tuple[int, int, str]:
        return (plan.offsets[buffer.name], buffer.first, buffer.name)

    return [
        (
            str(plan.offsets[buffer.name]),
            f"{buffer.bytes:,}",
            f"{buffer.first}..{buffer.last}",
            buffer.kind,
            _buffer_text(buffer, over.get(buffer.name)),
        )
        for buffer in sorted((buffer for buffer in plan.buffers if buffer.arena == arena), key=place)
    ]


def _buffer_text(buffer: Buffer, over: str | None) -> str:
    """Its name, the buffer whose place it reuses, the calls that alone touch it, and the other tensors inside
    it.
    """
    calls, held = buffer.calls, ", ".join(f"{each.tensor} at {each.offset}" for each in buffer.aliases)
    alone = "" if calls is None else f" in calls {calls.first}..{calls.last} of {calls.timeline}"
    return buffer.name + (f" over {over}" if over else "") + alone + (f" holds {held}" if held else "")


def _step_row(step: Step) -> tuple[str, str, str, str]:
    for kind, describe in _DESCRIBE:
        if isinstance(step, kind):
            return describe(step)
    raise TypeError(step)


def _load(step: Load) -> tuple[str, str, str, str]:
    return ("load", step.instance, f"{step.process} {step.image or ''}".rstrip(), "")


def _fill(step: Fill) -> tuple[str, str, str, str]:
    return ("fill", *_copy(step.copy)[1:])


def _copy(step: Copy) -> tuple[str, str, str, str]:
    cache = "" if step.cache == CacheDuty.NONE else f" ({step.cache})"
    return ("copy", step.engine, f"{step.source} -> {step.target}{cache}", str(step.event or ""))


def _dispatch(step: Dispatch) -> tuple[str, str, str, str]:
    operands = ", ".join(_operand(operand) for operand in step.operands)
    return ("dispatch", step.instance, f"{step.operator}: {step.function}({operands})", str(step.event or ""))


def _wait(step: Wait) -> tuple[str, str, str, str]:
    return ("wait", step.event.timeline, "", str(step.event))


def _operand(operand: Operand) -> str:
    offset = f"+{operand.offset}" if operand.offset else ""
    rows = f" ({operand.rows}x{operand.bytes}/{operand.stride})" if operand.rows > 1 else ""
    return f"{operand.access} {operand.of}{offset}{rows}"


_DESCRIBE: tuple[tuple[type, Callable[..., tuple[str, str, str, str]]], ...] = (
    (Load, _load),
    (Fill, _fill),
    (Copy, _copy),
    (Dispatch, _dispatch),
    (Wait, _wait),
)
