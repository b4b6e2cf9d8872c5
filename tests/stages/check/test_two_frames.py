"""What the checker of frames in flight says of faults, each in one place of a right pipeline."""

from collections.abc import Callable, Iterator, Mapping

import pytest
from attrs import evolve

from target_arch.plan.frames import FrameBuffer, FramePipeline
from target_arch.plan.kernels import Operand, Slice
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Step
from target_arch.stages.check.frames import _malformed, _one_frame
from target_arch.stages.check.rules.aliases import CALLER
from target_arch.stages.check.rules.frames import FrameStates, executed
from tests.conftest import GoldenCheck
from tests.stages.check.two_frames import HOST, TWO, Frames

SHOWN = 3
"""Messages of each fault; of all others the number."""


def half(number: int, side: str, offset: int = 256) -> FramePipeline:
    """A copy of half of the bytes."""

    def change(copy: Copy) -> Copy:
        ends = {
            "source": evolve(copy.source, row_bytes=256, offset=offset if side == "source" else 0),
            "target": evolve(copy.target, row_bytes=256, offset=offset if side == "target" else 0),
        }
        return evolve(copy, **ends)

    return TWO.copy(number, change)


def other(number: int, operand: int, **facts: object) -> Callable[[Frames], FramePipeline]:
    """Other facts of an operand of a call."""

    def change(call: Dispatch) -> Dispatch:
        operands = list(call.operands)
        operands[operand] = evolve(operands[operand], **facts)  # type: ignore[arg-type]
        return evolve(call, operands=tuple(operands))

    return lambda frames: frames.call(number, change)


def in_rows(number: int) -> FramePipeline:
    """A copy of every second piece of 64 bytes, to the beginning."""

    def change(copy: Copy) -> Copy:
        source = Slice(of=copy.source.of, offset=0, row_bytes=64, rows=4, stride=128)
        return evolve(copy, source=source, target=evolve(copy.target, row_bytes=256))

    return TWO.copy(number, change)


def scattered(*numbers: int) -> FramePipeline:
    """Of two rounds, a state is read in its first half, and then written in every second piece."""

    def reads(copy: Copy) -> Copy:
        ends = {"source": copy.source, "target": copy.target}
        return evolve(copy, **{side: evolve(each, row_bytes=256) for side, each in ends.items()})

    def writes(copy: Copy) -> Copy:
        target = Slice(of=copy.target.of, offset=0, row_bytes=64, rows=4, stride=128)
        return evolve(copy, source=evolve(copy.source, row_bytes=256), target=target)

    changed = TWO
    for number, change in zip(numbers, (reads, writes) * 2, strict=True):
        changed = evolve(changed, right=changed.copy(number, change))
    return changed.right


def faults_on_a_host() -> Iterator[tuple[str, FramePipeline]]:
    """Of calls alone, on states where they are."""
    yield "nothing", HOST.right
    yield "states exchanged in a call", other(1, 1, of="d@sram")(HOST)
    yield "a state read in the second half alone", other(1, 1, offset=256, bytes=256)(HOST)
    yield "the next value read before", HOST.exchanged(1, 4)
    yield "the other next value read before", HOST.exchanged(3, 5)
    yield "the next value read before, in the second round", HOST.exchanged(9, 12)
    yield "a state that is not written", other(9, 2, of="a@sram#1", over=())(HOST)
    yield "half of a state that is not written", other(1, 2, bytes=256)(HOST)
    yield "the other half of a state that is not written", other(1, 2, offset=256, bytes=256)(HOST)
    yield "a state over which nothing may be written", other(3, 2, over=("b@sram#0",))(HOST)
    yield "no state may be written over", other(3, 2, over=())(HOST)
    yield "an input that is written", other(1, 2, of="q@sram#0", over=())(HOST)
    yield "an input of the other round", other(10, 0, of="q@sram#0")(HOST)
    yield "an input that is not where the caller writes it", HOST.order(inputs=HOST.right.order.inputs[::-1])
    yield "an input over an intermediate result", HOST.offset("q@sram#0", 512)
    yield "the second input over a state", HOST.offset("q@sram#1", 512)
    yield "an output over the state of the next frame", HOST.offset("y@sram#1", 512)
    yield "an output over that of the other round", HOST.offset("y@sram#0", 0)
    yield "over before its last step", evolve(HOST.right, done=5)
    yield "over with its first step", evolve(HOST.right, done=0)
    yield "calls in each other's place", HOST.exchanged(0, 2)
    yield "one frame more", evolve(HOST.right, frames=2)
    yield "a step of `init` before all others of a round", HOST.step(0, TWO.right.order.steps[0])


