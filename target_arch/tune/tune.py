"""Tune the kernels of a compilation: search schedules of each task, measure their C, keep better ones.

The measured code is that of a bundle: the same printed C, by default with the flags of its Makefile. A
candidate is refused unless its results on pseudo-random operands are bit-identical to those of the
definition's schedule.
"""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, Hint, Keyword, advice, name_hint
from target_arch.emit.programs.kernel_timer import Argument, harness
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.kernels import Call, CFunction
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Arithmetic, Lowering
from target_arch.plan.tuning import NOTHING_TUNED, TuningRecord, tuning_of
from target_arch.run.execute.measure import KernelTime, LocalRunner, compile_text
from target_arch.run.tools.toolchain import Compiler, find_compiler
from target_arch.tune.report import Gain, TuningReport

_BATCH = 8
_ROUNDS = 5
_CLEARLY = 0.97
"""A schedule is kept where it takes at most this share of the time of the definition's."""


@frozen(kw_only=True)
class TuneRequest:
    """The kernels to tune, and how. `target_arch` restricts it to the kernels of one; `trials` are
    for each task.

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


@frozen(kw_only=True)
class _Task:
    """A function to tune, and the operators it is the kernel of."""

    name: str
    what: str
    kind: str
    function: Any = field(repr=False)
    printed: CFunction = field(repr=False)
    scratch: tuple[int, ...]
    arguments: tuple[Argument, ...] = field(repr=False)
    operators: tuple[str, ...]


Runner = Callable[[tuple[str, ...]], tuple[KernelTime | None, ...]]


def tune(request: TuneRequest) -> TuningReport:
    """Search and measure; returns the gains and the records.

    DiagnosticError as `compile_model`, and without a task or runner; ToolMissing without a compiler.
    """
    compiler = find_compiler(request.compiler)
    run = _runner(request, compiler)
    tasks = _tasks(request)
    by = f"{compiler}, {' '.join(request.flags)}"
    gains, records, runners = [], [], set[int]()
    for number, task in enumerate(tasks):
        request.said(f"tuning {task.name} ({number + 1} of {len(tasks)})")
        gain, record = _tuned(task, request, run, runners, by)
        gains.append(gain)
        records += [record] if record is not None else []
    return TuningReport(
        gains=tuple(gains), tuning=tuning_of(records), measured=by, runners=len(runners - {0})
    )


def _tuned(
    task: _Task, request: TuneRequest, run: Runner, runners: set[int], by: str
) -> tuple[Gain, TuningRecord | None]:
    from target_arch.relax.tuning.search import Search

    def measured(functions: Sequence[tuple[CFunction, tuple[int, ...]]]) -> tuple[KernelTime | None, ...]:
        found = run(tuple(harness(f, task.arguments, scratch, _ROUNDS) for f, scratch in functions))
        runners.update(each.runner for each in found if each is not None)
        return found

    own = (task.printed, task.scratch)
    (reference,) = measured([own])
    if reference is None:
        raise _failed(task)
    search = Search(task.function, task.kind, trials=request.trials, batch=_BATCH, seed=request.seed)
    good, count = [], 0
    while candidates := search.candidates():
        costs: list[float | None] = []
        found = iter(measured([(each.function, each.scratch) for each in candidates]))
        for each, result in zip(candidates, found, strict=True):
            fits = sum(each.scratch) <= request.scratch
            usable = result is not None and result.hash == reference.hash and fits
            costs.append(result.seconds if usable and result is not None else None)
            good += [(result.seconds, each)] if usable and result is not None else []
        count += len(candidates)
        search.tell(costs)
    best = min(good, key=lambda each: each[0])[1] if good else None
    before, after = reference.seconds, reference.seconds
    if best is not None:
        # Once more, in turns, so that both saw the same machine.
        turns = measured([own, (best.function, best.scratch)] * 3)
        seconds = [None if each is None else each.seconds for each in turns]
        before = min((each for each in seconds[0::2] if each is not None), default=before)
        after = min((each for each in seconds[1::2] if each is not None), default=before)
    kept = best is not None and after <= _CLEARLY * before
    gain = Gain(
        task=task.name,
        what=task.what,
        operators=task.operators,
        measured=count,
        refused=count - len(good),
        before=before,
        after=after if kept else before,
    )
    if best is None or not kept:
        return gain, None
    record = TuningRecord(
        task=task.name,
        what=task.what,
        measured=by,
        baseline=_rounded(before),
        tuned=_rounded(after),
        scratch=sum(best.scratch),
        trace=best.trace,
    )
    return gain, record


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.4e}")


def _tasks(request: TuneRequest) -> tuple[_Task, ...]:
    """The tasks of a compilation, each once, in the model's order. DiagnosticError where there is none."""
    soc = request.compilation.soc
    names = tuple(arch.name for arch in soc.archs)
    if request.target_arch is not None and request.target_arch not in names:
        said = f"SoC `{soc.name}` has no target_arch `{request.target_arch}`"
        hint = name_hint(request.target_arch, names, "there are")
        raise _refused("unknown-target-arch", "target_arch", said, hint)
    made = compile_model(evolve(request.compilation, tuning=NOTHING_TUNED))
    called = {
        call.operator: call.function
        for kernel in made.kernels.values()
        for call in kernel.actions
        if isinstance(call, Call) and request.target_arch in (None, soc.instance(kernel.instance).arch.name)
    }
    found: dict[str, _Task] = {}
    for operator in made.model.operators:
        task = _task(operator, made.model) if operator.id in called else None
        if task is not None and task.printed.name == called[operator.id]:
            known = found.get(task.name, task)
            operators = (*(() if known is task else known.operators), operator.id)
            found[task.name] = evolve(known, operators=operators)
    if not found:
        where = request.target_arch or soc.name
        hint = "integer sums that backends of CPUs lower as plain C can be tuned: see docs/tuning.md"
        said = f"model `{made.model.name}` has no kernel on `{where}` to tune"
        raise _refused("nothing-to-tune", "target_arch", said, hint)
    return tuple(found.values())


