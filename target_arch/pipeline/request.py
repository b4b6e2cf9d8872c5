"""A request of a user: one model, or several for one bundle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from target_arch.plan.constants_form import ConstantsForm, constants_form
from target_arch.plan.division import Divide, divide
from target_arch.plan.goal import Goal, goal
from target_arch.plan.input_range import NO_RANGES, Ends
from target_arch.plan.inputs.shapes import AS_IN_FILE, InputShapes
from target_arch.plan.memory import IoOwner, io_owner
from target_arch.plan.model_pools import Sharing, sharing
from target_arch.plan.objective import Objective, objective
from target_arch.plan.resident import Resident, resident
from target_arch.plan.tuning import NOTHING_TUNED, Tuning
from target_arch.plan.workloads.workload import Workload
from target_arch.registry.plug_ins import PlugIns
from target_arch.soc.costs import Costs
from target_arch.soc.model import SoC
from target_arch.stages.lowering.order import Wish
from target_arch.stages.memory.planner import BEST, Planner


@frozen(kw_only=True)
class CompileRequest:
    """A request of a user. None and empty mean: as the SoC file says.

    `order` is the partitioning order (target_archs), `lowering_order` a policy or a list of partition
    ids, or one for each phase. `port`, policies and the planner's algorithm are names of plug-ins.
    `require` and `prefer` map operators (id, kind or `*`) to a target_arch or instance, `forbid` to several;
    they go before those of the SoC file, and an empty text (of `forbid`, no target) drops the SoC file's rule
    for that operator. `targets` selects target_archs and is their partitioning order; the
    host always stays. `costs` were measured and count instead of estimates and of the cost file that the SoC
    file names; with `exact` a solver goes on where the search for a placement ends. `plug_ins` are backends,
    ports and others; without them they are those that are installed and those in `backend_dirs`.
    `states` maps names of inputs to those of outputs that are their values in the next run.
    `memory` maps memories to the bytes that the models may take of them at most.
    `images` are programs that the model wants on target_archs, instead of those that the SoC file names.
    `input_shapes` fix dimensions that the model file leaves open, `input_ranges` promise the lowest and the
    highest value of inputs.
    `optimize` is the goal for the generated code. `io` says whose the bytes of model inputs and
    outputs are: with `caller` they are in no arena, and every run is given their addresses. With `keep_dead`
    channels that no result depends on are computed, too. `constants` is the form that constants have.
    `divide` says whether operators may be divided over instances, `resident` whether constants may stay where
    a run would copy them to.
    `passes` are TVM's, for the Relax program of the model.
    `frames` is how many frames may be in flight, `auto` for as many as make results come faster; without it
    the bundle has no functions for that. `objective` is what placement makes least; for throughput `frames`
    are `auto` where nothing else is said. `within` are the seconds that a run, or with frames in flight a
    frame, may take.
    """

    model_path: Path
    soc: SoC
    mode: str = "default"
    lowering_order: Wish | Mapping[str, Wish] | None = None
    order: tuple[str, ...] = ()
    require: Mapping[str, str] = field(factory=dict)
    prefer: Mapping[str, str] = field(factory=dict)
    forbid: Mapping[str, tuple[str, ...]] = field(factory=dict)
    targets: tuple[str, ...] = ()
    costs: Costs | None = None
    tuning: Tuning = NOTHING_TUNED
    exact: bool = False
    optimize: Goal = field(default=Goal.BALANCED, converter=goal)
    io: IoOwner = field(default=IoOwner.ARENA, converter=io_owner)
    planner: Planner = BEST
    backend_dirs: tuple[Path, ...] = ()
    plug_ins: PlugIns | None = field(default=None, repr=False)
    name: str | None = None
    port: str = "host"
    images: Mapping[str, str] = field(factory=dict)
    input_shapes: InputShapes = AS_IN_FILE
    input_ranges: Mapping[str, Ends] = NO_RANGES
    states: Mapping[str, str] = field(factory=dict)
    memory: Mapping[str, int] = field(factory=dict)
    frames: int | str | None = None
    keep_dead: bool = False
    passes: tuple[Any, ...] = field(default=(), eq=False, repr=False)
    constants: ConstantsForm = field(default=ConstantsForm.AUTO, converter=constants_form)
    divide: Divide = field(default=Divide.NEVER, converter=divide)
    objective: Objective = field(default=Objective.LATENCY, converter=objective)
    within: float | None = None
    resident: Resident = field(default=Resident.NEVER, converter=resident)


@frozen(kw_only=True)
class ModelsRequest:
    """Models for one SoC, in the order in which they are planned; one model is a list of one.

    `arenas` is `shared` or `separate`, see `plan.model_pools`. `name` is the bundle's: by default that of a
    single model, `<soc>_models` of several. The models differ in file and name, and may in `require`,
    `prefer` and `forbid`, `costs`, `images` and the like; `soc`, `mode`, `port`, `optimize` and `memory` are
    the same for all. `workload` says when the models run: they are its own, in its order.
    """

    models: tuple[CompileRequest, ...]
    arenas: Sharing = field(default=Sharing.SHARED, converter=sharing)
    name: str | None = None
    workload: Workload | None = None
