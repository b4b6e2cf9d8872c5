"""Tune the kernels of a compilation: measure the codes of each task, search schedules of definitions, keep
what is better than the rules' choice.

The measured code is that of a bundle: the same printed C, by default with the flags of its Makefile. A
candidate is refused unless its results on pseudo-random inputs are bit-identical to those of the rules'
code.
"""

from collections.abc import Callable, Iterator, Sequence

from attrs import define, evolve, field, frozen

from target_arch.diagnostics import DiagnosticError, Keyword, advice
from target_arch.emit.programs.kernel_timer import timed_kernel
from target_arch.pipeline import CompileRequest
from target_arch.plan.tuning import DEFINITION, TuningRecord, tuning_of
from target_arch.run.execute.measure import KernelTime, LocalRunner, compile_timer
from target_arch.run.tools.toolchain import Compiler, find_compiler
from target_arch.tune.report import Gain, TuningReport
from target_arch.tune.tasks import TaskCode, TuningTask, refused, tasks

_BATCH = 8
_ROUNDS = 5
_TURNS = 3
_CLEARLY = 0.97
"""Another code is kept where it takes at most this share of the time of the rules'."""


@frozen(kw_only=True)
class TuneRequest:
    """The kernels to tune, and how. `target_arch` restricts it to the kernels of one; `trials` are the
    schedules of each definition.

    `compiler` and `flags` make the programs that are measured, `scratch` is how many bytes of scratch a tuned
    kernel may want. With `tracker` (host and port) and `key` they run on the servers of that key.
    """

    compilation: CompileRequest
    target_arch: str | None = None
    trials: int = 32
    seed: int = 0
    compiler: str | None = None
    flags: tuple[str, ...] = field(default=("-O2",), converter=tuple[str, ...])
    scratch: int = 0
    tracker: tuple[str, int] | None = None
    key: str = "target_arch"
    said: Callable[[str], None] = field(default=lambda text: None, repr=False)


Runner = Callable[[tuple[str, ...]], tuple[KernelTime | None, ...]]


@define(kw_only=True, eq=False)
class _Bench:
    """Where candidates are measured, and which runners were seen."""

    run: Runner
    runners: set[int] = field(factory=set)

    def times(self, candidates: Sequence[TaskCode]) -> tuple[KernelTime | None, ...]:
        """The measurement of each candidate; None for one that does not compile or run."""
        found = self.run(tuple(timed_kernel(c.function, c.arguments, c.scratch, _ROUNDS) for c in candidates))
        self.runners.update(each.runner for each in found if each is not None)
        return found

    def turns(self, one: TaskCode, other: TaskCode, known: float) -> tuple[float, float]:
        """Seconds of two candidates, measured in turns, so that both saw the same machine."""
        seconds = [None if each is None else each.seconds for each in self.times((one, other) * _TURNS)]
        first = min((each for each in seconds[0::2] if each is not None), default=known)
        return first, min((each for each in seconds[1::2] if each is not None), default=first)


@frozen(kw_only=True)
class _Measured:
    """A candidate whose results are those of the rules' code."""

    seconds: float
    candidate: TaskCode


@frozen(kw_only=True)
class _Tried:
    """How many candidates were measured, and the good ones."""

    count: int
    good: tuple[_Measured, ...]

    @property
    def best(self) -> _Measured | None:
        return min(self.good, key=lambda each: each.seconds, default=None)

    def __add__(self, other: "_Tried") -> "_Tried":
        return _Tried(count=self.count + other.count, good=self.good + other.good)


_NOTHING_TRIED = _Tried(count=0, good=())


def tune(request: TuneRequest) -> TuningReport:
    """Search and measure; returns the gains and the records.

    DiagnosticError as `compile_model`, and without a task or runner; ToolMissing without a compiler.
    """
    compiler = find_compiler(request.compiler)
    bench = _Bench(run=_runner(request, compiler))
    found = tasks(request.compilation, request.target_arch)
    by = f"{compiler}, {' '.join(request.flags)}"
    gains, records = [], []
    for number, task in enumerate(found):
        request.said(f"tuning {task.name} ({number + 1} of {len(found)})")
        gain, record = _tuned(task, request, bench, by)
        gains.append(gain)
        records += [record] if record is not None else []
    return TuningReport(
        gains=tuple(gains), tuning=tuning_of(records), measured=by, runners=len(bench.runners - {0})
    )


