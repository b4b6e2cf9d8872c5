"""`codegen`: functions in NS-TIR become instruction streams, one command for each."""

from typing import Any

from tvm import ir, tirx

from target_arch.backend.hooks import TirFunction
from target_arch.backend.lowering import LoweringRequest
from target_arch.backends.gemm_vta.calls import call_name
from target_arch.backends.gemm_vta.description import DRAM, FORMATS, REGISTERS, Instruction
from target_arch.backends.gemm_vta.tiles import ENTRY_BYTES
from target_arch.backends.gemm_vta.tokens import with_tokens
from target_arch.backends.gemm_vta.unroll import unrolled, without_repeats
from target_arch.plan.kernels import Access, Call, Kernel, LocalBuffer, Operand
from target_arch.plan.model import Tensor

FUNCTION = "gemm_vta"
ENTRIES = "gemm_vta.entries"
"""The attribute of a function in which the entries of each buffer are kept, in the order of ENTRY_BYTES."""


def straight(function: Any) -> Any:
    """The function as one call per instruction, without repeated loads, with tokens and FINISH.

    The name of a call is `gemm_vta.` and the opcode, its arguments are the fields in the order of the format.
    """
    instructions, entries = unrolled(function)
    calls = [_call(each) for each in with_tokens(without_repeats(instructions))]
    return function.with_body(tirx.SeqStmt(calls)).with_attr(ENTRIES, [entries[name] for name in ENTRY_BYTES])


def _call(instruction: Instruction) -> Any:
    fields = [instruction[field.name] for field in FORMATS[instruction.opcode][1:]]
    return tirx.Evaluate(tirx.call_extern("int32", f"{FUNCTION}.{instruction.opcode}", *fields))


def instructions_of(function: Any) -> tuple[Instruction, ...]:
    """The instructions of a function that is straight."""
    return tuple(_instruction(statement) for statement in function.body.seq)


def _instruction(statement: Any) -> Instruction:
    opcode = call_name(statement).removeprefix(f"{FUNCTION}.")
    names = [field.name for field in FORMATS[opcode][1:]]
    call: ir.Call = statement.value
    values = [int(each.value) for each in call.args[1:]]
    present = {name: value for name, value in zip(names, values, strict=True) if value}
    return Instruction(opcode=opcode, fields=present)


def codegen(functions: tuple[TirFunction, ...], request: LoweringRequest) -> Kernel:
    """The kernel of a partition: a command for each layer, its stream and packed constants in constants."""
    constants: list[Tensor] = []
    buffers: list[LocalBuffer] = []
    calls: list[Call] = []
    notes: list[str] = []
    for function in functions:
        instructions = instructions_of(function.function)
        stream = _stream(function, instructions)
        locals_ = _buffers(function, request)
        constants += [*function.constants, stream]
        buffers += locals_
        calls.append(_command(function, stream, tuple(locals_), len(instructions), request))
        notes.append(f"{function.note}; {len(instructions)} instructions")
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        constants=tuple(constants),
        buffers=tuple(buffers),
        actions=tuple(calls),
        notes=tuple(notes),
    )


def _stream(function: TirFunction, instructions: tuple[Instruction, ...]) -> Tensor:
    data = b"".join(each.encoded() for each in instructions)
    return Tensor(name=f"{function.operator}.stream", shape=(len(data),), dtype="uint8", data=data)


def _buffers(function: TirFunction, request: LoweringRequest) -> list[LocalBuffer]:
    counts = (int(each) for each in function.function.attrs[ENTRIES])
    return [
        LocalBuffer(
            name=f"{function.operator}.{name}",
            bytes=count * size,
            memory=request.instance.buffers[name],
            alignment=max(16, size),
        )
        for (name, size), count in zip(ENTRY_BYTES.items(), counts, strict=True)
    ]


def _command(
    function: TirFunction,
    stream: Tensor,
    locals_: tuple[LocalBuffer, ...],
    count: int,
    request: LoweringRequest,
) -> Call:
    tensors = {**request.model.tensors, **{each.name: each for each in function.constants}}
    operands = [Operand(of=stream.name, access=Access.READ)]
    operands += [
        Operand(of=each, access=Access.WRITE if each in function.writes else "r")
        for each in function.operands
    ]
    operands += [Operand(of=each.name, access=Access.WRITE) for each in locals_]
    words = {f"{name}_BYTES": tensors[of].bytes for name, of in zip(DRAM, function.operands, strict=True)}
    words |= {
        f"{name.upper()}_ENTRIES": each.bytes // size
        for (name, size), each in zip(ENTRY_BYTES.items(), locals_, strict=True)
    }
    return REGISTERS.call(FUNCTION, function.operator, tuple(operands), {"COUNT": count, **words})
