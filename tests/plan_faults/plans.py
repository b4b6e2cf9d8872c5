"""Random right plans: of small graphs whose accelerators move tiles, and of random ONNX models as they are
compiled for random chips. Half of the models have states. In those with residents, constants that a run would
copy stay where `init` has copied them.
"""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import onnx
from attrs import evolve, field, fields, frozen

from conformance.random_nets.chips import chip
from conformance.random_nets.nets import net
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsRequest, compile_models
from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Model
from target_arch.plan.resident import Resident
from target_arch.plan.steps import Fill
from target_arch.relax.operators.states import StatePair, with_states
from target_arch.soc.model import SoC
from target_arch.stages.check.meaning.check import check_meaning
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import parts
from target_arch.stages.errors import CheckError
from target_arch.stages.lowering.ladder import sizes
from tests.plan_faults.execution import outcomes
from tests.plan_faults.faults import FAULTS, FILL_FAULTS, Fault
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

_MOST = 2048
"""Bytes of the largest concatenation."""


@frozen(kw_only=True)
class RightPlan:
    """A plan that the checker accepts, and the chip that it is for."""

    soc: SoC
    lowered: Lowered
    kinds: Mapping[str, Fault] = field(default=FAULTS, repr=False)

    @property
    def right(self) -> Lowered:
        """What faults are planted into."""
        return self.lowered

    def accepts(self, changed: Lowered) -> bool:
        """True where a compilation would end with this plan."""
        model = self.lowered.graph.model
        known = sizes(self.lowered.graph, self.lowered.kernels)
        try:
            check(self.soc, changed.steps, changed.plan, known, parts(model), model.states)
            check_meaning(self.soc, changed.graph, changed.kernels, changed.steps, changed.plan)
        except CheckError:
            return False
        return True

    def outcomes(self, changed: Lowered, seed: int) -> object:
        """What is left by runs of the plan."""
        return outcomes(changed, seed)


def plan(number: int) -> RightPlan | None:
    """The plan of that number; None where the model of that number is refused."""
    try:
        return _compiled(number) if number % 2 else _small(number)
    except DiagnosticError:
        return None


def plan_with_residents(number: int) -> RightPlan | None:
    """The plan of that number with residents; None where no constant is copied, or none has room."""
    random = Random(number)
    soc = random.choice((chips.EDGE, chips.EDGE, chips.quad()))
    setting = evolve(chips.setting(soc), resident=Resident.AUTO)
    lower, model = chips.lowerer(soc, random.choice((1, 2, 4))), small_model(random)
    made = lowered(model, soc, lower, setting=setting)
    if not any(isinstance(step, Fill) for step in made.steps.steps):
        return None
    return RightPlan(soc=soc, lowered=made, kinds={**FAULTS, **FILL_FAULTS})


def _small(number: int) -> RightPlan:
    """Graphs with several inputs, outputs and weights of equal size, so that one fits in another's place."""
    random = Random(number)
    soc = random.choice((chips.EDGE, chips.EDGE, chips.quad(), chips.ALONE))
    tiles = random.choice((1, 2, 4))
    return RightPlan(soc=soc, lowered=lowered(small_model(random), soc, chips.lowerer(soc, tiles)))


def small_model(random: Random) -> Model:
    """A graph with several inputs, outputs and weights of equal size, with states in half of the cases."""
    sizes = dict.fromkeys(("x", "y", "c", "d")[: random.randint(2, 4)], 512)
    inputs = dict(sizes)
    rows: list[tuple[str, str, tuple[str, ...], int]] = []
    for number in range(random.randint(2, 9)):
        kind = random.choice(("conv", "conv", "dense", "soft", "add", "add", "other", "concat", "reshape"))
        count = 2 if kind in ("add", "concat") else 1
        reads = tuple(random.choice(list(sizes)[-5:]) for _ in range(count))
        if kind == "concat" and sum(sizes[name] for name in reads) > _MOST:
            continue
        moves = kind in ("concat", "reshape")
        size = sum(sizes[name] for name in reads) if moves else 512
        rows.append((f"n{number}", kind, reads, size))
        sizes[f"n{number}"] = size
    return _stateful(chips.model(*rows, inputs=inputs, weights=64), random)


def _stateful(model: Model, random: Random) -> Model:
    """Half of the models with inputs as states, where results have as many bytes."""
    results = [each.output for each in model.operators if model.tensors[each.output].bytes == 512]
    count = min(random.choice((0, 0, 1, 2)), len(model.inputs) - 1, len(results))
    chosen = random.sample(results, count)
    outputs = tuple(dict.fromkeys((*model.outputs, *chosen)))
    pairs = [
        StatePair(
            input=len(model.inputs) - 1 - number,
            output=outputs.index(name),
            initial=random.choice((None, random.randbytes(512))),
        )
        for number, name in enumerate(chosen)
    ]
    return with_states(evolve(model, outputs=outputs), pairs, outputs) if pairs else model


def _compiled(number: int) -> RightPlan:
    soc = chip(number // 20)
    chosen = Random(number).choice(soc.archs).name
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"n{number}.onnx"
        onnx.save(net(number), path)
        request = CompileRequest(model_path=path, soc=soc, targets=(chosen,), prefer={"*": chosen})
        (made,) = compile_models(ModelsRequest(models=(request,))).models
    known = {each.name: getattr(made, each.name) for each in fields(Lowered)}
    return RightPlan(soc=soc, lowered=Lowered(**known))
