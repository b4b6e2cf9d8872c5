"""Random right plans of two or three models on one chip, the kinds of faults of the memory of all of them,
and what they compute there: what each would compute alone.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from random import Random

from attrs import evolve, frozen

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import Arena, MemoryPlan
from target_arch.plan.model_pools import ModelPool, ModelPools, Pairs, Sharing
from target_arch.plan.resident import Resident
from target_arch.plan.workloads.answers import Analysis, TimedTasks
from target_arch.plan.workloads.tasks import TaskWork, TimedTask
from target_arch.plan.workloads.workload import Schedule, Timing
from target_arch.soc.model import SoC
from target_arch.stages.check.jobs import check_jobs
from target_arch.stages.check.meaning.check import check_meaning
from target_arch.stages.check.models import check_models
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import parts
from target_arch.stages.errors import CheckError
from target_arch.stages.lowering.ladder import sizes
from target_arch.stages.memory.model_pools import model_pools
from target_arch.stages.workloads.apart import apart
from tests.plan_faults.execution import RUNS, Chip, NoRun, outcomes, timings
from tests.plan_faults.faults import FAULTS, FILL_FAULTS
from tests.plan_faults.faults import Fault as PlanFault
from tests.plan_faults.plans import small_model
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

_NAMES = ("one", "two", "three")


@frozen(kw_only=True)
class Together:
    """The plans of several models for a chip, and the memory of all of them."""

    soc: SoC
    runs: tuple[Lowered, ...]
    pools: ModelPools

    @property
    def plans(self) -> Mapping[str, MemoryPlan]:
        """The memory plan of each model, by name."""
        return {name: run.plan for name, run in zip(_NAMES, self.runs, strict=False)}


Fault = Callable[[Random, Together], Together | None]


@frozen(kw_only=True)
class RightModels:
    """Models together that the checkers accept; those of a workload with their tasks."""

    right: Together
    tasks: TimedTasks | None

    @property
    def kinds(self) -> Mapping[str, Fault]:
        """Those of the memory of all, and those of one of the plans."""
        plans = {**FAULTS, **FILL_FAULTS}
        return MODEL_FAULTS | {f"plan: {kind}": _in_one(fault) for kind, fault in plans.items()}

    def accepts(self, changed: Together) -> bool:
        """True where a compilation would end with these."""
        try:
            for run in changed.runs:
                model, known = run.graph.model, sizes(run.graph, run.kernels)
                check(changed.soc, run.steps, run.plan, known, parts(model), model.states)
                check_meaning(changed.soc, run.graph, run.kernels, run.steps, run.plan)
            check_models(changed.soc, changed.pools, changed.plans)
            if self.tasks is not None:
                check_jobs(changed.soc, changed.pools, changed.plans, self.tasks)
        except CheckError:
            return False
        return True

    def outcomes(self, changed: Together, seed: int) -> list[list[list[bytes]]]:
        """By model the outputs of its runs, and then its states, with each timing."""
        return [self._results(changed, late, seed) for late in timings(seed)]

    def alone(self, seed: int) -> list[list[list[bytes]]]:
        """What each model leaves where there is no other."""
        by_model = [outcomes(run, seed) for run in self.right.runs]
        return [list(each) for each in zip(*by_model, strict=True)]

    def _results(self, changed: Together, late: Callable[[], bool], seed: int) -> list[list[bytes]]:
        chip_of_all = _Memories(changed.soc, changed.pools, seed)
        try:
            chips_of = [
                Chip(run, late, seed, chip_of_all.of(number, run)) for number, run in enumerate(changed.runs)
            ]
            found: list[list[bytes]] = [[] for _ in chips_of]
            for turn in range(RUNS):
                for group in self._groups(Random(seed + turn)):
                    self._jobs(changed, chips_of, group, turn, found)
            return found
        except (ValueError, KeyError, IndexError) as error:  # outside of the memory of all
            raise NoRun(str(error)) from error

    def _groups(self, random: Random) -> Sequence[Sequence[int]]:
        """The models, with those together whose jobs are begun before another's is over."""
        numbers = list(range(len(self.right.runs)))
        random.shuffle(numbers)
        pools = self.right.pools
        if pools.apart is None:
            return [numbers] if pools.arenas is Sharing.SEPARATE else [[number] for number in numbers]
        names = [pools.models[number] for number in numbers]
        if all(frozenset(pair) in pools.apart for pair in combinations(names, 2)):
            return [numbers]
        pair = next((pair for pair in combinations(numbers, 2) if self._apart(pair)), ())
        return [pair, *([number] for number in numbers if number not in pair)]

    def _apart(self, pair: Sequence[int]) -> bool:
        return frozenset(self.right.pools.models[number] for number in pair) in (self.right.pools.apart or ())

    def _jobs(
        self,
        changed: Together,
        chips_of: Sequence[Chip],
        group: Sequence[int],
        turn: int,
        found: list[list[bytes]],
    ) -> None:
        """A run of each of these models: all inputs come first, and outputs are read when all are over. The
        steps of tasks are mixed, others run one after the other.
        """
        for number in group:
            chips_of[number].inputs(turn, changed.runs[number].steps.inputs)
        courses = [chips_of[number].course() for number in group]
        random = Random(turn)
        while courses:
            course = random.choice(courses) if self.tasks is not None else courses[0]
            if next(course, self) is self:
                courses.remove(course)
        for number in group:
            found[number] += chips_of[number].outputs(changed.runs[number].steps.outputs)
            found[number] += chips_of[number].states()


