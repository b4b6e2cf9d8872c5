"""Cores of other instruction sets than the host's: the same functions, as C and as LLVM's object code.

The object code becomes the firmware of a core (`target_arch.emit.build.firmware`); the C is its behavioural
model, which the host port executes where no firmware is asked for. Both come from the same NS-TIR.

A core takes operators in integer arithmetic alone: its firmware has no C library, and no floating point.
"""

from attrs import evolve

from target_arch.backend.contract import (
    Backend,
    DefaultArch,
    LoweringRequest,
    Option,
    Question,
    RuntimeSources,
)
from target_arch.backends.plain_c.cost import CLOCK, work
from target_arch.backends.plain_c.support import refusal
from target_arch.plan.kernels import Codegen, Kernel
from target_arch.plan.model import Operator
from target_arch.plan.operators.facts import Arithmetic, Lowering
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.tuning import NOTHING_TUNED
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.resources import runtime_c
from target_arch.soc.cores import CORES, Core
from target_arch.soc.model import LoadProcess, Memory
from target_arch.soc.words import DLDeviceType

RATE = Option(
    name="macs_per_cycle",
    default=1.0,
    help="8-bit multiply-accumulates per clock cycle of compiled C",
    positive=True,
)
MEMORY = Option(
    name="firmware_memory",
    default="firmware",
    help="memory of the firmware: the host and the core see it",
)
_VECTOR_RATES: dict[OperatorKind | str, float] = {
    OperatorKind.CONV2D: 32.0,
    OperatorKind.DENSE: 32.0,
    OperatorKind.DEPTHWISE_CONV2D: 9.0,
}
"""Products per instruction of HVX in layers of the int8 models of MLPerf Tiny."""
_SUM_RATE = 13.8
"""Of HVX, work per instruction of a sum of two tensors of int8."""
_SUMS = (OperatorKind.ADD, OperatorKind.SUB)
STACK = Option(name="firmware_stack", default=4096, help="bytes of the firmware's stack")


def supports(question: Question) -> str | None:
    """As the C backend, but for operators on integers alone."""
    operator = question.operator
    facts = operator.facts
    if not facts.integer_only or operator.lowering is not Lowering.DEFINITION:
        return f"operator kind {operator.kind} has no integer definition"
    if operator.arithmetic not in (Arithmetic.TFLITE, Arithmetic.ONNX) or _touches_floats(question, operator):
        return "its firmware has no floating point"
    return refusal(question)


def _touches_floats(question: Question, operator: Operator) -> bool:
    names = (*operator.inputs, *operator.constants, operator.output)
    return any(question.model.tensors[name].dtype.startswith("float") for name in names)


def _lower(request: LoweringRequest) -> Kernel:
    from target_arch.backends.cores.vectors import vector_piece
    from target_arch.backends.plain_c.lower import Piece, kernel, piece
    from target_arch.relax.lower.objects import LlvmTarget
    from target_arch.relax.lower.operators import lower_operator, lower_operator_object

    core = CORES[request.instance.arch.backend]
    target = LlvmTarget(triple=core.triple, cpu=core.cpu, features=core.features)
    plain = evolve(request, tuning=NOTHING_TUNED)

    def compiled(operator: Operator) -> Piece:
        vectors = core.vectors.get(request.instance.arch.isa)
        features = () if vectors is None else (*core.features, *vectors)
        found = vector_piece(operator, request, evolve(target, features=features)) if vectors else None
        if found is not None:
            return found
        made = piece(operator, plain)
        name = lower_operator(operator, request.model).function.name
        code = lower_operator_object(operator, request.model, name, target)
        return evolve(made, functions=tuple(evolve(each, object=code) for each in made.functions))

    pieces = [compiled(operator) for operator in request.partition.operators]
    return kernel(request, pieces)


def _load_process() -> dict[str, str]:
    return _read("load/elf.c", "load/elf.h", "firmware/mailbox.h")


def _process() -> dict[str, str]:
    return _read("cores/process.c", "cores/process.h")


def _read(*paths: str) -> dict[str, str]:
    return {path: (runtime_c() / path).read_text(encoding="utf-8") for path in paths}


def _default(core: Core) -> DefaultArch:
    """A core with a tightly coupled memory, whose firmware is in a memory that the host sees."""
    return DefaultArch(
        device=DLDeviceType.HEXAGON if core.name == "hexagon" else DLDeviceType.EXT_DEV,
        clock=500e6,
        memories=(Memory(name="tcm", size=256 << 10, read_bandwidth=2.4e9, write_bandwidth=2.4e9),),
        load=LoadProcess(process="firmware", image=f"{core.name}.elf"),
        visible={
            MEMORY.name: Memory(name="firmware", size=256 << 10, read_bandwidth=1e9, write_bandwidth=1e9)
        },
    )


def _vector_rate(question: Question) -> float | None:
    """Work per cycle on the vectors of a core, None where a SoC file says it itself, or the operator has no
    form.
    """
    arch, operator = question.instance.arch, question.operator
    if RATE.name in arch.options or arch.isa not in CORES[arch.backend].vectors:
        return None
    bytes_alone = question.model.tensors[operator.inputs[0]].dtype == "int8"
    if not bytes_alone:
        return None
    if operator.kind in _SUMS:
        return None if operator.constants else _SUM_RATE
    return _VECTOR_RATES.get(operator.kind) if operator.constants else None


def _backend(core: Core, description: str) -> Backend:
    def cost(question: Question) -> float:
        rate = _vector_rate(question) or float(question.option(made, RATE.name))
        return work(question.operator, question.model) / (rate * (question.instance.arch.clock or CLOCK))

    made = Backend(
        name=core.name,
        description=description,
        codegen=Codegen.LLVM,
        patterns=standard_patterns(),
        supports=supports,
        cost=cost,
        lower=_lower,
        options=(RATE, MEMORY, STACK),
        default_arch=_default(core),
        runtime=RuntimeSources(files=_load_process, simulator=_process),
        contract=2,
    )
    return made


hexagon = _backend(CORES["hexagon"], "Hexagon DSPs: integer functions by LLVM, loaded as firmware")
riscv64 = _backend(CORES["riscv64"], "64-bit RISC-V cores: integer functions by LLVM, loaded as firmware")
aarch64 = _backend(CORES["aarch64"], "64-bit Arm cores: integer functions by LLVM, loaded as firmware")