def faults_of_two() -> Iterator[tuple[str, FramePipeline]]:
    """Of waits, events and stages with two frames in flight."""
    yield "nothing", TWO.right
    for number in (3, 6, 7, 12, 15, 20, 25, 35, 37, 39, 42, 56, 60, 71, 74, 106):
        yield f"step {number} waits for the first event of its timeline", TWO.waiting(number, *first(number))
        yield f"step {number} waits for one step less", TWO.waiting(number, *less(number))
    yield "a wait for a timeline that is not there", TWO.waiting(6, "dma.2", 1)
    yield "a wait for nothing", TWO.waiting(6, "dma.0", 0)
    yield "a wait for more than there is", TWO.waiting(6, "dma.0", 35)
    yield "an event too early", TWO.signals(5, 0)
    yield "an event too late", TWO.signals(5, 2)
    yield "an event too late in the second round", TWO.signals(76, 13)
    for number in (4, 10, 36, 40, 73):
        yield f"step {number} a stage later", TWO.stage(number, 2)
        yield f"step {number} in the other stage", TWO.stage(number, 0 if number in (36, 73) else 1)
    yield "over too early", evolve(TWO.right, done=69)
    yield "over long before", evolve(TWO.right, done=31)
    yield "over in the stage before", evolve(TWO.right, frames=1)
    yield "another frame's buffer", TWO.copy(4, lambda s: evolve(s, source=s.source.renamed("p@sram#1")))
    yield "another frame's buffer in the second round", other(105, 0, of="a@tcm#0")(TWO)
    yield "a copy left out", TWO.copy(17, lambda s: evolve(s, source=s.source.renamed("p@sram#0")))


def first(number: int) -> tuple[str, int]:
    return TWO.right.order.steps[number].event.timeline, 1  # type: ignore[union-attr]


def less(number: int) -> tuple[str, int]:
    event: Event = TWO.right.order.steps[number].event  # type: ignore[union-attr,assignment]
    return event.timeline, event.value - 1


def faults_of_states() -> Iterator[tuple[str, FramePipeline]]:
    """Of two states, copied from and to where they are."""
    for number, name in ((10, "c"), (29, "d"), (81, "c in the second round")):
        yield f"half of state {name} read", half(number, "source", 0)
        yield f"the other half of state {name} read", half(number, "source")
        yield f"every second piece of state {name} read", in_rows(number)
    for number, name in ((40, "c"), (59, "d"), (111, "c in the second round")):
        yield f"half of state {name} written", half(number, "target", 0)
        yield f"the other half of state {name} written", half(number, "target")
    yield "a state read beyond its end", TWO.copy(10, lambda s: evolve(s, source=evolve(s.source, offset=8)))
    yield "every second piece of a state written, and its first half read", scattered(10, 40, 81, 111)
    yield "states read in each other's place", TWO.exchanged(10, 29)
    yield (
        "states written in each other's place",
        TWO.copy(40, lambda s: evolve(s, target=s.target.renamed("d_next@sram"))),
    )
    yield "the next value read before it is written", TWO.exchanged(40, 43)
    yield "the other next value read before it is written", TWO.exchanged(59, 61)
    yield (
        "a state read as the next value",
        TWO.copy(29, lambda s: evolve(s, source=s.source.renamed("d_next@sram"))),
    )
    yield "a state without a next value", TWO.order(states=TWO.right.order.states[:1])
    yield "no states", TWO.order(states=())


