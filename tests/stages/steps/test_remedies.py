"""What a plan assumes, and when the plan behind the promised budgets may still replace it."""

from target_arch.stages.steps.remedies import Assumptions, pieces_and_spills, waiting_and_moving

WAY = ("w", "sram")


def test_remedies_are_tried_in_this_order() -> None:
    assert [remedy.name for remedy in (*waiting_and_moving(), *pieces_and_spills())] == [
        "wait for dead bytes in flight",
        "copy out early",
        "move tiles again",
        "copy constants in pieces",
        "spill tensors",
    ]


def test_constants_are_whole_for_good_once_no_path_carried_pieces() -> None:
    assumed = Assumptions(drained=("sram",), streamed={WAY: 512})
    whole = assumed.whole()
    assert whole == Assumptions(drained=("sram",), streamable=False)
    assert whole.whole() is None
    assert Assumptions(drained=()).whole() is None


def test_a_plan_is_the_original_one_until_a_constant_goes_in_pieces_or_a_tensor_is_spilled() -> None:
    assert Assumptions(drained=("sram",), reuse=False).original
    assert not Assumptions(drained=(), streamed={WAY: 512}).original
    assert not Assumptions(drained=(), spilled={"x": 1}).original
    assert not Assumptions(drained=(), streamable=False).original
