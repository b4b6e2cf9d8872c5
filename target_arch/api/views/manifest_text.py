"""A manifest for people."""

from collections.abc import Iterable
from typing import Any

from attrs import asdict

from target_arch.plan.costs_used import CostsUsed
from target_arch.plan.execution import Execution
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import BudgetEntry, ModelEntry, StepKind
from target_arch.plan.memory import Arena
from target_arch.plan.model_pools import ModelPool, ModelPools
from target_arch.plan.objective import ObjectiveFacts
from target_arch.plan.partitions import PlacementFacts
from target_arch.plan.printed.text import model_pools, simulated_run, table
from target_arch.plan.printed.verdict import verdict


def report_text(manifest: Manifest) -> str:
    """Partitions, orders, budgets, pools, steps and the verification of each model in a manifest, and where
    there are several the pools of all.
    """
    models = manifest.models
    place = f"on {manifest.soc}, mode {manifest.mode}, ABI hash {manifest.abi_hash}"
    sections = [section for model in models for section in _model(model, place)]
    if len(models) > 1:
        sections.append(model_pools(_model_pools(manifest)))
    return "\n".join(section for section in sections if section)


def _model(model: ModelEntry, place: str) -> tuple[str, ...]:
    """The sections about one model; those that do not concern it are empty."""
    return (
        f"{model.name} {verdict(model)}\n{model.name} {place}\n",
        _partitions(model),
        _run(model),
        _lowering(model),
        _budgets(model),
        _attempts(model),
        _pools(model),
        _states(model),
        _steps(model),
        _verification(model),
    )


def _model_pools(manifest: Manifest) -> ModelPools:
    models = tuple(model.name for model in manifest.models)
    pools = manifest.pools
    return ModelPools(
        models=models,
        arenas=manifest.arenas,
        pools=tuple(
            ModelPool(
                pool=Arena.named(name, pools[name].memory),
                capacity=pools[name].capacity,
                alignment=1,
                overlaid=pools[name].overlaid,
                peaks=tuple(pools[name].peaks[model] for model in models),
                offsets=(),
                bytes=pools[name].bytes,
                apart=pools[name].apart,
            )
            for name in sorted(pools)
        ),
    )


def _partitions(model: ModelEntry) -> str:
    rows = [(part.id, part.instance, str(len(part.operators)), part.reason) for part in model.partitions]
    text = "partitions\n" + table(("id", "instance", "operators", "reason"), rows, right=(2,))
    said = [(part.id, note) for part in model.partitions for note in part.notes]
    return text + ("\nsaid by backends\n" + table(("id", "of its kernel"), said) if said else "")


def _run(model: ModelEntry) -> str:
    simulated, placed = model.execution, model.placement
    if simulated is None:
        return ""
    run = Execution(
        makespan=simulated.makespan,
        bound=simulated.bound,
        division_bound=simulated.division_bound,
        busy=simulated.busy,
        instances=simulated.instances,
        undivided=simulated.undivided,
        copied=simulated.copied,
        filling=simulated.filling,
        alone=simulated.alone,
        overlap=simulated.overlap,
        spans=(),
    )
    facts = None
    if placed is not None:
        aim = None if model.objective is None else ObjectiveFacts(**asdict(model.objective))
        facts = PlacementFacts(**{**asdict(placed), "energy": placed.energy or 0.0, "objective": aim})
    costs = None if model.costs is None else CostsUsed(**asdict(model.costs))
    return simulated_run(run, facts, costs=costs)


def _lowering(model: ModelEntry) -> str:
    order = " ".join(slot.partition for slot in model.lowering_order)
    return f"lowering order: {order}\n"


def _budgets(model: ModelEntry) -> str:
    if not model.budgets:
        return ""
    rows = []
    for (partition, pool, *numbers), sites in _alike(model.budgets).items():
        more = f" and {len(sites) - 1} more" if len(sites) > 1 else ""
        rows.append((partition, sites[0] + more, pool, *map(_number, numbers)))
    header = ("partition", "call site", "pool", "live", "remaining", "guaranteed", "gap", "used")
    return "budgets of the accelerators in bytes\n" + table(header, rows, right=range(3, 8))


def _alike(budgets: Iterable[BudgetEntry]) -> dict[tuple[Any, ...], list[str]]:
    """Call sites by their budget; the sites of a chain share one."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for budget in budgets:
        numbers = (budget.live, budget.remaining, budget.guaranteed, budget.gap, budget.used)
        found.setdefault((budget.partition, budget.pool, *numbers), []).append(budget.site)
    return found


def _attempts(model: ModelEntry) -> str:
    rows = [
        (attempt.kind, attempt.operator, attempt.instance, attempt.outcome, attempt.reason)
        for attempt in model.attempts
    ]
    header = ("tried", "operator", "instance", "outcome", "as it did not fit")
    return "attempts to make it fit\n" + table(header, rows) if rows else ""


def _pools(model: ModelEntry) -> str:
    rows = [
        (name, *map(_number, (pool.capacity, pool.peak, pool.bound, pool.in_place_bound)))
        for name, pool in sorted(model.pools.items())
    ]
    header = ("pool", "capacity", "peak", "bound", "in place")
    return "pools in bytes\n" + table(header, rows, right=range(1, 5))


def _states(model: ModelEntry) -> str:
    if not model.states:
        return ""
    places = {buffer.name: (buffer.pool, buffer.offset) for buffer in model.buffers}
    held = {state.name: places.get(state.buffer, ("", None)) for state in model.states}
    rows = [
        (
            state.name,
            state.dtype + str(list(state.shape)),
            held[state.name][0],
            _number(held[state.name][1]),
            state.initial_buffer or "zeros",
        )
        for state in model.states
    ]
    return "states\n" + table(("state", "type", "pool", "offset", "at first"), rows, right=(3,))


def _steps(model: ModelEntry) -> str:
    kinds = [step.kind for step in model.steps]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in StepKind)
    asynchronous = sum(1 for step in model.steps if step.kind is not StepKind.WAIT and step.event)
    return f"steps: {len(kinds)} ({counts}); {asynchronous} run behind the host's back\n"


def _verification(model: ModelEntry) -> str:
    result = model.verification
    if result is None:
        return "verification: not done\n"
    return (
        f"verification: {'passed' if result.passed else 'FAILED'}, {result.equal} of {result.outputs} "
        f"outputs bit-equal to {result.reference}, largest difference {result.largest:g}\n"
    )


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
