"""Faults planted into a right pipeline: the checker of frames in flight finds each, and names it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve, frozen

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.frames import FramePipeline
from target_arch.plan.kernels import Access, Operand
from target_arch.plan.memory import BufferKind, IoOwner, MemoryPlan
from target_arch.plan.steps import Copy, Dispatch, Event, Step, StepOrder, Wait
from target_arch.resources import examples
from target_arch.soc import read_soc
from target_arch.stages.check.frames import _renamed, check_frames
from target_arch.stages.errors import CheckError
from target_arch.stages.frames import table
from target_arch.stages.lowering.ladder import sizes
from tests.relax.models import helper, onnx_model, save

DIGITS = examples() / "digits" / "digits_int8.onnx"


@frozen(kw_only=True)
class Right:
    """A compilation with frames in flight, whose pipeline can be changed."""

    made: CompiledModel

    @property
    def pipeline(self) -> FramePipeline:
        assert self.made.frames is not None
        return self.made.frames

    def rules(self, changed: FramePipeline) -> set[str]:
        """The rules that a changed pipeline breaks."""
        made = self.made
        known = sizes(made.graph, made.kernels)
        try:
            check_frames(made.request.soc, changed, made.graph, made.kernels, known, (made.steps, made.plan))
        except CheckError as error:
            return {diagnostic.rule for diagnostic in error.diagnostics}
        return set()

    def with_steps(self, change: Callable[[int, Step], Step]) -> FramePipeline:
        order = self.pipeline.order
        steps = tuple(change(number, step) for number, step in enumerate(order.steps))
        return evolve(self.pipeline, order=evolve(order, steps=steps))


def recurrent(path: Path) -> Path:
    """A state that is read first and written last, with work between."""
    weights = np.linspace(-1, 1, 16 * 16).reshape(16, 16).astype(np.float32)
    model = onnx_model(
        [
            helper.make_node("Add", ["x", "h"], ["sum"]),
            helper.make_node("MatMul", ["sum", "weights"], ["mixed"]),
            helper.make_node("Relu", ["mixed"], ["h_out"]),
            helper.make_node("MatMul", ["h_out", "weights"], ["y"]),
        ],
        {"x": (1, 16), "h": (1, 16)},
        {"y": (1, 16), "h_out": (1, 16)},
        {"weights": weights},
    )
    return save(model, path)


@pytest.fixture(scope="module")
def right() -> Right:
    request = CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"), frames="auto")
    return Right(made=compile_model(request))


@pytest.fixture(scope="module")
def stateful(tmp_path_factory: pytest.TempPathFactory) -> Right:
    path = recurrent(tmp_path_factory.mktemp("frames") / "recurrent.onnx")
    request = CompileRequest(
        model_path=path,
        soc=read_soc("zynq_edge"),
        frames=3,
        states={"h": "h_out"},
        prefer={"*": "dsp_cpu"},
    )
    return Right(made=compile_model(request))


def test_right_pipelines_pass(right: Right, stateful: Right) -> None:
    assert right.rules(right.pipeline) == set()
    assert stateful.rules(stateful.pipeline) == set()
    assert stateful.pipeline.order.states


def test_a_buffer_once_too_few(right: Right) -> None:
    """Of every buffer that lives longer than a round, the second frame's has the bytes of the first's."""
    pipeline, found = right.pipeline, 0
    length = len(pipeline.stages)
    for buffer in pipeline.order.buffers:
        about = pipeline.buffers[buffer.name]
        if about.round != 1 or buffer.last - buffer.first < length:
            continue
        first = next(n for n, a in pipeline.buffers.items() if (a.of, a.round) == (about.of, 0))
        offsets = {**pipeline.plan.offsets, buffer.name: pipeline.plan.offsets[first]}
        assert "overlap" in right.rules(evolve(pipeline, plan=evolve(pipeline.plan, offsets=offsets)))
        found += 1
    assert found >= 2


def test_every_wait_is_needed_or_covered(right: Right) -> None:
    """Each wait in turn is for the step before; what is accepted is also waited for by another."""
    pipeline, found = right.pipeline, 0
    waits = [n for n, step in enumerate(pipeline.order.steps) if isinstance(step, Wait)]
    for chosen in waits[: len(waits) // pipeline.rounds]:

        def earlier(number: int, step: Step, chosen: int = chosen) -> Step:
            if number != chosen or not isinstance(step, Wait) or step.event.value == 1:
                return step
            return Wait(event=evolve(step.event, value=step.event.value - 1))

        rules = right.rules(right.with_steps(earlier))
        assert rules <= {"race", "frame-not-over", "overlap", "in-flight", "unsafe-in-place"}
        found += bool(rules)
    assert found >= len(waits) // pipeline.rounds // 2


def test_a_wait_for_the_wrong_frame(right: Right) -> None:
    """Waits of the first round for its own steps are for those of the round before."""
    pipeline = right.pipeline
    counts: dict[str, int] = {}
    for step in pipeline.order.steps:
        if isinstance(step, Copy | Dispatch) and step.event is not None:
            counts[step.event.timeline] = step.event.value
    length = len(pipeline.stages)

    def round_before(number: int, step: Step) -> Step:
        if not isinstance(step, Wait) or number >= pipeline.loads + length:
            return step
        each = counts[step.event.timeline] // pipeline.rounds
        value = (step.event.value - 1 - each) % counts[step.event.timeline] + 1
        return Wait(event=evolve(step.event, value=value))

    assert "race" in right.rules(right.with_steps(round_before))


def test_the_buffer_of_another_frame(right: Right) -> None:
    chosen = next(
        n for n, s in enumerate(right.pipeline.order.steps) if isinstance(s, Copy) and "#0" in s.target.of
    )

    def other(number: int, step: Step) -> Step:
        if number != chosen or not isinstance(step, Copy):
            return step
        return evolve(step, target=step.target.renamed(step.target.of.replace("#0", "#1")))

    assert "wrong-frame" in right.rules(right.with_steps(other))


@pytest.fixture(scope="module")
def lent() -> Right:
    request = CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"), frames=3, io=IoOwner.CALLER)
    return Right(made=compile_model(request))


def with_buffer(pipeline: FramePipeline, name: str, change: Mapping[str, object]) -> FramePipeline:
    """One of its buffers is another."""
    buffers = tuple(
        evolve(buffer, **change) if buffer.name == name else buffer  # type: ignore[arg-type]
        for buffer in pipeline.order.buffers
    )
    order, plan = evolve(pipeline.order, buffers=buffers), evolve(pipeline.plan, buffers=buffers)
    return evolve(pipeline, order=order, plan=plan)


def test_memory_that_is_lent_for_another_frame(lent: Right) -> None:
    """Every frame has memory of its own until its result is taken; the caller's inputs are not written."""
    pipeline = lent.pipeline
    assert lent.rules(pipeline) == set()
    assert pipeline.rounds >= pipeline.frames + 2
    name = next(name for _, name in pipeline.order.outputs)
    for change in ({"turn": None}, {"turn": 1}, {"caller": False}):
        assert "wrong-owner" in lent.rules(with_buffer(pipeline, name, change))
    given = pipeline.order.inputs[0][1]

    def written(number: int, step: Step) -> Step:
        if not isinstance(step, Dispatch):
            return step
        operands = (evolve(o, access=Access.WRITE) if o.of == given else o for o in step.operands)
        return evolve(step, operands=tuple(operands))

    assert "input-written" in lent.rules(lent.with_steps(written))