def faults_at_rest() -> Iterator[tuple[str, FramePipeline]]:
    """Of buffers and their places."""
    yield "a buffer that is not aligned", TWO.offset("q@sram#1", 3073)
    yield "a buffer beyond its memory", TWO.offset("a@tcm#1", 32768)
    yield "a constant elsewhere", TWO.offset("v.w@ddr", 1024)
    yield "a constant before", TWO.offset("v.w@ddr", 512)
    yield "a state of one round", TWO.meaning("c@sram", "c@sram", 0)
    yield "a state elsewhere", TWO.offset("d@sram", 8192)
    yield "a buffer of another size", TWO.buffer("s@tcm#1", bytes=256)
    yield (
        "a buffer of another size, for every round",
        TWO.order(
            buffers=tuple(
                evolve(each, bytes=640) if each.name.startswith("s@tcm") else each
                for each in TWO.right.order.buffers
            )
        ),
    )
    yield "a buffer in another memory", TWO.buffer("s@tcm#1", memory="sram")
    yield "a buffer of the first round in another memory", TWO.buffer("p0.l_p_0#0", memory="npu_inp")
    yield "an input where the host does not see it", TWO.buffer("q@sram#1", memory="npu_inp")
    yield "a buffer of one of another", TWO.meaning("q@sram#1", "p@sram", 1)
    yield "a buffer of one of another size", TWO.meaning("q@sram#1", "a.w@ddr", 1)
    yield "a buffer of one that no run has", TWO.meaning("q@sram#1", "r@sram", 1)
    yield "a buffer of all rounds", TWO.meaning("q@sram#1", "q@sram", None)
    yield "a constant of another name", _as_other("a.w@ddr", "v.w@ddr")
    yield "a constant of a name before", _as_other("v.w@ddr", "a.w@ddr")
    yield "a constant of one round", TWO.meaning("a.w@ddr", "a.w@ddr", 0)
    yield "buffers of two rounds over each other", TWO.offset("a@sram#1", 0)
    yield "an output over the other round's", TWO.offset("z@sram#0", 1024)
    yield "outputs of two rounds swapped", TWO.order(outputs=_swapped(TWO.right.order.outputs))
    yield "an output less", TWO.order(outputs=TWO.right.order.outputs[:-1])
    yield "a constant of another tensor", TWO.buffer("a.w@ddr", tensor="b.w")
    yield "states swapped", TWO.order(states=TWO.right.order.states[::-1])
    yield "an operand of no buffer", TWO.order(buffers=TWO.right.order.buffers[1:])


def _as_other(name: str, of: str) -> FramePipeline:
    """A buffer that is said to be another one of the run, and is like it."""
    tensor = of.partition("@")[0]
    changed = TWO.buffer(name, tensor=tensor)
    return evolve(changed, buffers={**changed.buffers, name: FrameBuffer(of=of, round=None)})


