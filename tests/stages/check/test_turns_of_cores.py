"""What the checker says of frames that take turns on equal cores: faults, each in one place of a right
pipeline.
"""

from collections.abc import Iterator

import pytest
from attrs import evolve

from target_arch.plan.frames import FramePipeline
from target_arch.plan.steps import Dispatch, Event
from target_arch.soc.model import DLDevice, LoadProcess, SoC
from target_arch.stages.check.frames import _of_run
from target_arch.stages.check.rules.cores import unequal
from target_arch.stages.frames.cores import spare_cores
from target_arch.stages.frames.pipelined import pipelined
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.simulation.times import Times
from tests.stages import chips
from tests.stages.check.two_frames import Frames
from tests.stages.lowering.test_ladder import lowered

ROWS = (("a", "soft", ("x",), 512), ("b", "conv", ("a",), 512), ("c", "soft", ("b",), 512))


def in_turns(workers: int) -> Frames:
    """Frames of a host and further cores; the second call of each is for an engine."""
    soc = chips.cores(workers)
    spare = frozenset(spare_cores(soc))
    setting = evolve(chips.setting(soc), started=spare)
    model = chips.model(*ROWS, inputs={"x": 512}, weights=64)
    run = lowered(model, soc, rules=Rules().in_turn_on(spare), setting=setting)
    work = PartialLowering(setting=setting, graph=run.graph, kernels=run.kernels)
    found = pipelined(soc, run.steps, run.plan, Times(work), None, 0.0)
    assert found is not None
    return Frames(soc=soc, run=run, right=found)


PAIR, TRIO = in_turns(1), in_turns(2)


def calls(frames: Frames, instance: str) -> list[int]:
    """The numbers of the calls on an instance."""
    steps = frames.right.order.steps
    return [n for n, step in enumerate(steps) if isinstance(step, Dispatch) and step.instance == instance]


def moved(frames: Frames, number: int, instance: str) -> FramePipeline:
    """A call on another instance, with the events of both timelines in their order."""
    steps, counts = list(frames.right.order.steps), dict[str, int]()
    call = steps[number]
    assert isinstance(call, Dispatch)
    event = None if instance == "host" else Event(timeline=instance, value=1)
    steps[number] = evolve(call, instance=instance, event=event)
    for place, step in enumerate(steps):
        if isinstance(step, Dispatch) and step.event is not None:
            name = step.event.timeline
            counts[name] = counts.get(name, 0) + 1
            steps[place] = evolve(step, event=evolve(step.event, value=counts[name]))
    return frames.order(steps=tuple(steps))


def rules(said: list[str]) -> set[str]:
    return {line.rpartition("[")[2].rstrip("]") for line in said}


def test_what_is_right() -> None:
    for frames, cores in ((PAIR, ("host", "worker")), (TRIO, ("host", "worker[0]", "worker[1]"))):
        assert frames.right.cores == cores
        assert frames.said(frames.right) == []


@pytest.mark.parametrize("frames", [PAIR, TRIO], ids=["pair", "trio"])
def test_a_call_on_the_core_of_another_frame(frames: Frames) -> None:
    cores = frames.right.cores
    for own in cores:
        for other in {*cores} - {own}:
            for number in calls(frames, own):
                assert "wrong-core" in rules(frames.said(moved(frames, number, other)))


def test_the_message_of_a_wrong_core() -> None:
    first = calls(PAIR, "worker")[0]
    said = PAIR.said(moved(PAIR, first, "host"))
    assert "frames in flight: error: frame 1 is computed by `host` [wrong-core]" in said


def test_a_call_that_is_for_no_core_is_on_none() -> None:
    """The call on the engine, on the core of its frame."""
    engine = calls(PAIR, "conv")[0]
    right = evolve(PAIR.right, order=PAIR.right.order)
    assert right == PAIR.right
    assert PAIR.said(moved(PAIR, engine, "worker"))


