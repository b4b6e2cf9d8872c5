"""The backend of my_npu: what the accelerator takes, what that costs, and how it is told to do it.

A command is one `relu` over COUNT float32 values, from INPUT to OUTPUT in the accelerator's own memory; see
`my_npu.h`. Whatever is larger than that memory is done tile by tile.
"""

from collections.abc import Mapping
from pathlib import Path

from target_arch.backend.contract import (
    Backend,
    DefaultArch,
    DoesNotFit,
    LoweringRequest,
    Option,
    Question,
    RuntimeSources,
)
from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.resources import runtime_c
from target_arch.soc.model import Memory

FLOAT_BYTES = 4
ALIGNMENT = 16
"""Of every tile in the accelerator's memory, in bytes."""
START_CYCLES = 100
"""What it takes to start a command and to see its end."""


def supports(question: Question) -> str | None:
    """None, or the reason why not; `target-arch explain` shows it to users."""
    operator, model = question.operator, question.model
    if operator.kind != "relu":
        return f"my_npu computes relu only, this is {operator.kind}"
    if model.tensors[operator.output].dtype != "float32":
        return f"my_npu computes float32, this is {model.tensors[operator.output].dtype}"
    if operator.attributes.get("activation") != "relu":
        return f"my_npu has no upper bound, this is {operator.attributes.get('activation')}"
    return None


def cost(question: Question) -> float:
    """Seconds of computing; the planner counts the copies."""
    elements = question.model.tensors[question.operator.output].bytes // FLOAT_BYTES
    cycles = START_CYCLES + elements / question.option(backend, "lanes")
    return float(cycles / (question.instance.arch.clock or 100e6))


def lower(request: LoweringRequest) -> Kernel:
    """For each tile: move it in, compute, move the result out. Overlap is the planner's business."""
    buffers: list[LocalBuffer] = []
    actions: list[Move | Call] = []
    for operator in request.partition.operators:
        total = request.model.tensors[operator.output].bytes
        memory, tile = tile_bytes(request, operator.id, total)
        source, result = (
            LocalBuffer(name=f"{operator.id}.{role}", bytes=tile, memory=memory, alignment=ALIGNMENT)
            for role in ("in", "out")
        )
        buffers += [source, result]
        for start in range(0, total, tile):
            size = min(tile, total - start)
            call = Call(
                function="relu",
                operands=(Operand(of=source.name, access="r"), Operand(of=result.name, access="w")),
                words=(size // FLOAT_BYTES,),
                operator=operator.id,
            )
            actions += [
                Move(source=piece(operator.inputs[0], start, size), target=piece(source.name, 0, size)),
                call,
                Move(source=piece(result.name, 0, size), target=piece(operator.output, start, size)),
            ]
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        buffers=tuple(buffers),
        actions=tuple(actions),
    )


def tile_bytes(request: LoweringRequest, operator: str, total: int) -> tuple[str, int]:
    """The memory, and the bytes of a tile such that two of them are within the budget."""
    memory = request.instance.memory[0]
    room = request.budget.guaranteed(operator, memory)
    largest = room // 2 // ALIGNMENT * ALIGNMENT
    if largest == 0:
        raise DoesNotFit(operator, memory, 2 * ALIGNMENT, room)
    return memory, min(total, largest)


def piece(of: str, offset: int, size: int) -> Slice:
    """Bytes of a tensor or of a local buffer in one run."""
    return Slice(of=of, offset=offset, row_bytes=size)


def own_files(*names: str) -> Mapping[str, str]:
    """Files of this package as the bundle carries them, below `runtime/`."""
    folder = Path(__file__).parent
    return {f"my_npu/{name}": (folder / name).read_text(encoding="utf-8") for name in names}


def driver_files() -> Mapping[str, str]:
    """The driver, its header, and what all drivers of register-file engines share."""
    shared = ("drivers/engine.c", "drivers/engine.h")
    files = {path: (runtime_c() / path).read_text(encoding="utf-8") for path in shared}
    return {**own_files("driver.c", "my_npu.h"), **files}


backend = Backend(
    name="my_npu",
    description="float32 relu, tiled through a memory of its own",
    codegen="command_stream",
    patterns=(),
    supports=supports,
    cost=cost,
    lower=lower,
    options=(Option(name="lanes", default=4, help="float32 results per clock cycle"),),
    runtime=RuntimeSources(
        driver="my_npu_driver",
        simulator_symbol="my_npu_simulator",
        files=driver_files,
        simulator=lambda: own_files("simulator.c"),
    ),
    default_arch=DefaultArch(clock=200e6, memories=(Memory(name="sram", size=16 << 10),)),
    contract=2,
)
