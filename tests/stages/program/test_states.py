"""States: sequences of runs are right whatever the timing, in place where that is safe, and the checker finds
what would lose one.
"""

from random import Random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.memory import Arena, BufferKind, MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.printed import text
from target_arch.plan.steps import Dispatch, StepOrder
from target_arch.relax.operators.states import StatePair, with_states
from target_arch.soc.model import SoC
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import parts
from target_arch.stages.errors import CheckError
from target_arch.stages.lowering.ladder import Lowered, sizes
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered, models
from tests.stages.simulator import Simulator, random_inputs, reference


def stateful(model: Model, *pairs: tuple[str, str]) -> Model:
    """The model with these inputs and outputs as states."""
    made = [
        StatePair(input=model.inputs.index(one), output=model.outputs.index(other)) for one, other in pairs
    ]
    return with_states(model, made, model.outputs)


SUM = stateful(
    evolve(
        chips.model(("t", "conv", ("x",), 512), ("s", "add", ("t", "c"), 512), ("y", "soft", ("s",), 512),
                    inputs={"x": 512, "c": 512}),
        outputs=("y", "s"),
    ),
    ("c", "s"),
)  # fmt: skip
"""The next value of `c` is a sum that may be written over it."""

SWAP = stateful(
    evolve(
        chips.model(("s", "add", ("a", "x"), 512), ("y", "add", ("a", "b"), 512),
                    inputs={"x": 512, "a": 512, "b": 512}),
        outputs=("y", "b", "s"),
    ),
    ("a", "b"),
    ("b", "s"),
)  # fmt: skip
"""The next value of `a` is `b`."""


def kernels(model: Model) -> Lowered:
    return lowered(model, chips.ALONE)


def checked(result: Lowered, steps: StepOrder | None = None, plan: MemoryPlan | None = None) -> list[str]:
    """The faults that the checker finds."""
    known, model = sizes(result.graph, result.kernels), result.graph.model
    try:
        check(chips.ALONE, steps or result.steps, plan or result.plan, known, parts(model), model.states)
    except CheckError as error:
        return [f"{each.message} [{each.rule}]" for each in error.diagnostics]
    return []


def test_how_a_model_prints() -> None:
    assert str(SUM).splitlines()[1:] == [
        "  input  x: int8[512]",
        "  state  c: int8[512], then c_next, at first zeros",
        "  t conv[tflite](x) -> t: int8[512]",
        "  s add[tflite](t, c) -> s: int8[512]",
        "  y soft[tflite](s) -> y: int8[512]",
        "  store_c_next store[float](s) -> c_next: int8[512]",
        "  output y: int8[512]",
    ]


def test_a_name_that_is_taken() -> None:
    made = evolve(
        chips.model(("c_next", "add", ("x", "c"), 512), ("y", "soft", ("c_next",), 512),
                    inputs={"x": 512, "c": 512}),
        outputs=("y", "c_next"),
    )  # fmt: skip
    model = stateful(made, ("c", "c_next"))
    assert [(each.tensor, each.next) for each in model.states] == [("c", "c_next_2")]
    assert checked(kernels(model)) == []


def test_a_next_value_is_written_over_the_state_where_the_producer_may() -> None:
    result = kernels(SUM)
    assert not any(
        isinstance(step, Dispatch) and step.operator == "store_c_next" for step in result.steps.steps
    )
    assert text.memory_plan(result.plan).partition("sram.states\noffset")[2].splitlines()[1:] == [
        "     0    512  0..1   state       c@sram",
        "     0    512  1..2   next state  c_next@sram over c@sram holds s at 0",
    ]
    assert result.plan.peaks[Arena("sram", state=True)] == 512


def test_states_that_are_read_later_are_stored_by_a_copy() -> None:
    result = kernels(SWAP)
    stores = [s.operator for s in result.steps.steps if isinstance(s, Dispatch) and "store" in s.operator]
    assert stores == ["store_a_next", "store_b_next"]
    assert "state b in b@sram, then b_next@sram, at first zeros\n" in text.step_list(result.steps)


