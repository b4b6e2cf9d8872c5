"""The calls in NS-TIR that stand for instructions, and the passes that bring them into the engine's form.

After lowering, a function is loops around calls of `gemm_vta.*`, whose operands are addresses in buffers:

- `in_place`: the ALU's output buffer becomes its input buffer, since it changes accumulators in place;
- `coalesced`: the loops around a GEMM or ALU call become loop fields of one instruction, as many as it has;
  contiguous loops count as one.

    gemm_vta.gemm(acc, entry, inp, entry, wgt, entry, (count, acc, inp, wgt) x 3)
    gemm_vta.reset(acc, entry, (count, acc) x 3)
    gemm_vta.alu(operation, immediate, acc, entry[, one, entry[, two, entry]], (count, acc[, one[, two]]) x 2)

Tests: `tests/backends/gemm_vta/test_stages.py`.
"""

from typing import Any

import tvm_ffi
from tvm import ir, sym, tirx

from target_arch.backends.gemm_vta.dma import LOAD, STORE, buffer_name
from target_arch.backends.gemm_vta.intrinsics import ALU, GEMM, RESET
from target_arch.backends.gemm_vta.tiles import ENTRY_BYTES
from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.tir.nests import with_body

LEVELS = {GEMM: 3, RESET: 3, ALU: 2}
"""How many loops an instruction has fields for."""
ALL = frozenset((GEMM, RESET, ALU, LOAD, STORE))


def call_name(statement: Any) -> str:
    """The name of the instruction that a statement is a call of; empty for any other."""
    value = getattr(statement, "value", None)
    if not isinstance(statement, tirx.Evaluate) or not isinstance(value, ir.Call):
        return ""
    external = str(getattr(value.op, "name", "")).endswith("call_extern")
    return str(value.args[0].value) if external else ""


def in_place(function: Any) -> Any:
    """The function with one buffer for the ALU's operand and result, from the sums to the results."""
    first: dict[Any, Any] = {}

    def follow(statement: Any) -> None:
        if call_name(statement) == ALU:
            out, accumulator = (_address(each)[0] for each in statement.value.args[3:5])
            first[out] = first.get(accumulator, accumulator)

    tvm_ffi.structural_walk(function.body, (tirx.Evaluate, follow))

    def renamed(statement: Any) -> Any:
        if call_name(statement) not in ALL:
            return statement
        name, *operands = statement.value.args
        return tirx.Evaluate(
            tirx.call_extern("int32", str(name.value), *(_renamed(each, first) for each in operands))
        )

    return function.with_body(_mapped(function.body, renamed, set(first)))


def _renamed(argument: Any, first: dict[Any, Any]) -> Any:
    found = _location(argument)
    if found is None or found[0] not in first:
        return argument
    buffer, offset = found
    other = first[buffer]
    return other.data if offset is None else tirx.address_of(other[offset])


def _mapped(statement: Any, change: Any, gone: set[Any]) -> Any:
    """The statement with every call changed, and without the allocations of removed buffers."""
    if isinstance(statement, tirx.SeqStmt):
        kept = [each for each in statement.seq if getattr(each, "buffer", None) not in gone]
        return tirx.SeqStmt([_mapped(each, change, gone) for each in kept])
    if isinstance(statement, tirx.For):
        return with_body(statement, _mapped(statement.body, change, gone))
    if isinstance(statement, tirx.AttrStmt):
        body = _mapped(statement.body, change, gone)
        return tirx.AttrStmt(statement.node, statement.attr_key, statement.value, body)
    return change(statement)


def coalesced(function: Any) -> Any:
    """The function with the loops around each GEMM and ALU call in its fields, as far as there are fields."""
    return function.with_body(_coalesced(function.body))


def _coalesced(statement: Any) -> Any:
    loops, inner = [], statement
    while isinstance(inner, tirx.For):
        loops.append(inner)
        inner = inner.body
    if call_name(inner) in LEVELS:
        return _folded(loops, inner.value)
    if isinstance(statement, tirx.SeqStmt):
        return tirx.SeqStmt([_coalesced(each) for each in statement.seq])
    if isinstance(statement, tirx.For):
        return with_body(statement, _coalesced(statement.body))
    return statement


def _folded(loops: list[Any], call: Any) -> Any:
    """One instruction, in the loops that it has no fields for."""
    name = str(call.args[0].value)
    head = [] if name != ALU else list(call.args[1:3])
    # The ALU changes its accumulator in place: its result and what it reads are one operand.
    addresses = [_address(each) for each in call.args[1 + len(head) + (name == ALU) :]]
    variables = [loop.loop_var for loop in loops]
    affine = [_entries(buffer, offset, variables) for buffer, offset in addresses]
    rows = [(loop, int(loop.extent), tuple(steps[n] for steps, _ in affine)) for n, loop in enumerate(loops)]
    levels = _joined(rows)
    inside = levels[-LEVELS[name] :]
    outside = levels[: -LEVELS[name]]
    fields: list[Any] = []
    unused = [(None, 1, (0,) * len(affine))] * (LEVELS[name] - len(inside))
    for _, count, steps in (*unused, *inside):
        fields += [count, *steps]
    starts = [
        start + sum((row[0].loop_var * row[2][n] for row in outside), tirx.IntImm("int32", 0))
        for n, (_, start) in enumerate(affine)
    ]
    places = zip((buffer.data for buffer, _ in addresses), starts, strict=True)
    operands = [each for place in places for each in place]
    statement: Any = tirx.Evaluate(tirx.call_extern("int32", name, *head, *operands, *fields))
    for loop, count, _ in reversed(outside):
        statement = tirx.For(loop.loop_var, 0, count, loop.kind, statement)
    return statement


def _joined(rows: list[tuple[Any, int, tuple[int, ...]]]) -> list[tuple[Any, int, tuple[int, ...]]]:
    """Loops with their counts and steps; one that goes on where the next inner one ends is joined with it."""
    joined: list[tuple[Any, int, tuple[int, ...]]] = []
    for loop, count, steps in reversed(rows):
        last = joined[-1] if joined else None
        if last is not None and steps == tuple(last[1] * step for step in last[2]):
            joined[-1] = (last[0], count * last[1], last[2])
        elif count > 1:
            joined.append((loop, count, steps))
    return joined[::-1]


def _entries(buffer: Any, offset: Any, variables: list[Any]) -> tuple[list[int], Any]:
    """How many entries each loop moves on, and the entry where they begin."""
    name = buffer_name(buffer)
    assert name is not None
    entry = ENTRY_BYTES[name] // DTYPE_BYTES[str(buffer.dtype)]
    *steps, start = sym.detect_linear_equation(offset, variables) if variables else [offset]
    whole = [int(each.value) for each in steps]
    if any(each % entry for each in whole):
        raise ValueError(f"{offset} is no entry of the engine's `{name}` buffer")
    return [each // entry for each in whole], sym.Analyzer().simplify(tirx.floordiv(start, entry))


def _location(argument: Any) -> tuple[Any, Any] | None:
    """Buffer and offset of an address; the offset of a buffer's data is None; None for anything else."""
    name = str(getattr(getattr(argument, "op", None), "name", ""))
    if name.endswith("address_of"):
        load = argument.args[0]
        return load.source, load.indices[0]
    if isinstance(argument, ir.Call) and argument.args:
        return argument.args[0], None
    return None


def _address(argument: Any) -> tuple[Any, Any]:
    found = _location(argument)
    assert found is not None
    return found