def _swapped(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The buffers of the second half first, for the tensors of the first."""
    half = len(pairs) // 2
    turned = pairs[half:] + pairs[:half]
    return tuple((tensor, name) for (tensor, _), (_, name) in zip(pairs, turned, strict=True))


def faults_of_the_table() -> Iterator[tuple[str, FramePipeline]]:
    """Of rounds and stages."""
    steps, loads = TWO.right.order.steps, TWO.right.loads
    yield "a step less", TWO.order(steps=steps[:-1])
    yield "a step of `init` in a round", TWO.step(loads, steps[0])
    yield "a step of `init` late in a round", TWO.step(len(steps) - 1, steps[0])
    yield "a step of a round in `init`", TWO.step(0, steps[loads])
    yield "no rounds", evolve(TWO.right, rounds=0)
    yield "a round more", evolve(TWO.right, rounds=3)
    yield "the end behind the last step", evolve(TWO.right, done=len(TWO.right.stages))
    yield "the end before the first step", evolve(TWO.right, done=-1)
    yield "a stage before the first", TWO.stage(loads, -1)
    yield "a stage behind the last", TWO.stage(loads, TWO.right.frames)
    yield "a stage less", evolve(TWO.right, frames=TWO.right.frames - 1)


def faults_of_names() -> Iterator[tuple[str, FramePipeline]]:
    """Of buffers that are named and not there: each time the last of several."""
    order, steps = TWO.right.order, TWO.right.order.steps
    copy = max(number for number, step in enumerate(steps) if isinstance(step, Copy))
    call = max(number for number, step in enumerate(steps) if isinstance(step, Dispatch) and step.operands)
    (tensor, _), (result, _) = order.inputs[-1], order.outputs[-1]
    yield "an input", TWO.order(inputs=(*order.inputs[:-1], (tensor, "nowhere")))
    yield "an output", TWO.order(outputs=(*order.outputs[:-1], (result, "nowhere")))
    yield "a source", TWO.copy(copy, lambda step: evolve(step, source=step.source.renamed("nowhere")))
    yield "a target", TWO.copy(copy, lambda step: evolve(step, target=step.target.renamed("nowhere")))
    yield "an operand", TWO.call(call, lambda step: _last_operand(step, of="nowhere"))
    yield (
        "an operand that another is over",
        TWO.call(call, lambda step: _last_operand(step, over=("nowhere",))),
    )
    yield (
        "a buffer of no frame",
        TWO.order(buffers=(*order.buffers, evolve(order.buffers[-1], name="nowhere"))),
    )
    fill = Fill(
        copy=Copy(
            source=Slice(of="a.w@ddr", offset=0, row_bytes=8),
            target=Slice(of="nowhere", offset=0, row_bytes=8),
            engine="cpu",
        )
    )
    yield "a resident", TWO.order(steps=(fill, *steps))
    names = TWO.right.buffers
    yield (
        "what is known of two buffers",
        evolve(TWO.right, buffers={name: names[name] for name in list(names)[:-2]}),
    )


def _last_operand(step: Dispatch, **facts: object) -> Dispatch:
    changed = evolve(step.operands[-1], **facts)  # type: ignore[arg-type]
    return evolve(step, operands=(*step.operands[:-1], changed))


def faults_of_meaning() -> Iterator[tuple[str, FramePipeline]]:
    """Of frames that compute something else, all of them or every second."""
    yield "inputs of every frame", TWO.copy(4, lambda s: evolve(s, source=s.source.renamed("q@sram#0")))
    yield (
        "inputs of every second frame",
        TWO.copy(75, lambda s: evolve(s, source=s.source.renamed("q@sram#1"))),
    )
    yield (
        "weights of every second frame",
        TWO.copy(76, lambda s: evolve(s, source=s.source.renamed("b.w@ddr"))),
    )
    yield "words of every second frame", TWO.call(84, lambda s: evolve(s, words=(1, 0)))
    yield (
        "operands of every second frame",
        TWO.call(73, lambda s: evolve(s, operands=(*s.operands[1::-1], s.operands[2]))),
    )
    yield "the fill of a constant", TWO.filled(76)
    yield "the fills of two constants", TWO.filled(76, 89)


def lent(frames: Frames) -> FramePipeline:
    """The same with all inputs and outputs in the caller's memory."""
    right = frames.right
    ends = {name for _, name in (*right.order.inputs, *right.order.outputs)}
    buffers = (
        evolve(each, caller=True, turn=right.buffers[each.name].round) if each.name in ends else each
        for each in right.order.buffers
    )
    return frames.order(buffers=tuple(buffers))


def by_caller(pipeline: FramePipeline, present: tuple[bool, ...]) -> Iterator[str]:
    """What the caller does while frames are computed, in a line for each step."""
    for each in executed(pipeline, "host", present).steps:
        step = each.step
        if each.number is None and isinstance(step, Dispatch):
            assert (step.instance, step.partition) == ("host", CALLER)
            parts = ", ".join(f"{part.access.value} {part.of}" for part in step.operands)
            yield f"{each.frame} {step.function}: {parts}"


def text(frames: Frames, faults: Iterator[tuple[str, FramePipeline]]) -> str:
    """Every fault with what is said of it."""
    found: Mapping[str, list[str]] = {name: frames.said(changed) for name, changed in faults}
    lines: list[str] = []
    for name, said in found.items():
        lines += [f"{name}: {len(said)}", *(f"    {each}" for each in said[:SHOWN])]
    return "\n".join(lines) + "\n"


def test_frames_of_a_host(golden: GoldenCheck) -> None:
    golden("frames_of_a_host", text(HOST, faults_on_a_host()))


@pytest.mark.slow
def test_two_frames_in_flight(golden: GoldenCheck) -> None:
    golden("two_frames", text(TWO, faults_of_two()))


def test_states_of_two_frames(golden: GoldenCheck) -> None:
    golden("states_of_two_frames", text(TWO, faults_of_states()))


def test_buffers_of_two_frames(golden: GoldenCheck) -> None:
    golden("buffers_of_two_frames", text(TWO, faults_at_rest()))


def test_tables_of_two_frames(golden: GoldenCheck) -> None:
    golden("tables_of_two_frames", text(TWO, faults_of_the_table()))


def test_names_of_two_frames(golden: GoldenCheck) -> None:
    golden("names_of_two_frames", text(TWO, faults_of_names()))


def test_meaning_of_two_frames(golden: GoldenCheck) -> None:
    golden("meaning_of_two_frames", text(TWO, faults_of_meaning()))


def test_a_table_may_have_one_round() -> None:
    right = TWO.right
    first = right.order.steps[: right.loads + len(right.stages)]
    assert list(_malformed(evolve(right, rounds=1, order=evolve(right.order, steps=first)))) == []


@pytest.mark.parametrize("frame", [0, 1])
def test_one_frame_has_the_places_of_its_buffers_alone(frame: int) -> None:
    """Of a run that has a buffer which no table names."""
    right, run = TWO.right, TWO.run.steps
    more = evolve(run, buffers=(*run.buffers, evolve(run.buffers[0], name="elsewhere")))
    order, plan = _one_frame(TWO.soc, right, (True,) * 6, frame, more)
    wanted = {
        about.of: right.plan.offsets[name]
        for name, about in right.buffers.items()
        if about.round is None or about.round == frame
    }
    assert plan.offsets == wanted
    assert order.buffers == plan.buffers == run.buffers


def test_both_fills_are_before_the_steps_of_a_frame() -> None:
    order, _ = _one_frame(TWO.soc, TWO.filled(76, 89), (True,) * 6, 0, TWO.run.steps)
    fills = [step for step in order.steps if isinstance(step, Fill)]
    assert [fill.copy.source.of for fill in fills] == ["a.w@ddr", "b.w@ddr"]


@pytest.mark.parametrize("memory", ["of the frame", "lent"])
def test_what_the_caller_writes_and_reads(golden: GoldenCheck, memory: str) -> None:
    pipeline, present = lent(HOST) if memory == "lent" else HOST.right, (True, False, True, True)
    said = "".join(f"{line}\n" for line in by_caller(pipeline, present))
    golden(f"caller_{memory.replace(' ', '_')}", said)


def written(right: FramePipeline, number: int, changed: Step) -> list[str]:
    """The inputs that are said to be written with another step in the place of one."""
    steps = list(right.order.steps)
    steps[number] = changed
    order = evolve(right.order, steps=tuple(steps))
    faults = executed(evolve(right, order=order), "host", (True, False)).faults
    return [said.split("`")[1] for rule, said in faults if rule == "input-written"]


def test_inputs_that_are_lent_and_written_by_a_call() -> None:
    right = lent(HOST)
    number, call = next((n, s) for n, s in enumerate(right.order.steps) if isinstance(s, Dispatch))
    first, *others = call.operands

    def by(*operands: Operand) -> list[str]:
        return written(right, number, evolve(call, operands=operands))

    p, q = (evolve(first, of=name, access="w") for name in ("p@sram#0", "q@sram#0"))
    assert by(evolve(p, access="r")) == []
    assert by(p) == ["p@sram#0"]
    assert by(*others, q) == ["q@sram#0"]
    assert by(p, q) == ["p@sram#0", "q@sram#0"]


def test_an_input_that_is_lent_and_written_by_a_copy() -> None:
    right = lent(TWO)
    number, copy = next(
        (n, s) for n, s in enumerate(right.order.steps) if isinstance(s, Copy) and s.source.of == "p@sram#0"
    )
    assert written(right, number, copy) == []
    turned = evolve(copy, source=copy.target, target=copy.source)
    assert written(right, number, turned) == ["p@sram#0"]


def test_a_state_in_rows_is_all_of_it() -> None:
    """Written for one frame in eight rows, and read for the next one."""
    rows = {"row_bytes": 64, "rows": 8, "stride": 64}
    changed = TWO.copy(40, lambda copy: evolve(copy, target=evolve(copy.target, **rows)))
    states = FrameStates(changed, (True, True))
    assert list(states.touch(40, 0)) == []
    assert list(states.touch(10, 1)) == []


def test_a_state_of_a_later_frame_is_as_wrong_as_that_of_an_earlier_one() -> None:
    states = FrameStates(TWO.right, (True, True, True))
    wrong = "frame {} reads `c@sram[0:+512]`, and not all of it is of the frame before"
    assert list(states.touch(10, 0)) == []
    assert list(states.touch(10, 1)) == [("wrong-state", wrong.format(1))]
    assert list(states.touch(40, 0)) == []
    assert list(states.touch(10, 0)) == [("wrong-state", wrong.format(0))]
    assert list(states.touch(10, 1)) == []
