"""From loops around calls to the list of instructions they run, with buffers at fixed entries.

Every extent and every field is a number once the loop variables are, so the function is executed: loops
count, calls are recorded. Buffers of one kind are placed one after the other, each at the same place in every
round.
"""

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any, ClassVar

from tvm import tirx

from target_arch.backends.gemm_vta.calls import call_name
from target_arch.backends.gemm_vta.description import ENUMS, Instruction
from target_arch.backends.gemm_vta.dma import LOAD, STORE, buffer_name
from target_arch.backends.gemm_vta.intrinsics import ALU, GEMM, RESET
from target_arch.backends.gemm_vta.tiles import ENTRY_BYTES
from target_arch.plan.model import DTYPE_BYTES

Number = Callable[[Mapping[Any, int]], int]

_PLACE = ("ROWS", "COLUMNS", "WIDTH", "ROW_STRIDE", "COLUMN_STRIDE")
_PADDING = ("TOP", "BOTTOM", "LEFT", "RIGHT", "FILL")


def unrolled(function: Any) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions of a function in program order, and the entries of each buffer that they use."""
    run = _Run(function)
    run.statement(function.body, {})
    return run.instructions, run.entries


class _Run:
    def __init__(self, function: Any) -> None:
        self.instructions: list[Instruction] = []
        self.entries = dict.fromkeys(ENTRY_BYTES, 0)
        self._first: dict[Any, int] = {}
        self._operands: dict[Any, int] = {each: n for n, each in enumerate(function.params)}

    def statement(self, statement: Any, at: dict[Any, int]) -> None:
        """Execute a statement with loop variables at these values."""
        if isinstance(statement, tirx.SeqStmt):
            for each in statement.seq:
                self.statement(each, at)
        elif isinstance(statement, tirx.For):
            start = number(statement.min, at)
            for value in range(start, start + number(statement.extent, at)):
                self.statement(statement.body, {**at, statement.loop_var: value})
        elif isinstance(statement, tirx.AttrStmt):
            self.statement(statement.body, at)
        elif isinstance(statement, tirx.AllocBuffer):
            self._allocate(statement.buffer)
        elif isinstance(statement, tirx.DeclBuffer):
            self._operands[statement.buffer] = self._operands[statement.data.args[0]]
        else:
            self.instructions.append(self._instruction(call_name(statement), statement.value.args[1:], at))

    def _allocate(self, buffer: Any) -> None:
        name = buffer_name(buffer)
        if name is None or buffer in self._first:
            return
        self._first[buffer] = self.entries[name]
        size = prod(int(extent) for extent in buffer.shape) * DTYPE_BYTES[str(buffer.dtype)]
        self.entries[name] += size // ENTRY_BYTES[name]

    def _instruction(self, name: str, arguments: list[Any], at: dict[Any, int]) -> Instruction:
        made = self._MAKERS[name](self, list(arguments), at)
        return Instruction(opcode=made.pop("OPCODE"), fields=made)

    def _entry(self, data: Any, entry: Any, at: dict[Any, int]) -> int:
        return self._first[data.args[0]] + number(entry, at)

    def _copy(self, arguments: list[Any], at: dict[Any, int]) -> dict[str, Any]:
        local, entry, _, offset, *fields = arguments
        names = (*_PLACE, *_PADDING)[: len(fields)]
        made: dict[str, Any] = {name: number(each, at) for name, each in zip(names, fields, strict=True)}
        return {**made, "ENTRY": self._entry(local, entry, at), "OFFSET": number(offset, at)}

    def _load(self, arguments: list[Any], at: dict[Any, int]) -> dict[str, Any]:
        name = buffer_name(arguments[0].args[0])
        assert name is not None
        buffer, operand = ENUMS["BUFFER"][name.upper()], self._operands[arguments[2].args[0]]
        return {"OPCODE": "LOAD", "BUFFER": buffer, "OPERAND": operand, **self._copy(arguments, at)}

    def _store(self, arguments: list[Any], at: dict[Any, int]) -> dict[str, Any]:
        return {"OPCODE": "STORE", **self._copy(arguments, at)}

    def _gemm(self, arguments: list[Any], at: dict[Any, int]) -> dict[str, Any]:
        return {"OPCODE": "GEMM", **self._looped(("ACC", "INP", "WGT"), arguments, at)}

    def _reset(self, arguments: list[Any], at: dict[Any, int]) -> dict[str, Any]:
        return {"OPCODE": "GEMM", "RESET": 1, **self._looped(("ACC",), arguments, at)}

    def _alu(self, arguments: list[Any], at: dict[Any, int]) -> dict[str, Any]:
        operation, immediate, *rest = arguments
        name, _, rounding = str(operation.value).partition("_")
        operands = ("ACC", "ONE", "TWO")[: sum(not _is_number(each) for each in rest)]
        fields: dict[str, Any] = {"OPCODE": "ALU", "OPERATION": ENUMS["OPERATION"][name]}
        if rounding:
            fields["ROUNDING"] = ENUMS["ROUNDING"][rounding]
        if operands == ("ACC",):
            fields |= {"USE_IMMEDIATE": 1, "IMMEDIATE": int(immediate.value)}
        return {**fields, **self._looped(operands, rest, at)}

    def _looped(self, operands: tuple[str, ...], arguments: list[Any], at: dict[Any, int]) -> dict[str, int]:
        places = arguments[: 2 * len(operands)]
        fields = {
            name: self._entry(data, entry, at)
            for name, data, entry in zip(operands, places[::2], places[1::2], strict=True)
        }
        loops = arguments[2 * len(operands) :]
        for level in range(len(loops) // (len(operands) + 1)):
            count, *steps = loops[level * (len(operands) + 1) :][: len(operands) + 1]
            fields[f"COUNT_{level}"] = int(count)
            fields |= {f"{name}_{level}": int(step) for name, step in zip(operands, steps, strict=True)}
        return fields

    _MAKERS: ClassVar[Mapping[str, Callable[..., dict[str, Any]]]] = {
        LOAD: _load,
        STORE: _store,
        GEMM: _gemm,
        RESET: _reset,
        ALU: _alu,
    }


def _is_number(argument: Any) -> bool:
    """True for an integer expression, False for the data of a buffer."""
    return str(getattr(argument.ty, "dtype", "")).startswith("int")


def number(expr: Any, at: Mapping[Any, int]) -> int:
    """The value of an integer expression. ValueError for a node that does not occur in addresses."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, tirx.IntImm):
        return int(expr.value)
    if isinstance(expr, tirx.Var):
        return at[expr]
    if isinstance(expr, tirx.Cast):
        return number(expr.value, at)
    operation = _BINARY.get(type(expr))
    if operation is None:
        raise ValueError(f"no address of the engine is made of {expr}")
    return operation(number(expr.a, at), number(expr.b, at))


