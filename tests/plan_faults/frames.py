"""Random right pipelines of frames in flight, the kinds of faults of their tables, and what the tables do:
the bytes of each frame's outputs are those of a run with its inputs, one after the other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from attrs import evolve, frozen

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.frames import FrameBuffer, FramePipeline
from target_arch.plan.lowered import Lowered
from target_arch.plan.resident import Resident
from target_arch.plan.steps import Copy, Dispatch, Event, Step, Wait
from target_arch.soc.model import SoC
from target_arch.stages.check.frames import check_frames
from target_arch.stages.errors import CheckError
from target_arch.stages.frames.cores import spare_cores
from target_arch.stages.frames.pipelined import pipelined
from target_arch.stages.lowering.ladder import sizes
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.simulation.times import Times
from tests.plan_faults.execution import Chip, NoRun, timings
from tests.plan_faults.faults import FAULTS, FILL_FAULTS
from tests.plan_faults.faults import Fault as StepFault
from tests.plan_faults.plans import small_model
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

Fault = Callable[[Random, FramePipeline], FramePipeline | None]


@frozen(kw_only=True)
class RightFrames:
    """A pipeline that the checker accepts, the run that it is of, and their chip."""

    soc: SoC
    run: Lowered
    right: FramePipeline

    @property
    def kinds(self) -> Mapping[str, Fault]:
        """Those of tables, and those of steps that leave as many."""
        steps = {**FAULTS, **FILL_FAULTS}
        return FRAME_FAULTS | {f"step: {kind}": self._in_table(fault) for kind, fault in steps.items()}

    def _in_table(self, fault: StepFault) -> Fault:
        def planted(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
            changed = fault(random, evolve(self.run, steps=pipeline.order, plan=pipeline.plan))
            if changed is None or len(changed.steps.steps) != len(pipeline.order.steps):
                return None
            return evolve(pipeline, order=changed.steps, plan=changed.plan)

        return planted

    def accepts(self, changed: FramePipeline) -> bool:
        """True where a compilation would end with this pipeline."""
        known = sizes(self.run.graph, self.run.kernels)
        try:
            check_frames(
                self.soc, changed, self.run.graph, self.run.kernels, known, (self.run.steps, self.run.plan)
            )
        except CheckError:
            return False
        return True

    def outcomes(self, changed: FramePipeline, seed: int) -> list[list[list[bytes]]]:
        """The outputs of each frame, and the states behind the last, with every timing of steps and caller:
        for frames without a gap, then with some.
        """
        random = Random(seed)
        patterns = ((True,) * self._count, tuple(random.random() < 0.7 for _ in range(self._count)))
        return [
            [_Flight(self.run, changed, there, late, seed).results() for late in timings(seed)]
            for there in patterns
        ]

    @property
    def _count(self) -> int:
        """Frames, so many that every buffer has one of its frames behind another one."""
        return self.right.frames + 2 * self.right.rounds + 2

    def one_by_one(self, seed: int) -> list[bytes]:
        """The outputs of as many runs, and the states behind the last."""
        chip = Chip(self.run, lambda: False, seed)
        return [part for number in range(self._count) for part in chip.run(number)] + chip.states()


class _Flight:
    """Rounds of a table, as the runtime executes them."""

    def __init__(
        self,
        run: Lowered,
        pipeline: FramePipeline,
        there: Sequence[bool],
        late: Callable[[], bool],
        seed: int,
    ) -> None:
        if pipeline.rounds < 1 or pipeline.loads < 0:
            raise NoRun("rounds")
        self._pipeline, self._there, self._slow = pipeline, there, late
        self._chip = Chip(evolve(run, steps=pipeline.order, plan=pipeline.plan), late, seed)
        self._table = pipeline.order.steps[pipeline.loads :]
        self._issued: dict[str, list[Event | None]] = {}
        self._results: dict[int, list[bytes]] = {}

    def results(self) -> list[bytes]:
        """The outputs of each frame, then the states."""
        pipeline, length = self._pipeline, self._pipeline.round_steps
        self._submit(0)
        for turn in range(len(self._there) + pipeline.frames + 1):
            soon = not self._slow()
            if soon:
                self._submit(turn + 1)
            late = self._slow()
            for number in range(length):
                stage = pipeline.stages[turn % pipeline.kinds * length + number]
                self._step(turn, self._table[turn % pipeline.rounds * length + number], stage)
                if number == pipeline.done and not late:
                    self._collect(turn - pipeline.frames + 1)
            self._collect(turn - pipeline.frames)
            if not soon:
                self._submit(turn + 1)
        self._chip.settle()
        frames = [part for number in sorted(self._results) for part in self._results[number]]
        return frames + self._chip.states()

    def _is_there(self, frame: int) -> bool:
        return 0 <= frame < len(self._there) and self._there[frame]

    def _submit(self, frame: int) -> None:
        if self._is_there(frame):
            self._chip.inputs(frame, self._of(self._pipeline.order.inputs, frame))

    def _collect(self, frame: int) -> None:
        if self._is_there(frame) and frame not in self._results:
            self._results[frame] = self._chip.outputs(self._of(self._pipeline.order.outputs, frame))

    def _of(self, pairs: Sequence[tuple[str, str]], frame: int) -> Sequence[tuple[str, str]]:
        each = len(pairs) // self._pipeline.rounds
        first = frame % self._pipeline.rounds * each
        return pairs[first : first + each]

    def _step(self, turn: int, step: Step, stage: int) -> None:
        if isinstance(step, Wait):
            self._wait(step.event)
        elif isinstance(step, Copy | Dispatch):
            event = step.event
            there = self._is_there(turn - stage)
            if event is not None:
                issued = self._issued.setdefault(event.timeline, [])
                event = Event(timeline=event.timeline, value=len(issued) + 1)
                issued.append(event if there else None)
            if there:
                self._chip.start(evolve(step, event=event))

    def _wait(self, event: Event) -> None:
        """For the latest step with that number in the table; one that was skipped is over."""
        issued = self._issued.get(event.timeline, [])
        count = sum(
            isinstance(step, Copy | Dispatch) and step.event is not None
            for step in self._table
            if getattr(getattr(step, "event", None), "timeline", None) == event.timeline
        )
        if not 0 < event.value <= count:
            raise NoRun(str(event))
        last = len(issued) - (len(issued) - event.value) % count
        if last > 0:
            self._chip.wait(Event(timeline=event.timeline, value=last))


def frames(number: int) -> RightFrames | None:
    """The pipeline of that number; None where not even two frames fit."""
    random = Random(number)
    soc = random.choice((chips.EDGE, chips.EDGE, chips.quad(), chips.ALONE, chips.cores(1), chips.cores(2)))
    resident = random.choice((Resident.NEVER, Resident.NEVER, Resident.AUTO))
    setting = evolve(chips.setting(soc), resident=None if resident is Resident.NEVER else resident)
    spare = tuple(spare_cores(soc))
    setting, rules = evolve(setting, started=frozenset(spare)), Rules().in_turn_on(spare)
    lower, most = chips.lowerer(soc, random.choice((1, 2, 4))), random.choice((1, 2, 3, 4))
    try:
        run = lowered(small_model(random), soc, lower, rules, setting)
    except DiagnosticError:
        return None
    work = PartialLowering(setting=chips.setting(soc), graph=run.graph, kernels=run.kernels)
    found = pipelined(soc, run.steps, run.plan, Times(work), most, 0.0)
    return None if found is None else RightFrames(soc=soc, run=run, right=found)


# The kinds.


def _order(pipeline: FramePipeline, **facts: object) -> FramePipeline:
    return evolve(pipeline, order=evolve(pipeline.order, **facts))  # type: ignore[arg-type]


def _numbered(table: Iterable[Step]) -> tuple[Step, ...]:
    """The steps of a table with the events of each timeline in their order; waits are for the same steps,
    whether they come before or after.
    """
    listed, counts = list(table), dict[str, int]()
    numbers: dict[Event, Event] = {}
    for step in listed:
        if isinstance(step, Copy | Dispatch) and step.event is not None:
            name = step.event.timeline
            counts[name] = counts.get(name, 0) + 1
            numbers[step.event] = Event(timeline=name, value=counts[name])
    return tuple(
        step
        if not isinstance(step, Copy | Dispatch | Wait) or step.event is None
        else evolve(step, event=numbers.get(step.event, step.event))  # type: ignore[call-arg]
        for step in listed
    )


def _rounds(pipeline: FramePipeline) -> list[list[Step]]:
    length = pipeline.round_steps
    table = pipeline.order.steps[pipeline.loads :]
    return [list(table[turn * length : (turn + 1) * length]) for turn in range(pipeline.rounds)]


def _stages(pipeline: FramePipeline) -> list[list[int]]:
    """The stages of the steps of a round, by kind of rounds."""
    length = pipeline.round_steps
    return [list(pipeline.stages[n * length : (n + 1) * length]) for n in range(pipeline.kinds)]


def _made(pipeline: FramePipeline, rounds: Iterable[Sequence[Step]], stages: Sequence[int]) -> FramePipeline:
    before = pipeline.order.steps[: pipeline.loads]
    table = _numbered(step for each in rounds for step in each)
    return evolve(_order(pipeline, steps=(*before, *table)), stages=tuple(stages))


def _some(random: Random, pipeline: FramePipeline, kind: type[Step]) -> int | None:
    """The number of a step of this kind in the first round."""
    found = [number for number, step in enumerate(_rounds(pipeline)[0]) if isinstance(step, kind)]
    return random.choice(found) if found else None


def _stage(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
    number = random.randrange(len(pipeline.stages))
    stages = list(pipeline.stages)
    stages[number] += random.choice((-1, 1))
    return evolve(pipeline, stages=tuple(stages)) if stages[number] >= 0 else None


def _left_out(kind: type[Step]) -> Fault:
    """A step left out of every round."""

    def fault(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
        number = _some(random, pipeline, kind)
        if number is None:
            return None
        rounds = [[*each[:number], *each[number + 1 :]] for each in _rounds(pipeline)]
        stages = [stage for each in _stages(pipeline) for stage in (*each[:number], *each[number + 1 :])]
        done = pipeline.done - (number <= pipeline.done)
        return evolve(_made(pipeline, rounds, stages), done=max(done, 0)) if stages else None

    return fault


def _moved(kind: type[Step]) -> Fault:
    """A step moved by some places in every round, with its stage or not."""

    def fault(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
        number = _some(random, pipeline, kind)
        place = None if number is None else number + random.choice((-8, -4, -2, -1, 1, 2, 4, 8))
        if number is None or place is None or not 0 <= place < pipeline.round_steps:
            return None
        rounds, stages = _rounds(pipeline), _stages(pipeline)
        for each in rounds:
            each.insert(place, each.pop(number))
        if random.random() < 0.8:
            for row in stages:
                row.insert(place, row.pop(number))
        return _made(pipeline, rounds, [stage for row in stages for stage in row])

    return fault


def _moved_once(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
    """Two steps in each other's place in one round alone."""
    rounds = _rounds(pipeline)
    chosen = random.choice(rounds)
    one, other = random.choices(range(len(chosen)), k=2)
    chosen[one], chosen[other] = chosen[other], chosen[one]
    return _made(pipeline, rounds, pipeline.stages)


