"""The bundle of several models: what they have in common once, the rest for each."""

from collections.abc import Mapping, Sequence

from attrs import evolve

from target_arch.emit.build.libraries import libraries, library_files
from target_arch.emit.build.machine import require_host_alone, require_machine
from target_arch.emit.build.runtime_files import runtime_files
from target_arch.emit.bundle import distinct, finished, internal_header, kernel_files
from target_arch.emit.model.arenas import Arena
from target_arch.emit.model.constants import constants_source
from target_arch.emit.model.header import model_header
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.kernels import kernels
from target_arch.emit.model.stand_ins import stand_ins_source
from target_arch.emit.model.steps import steps_source
from target_arch.emit.several.arenas import arenas_source, constants, own, table
from target_arch.emit.several.header import member_prose, member_source, models_header, models_source
from target_arch.emit.several.programs import models_runner, models_selftest
from target_arch.emit.soc.header import soc_header
from target_arch.emit.soc.source import simulation_source, soc_source
from target_arch.emit.text.names import identifier
from target_arch.plan.bundle import Bundle
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.model_pools import ModelPools
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.steps import Dispatch, StepOrder


def emit_models(
    name: str, models: Sequence[EmitInputs], pools: ModelPools, manifest: Mapping[str, object]
) -> Bundle:
    """Every file of the bundle `name`. Raises as `emit_bundle`, for any of the models."""
    whole = joined(name, models, manifest)
    members = tuple(evolve(member, whole=whole) for member in models)
    require_machine(whole.soc, whole.port)
    for member in members:
        require_host_alone(member)
        kernels(member)
    every = table(members, pools)
    placed = own(members[0], every, pools)
    soc = whole.soc.name
    files = [
        (f"include/{soc}_soc.h", soc_header(whole.soc)),
        (f"include/{whole.stem}.h", models_header(whole, members, pools)),
        (f"src/{whole.stem}.c", models_source(whole, members)),
        (f"src/{whole.stem}_internal.h", internal_header(whole, placed, members)),
        (f"src/{whole.stem}_arenas.c", arenas_source(whole, placed)),
        *kernel_files(whole),
        (f"src/{soc}_soc.c", soc_source(whole)),
        ("src/runner.c", models_runner(whole, members, pools)),
    ]
    for number, member in enumerate(members):
        files += _member_files(member, number, every, pools)
    if whole.port.hosted.simulates:
        files.append((f"src/{soc}_simulation.c", simulation_source(whole, placed)))
        if any(backend.runtime.stand_ins for backend in whole.backends.values()):
            files.append((f"src/{whole.stem}_stand_ins.c", stand_ins_source(whole, members)))
    if any(member.self_test is not None for member in members):
        files.append(("src/selftest.c", models_selftest(whole, members, pools)))
    runtime = runtime_files(whole, several=True)
    carried = library_files(libraries(whole.kernels))
    return finished(whole, {**runtime, **carried, **distinct(whole, files)})


def _member_files(
    member: EmitInputs, number: int, every: Sequence[Arena], pools: ModelPools
) -> list[tuple[str, str]]:
    """What only one of the models has; `number` is its place among them, `every` the arenas of all."""
    model = identifier(member.model.name)
    files = [
        (f"include/{model}.h", model_header(member, member_prose(pools))),
        (f"src/{model}.c", member_source(member, number)),
        (f"src/{model}_steps.c", steps_source(member, own(member, every, pools))),
    ]
    fixed = constants(member, pools)
    if fixed.all:
        files.append((f"src/{model}_constants.c", constants_source(member, fixed)))
    return files


def joined(name: str, members: Sequence[EmitInputs], manifest: Mapping[str, object]) -> EmitInputs:
    """All models as one, for what is emitted once: kernels by `model.partition`, and which of them steps
    dispatch. It has no tensors and no buffers.
    """
    first = members[0]
    model = Model(name=name, source="", inputs=(), outputs=(), tensors={}, operators=())
    partitions = tuple(
        evolve(partition, id=f"{member.model.name}.{partition.id}")
        for member in members
        for partition in member.graph.partitions
    )
    steps = tuple(
        evolve(step, operands=())
        for member in members
        for step in member.steps.steps
        if isinstance(step, Dispatch)
    )
    return EmitInputs(
        soc=first.soc,
        mode=first.mode,
        model=model,
        graph=PartitionGraph(model=model, partitions=partitions, choices=()),
        kernels={f"{m.model.name}.{id}": kernel for m in members for id, kernel in m.kernels.items()},
        steps=StepOrder(steps=steps, buffers=(), inputs=(), outputs=()),
        plan=MemoryPlan(buffers=(), offsets={}),
        backends=first.backends,
        manifest=manifest,
        port=first.port,
        processes=first.processes,
    )