_BINARY: Mapping[type, Callable[[int, int], int]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.FloorDiv: lambda a, b: a // b,
    tirx.FloorMod: lambda a, b: a % b,
    tirx.Min: min,
    tirx.Max: max,
}


def touched(instruction: Instruction) -> Iterator[tuple[str, bool, list[int]]]:
    """Buffer, whether it is written, and the entries, for everything that an instruction touches."""
    opcode = instruction.opcode
    if opcode in ("LOAD", "STORE"):
        count = instruction["ROWS"] * instruction["COLUMNS"]
        names = {value: name for name, value in ENUMS["BUFFER"].items()}
        buffer = names[instruction["BUFFER"]] if opcode == "LOAD" else "ACC"
        yield buffer, opcode == "LOAD", list(range(instruction["ENTRY"], instruction["ENTRY"] + count))
    elif opcode == "GEMM":
        yield "ACC", True, _grid(instruction, "ACC", 3)
        if not instruction["RESET"]:
            yield "INP", False, _grid(instruction, "INP", 3)
            yield "WGT", False, _grid(instruction, "WGT", 3)
    elif opcode == "ALU":
        yield "ACC", True, _grid(instruction, "ACC", 2)
        if not instruction["USE_IMMEDIATE"]:
            yield "ACC", False, _grid(instruction, "ONE", 2)
        if instruction["OPERATION"] == ENUMS["OPERATION"]["SCALE"]:
            yield "ACC", False, _grid(instruction, "TWO", 2)


def _grid(instruction: Instruction, name: str, levels: int) -> list[int]:
    """The entries that an operand of nested loops visits, each once."""
    found = {instruction[name]}
    for level in range(levels):
        count, step = instruction[f"COUNT_{level}"], instruction[f"{name}_{level}"]
        if step:
            found = {entry + n * step for entry in found for n in range(count)}
    return sorted(found)


def without_repeats(instructions: list[Instruction]) -> list[Instruction]:
    """The instructions without redundant loads.

    A stream never writes DRAM that it reads, so a repeated LOAD is redundant until another value is written
    to one of its entries.
    """
    there: dict[tuple[str, int], Instruction] = {}
    kept = []
    for instruction in instructions:
        written = [
            (buffer, entry) for buffer, writes, entries in touched(instruction) if writes for entry in entries
        ]
        if instruction.opcode == "LOAD" and all(there.get(place) == instruction for place in written):
            continue
        for place in written:
            there[place] = instruction
        kept.append(instruction)
    return kept