def _task(operator: Operator, model: Model) -> _Task | None:
    """The task an operator's plain C comes from; None where its schedule has no alternatives."""
    from target_arch.relax.lower.operators import lower_operator
    from target_arch.relax.tuning.tasks import arguments_of, function_of, tunable

    if operator.facts.lowering is not Lowering.DEFINITION or operator.arithmetic == Arithmetic.FLOAT:
        return None
    definition, function = function_of(operator, model)
    if not tunable(function):
        return None
    lowered = lower_operator(operator, model)
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    from target_arch.relax.lower.recorded_schedule import task_name

    return _Task(
        name=task_name(function, operator.kind),
        what=f"{operator.kind} {x.dtype}{list(x.shape)} -> {list(out.shape)}",
        kind=operator.kind,
        function=function,
        printed=lowered.function,
        scratch=lowered.scratch,
        arguments=tuple(Argument(dtype=t, count=n, values=v) for t, n, v in arguments_of(definition)),
        operators=(operator.id,),
    )


def _runner(request: TuneRequest, compiler: Compiler) -> Runner:
    if request.tracker is None:
        return LocalRunner(compiler=compiler, flags=request.flags)
    from target_arch.relax.tuning.remote import RemoteRunner

    shared = (*request.flags, "-fPIC", "-shared")
    remote = RemoteRunner(
        host=request.tracker[0],
        port=request.tracker[1],
        key=request.key,
        compile=lambda text, path: compile_text(text, path, compiler, shared),
    )
    remote.servers()

    def run(texts: tuple[str, ...]) -> tuple[KernelTime | None, ...]:
        return tuple(
            None if each is None else KernelTime(seconds=each[0], hash=each[1], runner=each[2])
            for each in remote(texts)
        )

    return run


def _failed(task: _Task) -> DiagnosticError:
    said = f"the kernel of {task.operators[0]} cannot be measured: its program does not compile or run"
    hint = advice("look at ", Keyword("compiler"), " and ", Keyword("flags"), ", and at the servers' output")
    return _refused("not-measured", f"tuning {task.name}", said, hint)


def _refused(rule: str, place: str, said: str, hint: Hint | None) -> DiagnosticError:
    return DiagnosticError([Diagnostic(rule=rule, place=place, message=said, hint=hint)])
