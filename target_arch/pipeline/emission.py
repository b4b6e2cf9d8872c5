"""Planned models as the emitter takes them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from target_arch.emit.model.inputs import EmitInputs, Member, SelfTest
from target_arch.pipeline.asked import asked_options
from target_arch.pipeline.packing import checked_pools
from target_arch.pipeline.preparation import PreparedModel
from target_arch.plan.lowered import Lowered
from target_arch.plan.model_pools import Sharing
from target_arch.run.references.find import self_test
from target_arch.soc.costs import NOTHING_MEASURED
from target_arch.soc.model import SoC
from target_arch.stages.setting import Setting
from target_arch.stages.steps.simulation.worst_run import worst_percent

if TYPE_CHECKING:
    from target_arch.plan.workloads.answers import TimedTasks


def emit_inputs(
    name: str,
    prepared: Sequence[PreparedModel],
    lowered: Sequence[Lowered],
    arenas: Sharing,
    timed: "TimedTasks | None" = None,
) -> EmitInputs:
    """The source of a bundle: its models, and their memory together, which is checked."""
    first = prepared[0]
    soc, pools = first.request.soc, checked_pools(prepared, lowered, arenas, timed)
    return EmitInputs(
        name=name,
        soc=soc,
        mode=first.mode,
        backends=first.backends,
        members=tuple(map(_member, prepared, lowered)),
        pools=pools,
        timed=timed,
        port=first.port,
        goal=first.request.optimize,
        constants=first.request.constants.of_bytes(pools.constant_bytes),
        processes={name: first.plug_ins.load_processes[name] for name in _processes(soc)},
    )


def _member(prepared: PreparedModel, lowered: Lowered) -> Member:
    request, model = prepared.request, lowered.model
    pairs = [state.pair for state in model.states if state.pair is not None]
    shapes = [model.tensors[name].shape for name in model.in_file]
    asked = request.input_shapes
    vector = self_test(
        request.model_path,
        shapes,
        pairs,
        asked.values,
        asked.cut,
        imported=model,
        loaded=prepared.program.loaded,
    )
    return Member(
        model=model,
        lowered=lowered,
        tuning=request.tuning,
        input_shapes=request.input_shapes,
        self_test=vector if isinstance(vector, SelfTest) else None,
        no_self_test=vector if isinstance(vector, str) else "",
        options=asked_options(request),
        worst_percent=_worst_percent(prepared.setting, lowered),
    )


def _worst_percent(setting: Setting, lowered: Lowered) -> int | None:
    """See `worst_percent`; estimates of backends have no worst times."""
    return None if setting.costs == NOTHING_MEASURED else worst_percent(setting, lowered)


def _processes(soc: SoC) -> tuple[str, ...]:
    """The names of the load processes of a SoC, each once."""
    return tuple(dict.fromkeys(arch.load.process for arch in soc.archs))