def _tuned(
    task: TuningTask, request: TuneRequest, bench: _Bench, by: str
) -> tuple[Gain, TuningRecord | None]:
    rule, *others = task.candidates
    (reference,) = bench.times([rule])
    if reference is None:
        raise _failed(task)
    tried = _good(bench, reference, others, request.scratch)
    fastest = _fastest(rule, reference, tried)
    if task.function is not None and fastest.choice == DEFINITION:
        tried += _searched(task, fastest, reference, request, bench)
        fastest = _fastest(rule, reference, tried)
    before = after = reference.seconds
    if fastest is not rule:
        before, after = bench.turns(rule, fastest, before)
    kept = fastest if after <= _CLEARLY * before else rule
    gain = Gain(
        task=task.name,
        what=task.what,
        operators=task.operators,
        measured=tried.count,
        refused=tried.count - len(tried.good),
        choice=kept.choice,
        before=before,
        after=before if kept is rule else after,
    )
    return gain, None if kept is rule else _record(task, kept, gain, by)


def _fastest(rule: TaskCode, reference: KernelTime, tried: _Tried) -> TaskCode:
    best = tried.best
    return rule if best is None or reference.seconds <= best.seconds else best.candidate


def _record(task: TuningTask, kept: TaskCode, gain: Gain, by: str) -> TuningRecord:
    return TuningRecord(
        task=task.name,
        what=task.what,
        measured=by,
        rule=task.candidates[0].choice,
        choice=kept.choice,
        baseline=_rounded(gain.before),
        tuned=_rounded(gain.after),
        scratch=sum(kept.scratch),
        trace=kept.trace,
    )


def _searched(
    task: TuningTask, definition: TaskCode, reference: KernelTime, request: TuneRequest, bench: _Bench
) -> _Tried:
    """Schedules of a definition, as many as there are trials."""
    from target_arch.relax.tuning.search import Search

    search = Search(task.function, task.kind, trials=request.trials, batch=_BATCH, seed=request.seed)
    found: list[_Tried] = []
    while batch := search.candidates():
        made = [evolve(definition, function=c.function, scratch=c.scratch, trace=c.trace) for c in batch]
        tried = _good(bench, reference, made, request.scratch)
        seconds = {each.candidate.trace: each.seconds for each in tried.good}
        search.tell([seconds.get(each.trace) for each in batch])
        found.append(tried)
    return sum(found, _NOTHING_TRIED)


def _good(bench: _Bench, reference: KernelTime, candidates: Sequence[TaskCode], scratch: int) -> _Tried:
    def good() -> Iterator[_Measured]:
        for each, time in zip(candidates, bench.times(candidates), strict=True):
            if time is not None and time.hash == reference.hash and sum(each.scratch) <= scratch:
                yield _Measured(seconds=time.seconds, candidate=each)

    return _Tried(count=len(candidates), good=tuple(good()))


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.4e}")


def _runner(request: TuneRequest, compiler: Compiler) -> Runner:
    if request.tracker is None:
        return LocalRunner(compiler=compiler, flags=request.flags)
    from target_arch.relax.tuning.remote import RemoteRunner

    shared = (*request.flags, "-fPIC", "-shared")
    remote = RemoteRunner(
        host=request.tracker[0],
        port=request.tracker[1],
        key=request.key,
        compile=lambda table, path: compile_timer(table, path, compiler, shared),
    )
    remote.servers()

    def run(texts: tuple[str, ...]) -> tuple[KernelTime | None, ...]:
        return tuple(
            None if each is None else KernelTime(seconds=each[0], hash=each[1], runner=each[2])
            for each in remote(texts)
        )

    return run


def _failed(task: TuningTask) -> DiagnosticError:
    said = f"the kernel of {task.operators[0]} cannot be measured: its program does not compile or run"
    hint = advice("look at ", Keyword("compiler"), " and ", Keyword("flags"), ", and at the servers' output")
    return refused("not-measured", f"tuning {task.name}", said, hint)
