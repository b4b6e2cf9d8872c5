"""`manifest.json`: the description of a bundle, for programs. The command line prints the same with
`--format=json`."""

from collections.abc import Iterable
from typing import Any

from attrs import asdict

from target_arch.backend.port import PortKind
from target_arch.emit.build.libraries import described, libraries
from target_arch.emit.build.machine import machine_of, toolchain
from target_arch.emit.manifest_operators import operator_facts
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.naming import describe
from target_arch.plan.execution import Execution
from target_arch.plan.lowered import Attempt, Lowered
from target_arch.plan.memory import Budget, IoOwner, MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.model_pools import ModelPool, ModelPools
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Load, Step, StepOrder
from target_arch.soc.model import SoC
from target_arch.soc.numbering import abi_hash

SCHEMA = 2


def manifest(inputs: EmitInputs) -> dict[str, Any]:
    """The manifest as JSON values, names and numbers as in the plan; hashes are hexadecimal text.

    `models` has an entry for each model of the bundle, in their order; beside it is all that is true of the
    bundle, with the bytes that its models take together in `pools`.
    The key `verification` of a model is null until `verify` writes it, `image` and `firmware` of the bundle
    until programs were built for its machine or its cores.
    """
    soc = inputs.soc
    return {
        "schema": SCHEMA,
        "name": inputs.name,
        "soc": soc.name,
        "mode": inputs.mode.name,
        "port": inputs.port.name,
        "machine": _machine(soc, inputs.port),
        "toolchain": toolchain(soc, inputs.port),
        "libraries": described(libraries(inputs.kernels)),
        "abi_hash": f"0x{abi_hash(soc):016x}",
        "optimize": inputs.goal,
        "arenas": inputs.pools.arenas,
        "models": [_model(soc, member) for member in inputs.members],
        "pools": {str(pool.pool): _bundle_pool(inputs.pools, pool) for pool in inputs.pools.pools},
        "image": None,
        "firmware": None,
    }


def _bundle_pool(pools: ModelPools, pool: ModelPool) -> dict[str, object]:
    return {
        "memory": pool.memory,
        "capacity": pool.capacity,
        "bytes": pool.bytes,
        "apart": pool.apart,
        "overlaid": pool.overlaid,
        "peaks": dict(zip(pools.models, pool.peaks, strict=True)),
    }


def _model(soc: SoC, member: Member) -> dict[str, object]:
    """The entry of one model."""
    model, lowered = member.model, member.lowered
    graph, order, steps = lowered.graph, lowered.lowering, lowered.steps
    return {
        "name": model.name,
        "tuning": _used_records(member),
        "input_shapes": _input_shapes(member),
        "self_test": _self_test(member),
        "io": IoOwner.CALLER if member.lends else IoOwner.ARENA,
        "inputs": _tensors(model, steps.inputs),
        "outputs": _tensors(model, steps.outputs),
        "states": _states(model, steps),
        "operators": operator_facts(model, graph),
        "partitions": _partitions(soc, lowered),
        "lowering_order": [
            {"partition": slot.partition, "phase": slot.phase, "reason": slot.reason} for slot in order.slots
        ],
        "lowering_policy": order.policy,
        "placement": placement_facts(graph),
        "execution": execution_facts(lowered.execution),
        "budgets": _budgets(soc, graph, lowered.budgets),
        "attempts": [_attempt(attempt) for attempt in lowered.attempts],
        "pools": _pools(soc, lowered.plan),
        "buffers": _buffers(lowered.plan),
        "steps": [_step(number, step) for number, step in enumerate(steps.steps)],
        "verification": None,
    }


def _input_shapes(member: Member) -> dict[str, object] | None:
    """Shapes that were asked for; None where the file's count."""
    wanted = member.input_shapes
    if not wanted:
        return None
    return {
        "shapes": {name: list(shape) for name, shape in sorted(wanted.shapes.items())},
        "batch": wanted.batch,
        "values": dict(sorted(wanted.values.items())),
    }


def _self_test(member: Member) -> dict[str, object]:
    """The reference whose answer the self-test has, or why it has none."""
    test = member.self_test
    if test is None:
        return {"reference": None, "missing": member.no_self_test}
    return {"reference": test.reference, "missing": None}


def _used_records(member: Member) -> dict[str, list[str]] | None:
    """Tasks of the tuning records that gave kernels their schedules, and the others; None without records."""
    if not member.tuning:
        return None
    used = sorted({task for kernel in member.lowered.kernels.values() for task in kernel.tuned})
    return {"used": used, "unused": sorted(member.tuning.records.keys() - set(used))}


def _machine(soc: SoC, port: PortKind) -> dict[str, object] | None:
    """The machine of a port and its memories; None for a port that needs no machine."""
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


def _states(model: Model, steps: StepOrder) -> list[dict[str, object]]:
    """The states, with the numbers of the input and output that they are in the model's file."""
    authors = {state.tensor: state for state in model.states}
    return [
        {
            **facts,
            "next_buffer": held.next,
            "initial_buffer": held.initial,
            "pair": authors[held.tensor].pair,
        }
        for held in steps.states
        for facts in _tensors(model, ((held.tensor, held.now),))
    ]


def _partitions(soc: SoC, lowered: Lowered) -> list[dict[str, object]]:
    """The partitions, with the backends' notes on their kernels."""
    notes = {partition: kernel.notes for partition, kernel in lowered.kernels.items()}
    return [
        {
            "id": partition.id,
            "target_arch": soc.instance(partition.instance).arch.name,
            "instance": partition.instance,
            "operators": [operator.id for operator in partition.operators],
            "reason": partition.reason,
            "notes": list(notes.get(partition.id, ())),
        }
        for partition in lowered.graph.partitions
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
        "waits": [asdict(span) for span in found.waits],
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
    return {
        str(arena): {
            "memory": arena.memory,
            "capacity": soc.memory(arena.memory).size,
            "peak": plan.peaks[arena],
            "bound": plan.bounds[arena],
            "in_place_bound": plan.shared.get(arena, plan.bounds[arena]),
        }
        for arena in dict.fromkeys(buffer.arena for buffer in plan.buffers)
    }


def _buffers(plan: MemoryPlan) -> list[dict[str, object]]:
    over = dict(plan.in_place)
    return [
        {
            "name": buffer.name,
            "kind": buffer.kind,
            "pool": str(buffer.arena),
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