class _Memories:
    """The arrays that a bundle carves from the memories of the chip. NoRun where these are too small."""

    def __init__(self, soc: SoC, pools: ModelPools, seed: int) -> None:
        random = Random(seed)
        self._pools = pools
        self._arrays = {pool.pool: bytearray(random.randbytes(pool.bytes)) for pool in pools.pools}
        for memory in soc.memories:
            taken = sum(len(array) for arena, array in self._arrays.items() if arena.memory == memory.name)
            if taken > memory.size:
                raise NoRun(f"{memory.name} is full")

    def of(self, number: int, run: Lowered) -> Mapping[Arena, memoryview]:
        """The bytes from where the model of that number begins in each that it has something in."""
        found = {}
        for pool in self._pools.pools:
            if any(buffer.arena == pool.pool for buffer in run.steps.buffers):
                if pool.offsets[number] < 0:
                    raise NoRun(f"before {pool.pool}")
                found[pool.pool] = memoryview(self._arrays[pool.pool])[pool.offsets[number] :]
        return found


def models(number: int) -> RightModels | None:
    """The models of that number; None where they do not fit together."""
    random = Random(number)
    soc = random.choice((chips.EDGE, chips.EDGE, chips.quad(), chips.ALONE))
    resident = random.choice((None, None, Resident.AUTO))
    setting = evolve(chips.setting(soc), resident=resident)
    lower = chips.lowerer(soc, random.choice((1, 2, 4)))
    names = _NAMES[: random.choice((2, 2, 3))]
    try:
        runs = tuple(lowered(small_model(random), soc, lower, setting=setting) for _ in names)
    except DiagnosticError:
        return None
    plans = {name: run.plan for name, run in zip(names, runs, strict=True)}
    tasks = _tasks(random, names) if random.random() < 0.4 else None
    arenas = Sharing.SHARED if tasks is not None else random.choice((Sharing.SHARED, Sharing.SEPARATE))
    pairs = None if tasks is None else apart(tasks.tasks, None)
    pools = model_pools(soc, plans, arenas, pairs)
    made = RightModels(right=Together(soc=soc, runs=runs, pools=pools), tasks=tasks)
    return made if made.accepts(made.right) else None


def _tasks(random: Random, names: Sequence[str]) -> TimedTasks:
    """Tasks of some steps with priorities, of which two may be the same."""
    tasks = tuple(
        TimedTask(
            name=name,
            timing=Timing(period=100, deadline=100, priority=random.randint(1, 3)),
            steps=(TaskWork(takes=1),) * random.choice((1, 3)),
        )
        for name in names
    )
    return TimedTasks(tasks=tasks, analysis=Analysis(schedule=Schedule.PRIORITIES, responses=()))


