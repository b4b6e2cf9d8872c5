"""`manifest.json`: what a bundle is, for programs. The command line prints the same with `--format=json`."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from attrs import asdict

from target_arch.backend.port import PortKind
from target_arch.emit.build.libraries import described
from target_arch.emit.build.machine import machine_of, toolchain
from target_arch.emit.model.steps import describe
from target_arch.plan.attempts import Attempt
from target_arch.plan.execution import Execution
from target_arch.plan.kernels import Kernel, Library
from target_arch.plan.memory import Budget, MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.model_pools import ModelPools
from target_arch.plan.orders import LoweringOrder
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Load, Step, StepOrder
from target_arch.plan.tuning import Tuning
from target_arch.soc.model import MemoryMode, SoC
from target_arch.soc.numbering import abi_hash

SCHEMA = 1


def manifest(
    *,
    soc: SoC,
    mode: MemoryMode,
    model: Model,
    graph: PartitionGraph,
    order: LoweringOrder,
    budgets: Iterable[Budget],
    steps: StepOrder,
    plan: MemoryPlan,
    port: PortKind,
    execution: Execution | None = None,
    attempts: Iterable[Attempt] = (),
    libraries: tuple[Library, ...] = (),
    notes: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    tuning: Mapping[str, list[str]] | None = None,
) -> dict[str, object]:
    """The manifest as JSON values, names and numbers as in the plan; hashes are hexadecimal text.

    `budgets` are those of the accelerator partitions, after lowering, with `used` filled in; `attempts` what
    did not fit before that, `notes` what backends said of their kernels, by partition. The key
    `verification` is null until `verify` writes it, `image` until the program was built for its machine.
    """
    return {
        "schema": SCHEMA,
        "soc": soc.name,
        "mode": mode.name,
        "model": model.name,
        "port": port.name,
        "machine": _machine(soc, port),
        "toolchain": toolchain(soc, port),
        "libraries": described(libraries),
        "tuning": tuning,
        "abi_hash": f"0x{abi_hash(soc):016x}",
        "inputs": _tensors(model, steps.inputs),
        "outputs": _tensors(model, steps.outputs),
        "partitions": _partitions(soc, graph, notes),
        "lowering_order": [
            {"partition": slot.partition, "phase": slot.phase, "reason": slot.reason} for slot in order.slots
        ],
        "lowering_policy": order.policy,
        "placement": placement_facts(graph),
        "execution": execution_facts(execution),
        "budgets": _budgets(soc, graph, budgets),
        "attempts": [_attempt(attempt) for attempt in attempts],
        "pools": _pools(soc, plan),
        "buffers": _buffers(plan),
        "steps": [_step(number, step) for number, step in enumerate(steps.steps)],
        "verification": None,
        "image": None,
    }


def models_manifest(
    name: str, models: Iterable[Mapping[str, object]], pools: ModelPools, libraries: tuple[Library, ...]
) -> dict[str, object]:
    """The manifest of a bundle of several models: what they have in common, and below `models` that of each.

    `pools` say what all models take together; `image` is null until the program was built for its machine.
    """
    each = list(models)
    common = ("schema", "soc", "mode", "port", "machine", "toolchain", "abi_hash")
    return {
        **{key: each[0][key] for key in common},
        "name": name,
        "arenas": pools.arenas,
        "libraries": described(libraries),
        "models": each,
        "pools": {
            pool.pool: {
                "memory": pool.memory,
                "capacity": pool.capacity,
                "bytes": pool.bytes,
                "apart": pool.apart,
                "overlaid": pool.overlaid,
                "peaks": dict(zip(pools.models, pool.peaks, strict=True)),
            }
            for pool in pools.pools
        },
        "image": None,
    }


def used_records(tuning: Tuning, kernels: Mapping[str, Kernel]) -> Mapping[str, list[str]] | None:
    """Tasks of the tuning records that gave kernels their schedules, and the others; None without records."""
    if not tuning:
        return None
    used = sorted({task for kernel in kernels.values() for task in kernel.tuned})
    return {"used": used, "unused": sorted(tuning.records.keys() - set(used))}


def _machine(soc: SoC, port: PortKind) -> dict[str, object] | None:
    """What a port that runs on a machine of its own needs to know; None for one that does not."""
    found = machine_of(soc, port)
    if found is None:
        return None
    described, _, machine = found
    return {
        "name": machine.name,
        "code": described.code,
        "data": described.data,
        "stack": described.stack,
        "memories": [
            {"name": memory.name, "base": memory.base, "bytes": memory.size, "writable": memory.writable}
            for memory in soc.memories
            if memory.base is not None
        ],
    }


def _tensors(model: Model, pairs: tuple[tuple[str, str], ...]) -> list[dict[str, object]]:
    return [
        {
            "name": tensor,
            "shape": list(model.tensors[tensor].shape),
            "dtype": model.tensors[tensor].dtype,
            "bytes": model.tensors[tensor].bytes,
            "buffer": buffer,
        }
        for tensor, buffer in pairs
    ]


def _partitions(
    soc: SoC, graph: PartitionGraph, notes: Mapping[str, tuple[str, ...]]
) -> list[dict[str, object]]:
    return [
        {
            "id": partition.id,
            "target_arch": soc.instance(partition.instance).arch.name,
            "instance": partition.instance,
            "operators": [operator.id for operator in partition.operators],
            "reason": partition.reason,
            "notes": list(notes.get(partition.id, ())),
        }
        for partition in graph.partitions
    ]


def placement_facts(graph: PartitionGraph) -> dict[str, object] | None:
    """How the placement was found, in seconds and joules; None for a graph that placement did not make."""
    found = graph.facts
    return None if found is None else {**asdict(found), "energy": found.energy if found.metered else None}


def execution_facts(found: Execution | None) -> dict[str, object] | None:
    """The simulated run as the manifest has it, in seconds; None where there is none."""
    if found is None:
        return None
    return {
        "makespan": found.makespan,
        "bound": found.bound,
        "gap": found.gap,
        "alone": found.alone,
        "overlap": found.overlap,
        "entries": [asdict(span) for span in found.spans],
    }


def _budgets(soc: SoC, graph: PartitionGraph, budgets: Iterable[Budget]) -> list[dict[str, object]]:
    return [
        {
            "partition": budget.partition,
            "target_arch": soc.instance(graph.partition(budget.partition).instance).arch.name,
            "site": site,
            "pool": pool.memory,
            "live": pool.live,
            "remaining": pool.remaining,
            "guaranteed": pool.guaranteed,
            "gap": pool.gap,
            "used": pool.used,
        }
        for budget in budgets
        for site in budget.sites
        for pool in budget.sites[site]
    ]


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "kind": attempt.kind,
        "operator": attempt.operator,
        "instance": attempt.instance,
        "reason": attempt.reason,
        "outcome": attempt.outcome,
    }


def _pools(soc: SoC, plan: MemoryPlan) -> dict[str, dict[str, object]]:
    memories = {buffer.arena: buffer.memory for buffer in plan.buffers}
    return {
        arena: {
            "memory": memory,
            "capacity": soc.memory(memory).size,
            "peak": plan.peaks[arena],
            "bound": plan.bounds[arena],
            "in_place_bound": plan.shared.get(arena, plan.bounds[arena]),
        }
        for arena, memory in memories.items()
    }


def _buffers(plan: MemoryPlan) -> list[dict[str, object]]:
    over = dict(plan.in_place)
    return [
        {
            "name": buffer.name,
            "kind": buffer.kind,
            "pool": buffer.arena,
            "offset": plan.offsets[buffer.name],
            "bytes": buffer.bytes,
            "first": buffer.first,
            "last": buffer.last,
            "over": over.get(buffer.name),
            "holds": [asdict(alias) for alias in buffer.aliases],
        }
        for buffer in plan.buffers
    ]


def _step(number: int, step: Step) -> dict[str, object]:
    event = None if isinstance(step, Load) else step.event
    return {
        "number": number,
        "kind": type(step).__name__.lower(),
        "what": describe(step),
        "event": str(event) if event is not None else None,
    }
