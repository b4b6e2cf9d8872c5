"""A memory that is too small for what some operators read and write: these go elsewhere, and no others."""

from collections.abc import Mapping

import pytest
from attrs import evolve

from target_arch.backend.contract import Question
from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Model
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.lowering.ladder import lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.setting import Setting
from tests.stages import chips
from tests.stages.simulator import Simulator, random_inputs, reference

LINKS = tuple(path for path in chips.COPIES if not {path.source, path.target} & {"tcm", "npu_inp", "npu_out"})
KINDS: Mapping[str, tuple[str, ...]] = {
    "host": ("conv", "soft", "add"),
    "dsp": ("conv", "add"),
    "conv": ("conv",),
    "npu": (),
}
SIZE = 4096
BESIDE = chips.model(
    ("a", "conv", ("x",), SIZE),
    ("b", "conv", ("a",), SIZE),
    ("c", "conv", ("b",), SIZE),
    ("d", "add", ("a", "c"), SIZE),
    ("e", "conv", ("d",), SIZE),
    ("f", "conv", ("e",), SIZE),
    inputs={"x": SIZE},
    weights=64,
)


def supports(question: Question) -> str | None:
    kinds = KINDS[question.instance.arch.name]
    return None if question.operator.kind in kinds else "not its kind"


def chip(sram: int) -> SoC:
    """Tensors rest in the SRAM only."""
    memories = tuple(evolve(m, size=sram) if m.name == "sram" else m for m in chips.EDGE.memories)
    return evolve(chips.EDGE, memories=memories, modes=(evolve(chips.MODE, workspace=("sram",)),))


def lowered(model: Model, soc: SoC) -> Lowered:
    backends = {name: evolve(each, supports=supports) for name, each in chips.BACKENDS.items()}
    setting = Setting.of(soc, backends)
    made = lower_in_order(
        setting=setting,
        place=lambda rules: place(model, setting, backends, rules),
        order=lambda graph: lowering_order(graph, soc, setting.codegens),
        lower=chips.lowerer(soc, 4),
        rules=Rules(),
    )
    inputs = random_inputs(model, 1)
    assert Simulator(made.steps, made.plan, model, lambda: True, 2).run(inputs) == reference(model, inputs)
    return made


def where(made: Lowered) -> str:
    return " ".join(f"{choice.operator}:{choice.instance}" for choice in made.graph.choices)


def test_an_operator_that_overflows_a_memory_leaves_it_and_the_others_stay() -> None:
    assert where(lowered(BESIDE, chip(12288))) == "a:conv b:conv c:conv d:dsp e:conv f:conv"
    made = lowered(BESIDE, chip(10240))
    assert where(made) == "a:conv b:conv c:dsp d:dsp e:conv f:conv"
    reason = "pool `sram` needs 12,288 B, 10,240 B are available"
    assert [str(attempt) for attempt in made.attempts] == [
        f"c does not fit on `conv`: {reason}; re-place: on `dsp`",
        "a on `conv`: fits, 193 us; improve: leaves alone, 206 us",
        "b on `conv`: fits, 193 us; improve: leaves alone, 210 us",
        f"* on `dsp, conv, npu, host`: fits, 193 us; improve: without moves, does not fit: {reason}",
    ]


def test_the_placement_says_what_an_operator_left() -> None:
    choice = lowered(BESIDE, chip(10240)).graph.choice("c")
    refusals = {each.instance: each.refusal for each in choice.candidates}
    why = "does not fit: pool `sram` needs 12,288 B, 10,240 B are available"
    assert refusals == {"host": why, "dsp": None, "conv": why, "npu": "not its kind"}


def test_where_nothing_fits_the_memory_all_leave_it_and_each_is_tried_where_it_was() -> None:
    made = lowered(BESIDE, chip(4096))
    assert where(made) == "a:dsp b:dsp c:dsp d:dsp e:dsp f:dsp"
    tried = [(each.kind, each.operator) for each in made.attempts if each.operator != "*"]
    assert tried == [("re-place", id) for id in "abcef"] + [("improve", id) for id in "bface"]


def test_without_an_instance_off_the_memory_nothing_leaves() -> None:
    with pytest.raises(DoesNotFitError) as refusal:
        lowered(BESIDE, evolve(chip(10240), archs=(chips.HOST, chips.CONV), copies=LINKS))
    assert {attempt.kind for attempt in refusal.value.tried} == {"targets"}