# The kinds.


def _in_one(fault: PlanFault) -> Fault:
    """A fault of the plan of one of the models; the memory of all stays, or is made anew from it."""

    def planted(random: Random, together: Together) -> Together | None:
        number = random.randrange(len(together.runs))
        changed = fault(random, together.runs[number])
        if changed is None:
            return None
        made = _with_run(together, number, changed)
        return made if random.random() < 0.5 else _anew(made, made.pools.arenas, made.pools.apart)

    return planted


def _with_run(together: Together, number: int, run: Lowered) -> Together:
    runs = list(together.runs)
    runs[number] = run
    return evolve(together, runs=tuple(runs))


def _pool(change: Callable[[Random, Together, ModelPool], ModelPool | None]) -> Fault:
    """A pool in place of one of the pools."""

    def planted(random: Random, together: Together) -> Together | None:
        pools = list(together.pools.pools)
        number = random.randrange(len(pools))
        changed = change(random, together, pools[number])
        if changed is None:
            return None
        pools[number] = changed
        return _pools(together, pools=tuple(pools))

    return planted


def _pools(together: Together, **facts: object) -> Together:
    return evolve(together, pools=evolve(together.pools, **facts))  # type: ignore[arg-type]


def _changed(random: Random, numbers: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
    listed = list(numbers)
    listed[random.randrange(len(listed))] += random.choice(steps)
    return tuple(listed)


_STEPS = (-512, -64, -32, -16, -4, -1, 1, 4, 16, 32, 64, 512)


def _offset(random: Random, together: Together, pool: ModelPool) -> ModelPool:
    return evolve(pool, offsets=_changed(random, pool.offsets, _STEPS))


def _offsets_exchanged(random: Random, together: Together, pool: ModelPool) -> ModelPool:
    offsets = list(pool.offsets)
    random.shuffle(offsets)
    return evolve(pool, offsets=tuple(offsets))


def _at_anothers(random: Random, together: Together, pool: ModelPool) -> ModelPool:
    return evolve(pool, offsets=tuple(random.choice(pool.offsets) for _ in pool.offsets))


def _overlaid(random: Random, together: Together, pool: ModelPool) -> ModelPool:
    """All models at the begin of a pool, as large as the largest."""
    zeros = (0,) * len(pool.offsets)
    return evolve(pool, overlaid=True, offsets=zeros, bytes=max(pool.peaks, default=0))


def _less(random: Random, together: Together, pool: ModelPool) -> ModelPool | None:
    less = pool.bytes - random.choice((1, 16, 64, pool.bytes // 2, pool.bytes))
    return evolve(pool, bytes=less) if less >= 0 else None


def _more(random: Random, together: Together, pool: ModelPool) -> ModelPool:
    return evolve(pool, bytes=pool.bytes + random.choice((64, pool.capacity)))


def _of_another(random: Random, together: Together, pool: ModelPool) -> ModelPool:
    """The arena of another pool, or one in another memory."""
    return evolve(pool, pool=random.choice(together.pools.pools).pool)


def _less_stated(random: Random, together: Together) -> Together | None:
    """A model states half of its peaks, or none, and the memory of all is made by that."""
    number = random.randrange(len(together.runs))
    plan, part = together.runs[number].plan, random.choice((0, 2, 4))
    peaks = {arena: peak // part if part else 0 for arena, peak in plan.peaks.items()}
    changed = _with_run(together, number, evolve(together.runs[number], plan=evolve(plan, peaks=peaks)))
    return _anew(changed, changed.pools.arenas, changed.pools.apart)


def _anew(together: Together, arenas: Sharing, pairs: Pairs | None) -> Together:
    """The memory of all, packed by other facts, which it does not state."""
    made = model_pools(together.soc, together.plans, arenas, pairs)
    return _pools(together, pools=made.pools)


def _packed_to_share(random: Random, together: Together) -> Together:
    return _anew(together, Sharing.SHARED, None)


def _packed_for_fewer(random: Random, together: Together) -> Together | None:
    """A pair of tasks fewer that has to be apart, stated or not."""
    pairs = together.pools.apart
    if not pairs:
        return None
    fewer = pairs - {random.choice(sorted(pairs, key=sorted))}
    changed = _anew(together, together.pools.arenas, fewer)
    return changed if random.random() < 0.5 else _pools(changed, apart=fewer)


def _left_out(random: Random, together: Together) -> Together:
    pools = list(together.pools.pools)
    del pools[random.randrange(len(pools))]
    return _pools(together, pools=tuple(pools))


def _twice(random: Random, together: Together) -> Together:
    """A pool a second time, whose models may be elsewhere in it."""
    pool = random.choice(together.pools.pools)
    again = _offsets_exchanged(random, together, pool)
    pools = [*together.pools.pools, again]
    random.shuffle(pools)
    return _pools(together, pools=tuple(pools))


def _arenas_exchanged(random: Random, together: Together) -> Together | None:
    """Two arenas in each other's pool."""
    pools = list(together.pools.pools)
    if len(pools) < 2:
        return None
    one, other = random.sample(range(len(pools)), 2)
    pools[one], pools[other] = (
        evolve(pools[one], pool=pools[other].pool),
        evolve(pools[other], pool=pools[one].pool),
    )
    return _pools(together, pools=tuple(pools))


def _offsets_of_another(random: Random, together: Together) -> Together:
    """Buffers of a model where another one has those of the same names."""
    one, other = random.sample(range(len(together.runs)), 2)
    run, there = together.runs[one], together.runs[other].plan.offsets
    plan = evolve(
        run.plan, offsets={**run.plan.offsets, **{n: there[n] for n in run.plan.offsets if n in there}}
    )
    return _with_run(together, one, evolve(run, plan=plan))


def _part_of_another(part: str) -> Fault:
    """The plan, steps or kernels of another model."""

    def planted(random: Random, together: Together) -> Together:
        one, other = random.sample(range(len(together.runs)), 2)
        taken = {part: getattr(together.runs[other], part)}
        return _with_run(together, one, evolve(together.runs[one], **taken))  # type: ignore[arg-type]

    return planted


def _tensor_of_another(random: Random, together: Together) -> Together | None:
    """A constant of another model in place of one, under the name that it has there."""
    one, other = random.sample(range(len(together.runs)), 2)
    theirs = [b.tensor for b in together.runs[other].steps.buffers if b.tensor]
    run = together.runs[one]
    ours = [number for number, buffer in enumerate(run.steps.buffers) if buffer.tensor]
    if not theirs or not ours:
        return None
    buffers, number = list(run.steps.buffers), random.choice(ours)
    buffers[number] = evolve(buffers[number], tensor=random.choice(theirs))
    steps = evolve(run.steps, buffers=tuple(buffers))
    return _with_run(together, one, evolve(run, steps=steps, plan=evolve(run.plan, buffers=tuple(buffers))))


MODEL_FAULTS: dict[str, Fault] = {
    "models exchanged in a pool": _pool(_offsets_exchanged),
    "a model a little off": _pool(_offset),
    "a model at another's place": _pool(_at_anothers),
    "models over each other": _pool(_overlaid),
    "a smaller pool": _pool(_less),
    "a larger pool": _pool(_more),
    "a pool of another arena": _pool(_of_another),
    "a pool left out": _left_out,
    "a pool twice": _twice,
    "arenas exchanged": _arenas_exchanged,
    "less stated than taken": _less_stated,
    "packed to share": _packed_to_share,
    "packed for fewer pairs": _packed_for_fewer,
    "buffers where another has them": _offsets_of_another,
    "the memory of another": _part_of_another("plan"),
    "the steps of another": _part_of_another("steps"),
    "the kernels of another": _part_of_another("kernels"),
    "a constant of another": _tensor_of_another,
}