def _wait(change: Callable[[Random, FramePipeline, Event], Event | None], *, everywhere: bool) -> Fault:
    """A wait for something else, in one round or in all."""

    def fault(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
        number, rounds = _some(random, pipeline, Wait), _rounds(pipeline)
        for each in rounds if everywhere else random.sample(rounds, 1):
            step = None if number is None else each[number]
            event = change(random, pipeline, step.event) if isinstance(step, Wait) else None
            if number is None or event is None:
                return None
            each[number] = Wait(event=event)
        before = pipeline.order.steps[: pipeline.loads]
        return _order(pipeline, steps=(*before, *(step for each in rounds for step in each)))

    return fault


def _for_another(random: Random, pipeline: FramePipeline, event: Event) -> Event | None:
    table = pipeline.order.steps[pipeline.loads :]
    events = [step.event for step in table if isinstance(step, Copy | Dispatch) and step.event is not None]
    able = [each for each in events if each != event]
    return random.choice(able) if able else None


def _for_less(random: Random, pipeline: FramePipeline, event: Event) -> Event | None:
    """For the event before, of the last trip around the table where this one is the first."""
    table = pipeline.order.steps[pipeline.loads :]
    values = [s.event.value for s in table if isinstance(s, Copy | Dispatch) and s.event is not None
              and s.event.timeline == event.timeline]  # fmt: skip
    return evolve(event, value=(event.value - 2) % len(values) + 1) if len(values) > 1 else None


def _as_another_wait(random: Random, pipeline: FramePipeline, event: Event) -> Event | None:
    waits = [step.event for step in pipeline.order.steps if isinstance(step, Wait) and step.event != event]
    return random.choice(waits) if waits else None


def _renamed(which: str, *, round_alone: bool) -> Fault:
    """A copy or call of one round on the same buffer of another round, or on any of its size."""

    def fault(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
        kind = Dispatch if which == "operand" else Copy
        steps = list(pipeline.order.steps)
        able = [number for number, step in enumerate(steps) if isinstance(step, kind)]
        if not able:
            return None
        number = random.choice(able)
        step = steps[number]
        if isinstance(step, Copy):
            name = _sibling(random, pipeline, getattr(step, which).of, round_alone)
            steps[number] = (
                step if name is None else evolve(step, **{which: getattr(step, which).renamed(name)})
            )
        elif isinstance(step, Dispatch) and step.operands:
            place = random.randrange(len(step.operands))
            name = _sibling(random, pipeline, step.operands[place].of, round_alone)
            operands = list(step.operands)
            if name is not None:
                operands[place] = evolve(operands[place], of=name)
            steps[number] = evolve(step, operands=tuple(operands))
        return _order(pipeline, steps=tuple(steps))

    return fault


def _sibling(random: Random, pipeline: FramePipeline, name: str, round_alone: bool) -> str | None:
    known = {each.name: each for each in pipeline.order.buffers}
    own, about = known[name], pipeline.buffers[name]
    able = [
        other
        for other, each in known.items()
        if other != name
        and (each.bytes, each.memory) == (own.bytes, own.memory)
        and (pipeline.buffers[other].of == about.of or not round_alone)
        and (pipeline.buffers[other].round == about.round or round_alone)
    ]
    return random.choice(able) if able else None


def _ends(which: str) -> Fault:
    """The inputs or outputs of two frames, or of one, in each other's buffers."""

    def fault(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
        pairs = list(getattr(pipeline.order, which))
        if len(pairs) < 2:
            return None
        one, other = random.sample(range(len(pairs)), 2)
        pairs[one], pairs[other] = (pairs[one][0], pairs[other][1]), (pairs[other][0], pairs[one][1])
        return _order(pipeline, **{which: tuple(pairs)})

    return fault


def _meaning(change: Callable[[Random, FramePipeline, FrameBuffer], FrameBuffer]) -> Fault:
    def fault(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
        name = random.choice(list(pipeline.buffers))
        about = change(random, pipeline, pipeline.buffers[name])
        return evolve(pipeline, buffers={**pipeline.buffers, name: about})

    return fault


def _of_another_round(random: Random, pipeline: FramePipeline, about: FrameBuffer) -> FrameBuffer:
    return evolve(about, round=random.choice((None, *range(pipeline.rounds))))


def _of_another_buffer(random: Random, pipeline: FramePipeline, about: FrameBuffer) -> FrameBuffer:
    return evolve(about, of=random.choice([each.of for each in pipeline.buffers.values()]))


def _one_place(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
    """Two rounds have one buffer in the same place."""
    name = random.choice(list(pipeline.buffers))
    of = pipeline.buffers[name].of
    others = [each for each, about in pipeline.buffers.items() if about.of == of and each != name]
    if not others:
        return None
    offsets = {**pipeline.plan.offsets, name: pipeline.plan.offsets[random.choice(others)]}
    return evolve(pipeline, plan=evolve(pipeline.plan, offsets=offsets))


def _fewer_rounds(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
    """A table with a round less, and the buffers of the rounds that are left."""
    if pipeline.rounds < 2:
        return None
    rounds = _rounds(pipeline)[:-1]
    kept = {name: about for name, about in pipeline.buffers.items() if about.round != len(rounds)}
    order = pipeline.order
    less = evolve(
        order,
        buffers=tuple(each for each in order.buffers if each.name in kept),
        inputs=order.inputs[: len(order.inputs) // pipeline.rounds * len(rounds)],
        outputs=order.outputs[: len(order.outputs) // pipeline.rounds * len(rounds)],
    )
    plan = evolve(
        pipeline.plan,
        buffers=less.buffers,
        offsets={each.name: pipeline.plan.offsets[each.name] for each in less.buffers},
    )
    changed = evolve(pipeline, order=less, buffers=kept, plan=plan, rounds=len(rounds))
    before = order.steps[: pipeline.loads]
    table = _numbered(step for each in rounds for step in each)
    return _order(changed, steps=(*before, *table))


def _number(name: str) -> Fault:
    def fault(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
        changed = getattr(pipeline, name) + random.choice((-2, -1, 1, 2))
        most = pipeline.round_steps - 1 if name == "done" else 8
        return evolve(pipeline, **{name: changed}) if int(name == "frames") <= changed <= most else None

    return fault


def _on_another_core(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
    """A call, or all calls of a round, on the core of another frame."""
    rounds = _rounds(pipeline)
    chosen = random.choice(rounds)
    able = [n for n, s in enumerate(chosen) if isinstance(s, Dispatch) and s.instance in pipeline.cores]
    core = random.choice(pipeline.cores) if pipeline.cores else ""
    if not able:
        return None
    for number in able if random.random() < 0.5 else [random.choice(able)]:
        step = chosen[number]
        event = None if core == pipeline.cores[-1] else Event(timeline=core, value=1)
        assert isinstance(step, Dispatch)
        chosen[number] = evolve(step, instance=core, event=event)
    return _made(pipeline, rounds, pipeline.stages)


def _other_cores(random: Random, pipeline: FramePipeline) -> FramePipeline | None:
    """The cores in another order, or one of them twice."""
    cores = list(pipeline.cores)
    return evolve(pipeline, cores=tuple(random.choices(cores, k=len(cores)))) if cores else None


FRAME_FAULTS: dict[str, Fault] = {
    "another stage": _stage,
    "done sooner or later": _number("done"),
    "another number of frames": _number("frames"),
    "wait left out of all rounds": _left_out(Wait),
    "copy left out of all rounds": _left_out(Copy),
    "call left out of all rounds": _left_out(Dispatch),
    "wait moved in all rounds": _moved(Wait),
    "copy moved in all rounds": _moved(Copy),
    "call moved in all rounds": _moved(Dispatch),
    "steps exchanged in one round": _moved_once,
    "wait for another event": _wait(_for_another, everywhere=False),
    "wait for the event before": _wait(_for_less, everywhere=False),
    "wait for what another wait is for": _wait(_as_another_wait, everywhere=False),
    "wait for the event before in all rounds": _wait(_for_less, everywhere=True),
    "wait for another event in all rounds": _wait(_for_another, everywhere=True),
    "copy from another round": _renamed("source", round_alone=True),
    "copy to another round": _renamed("target", round_alone=True),
    "operand of another round": _renamed("operand", round_alone=True),
    "copy from another buffer of the round": _renamed("source", round_alone=False),
    "copy to another buffer of the round": _renamed("target", round_alone=False),
    "operand in another buffer of the round": _renamed("operand", round_alone=False),
    "inputs of frames swapped": _ends("inputs"),
    "outputs of frames swapped": _ends("outputs"),
    "buffer of another round": _meaning(_of_another_round),
    "buffer as another one of a run": _meaning(_of_another_buffer),
    "buffer in the place of another round": _one_place,
    "fewer rounds": _fewer_rounds,
    "call on another core": _on_another_core,
    "other cores": _other_cores,
}
"""By what is wrong with a table of rounds."""
