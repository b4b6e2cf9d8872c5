"""Random right plans: of small graphs whose accelerators move tiles, and of random ONNX models as they are
compiled for random chips. Half of the models have states.
"""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import onnx
from attrs import evolve, fields, frozen

from conformance.random_nets.chips import chip
from conformance.random_nets.nets import net
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsRequest, compile_models
from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Model
from target_arch.relax.operators.states import StatePair, with_states
from target_arch.soc.model import SoC
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

_MOST = 2048
"""Bytes of the largest concatenation."""


@frozen(kw_only=True)
class RightPlan:
    """A plan that the checker accepts, and the chip that it is for."""

    soc: SoC
    lowered: Lowered


def plan(number: int) -> RightPlan | None:
    """The plan of that number; None where the model of that number is refused."""
    try:
        return _compiled(number) if number % 2 else _small(number)
    except DiagnosticError:
        return None


def _small(number: int) -> RightPlan:
    """Graphs with several inputs, outputs and weights of equal size, so that one fits in another's place."""
    random = Random(number)
    soc = random.choice((chips.EDGE, chips.EDGE, chips.quad(), chips.ALONE))
    tiles = random.choice((1, 2, 4))
    return RightPlan(soc=soc, lowered=lowered(_model(random), soc, chips.lowerer(soc, tiles)))


def _model(random: Random) -> Model:
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
