"""Parts of models by the names of tensors."""

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.cut import ModelCut, ModelPart, OperatorTensors, TensorGraph

GRAPH = TensorGraph(
    inputs=("x", "mask"),
    outputs=("y", "scores"),
    steps=(
        OperatorTensors(reads=("x", "w"), writes=("a",)),
        OperatorTensors(reads=("a",), writes=("left", "right")),
        OperatorTensors(reads=("left",), writes=("y",)),
        OperatorTensors(reads=("right", "mask"), writes=("block/scores;block/bias",)),
        OperatorTensors(reads=("block/scores;block/bias",), writes=("scores",)),
    ),
)


def part(*, begin: tuple[str, ...] = (), end: tuple[str, ...] = ()) -> ModelPart:
    return GRAPH.part("net.onnx", ModelCut(inputs=begin, outputs=end))


def refused(*, begin: tuple[str, ...] = (), end: tuple[str, ...] = ()) -> str:
    with pytest.raises(DiagnosticError) as caught:
        part(begin=begin, end=end)
    return str(caught.value)


def test_an_output_leaves_what_it_needs() -> None:
    assert part(end=("y",)) == ModelPart(inputs=("x",), outputs=("y",), steps=(0, 1, 2))


def test_outputs_have_the_order_in_which_they_are_named() -> None:
    assert part(end=("scores", "y")).outputs == ("scores", "y")


def test_a_part_begins_at_a_tensor_beside_the_inputs_that_it_still_reads() -> None:
    assert part(begin=("right",), end=("scores",)) == ModelPart(
        inputs=("mask", "right"), outputs=("scores",), steps=(3, 4)
    )


def test_a_part_begins_before_both_outputs() -> None:
    assert part(begin=("a",)) == ModelPart(inputs=("mask", "a"), outputs=("y", "scores"), steps=(1, 2, 3, 4))


def test_the_whole_is_the_part_without_names() -> None:
    assert part() == ModelPart(inputs=("x", "mask"), outputs=("y", "scores"), steps=(0, 1, 2, 3, 4))


@pytest.mark.parametrize("name", ["block/scores;block/bias", "block/scores", "block_scores_block_bias"])
def test_names_may_be_the_first_of_joined_ones_or_as_in_c(name: str) -> None:
    assert part(end=(name,)).outputs == ("block/scores;block/bias",)


def test_unknown_names_are_one_message_each_with_the_nearest() -> None:
    assert refused(begin=("lefd",), end=("zzz",)) == (
        "net.onnx: error: the model has no tensor `lefd` [wrong-cut]\nhint: did you mean `left`?\n\n"
        "net.onnx: error: the model has no computed tensor `zzz` [wrong-cut]\n"
        "hint: it has: `a`, `block/scores`, `left`, `right`, `scores`, `y`"
    )


def test_of_many_names_the_last_ones_are_in_the_hint() -> None:
    steps = [OperatorTensors(reads=(f"t{number}",), writes=(f"t{number + 1}",)) for number in range(12)]
    graph = TensorGraph(inputs=("t0",), outputs=("t12",), steps=steps)
    with pytest.raises(DiagnosticError) as caught:
        graph.part("net.onnx", ModelCut(outputs=("scores",)))
    assert str(caught.value) == (
        "net.onnx: error: the model has no computed tensor `scores` [wrong-cut]\n"
        "hint: the last of 12 are: `t10`, `t11`, `t12`, `t3`, `t4`, `t5`, `t6`, `t7`, `t8`, `t9`"
    )


def test_an_input_that_nothing_reads_is_refused() -> None:
    assert refused(begin=("right",), end=("y",)) == (
        "net.onnx: error: no output that is left follows from `right` [wrong-cut]\n"
        "hint: name a tensor before the outputs"
    )


def test_an_operator_whose_other_result_is_needed_is_not_cut_off() -> None:
    assert refused(begin=("left",)) == (
        "net.onnx: error: `left` cannot be an input: its operator has other results, which are needed "
        "[wrong-cut]\nhint: begin at these, too, or later"
    )