def test_parts_of_a_result_in_memory_that_is_lent(tmp_path: Path) -> None:
    """Operators whose results are parts of an output write where only the lending was before."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Neg", ["x"], ["b"]),
        helper.make_node("Concat", ["a", "b"], ["y"], axis=1),
    ]
    path = save(onnx_model(nodes, {"x": (1, 16)}, {"y": (1, 32)}), tmp_path / "parts.onnx")
    soc = read_soc("zynq_edge")
    made = compile_model(CompileRequest(model_path=path, soc=soc, frames=2, io=IoOwner.CALLER))
    assert any(buffer.aliases for buffer in Right(made=made).pipeline.order.buffers if buffer.caller)


def test_a_table_too_short_for_what_is_lent(lent: Right, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one round less, memory of a frame is lent again before its result was taken."""
    monkeypatch.setattr(table, "rounds_needed", lambda one: lent.pipeline.rounds - 1)
    with pytest.raises(CheckError) as caught:
        compile_model(lent.made.request)
    assert {each.rule for each in caught.value.diagnostics} == {"overlap"}


def test_a_frame_that_is_not_over(right: Right) -> None:
    assert "frame-not-over" in right.rules(evolve(right.pipeline, done=0))


def test_a_stage_that_is_wrong(right: Right) -> None:
    pipeline = right.pipeline
    chosen = next(
        n
        for n, stage in enumerate(pipeline.stages)
        if stage and isinstance(pipeline.order.steps[pipeline.loads + n], Dispatch)
    )
    stages = tuple(stage - (number == chosen) for number, stage in enumerate(pipeline.stages))
    assert right.rules(evolve(pipeline, stages=stages)) & {"wrong-frame", "read-before-write", "race"}