def test_a_next_value_begins_behind_the_last_tile_that_a_later_kernel_reads_of_the_state() -> None:
    """`n5` could take turns with `n0`, byte by byte, on another accelerator."""
    made = chips.model(
        ("n0", "conv", ("d",), 512),
        ("n1", "dense", ("x",), 512),
        ("n3", "conv", ("d",), 512),
        ("n5", "dense", ("n3",), 512),
        inputs=dict.fromkeys(("x", "y", "c", "d"), 512),
        weights=64,
    )
    model = stateful(evolve(made, outputs=("n0", "n5", "n1")), ("d", "n5"), ("c", "n1"))
    result = lowered(model, chips.EDGE, chips.lowerer(chips.EDGE, 4))
    assert ("d_next@sram", "d@sram") in result.plan.in_place


@settings(max_examples=10, deadline=None)
@given(models(), st.sampled_from((chips.EDGE, chips.quad())), st.integers(0, 9))
def test_sequences_equal_the_reference(model: Model, soc: SoC, seed: int) -> None:
    random = Random(seed)
    made = [op.output for op in model.operators]
    nexts = {name: random.choice([*made, *model.inputs]) for name in random.sample(("x", "y"), 1 + seed % 2)}
    model = stateful(
        evolve(model, outputs=(*model.outputs, *(n for n in nexts.values() if n not in model.outputs))),
        *nexts.items(),
    )
    result = lowered(model, soc)
    for late in (lambda: True, lambda: False, lambda: random.random() < 0.5):
        simulator = Simulator(result.steps, result.plan, model, late, seed)
        simulator.reset()
        held = {state.tensor: bytes(model.tensors[state.tensor].bytes) for state in model.states}
        for frame in range(3):
            inputs = random_inputs(model, frame)
            expected = reference(model, inputs | held)
            assert simulator.run(inputs) == {name: expected[name] for name in model.outputs}
            held = {state.tensor: expected[state.next] for state in model.states}


def moved(plan: MemoryPlan, name: str, offset: int) -> MemoryPlan:
    return evolve(plan, offsets={**plan.offsets, name: offset}, in_place=())


def test_a_state_that_the_next_run_does_not_find() -> None:
    result = kernels(SUM)
    assert checked(result) == []
    assert checked(result, plan=moved(result.plan, "c_next@sram", 512)) == [
        "state `c`: `c_next@sram` is not where the next run reads `c@sram` [wrong-state]"
    ]


def test_a_state_that_is_read_after_its_next_value_was_written() -> None:
    result = kernels(SWAP)
    early = tuple(sorted(result.steps.steps, key=lambda s: "store" not in getattr(s, "operator", "")))
    names = {buffer.name: evolve(buffer, first=0, last=9) for buffer in result.steps.buffers}
    steps = evolve(result.steps, steps=early, buffers=tuple(names.values()))
    found = checked(result, steps, evolve(result.plan, buffers=tuple(names.values())))
    assert "buffer `a_next@sram` is written over `a@sram`: no call may do that [unsafe-in-place]" in found


@pytest.mark.parametrize("kind", [BufferKind.STATE, BufferKind.NEXT])
def test_a_buffer_of_no_state(kind: BufferKind) -> None:
    result = kernels(SUM)
    name = "c@sram" if kind is BufferKind.STATE else "c_next@sram"
    found = checked(result, evolve(result.steps, states=()))
    assert f"buffer `{name}` is of no state [wrong-state]" in found
    assert "state `c`: a buffer of it is missing [wrong-state]" in found


def test_a_state_without_a_next_value() -> None:
    result = kernels(SWAP)
    steps = tuple(s for s in result.steps.steps if getattr(s, "operator", "") != "store_a_next")
    found = checked(result, evolve(result.steps, steps=steps))
    assert "output `next value of a` in `a_next@sram` is not written entirely [read-before-write]" in found
