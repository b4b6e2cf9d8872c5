"""The lowering order: a topological order of a lowering graph, the same on every run and machine.

A policy says in which order partitions wish to be lowered: as edges of the lowering graph and as a rank that
decides between partitions that are free. Nodes that are no partition may represent a moment, such as "all C
is lowered".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise
from types import MappingProxyType

from attrs import evolve

from target_arch.backend.policy import Policy, Wishes
from target_arch.diagnostics import Diagnostic, name_hint
from target_arch.plan.kernels import Codegen
from target_arch.plan.orders import PHASES, LoweringOrder, LoweringSlot
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.errors import OrderError, failure

_PLACE = "lowering order"
_C_IS_LOWERED = "every C partition is lowered"


def _sides(graph: PartitionGraph, codegens: Mapping[str, Codegen]) -> tuple[list[str], list[str]]:
    """The partitions whose kernels are functions of a CPU, and the others."""
    c: list[str] = []
    rest: list[str] = []
    for part in graph.partitions:
        (c if codegens[part.instance].is_function else rest).append(part.id)
    return c, rest


def _c_first(graph: PartitionGraph, soc: SoC, codegens: Mapping[str, Codegen]) -> Wishes:
    """Every partition whose kernels are C before any other: only then are the bytes that C takes facts."""
    c, rest = _sides(graph, codegens)
    reasons = dict.fromkeys(c, "its kernels are C, so what they take is known before any budget")
    reasons |= dict.fromkeys(rest, "after all C, with the budget that is left")
    return Wishes(
        reasons=reasons,
        edges=(*((id, _C_IS_LOWERED) for id in c), *((_C_IS_LOWERED, id) for id in rest)),
    )


def _program(graph: PartitionGraph, soc: SoC, codegens: Mapping[str, Codegen]) -> Wishes:
    """In the order of execution."""
    ids = [partition.id for partition in graph.partitions]
    return Wishes(reasons=dict.fromkeys(ids, "its turn in the program"), edges=tuple(pairwise(ids)))


def _accelerators_first(graph: PartitionGraph, soc: SoC, codegens: Mapping[str, Codegen]) -> Wishes:
    """Every accelerator before any C, as other compilers do: no budget then knows the bytes that C will use.

    For comparison.
    """
    c, rest = _sides(graph, codegens)
    reasons = dict.fromkeys(rest, "before any C, with a budget that knows nothing of it")
    reasons |= dict.fromkeys(c, "after all accelerators, with what they left")
    between = "every accelerator partition is lowered"
    return Wishes(reasons=reasons, edges=(*((id, between) for id in rest), *((between, id) for id in c)))


c_first = Policy(
    name="c-first",
    description="all C before any accelerator, so that budgets know what C takes; the default",
    wishes=_c_first,
)
program = Policy(name="program", description="in the order of execution", wishes=_program)
accelerators_first = Policy(
    name="accelerators-first",
    description="every accelerator before any C, for comparison",
    wishes=_accelerators_first,
)

POLICIES: Mapping[str, Policy] = MappingProxyType(
    {policy.name: policy for policy in (c_first, program, accelerators_first)}
)
"""The built-in policies; they are found by entry point, as those of plug-ins are."""

Wish = str | Sequence[str]
"""The name of a policy, or a list of partition ids, instances and target_archs that means every partition
once.
"""


def lowering_order(
    graph: PartitionGraph,
    soc: SoC,
    codegens: Mapping[str, Codegen],
    policy: Wish | Mapping[str, Wish] | None = None,
    policies: Mapping[str, Policy] = POLICIES,
) -> LoweringOrder:
    """The order in which partitions are lowered.

    `codegens` are by instance name. `policy` is a wish for all phases or one for some of them, by phase; by
    default, and for phases left out, what the SoC file says. Phases in a row with one order are one turn of
    each partition; where the order changes, all partitions reach the phase before any goes on. Raises
    OrderError with every mistake.
    """
    by_phase = policy if isinstance(policy, Mapping) else dict.fromkeys(PHASES, policy)
    unknown = [name for name in by_phase if name not in PHASES]
    if unknown:
        raise OrderError(
            _diagnostic("unknown-phase", f"there is no phase `{name}`", name_hint(name, PHASES, "known here"))
            for name in unknown
        )
    described = {phase: soc.lowering_phases.get(phase, soc.lowering) for phase in PHASES}
    asked = ((phase, by_phase.get(phase)) for phase in PHASES)
    wishes = [described[phase] if wish is None else wish for phase, wish in asked]
    known: dict[Wish, LoweringOrder] = {}
    for wish in wishes:
        key = wish if isinstance(wish, str) else tuple(wish)
        if key not in known:
            known[key] = _one(graph, soc, codegens, key, policies)
    orders = [known[wish if isinstance(wish, str) else tuple(wish)] for wish in wishes]
    return _joined(orders)


def _joined(orders: Sequence[LoweringOrder]) -> LoweringOrder:
    """One order per phase as turns: phases in a row with one order are reached in one turn."""
    ends = [n for n in range(len(PHASES)) if n + 1 == len(PHASES) or _ids(orders[n]) != _ids(orders[n + 1])]
    named = dict.fromkeys(order.policy for order in orders)
    names = [f"{phase}: {order.policy}" for phase, order in zip(PHASES, orders, strict=True)]
    return LoweringOrder(
        policy=orders[0].policy if len(named) == 1 else ", ".join(names),
        slots=tuple(slot for end in ends for slot in _reaching(PHASES[end], orders[end].slots)),
    )


def _reaching(phase: str, slots: Sequence[LoweringSlot]) -> Iterable[LoweringSlot]:
    return (slot if slot.phase == phase else evolve(slot, phase=phase) for slot in slots)


def _ids(order: LoweringOrder) -> tuple[str, ...]:
    return tuple(slot.partition for slot in order.slots)


def _one(
    graph: PartitionGraph,
    soc: SoC,
    codegens: Mapping[str, Codegen],
    wanted: str | tuple[str, ...],
    policies: Mapping[str, Policy],
) -> LoweringOrder:
    if isinstance(wanted, str):
        if wanted not in policies:
            hint = name_hint(wanted, policies, "registered")
            raise failure(OrderError, "unknown-policy", _PLACE, f"there is no policy `{wanted}`", hint)
        return _sorted(wanted, graph, policies[wanted].wishes(graph, soc, codegens))
    return _sorted("explicit list", graph, _explicit(graph, soc, wanted))


def _sorted(name: str, graph: PartitionGraph, wishes: Wishes) -> LoweringOrder:
    turns = {partition.id: number for number, partition in enumerate(graph.partitions)}
    ranks = turns if wishes.ranks is None else wishes.ranks
    missing = [id for id in turns if id not in wishes.reasons]
    if missing:
        raise OrderError(_left_out(graph.partition(id)) for id in missing)
    strange = [id for id in wishes.reasons if id not in turns]
    if strange:
        raise OrderError(_unknown(id, set(turns)) for id in strange)
    lowering = TopologicalSorter[str](dict.fromkeys(turns, ()))
    for before, after in wishes.edges:
        lowering.add(after, before)

    def rank(node: str) -> tuple[int, int, str]:
        return (ranks.get(node, -1), turns.get(node, -1), node)

    try:
        lowering.prepare()
    except CycleError as error:
        ring = " before ".join(f"`{node}`" for node in error.args[1])
        message = f"policy `{name}` wishes a cycle: {ring}"
        raise failure(OrderError, "cyclic-order", _PLACE, message) from None
    slots = (
        LoweringSlot(partition=node, phase=PHASES[-1], reason=wishes.reasons[node])
        for node in _least_first(lowering, rank)
        if node in turns
    )
    return LoweringOrder(policy=name, slots=tuple(slots))


def _least_first(
    lowering: TopologicalSorter[str], rank: Callable[[str], tuple[int, int, str]]
) -> Iterator[str]:
    """The nodes in a topological order: of those that are free, always the one of the least rank."""
    free: list[tuple[int, int, str]] = []
    while lowering:
        for node in lowering.get_ready():
            heappush(free, rank(node))
        node = heappop(free)[-1]
        lowering.done(node)
        yield node


def _explicit(graph: PartitionGraph, soc: SoC, names: tuple[str, ...]) -> Wishes:
    """Wishes of a list. A name may be a partition, an instance or a target_arch."""
    arch_of = {instance.name: instance.arch.name for instance in soc.instances}
    meant: dict[str, list[Partition]] = {name: [] for name in (*arch_of, *arch_of.values())}
    for partition in graph.partitions:
        for name in {partition.id, partition.instance, arch_of[partition.instance]}:
            meant.setdefault(name, []).append(partition)
    problems: list[Diagnostic] = []
    taken: dict[str, str] = {}
    seen: set[str] = set()
    for name in names:
        if name not in meant:
            problems.append(_unknown(name, set(meant)))
        if name in seen:
            problems.append(_diagnostic("repeated-order", f"`{name}` is named twice", "name each once"))
            continue
        seen.add(name)
        for partition in meant.get(name, ()):
            if partition.id in taken:
                problems.append(_contradiction(partition, taken[partition.id], name))
            taken.setdefault(partition.id, name)
    problems += [_left_out(partition) for partition in graph.partitions if partition.id not in taken]
    if problems:
        raise OrderError(problems)
    ids = list(taken)
    return Wishes(
        reasons={id: f"listed as `{name}`" for id, name in taken.items()},
        edges=tuple(pairwise(ids)),
    )


def _unknown(name: str, known: set[str]) -> Diagnostic:
    message = f"`{name}` is no partition, no instance and no target_arch"
    return _diagnostic("unknown-in-order", message, name_hint(name, known, "known here"))


def _contradiction(partition: Partition, first: str, second: str) -> Diagnostic:
    message = f"partition `{partition.id}` is meant by `{first}` and again by `{second}`"
    return _diagnostic("contradictory-order", message, "name every partition by one name")


def _left_out(partition: Partition) -> Diagnostic:
    message = f"partition `{partition.id}` on `{partition.instance}` has no turn"
    return _diagnostic("incomplete-order", message, f"add `{partition.id}` or `{partition.instance}`")


def _diagnostic(rule: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(rule=rule, place=_PLACE, message=message, hint=hint)
