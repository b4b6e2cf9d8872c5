"""The backend of my_conv: what the accelerator takes, what that costs, and how it is told to do it.

A command is one layer over whole tensors in the accelerator's own memory: an int8 convolution, the addition
of a residual, or both at once. For the tensor between them there is no memory: `joins` says which two
operators are one command. The registers are in `my_conv.h`, the description of a layer is made in `layer.py`.
"""

from collections.abc import Mapping
from pathlib import Path

from target_arch.backend.contract import (
    Backend,
    DefaultArch,
    LoweringRequest,
    Option,
    Question,
    RuntimeSources,
)
from target_arch.plan.arithmetic import addition
from target_arch.plan.kernels import Call, Kernel, Operand
from target_arch.plan.model import Operator
from target_arch.resources import runtime_c
from target_arch.soc.model import Memory

from .layer import described, layer_bytes, stages

ALIGNMENT = 16
"""Of every tensor in the accelerator's memory, in bytes."""
START_CYCLES = 200
"""What it takes to start a command and to see its end."""


def supports(question: Question) -> str | None:
    """None, or the reason why not; `target-arch explain` shows it to users."""
    operator = question.operator
    if operator.kind not in ("conv2d", "add"):
        return f"my_conv computes conv2d and add, this is {operator.kind}"
    return (
        _types(question) or (_convolution if operator.kind == "conv2d" else _sum)(question) or _room(question)
    )


def _types(question: Question) -> str | None:
    """Why the elements of an operator are not those that my_conv computes."""
    operator, model = question.operator, question.model
    if operator.arithmetic not in ("tflite", "onnx"):
        return f"my_conv computes int8, this is {operator.arithmetic}"
    tensors = [model.tensors[name] for name in (*operator.inputs, operator.output)]
    other = next((tensor for tensor in tensors if tensor.dtype != "int8"), None)
    return None if other is None else f"my_conv computes int8, `{other.name}` is {other.dtype}"


def _convolution(question: Question) -> str | None:
    operator, model = question.operator, question.model
    batch = model.tensors[operator.inputs[0]].shape[0]
    if batch != 1:
        return f"my_conv takes a batch of 1, this is {batch}"
    if operator.attributes["dilation"] != (1, 1):
        return f"my_conv takes no dilation, this is {operator.attributes['dilation']}"
    missing = next((name for name in operator.constants if model.tensors[name].data is None), None)
    return None if missing is None else f"my_conv takes constant weights, `{missing}` is computed"


def _sum(question: Question) -> str | None:
    operator, model = question.operator, question.model
    shapes = {model.tensors[name].shape for name in (*operator.inputs, operator.output)}
    if operator.constants or len(shapes) > 1:
        return "my_conv adds two tensors of one shape"
    try:
        addition(operator, model)
    except ValueError as error:
        return str(error)
    return None


def _room(question: Question) -> str | None:
    """Why an operator does not fit: my_conv has no tiles, its memory holds whole tensors."""
    operator, model, memory = question.operator, question.model, question.instance.memory[0]
    room = question.soc.memory(memory).size
    needed = sum(model.tensors[name].bytes for name in {*operator.inputs, operator.output})
    needed += layer_bytes((operator,), model)
    return None if needed <= room else f"it needs {needed:,} B of `{memory}`, which has {room:,} B"


def cost(question: Question) -> float:
    """Seconds of computing; the planner counts the copies. A sum costs what it adds to a convolution."""
    operator, model = question.operator, question.model
    work = model.macs(operator) if operator.kind == "conv2d" else model.tensors[operator.output].bytes
    cycles = START_CYCLES + work / question.option(backend, "macs_per_cycle")
    return float(cycles / (question.instance.arch.clock or 100e6))


def joins(questions: tuple[Question, ...]) -> str | None:
    """None where the operators are one command: a convolution, and the sum that alone reads its result."""
    model, operators = questions[0].model, [question.operator for question in questions]
    first, last = operators[0], operators[-1]
    one = [each.kind for each in operators] == ["conv2d", "add"] and first.output in last.inputs
    return None if one and model.uses[first.output] == 1 else "a command is a convolution and its sum"


def lower(request: LoweringRequest) -> Kernel:
    """One command for the one or two operators of the partition."""
    operators, model = request.partition.operators, request.model
    layer = described(operators, model)
    first, last = operators[0], operators[-1]
    operands = [Operand(of=first.inputs[0], access="r"), Operand(of=layer.name, access="r")]
    residual = residual_of(operators)
    # Each element of the residual is read before the result at its place is written; a convolution reads its
    # input again.
    over = () if residual in (None, first.inputs[0]) else (residual,)
    operands.append(Operand(of=last.output, access="w", over=over))
    operands += [] if residual is None else [Operand(of=residual, access="r")]
    call = Call(function="layer", operands=tuple(operands), words=(stages(operators),), operator=first.id)
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        constants=(layer,),
        actions=(call,),
    )


def residual_of(operators: tuple[Operator, ...]) -> str | None:
    """The tensor that a command adds, None where it adds none."""
    last = operators[-1]
    if last.kind != "add":
        return None
    if len(operators) == 1:
        return last.inputs[1]
    return next(name for name in last.inputs if name != operators[0].output)


def own_files(*names: str) -> Mapping[str, str]:
    """Files of this package as the bundle carries them, below `runtime/`."""
    folder = Path(__file__).parent
    return {f"my_conv/{name}": (folder / name).read_text(encoding="utf-8") for name in names}


def shared_files(*paths: str) -> Mapping[str, str]:
    """Files of target_arch's own runtime, below `runtime/`."""
    return {path: (runtime_c() / path).read_text(encoding="utf-8") for path in paths}


backend = Backend(
    name="my_conv",
    description="int8 convolutions and residual sums, whole layers in a memory of its own",
    codegen="command_stream",
    supports=supports,
    cost=cost,
    lower=lower,
    joins=joins,
    options=(Option(name="macs_per_cycle", default=64, help="int8 products per clock cycle", positive=True),),
    runtime=RuntimeSources(
        driver="my_conv_driver",
        simulator_symbol="my_conv_simulator",
        files=lambda: {
            **own_files("driver.c", "my_conv.h"),
            **shared_files("drivers/engine.c", "drivers/engine.h"),
        },
        simulator=lambda: {
            **own_files("simulator.c"),
            **shared_files("simulators/int8.c", "simulators/int8.h"),
        },
    ),
    default_arch=DefaultArch(clock=200e6, memories=(Memory(name="sram", size=160 << 10),)),
    contract=2,
)