def test_events_that_do_not_count_up(right: Right) -> None:
    chosen = next(
        n for n, s in enumerate(right.pipeline.order.steps) if isinstance(s, Copy) and s.event is not None
    )

    def twice(number: int, step: Step) -> Step:
        if number != chosen or not isinstance(step, Copy) or step.event is None:
            return step
        return evolve(step, event=Event(timeline=step.event.timeline, value=step.event.value + 1))

    assert "wrong-event" in right.rules(right.with_steps(twice))


def test_a_state_that_is_read_too_early(stateful: Right) -> None:
    """All that writes the state works for a frame that was started a round earlier, so that the next frame
    reads it before.
    """
    pipeline = stateful.pipeline
    states = {name for state in pipeline.order.states for name in (state.next,)}
    late = {
        number
        for number in range(len(pipeline.stages))
        if states & set(written(pipeline.order.steps[pipeline.loads + number]))
    }
    first = min(late)
    stages = tuple(stage + (number >= first) for number, stage in enumerate(pipeline.stages))
    changed = evolve(pipeline, stages=stages, frames=pipeline.frames + 1)
    assert "wrong-state" in stateful.rules(changed)


def written(step: Step) -> list[str]:
    if isinstance(step, Copy):
        return [step.target.of]
    if isinstance(step, Dispatch):
        return [operand.of for operand in step.operands if operand.access.writes]
    return []


def test_constants_are_where_a_run_has_them(right: Right) -> None:
    pipeline = right.pipeline
    moved = next(b for b in pipeline.order.buffers if b.kind is BufferKind.CONSTANT)
    offsets: Mapping[str, int] = {**pipeline.plan.offsets, moved.name: pipeline.plan.offsets[moved.name] + 16}
    changed = evolve(pipeline, plan=evolve(pipeline.plan, offsets=offsets))
    assert "wrong-buffers" in right.rules(changed)


def test_a_frame_that_computes_something_else(right: Right) -> None:
    """Two calls of one partition in the second round are exchanged, with their operands."""
    pipeline = right.pipeline
    numbers = [
        n
        for n, step in enumerate(pipeline.order.steps)
        if n >= pipeline.loads + len(pipeline.stages)
        and isinstance(step, Dispatch)
        and step.operator == "conv2d_4"
    ][:2]
    steps: list[Step] = list(pipeline.order.steps)
    one, other = (steps[number] for number in numbers)
    assert isinstance(one, Dispatch)
    assert isinstance(other, Dispatch)
    steps[numbers[0]] = evolve(one, operands=other.operands)
    steps[numbers[1]] = evolve(other, operands=one.operands)
    order: StepOrder = evolve(pipeline.order, steps=tuple(steps))
    assert right.rules(evolve(pipeline, order=order))


def test_offsets_that_are_missing(right: Right) -> None:
    plan: MemoryPlan = right.pipeline.plan
    without = {name: offset for name, offset in plan.offsets.items() if not name.startswith("p1.input0#1")}
    with pytest.raises((KeyError, AssertionError)):
        assert right.rules(evolve(right.pipeline, plan=evolve(plan, offsets=without))) == set()


def test_every_buffer_that_an_operand_is_over_is_of_its_frame() -> None:
    operand = Operand(of="a#1", access=Access.WRITE, over=("b#1", "c#1"))
    call = Dispatch(partition="p", operator="o", instance="i", function="f", operands=(operand,))
    (renamed,) = _renamed(call, {f"{name}#1": name for name in "abc"}).operands  # type: ignore[union-attr]
    assert (renamed.of, renamed.over) == ("a", ("b", "c"))
