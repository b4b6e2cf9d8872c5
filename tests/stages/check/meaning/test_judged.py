"""Kernels that were found right once are not judged again, and hide no fault of others."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import LocalBuffer
from target_arch.stages.check.meaning import check
from target_arch.stages.check.meaning.check import RightKernels, check_meaning
from target_arch.stages.errors import CheckError
from tests.stages import chips
from tests.stages.check.meaning.two import ALONE, EDGE, kernel


def test_right_kernels_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: dict[object, RightKernels] = {}
    check_meaning(chips.EDGE, EDGE.graph, EDGE.kernels, EDGE.steps, EDGE.plan, judged)
    (first,) = judged.values()
    monkeypatch.setattr(check, "ModelRules", None)
    check_meaning(chips.EDGE, EDGE.graph, EDGE.kernels, EDGE.steps, EDGE.plan, judged)
    assert [*judged.values()] == [first]


def test_wrong_kernels_are_not_kept() -> None:
    judged: dict[object, RightKernels] = {}
    wrong = kernel(EDGE, "a", lambda each: evolve(each, actions=each.actions[:-1]))
    for _ in range(2):
        with pytest.raises(CheckError):
            check_meaning(chips.EDGE, wrong.graph, wrong.kernels, wrong.steps, wrong.plan, judged)
    assert not judged


def test_an_equal_model_that_is_another_is_judged() -> None:
    judged: dict[object, RightKernels] = {}
    check_meaning(chips.ALONE, ALONE.graph, ALONE.kernels, ALONE.steps, ALONE.plan, judged)
    other = evolve(ALONE.graph, model=evolve(ALONE.graph.model))
    check_meaning(chips.ALONE, other, ALONE.kernels, ALONE.steps, ALONE.plan, judged)
    (found,) = judged.values()
    assert found.graph is other


def test_the_oldest_are_forgotten() -> None:
    judged: dict[object, RightKernels] = {}
    for number in range(check._KEPT + 1):
        unused = LocalBuffer(name="unused", bytes=number + 1, memory="sram")
        made = kernel(ALONE, "a", lambda each, more=unused: evolve(each, buffers=(*each.buffers, more)))
        check_meaning(chips.ALONE, made.graph, made.kernels, made.steps, made.plan, judged)
    assert len(judged) == check._KEPT
