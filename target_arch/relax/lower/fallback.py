"""Lowering of operators without a TE definition here: TVM legalizes the Relax call, and the result is
printed.

A Relax function becomes one C function per TIR function that is left after fusion, in program order.
Values between them are intermediates, which the caller has to place, as it has to place large scratch.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import prod
from typing import Any

import tvm
import tvm_ffi
from attrs import evolve, frozen
from tvm import relax, s_tir, tirx

from target_arch.plan.kernels import CFunction
from target_arch.plan.model import DTYPE_BYTES, Operator, Tensor
from target_arch.plan.operators.facts import RELAX_OP
from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.graph import operator_name
from target_arch.relax.lower.lowering import print_scheduled
from target_arch.relax.quiet import quiet


class NotLegalizedError(Exception):
    """TVM has no TIR for an operator of a Relax function."""


@frozen(kw_only=True, eq=False)
class LegalCall:
    """A call of an S-TIR function, whose parameters are the tensors that it reads, then those it writes."""

    function: Any
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@frozen(kw_only=True, eq=False)
class LegalFunction:
    """A Relax function as calls in order. Its parameters are `input0` and so on, its result is `output`;
    `intermediates` are the bytes of the other values.
    """

    calls: tuple[LegalCall, ...]
    constants: tuple[Tensor, ...]
    intermediates: Mapping[str, int]


@frozen(kw_only=True)
class Step:
    """A call of a C function: tensors and intermediates by name."""

    function: CFunction
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    scratch: tuple[str, ...]


@frozen(kw_only=True)
class LoweredRelax:
    """The steps of a Relax function, and the bytes of their intermediates and scratch by name."""

    steps: tuple[Step, ...]
    constants: tuple[Tensor, ...]
    intermediates: Mapping[str, int]
    scratch: Mapping[str, int]

    def of(self, operator: Operator) -> "LoweredRelax":
        """The same steps for an operator: with its tensors, and with values of its own."""

        def sizes(given: Mapping[str, int]) -> dict[str, int]:
            return dict(zip(names_of(given, operator), given.values(), strict=True))

        steps = (
            evolve(
                step,
                reads=names_of(step.reads, operator),
                writes=names_of(step.writes, operator),
                scratch=names_of(step.scratch, operator),
            )
            for step in self.steps
        )
        return LoweredRelax(
            steps=tuple(steps),
            constants=tuple(evolve(each, name=f"{operator.id}.{each.name}") for each in self.constants),
            intermediates=sizes(self.intermediates),
            scratch=sizes(self.scratch),
        )


_INPUT, OUTPUT = "input", "output"
"""Names of the tensors of a nameless operator; the inputs are numbered."""


def names_of(names: Iterable[str], operator: Operator) -> tuple[str, ...]:
    """The names that values of a nameless operator have as those of this one."""
    tensors = {f"{_INPUT}{number}": name for number, name in enumerate(operator.inputs)}
    tensors[OUTPUT] = operator.output
    return tuple(tensors.get(name, f"{operator.id}.{name}") for name in names)


def lower_relax(module: Any, operator: Operator) -> LoweredRelax:
    """The C of the Relax function `main` of a module, whose parameters are the operator's inputs. Equal
    functions are lowered once.

    Raises NotLegalizedError where TVM has no TIR for it, UnprintableError where there is no C.
    """
    kind = re.sub(r"\W", "_", str(operator.attributes.get(RELAX_OP, operator.kind)))
    try:
        return _lowered(tvm_ffi.StructuralKey(module), kind).of(operator)
    except NotLegalizedError as error:
        raise NotLegalizedError(f"`{operator.id}`: {error}") from error


@lru_cache(maxsize=256)
def _lowered(module: Any, kind: str) -> LoweredRelax:
    """The lowered form of a structure, for an operator without a name."""
    found = legal_function(module.key)
    steps: list[Step] = []
    sizes: dict[str, int] = {}
    for call in found.calls:
        printed = print_scheduled(call.function, kind, wraps=True)
        scratch = tuple(f"scratch{len(sizes) + n}" for n in range(len(printed.scratch)))
        sizes.update(zip(scratch, printed.scratch, strict=True))
        steps.append(Step(function=printed.function, reads=call.reads, writes=call.writes, scratch=scratch))
    return LoweredRelax(
        steps=tuple(steps), constants=found.constants, intermediates=found.intermediates, scratch=sizes
    )


def legal_function(module: Any) -> LegalFunction:
    """The Relax function `main` of a module. Raises NotLegalizedError where TVM has no TIR for it."""
    try:
        legal = _legalized(module)
    except tvm.error.InternalError as error:
        raise NotLegalizedError("TVM does not take it with these operands") from error
    return _Lowering(legal).run()


def _legalized(module: Any) -> Any:
    """Calls of TIR functions, of which constants are computed now unless the result is one itself."""
    called = _fused(module, relax.transform.FoldConstant())
    return called if _calls_any(called["main"]) else _fused(module)


def _fused(module: Any, *before: Any) -> Any:
    passes = (
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        *before,
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        relax.transform.DeadCodeElimination(),
    )
    with quiet():  # TVM warns of indices out of bounds, whatever they are
        for step in passes:
            module = step(module)
    return module


def _calls_any(main: Any) -> bool:
    return any(isinstance(binding.value, relax.Call) for binding in bindings_of(main))


class _Lowering:
    """Walks the bindings of a legalized function and names the values that they stand for."""

    def __init__(self, module: Any) -> None:
        self.module = module
        main = module["main"]
        self.names: dict[Any, tuple[str, ...]] = {
            parameter: (f"{_INPUT}{number}",) for number, parameter in enumerate(main.params)
        }
        self.bindings = list(bindings_of(main))
        self.result = main.body.body
        self.calls: list[LegalCall] = []
        self.constants: list[Tensor] = []
        self.intermediates: dict[str, int] = {}

    def run(self) -> LegalFunction:
        outputs = self._producers_of_result()
        for binding in self.bindings:
            self._binding(binding.var, binding.value, is_output=binding.var in outputs)
        return LegalFunction(
            calls=tuple(self.calls), constants=tuple(self.constants), intermediates=self.intermediates
        )

    def _producers_of_result(self) -> set[Any]:
        """The variables that are the result under another name."""
        values = {binding.var: binding.value for binding in self.bindings}
        found, var = {self.result}, self.result
        while isinstance(values.get(var), relax.Var):
            var = values[var]
            found.add(var)
        return found

    def _binding(self, var: Any, value: Any, *, is_output: bool) -> None:
        if isinstance(value, relax.Var):
            self.names[var] = self.names[value]
        elif isinstance(value, relax.TupleGetItem):
            self.names[var] = (self.names[value.tuple_value][value.index],)
        elif isinstance(value, relax.Call) and str(getattr(value.op, "name", "")) == "relax.call_tir":
            self.names[var] = self._outputs(var, is_output=is_output)
            self._call(value, self.names[var])
        else:
            raise NotLegalizedError(f"TVM has no TIR for `{operator_name(value)}`")

    def _outputs(self, var: Any, *, is_output: bool) -> tuple[str, ...]:
        if is_output:
            return (OUTPUT,)
        fields = getattr(var.ty, "fields", None) or [var.ty]
        names = []
        for field in fields:
            name = f"value{len(self.intermediates)}"
            size = prod(int(extent) for extent in field.shape) * DTYPE_BYTES[str(field.dtype)]
            self.intermediates[name] = size
            names.append(name)
        return tuple(names)

    def _call(self, call: Any, writes: tuple[str, ...]) -> None:
        reads = tuple(self._operand(argument) for argument in call.args[1].fields)
        function = simplify(self.module[call.args[0]])
        self.calls.append(LegalCall(function=function, reads=reads, writes=writes))

    def _operand(self, argument: Any) -> str:
        if isinstance(argument, relax.Var):
            return self.names[argument][0]
        values = argument.value.numpy()
        name = f"constant{len(self.constants)}"
        self.constants.append(
            Tensor(name=name, shape=tuple(values.shape), dtype=str(values.dtype), data=values.tobytes())
        )
        return name


def simplify(function: Any) -> Any:
    """An S-TIR function without the intermediates that can be computed where they are read.

    A function of one block that was written as loops stays as it is.
    """
    if function.body.block.name_hint != "root":
        return function
    schedule = s_tir.Schedule(function)
    root = schedule.get_sblock("root")
    for block in schedule.get_child_blocks(root):
        if not schedule.get(block).init:
            _inline(schedule, block)
    for block in schedule.get_child_blocks(root):
        if schedule.get(block).init:
            _decompose(schedule, block)
    return schedule.mod["main"]


def _inline(schedule: Any, block: Any) -> None:
    try:
        schedule.compute_inline(block)
    except s_tir.ScheduleError:
        # The block writes an output, or a buffer that is read in more than one way: it stays.
        return


def _decompose(schedule: Any, block: Any) -> None:
    """Moves the start value of a reduction before its first reduction loop, if it is in one."""
    name = schedule.get(block).name_hint
    reduced: list[Any] = []

    def visit(realize: Any) -> None:
        if realize.block.name_hint == name:
            pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
            reduced.extend(value for axis, value in pairs if axis.iter_type == tirx.IterVar.CommReduce)

    tvm_ffi.structural_walk(schedule.mod["main"].body, (s_tir.SBlockRealize, visit))
    for loop in schedule.get_loops(block):
        if schedule.get(loop).loop_var in reduced:
            schedule.decompose_reduction(block, loop)
            return