def test_only_calls_on_the_core_of_a_frame_are_those_of_a_run() -> None:
    right = PAIR.right
    (number, *_) = calls(PAIR, "worker")
    call = right.order.steps[number]
    assert isinstance(call, Dispatch)
    first, second = right.cores
    assert _of_run(right, 1, call) == evolve(call, instance=first)
    for name in ("a", first, "z"):
        elsewhere = evolve(call, instance=name)
        assert _of_run(right, 1, elsewhere) == elsewhere
    for name in ("a", second, "z"):
        elsewhere = evolve(call, instance=name)
        assert _of_run(right, 0, elsewhere) == elsewhere


def faults() -> Iterator[tuple[str, FramePipeline, str]]:
    right, turns = PAIR.right, "its rounds do not take turns on {} cores"
    runs = "`host` is no core that computes what `worker` does"
    yield "another first core", evolve(right, cores=("worker", "host")), runs
    swapped = evolve(TRIO.right, cores=("host", "worker[1]", "worker[0]"))
    yield "cores exchanged", swapped, "frame 1 is computed by `worker[0]`"
    twice = "frames take turns on a core that is the same one"
    yield "one core twice", evolve(right, cores=("host", "host")), twice
    none = "`other` is no instance of this chip"
    yield "no core", evolve(right, cores=("host", "other")), none
    yield "no first core", evolve(right, cores=("other", "worker")), none
    engine = "`conv` is no core that computes what `host` does"
    yield "an engine", evolve(right, cores=("host", "conv")), engine
    yield "a third core", evolve(TRIO.right, rounds=TRIO.right.rounds + 1), turns.format(3)
    short = evolve(right, stages=right.stages[:-1])
    yield "a round without its last stage", short, turns.format(2)
    length = len(right.stages) // 2
    said = f"{len(right.order.steps)} steps are no {right.rounds} rounds of {length}"
    yield "the end in the round of the other core", evolve(right, done=length), said


@pytest.mark.parametrize(("changed", "said"), [pytest.param(c, s, id=i) for i, c, s in faults()])
def test_cores_that_are_wrong(changed: FramePipeline, said: str) -> None:
    frames = TRIO if len(changed.order.steps) == len(TRIO.right.order.steps) else PAIR
    assert any(said in each for each in frames.said(changed)), frames.said(changed)


def other(soc: SoC, **facts: object) -> SoC:
    archs = tuple(evolve(each, **facts) if each.name == "worker" else each for each in soc.archs)  # type: ignore[arg-type]
    return evolve(soc, archs=archs)


@pytest.mark.parametrize(
    "facts",
    [
        {"load": LoadProcess(process="firmware", image="w.elf")},
        {"cores": None},
        {"backend": "other"},
        {"isa": "rv64gcv"},
    ],
    ids=str,
)
def test_cores_that_are_not_like_the_host(facts: dict[str, object]) -> None:
    soc = other(chips.cores(2), **facts)
    assert list(unequal(chips.cores(2), ("host", "worker[0]"))) == []
    assert rules([f"[{rule}]" for rule, _ in unequal(soc, ("host", "worker[0]"))]) == {"wrong-core"}
    alike = facts.get("cores", "there") is not None
    assert (list(unequal(soc, ("worker[0]", "worker[1]"))) == []) == alike


def test_engines_are_no_cores() -> None:
    said = "`conv[{}]` is no core that computes what `conv[0]` does"
    found = [("wrong-core", said.format(number)) for number in range(2)]
    assert list(unequal(chips.quad(), ("conv[0]", "conv[1]"))) == found


def test_cores_of_two_kinds_have_functions_of_their_own() -> None:
    soc = chips.cores(1)
    little = evolve(soc.arch("worker"), name="little", device=DLDevice(type="kDLCPU", id=2))
    both = evolve(soc, archs=(*soc.archs, little))
    assert list(unequal(both, ("host", "worker", "little"))) == []
    assert [rule for rule, _ in unequal(both, ("worker", "little"))] == ["wrong-core"]


def test_runs_are_not_on_a_core_of_the_host() -> None:
    """Functions of a core are its own: the host is none that executes them."""
    assert list(unequal(chips.cores(1), ("worker", "host"))) == [
        ("wrong-core", "`host` is no core that computes what `worker` does")
    ]
