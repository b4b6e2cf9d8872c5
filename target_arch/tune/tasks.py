"""The tasks of a compilation: functions of which there may be better code, each with the codes to measure."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, Hint, listed, name_hint
from target_arch.emit.programs.kernel_timer import Argument
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.kernels import Call, CFunction, Kernel
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.facts import Arithmetic, Lowering
from target_arch.plan.tuning import DEFINITION, NOTHING_TUNED, TuningRecord, tuning_of


@frozen(kw_only=True)
class TaskCode:
    """One code of a task, with the arguments it is measured with; `trace` as in `TuningRecord`."""

    choice: str
    function: CFunction = field(repr=False)
    arguments: tuple[Argument, ...] = field(repr=False)
    scratch: tuple[int, ...] = ()
    trace: str = ""


@frozen(kw_only=True)
class TuningTask:
    """A function to tune, and the operators it is the kernel of. `candidates` are its codes, that of the
    rules first; `function` is the S-TIR of its definition where schedules of that may be searched.
    """

    name: str
    what: str
    kind: str
    operators: tuple[str, ...]
    candidates: tuple[TaskCode, ...]
    function: Any = field(repr=False)


def tasks(compilation: CompileRequest, target_arch: str | None) -> tuple[TuningTask, ...]:
    """The tasks of a compilation, each once, in the model's order; those of one target_arch, or all.
    DiagnosticError where there is none.
    """
    soc = compilation.soc
    names = tuple(arch.name for arch in soc.archs)
    if target_arch is not None and target_arch not in names:
        said = f"SoC `{soc.name}` has no target_arch `{target_arch}`"
        raise refused("unknown-target-arch", "target_arch", said, name_hint(target_arch, names, "there are"))
    made = compile_model(evolve(compilation, tuning=NOTHING_TUNED))
    others = _alternatives(made, compilation)
    found: dict[str, TuningTask] = {}
    for task in _each(made, _kernels(made, compilation, target_arch), others):
        known = found.get(task.name)
        found[task.name] = evolve(known, operators=(*known.operators, *task.operators)) if known else task
    if not found:
        where = target_arch or soc.name
        have = [name for name in names if any(_each(made, _kernels(made, compilation, name), others))]
        rule = "integer sums that backends of CPUs lower as plain C can be tuned: see docs/tuning.md"
        said = f"model `{made.model.name}` has no kernel on `{where}` to tune"
        hint = f"there are some on {listed(have)}" if have else rule
        raise refused("nothing-to-tune", "target_arch", said, hint)
    return tuple(found.values())


def refused(rule: str, place: str, said: str, hint: Hint | None) -> DiagnosticError:
    """The refusal of a request to tune."""
    return DiagnosticError([Diagnostic(rule=rule, place=place, message=said, hint=hint)])


def _kernels(made: CompiledModel, compilation: CompileRequest, target_arch: str | None) -> set[str]:
    """The names of the kernels of a target_arch, or of all."""
    return {
        name
        for name, kernel in made.kernels.items()
        if target_arch in (None, compilation.soc.instance(kernel.instance).arch.name)
    }


def _alternatives(made: CompiledModel, compilation: CompileRequest) -> tuple[CompiledModel, ...]:
    """The same compilation with the second code of each operator that has several, with the third, ..."""
    from target_arch.relax.tuning.tasks import task_of

    choices = _choices(made)
    named = [
        (task_of(operator, made.model), choices[operator.id])
        for operator in made.model.operators
        if operator.id in choices
    ]
    turns = range(1, max((len(codes) for _, codes in named), default=1))
    wishes = [[_wish(task, codes, turn) for task, codes in named if turn < len(codes)] for turn in turns]
    return tuple(compile_model(evolve(compilation, tuning=tuning_of(each))) for each in wishes)


def _choices(made: CompiledModel) -> dict[str, tuple[str, ...]]:
    """The codes of each operator that has several."""
    return {name: codes for kernel in made.kernels.values() for name, codes in kernel.choices.items()}


def _wish(task: str, codes: tuple[str, ...], turn: int) -> TuningRecord:
    """A record for which nothing has been measured yet."""
    return TuningRecord(
        task=task,
        what="",
        measured="",
        rule=codes[0],
        choice=codes[turn],
        baseline=0.0,
        tuned=0.0,
        scratch=0,
        trace="",
    )


def _each(made: CompiledModel, chosen: set[str], others: tuple[CompiledModel, ...]) -> Iterator[TuningTask]:
    """A task for each operator of the chosen kernels that has one."""
    codes = [_codes(each.kernels, each.model, chosen) for each in (made, *others)]
    names = _choices(made)
    for operator in made.model.operators:
        own = codes[0].get(operator.id)
        if own is None:
            continue
        choices = names.get(operator.id, (DEFINITION,))
        found = zip(choices, (each.get(operator.id) for each in codes), strict=False)
        candidates = tuple(evolve(code, choice=choice) for choice, code in found if code is not None)
        function = _searchable(operator, made.model, candidates)
        if len(candidates) > 1 or function is not None:
            yield _task(operator, made.model, candidates, function)


def _task(operator: Operator, model: Model, candidates: tuple[TaskCode, ...], function: Any) -> TuningTask:
    from target_arch.relax.tuning.tasks import task_of

    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    return TuningTask(
        name=task_of(operator, model),
        what=f"{operator.kind} {x.dtype}{list(x.shape)} -> {list(out.shape)}",
        kind=operator.kind,
        operators=(operator.id,),
        candidates=candidates,
        function=function,
    )


def _searchable(operator: Operator, model: Model, candidates: tuple[TaskCode, ...]) -> Any:
    """The S-TIR of an operator with its definition, alone in a function, among the candidates; None without,
    or where the schedule has no alternatives.
    """
    from target_arch.relax.lower.operators import lower_operator
    from target_arch.relax.tuning.tasks import function_of, tunable

    if operator.lowering is not Lowering.DEFINITION or operator.arithmetic == Arithmetic.FLOAT:
        return None
    defined = [each.function.name for each in candidates if each.choice == DEFINITION]
    if not defined:
        return None
    function = function_of(operator, model)
    alone = tunable(function) and lower_operator(operator, model).function.name in defined
    return function if alone else None


def _codes(kernels: Mapping[str, Kernel], model: Model, chosen: set[str]) -> dict[str, TaskCode]:
    """The function of each operator of the chosen kernels that is one call on whole tensors."""
    found: dict[str, TaskCode | None] = {}
    for kernel in (kernels[name] for name in kernels if name in chosen):
        functions = {function.name: function for function in kernel.functions}
        tensors = {**model.tensors, **{each.name: each for each in kernel.constants}}
        scratch = {buffer.name: buffer.bytes for buffer in kernel.buffers}
        for call in (action for action in kernel.actions if isinstance(action, Call)):
            code = _code(call, functions.get(call.function), tensors, scratch)
            found[call.operator] = None if call.operator in found else code
    return {name: code for name, code in found.items() if code is not None}


def _code(
    call: Call, function: CFunction | None, tensors: Mapping[str, Tensor], scratch: Mapping[str, int]
) -> TaskCode | None:
    names = [each.of for each in call.operands if each.of not in scratch]
    parts = any(each.offset or each.bytes is not None for each in call.operands)
    if function is None or parts or call.copies or any(name not in tensors for name in names):
        return None
    sizes = tuple(scratch[each.of] for each in call.operands if each.of in scratch)
    return TaskCode(
        choice=DEFINITION,
        function=function,
        arguments=tuple(_argument(tensors[name]) for name in names),
        scratch=sizes,
    )


def _argument(tensor: Tensor) -> Argument:
    values = () if tensor.data is None else tuple(np.frombuffer(tensor.data, tensor.dtype).tolist())
    return Argument(dtype=tensor.dtype, count=prod(tensor.shape), values=values)
