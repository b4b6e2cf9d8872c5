"""Generated models and a chip to put them on, for the benchmarks of placement, order and plan.

The backends are stand-ins: they answer at once and lower to a move in, a command and a move out, so that what
is measured is the planning and nothing else.
"""

from collections.abc import Callable, Sequence
from random import Random

from target_arch.backend.contract import Backend, DoesNotFit, LoweringRequest, Question
from target_arch.plan.kernels import Call, Codegen, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import (
    CopyPath,
    DLDevice,
    Dma,
    LoadProcess,
    Memory,
    MemoryMode,
    SoC,
    TargetArch,
)

MODE = MemoryMode(name="default", workspace=("sram", "ddr"), constants=("ddr",), io=("ddr",))


def _dma(source: str, target: str) -> CopyPath:
    return CopyPath(source=source, target=target, engine="dma", bandwidth=800e6, setup=1e-6, alignment=4)


def _accelerator(name: str, instances: int, id: int) -> TargetArch:
    return TargetArch(
        name=name,
        backend=name,
        device=DLDevice(type="kDLExtDev", id=id),
        instances=instances,
        memory=(f"{name}_ram",),
        load=LoadProcess(process="bitstream", image=f"{name}.bit"),
    )


def _local(name: str, arch: str, replica_of: str | None = None) -> Memory:
    return Memory(name=name, size=32 << 10, observers={arch: 0}, replica_of=replica_of)


CHIP = SoC(
    name="chip",
    memories=(
        Memory(name="ddr", size=1 << 30, base=0x10000000, cached=True),
        Memory(name="sram", size=256 << 10, base=0x100000),
        _local("conv_ram_0", "conv", "conv_ram"),
        _local("conv_ram_1", "conv", "conv_ram"),
        _local("npu_ram", "npu"),
    ),
    dmas=(Dma(name="dma", channels=2),),
    copies=(
        CopyPath(source="ddr", target="sram", bandwidth=600e6),
        CopyPath(source="sram", target="ddr", bandwidth=600e6),
        *(
            path
            for near in ("ddr", "sram")
            for far in ("conv_ram_0", "conv_ram_1", "npu_ram")
            for path in (_dma(near, far), _dma(far, near))
        ),
    ),
    archs=(
        TargetArch(
            name="host",
            backend="c",
            device=DLDevice(type="kDLCPU", id=0),
            host=True,
            clock=1e9,
            memory=("sram", "ddr"),
        ),
        _accelerator("conv", 2, 0),
        _accelerator("npu", 1, 8),
    ),
    modes=(MODE,),
    partitioning=("npu", "conv", "host"),
)

EDGES = 1_000_000
"""Of a dense graph, at most."""

_SPEED = {"host": 60e-6, "conv": 8e-6, "npu": 6e-6}
_KINDS = {"conv": "conv", "npu": "dense"}


def _supports(question: Question) -> str | None:
    kind = _KINDS.get(question.instance.arch.name)
    return None if kind in (None, question.operator.kind) else f"`{question.operator.kind}` is not `{kind}`"


def _cost(question: Question) -> float:
    return _SPEED[question.instance.arch.name]


def _unused(request: LoweringRequest) -> Kernel:
    raise AssertionError(request)


BACKENDS = {
    arch.name: Backend(
        name=arch.backend,
        description="stand-in",
        codegen="c" if arch.host else "command_stream",
        patterns=(),
        supports=_supports,
        cost=_cost,
        lower=_unused,
    )
    for arch in CHIP.archs
}
CODEGENS = {instance.name: BACKENDS[instance.arch.name].codegen for instance in CHIP.instances}
_MEMORY = {instance.name: instance.memory[0] for instance in CHIP.instances}


def lower(graph: PartitionGraph, partition: Partition, budget: Budget) -> Kernel:
    """One call on whole tensors for the host; else operands through local buffers, one after the other."""
    actions: list[Move | Call] = []
    buffers: list[LocalBuffer] = []
    for operator in partition.operators:
        names = tuple(dict.fromkeys(operator.inputs))
        if CODEGENS[partition.instance] == Codegen.C:
            reads = tuple(Operand(of=name, access="r") for name in names)
            result = Operand(of=operator.output, access="w")
            actions.append(Call(function=operator.kind, operands=(*reads, result), operator=operator.id))
            continue
        memory, tensors = _MEMORY[partition.instance], graph.model.tensors
        needed = sum(tensors[name].bytes for name in (*names, operator.output))
        if needed > budget.guaranteed(operator.id, memory):
            raise DoesNotFit(operator.id, memory, needed, budget.guaranteed(operator.id, memory))
        local = {name: f"l{len(buffers) + n}" for n, name in enumerate((*names, operator.output))}
        buffers += [LocalBuffer(name=own, bytes=tensors[n].bytes, memory=memory) for n, own in local.items()]
        actions += [Move(source=_whole(n, tensors[n]), target=_whole(local[n], tensors[n])) for n in names]
        reads = tuple(Operand(of=local[name], access="r") for name in names)
        result = Operand(of=local[operator.output], access="w")
        actions.append(Call(function="command", operands=(*reads, result), words=(1,), operator=operator.id))
        out = tensors[operator.output]
        actions.append(Move(source=_whole(local[operator.output], out), target=_whole(operator.output, out)))
    return Kernel(
        partition=partition.id, instance=partition.instance, buffers=tuple(buffers), actions=tuple(actions)
    )


def _whole(of: str, tensor: Tensor) -> Slice:
    return Slice(of=of, offset=0, row_bytes=tensor.bytes)


def _model(
    name: str,
    inputs: Sequence[Sequence[int]],
    random: Random,
    sizes: Sequence[int] = (64, 128, 256, 512),
    joins: Sequence[str] = (),
) -> Model:
    """Operator n reads the outputs of the operators `inputs[n]`, or the model's input where it reads none.

    Operators that read several tensors are of a kind among `joins`, additions by default.
    """
    tensors = {"x": Tensor(name="x", shape=(256,), dtype="int8")}
    operators, read = [], set[int]()
    for number, before in enumerate(inputs):
        id = f"n{number}"
        tensors[id] = Tensor(name=id, shape=(random.choice(sizes),), dtype="int8")
        kinds = joins if len(before) > 1 else ("conv", "conv", "dense", "soft")
        kind = random.choice(kinds) if kinds else "add"
        names = tuple(f"n{other}" for other in before) or ("x",)
        read.update(before)
        operators.append(
            Operator(id=id, kind=kind, arithmetic="tflite", inputs=names, constants=(), output=id)
        )
    return Model(
        name=name,
        source="generated",
        inputs=("x",),
        outputs=tuple(f"n{number}" for number in range(len(inputs)) if number not in read),
        tensors=tensors,
        operators=tuple(operators),
    )


def layered(count: int, width: int = 8) -> Model:
    """Layers of `width` operators, each reading one or two of the layer before."""
    random = Random(count)
    inputs: list[list[int]] = []
    for number in range(count):
        first = number // width * width - width
        reads = random.sample(range(max(first, 0), max(first, 0) + width), random.choice((1, 1, 2)))
        inputs.append([] if first < 0 else reads)
    return _model("layered", inputs, random)


def series_parallel(count: int) -> Model:
    """Blocks of two to four parallel chains that are joined again, one block after the other."""
    random = Random(count)
    inputs: list[list[int]] = [[]]
    while len(inputs) < count:
        start, ends = len(inputs) - 1, []
        for _ in range(random.randint(2, 4)):
            before = start
            for _ in range(random.randint(1, 3)):
                inputs.append([before])
                before = len(inputs) - 1
            ends.append(before)
        inputs.append(ends)
    return _model("series-parallel", inputs[:count], random)


def random_graph(count: int, reach: int = 16) -> Model:
    """Each operator reads one or two of the `reach` before it."""
    random = Random(count)
    inputs = [
        sorted(random.sample(range(max(0, n - reach), n), min(n, random.choice((1, 1, 2)))))
        for n in range(count)
    ]
    return _model("random", inputs, random)


def dense(count: int) -> Model:
    """Each operator reads up to a hundred of those before it, so that there are up to a million edges."""
    random = Random(count)
    reads = min(100, EDGES // count)
    inputs = [range(max(0, n - reads), n) for n in range(count)]
    return _model("dense", inputs, random, sizes=(16, 32, 64), joins=("add", "conv", "dense"))


def repeated(block: Model, count: int) -> Model:
    """Copies of a real model one after the other, each reading the model's inputs, until there are `count`
    operators. Kinds the chip's engines know stay, weights are left out, tensors are cut to 512 bytes.
    """
    tensors = {name: _small(block.tensors[name], name) for name in block.inputs}
    operators: list[Operator] = []
    outputs: list[str] = []
    turn = 0
    while len(operators) < count:
        names = {name: name for name in block.inputs}
        for op in block.operators[: count - len(operators)]:
            id = names[op.output] = f"{op.output}.{turn}"
            tensors[id] = _small(block.tensors[op.output], id)
            inputs = tuple(names[name] for name in op.inputs)
            kind = "conv" if "conv2d" in op.kind else op.kind
            operators.append(
                Operator(id=id, kind=kind, arithmetic=op.arithmetic, inputs=inputs, constants=(), output=id)
            )
        turn += 1
    read = {name for op in operators for name in op.inputs}
    outputs = [op.output for op in operators if op.output not in read]
    return Model(
        name=f"{block.name} repeated",
        source=block.source,
        inputs=block.inputs,
        outputs=tuple(outputs),
        tensors=tensors,
        operators=tuple(operators),
    )


def _small(tensor: Tensor, name: str) -> Tensor:
    return Tensor(name=name, shape=(min(512, tensor.bytes),), dtype="int8")


SHAPES: dict[str, Callable[[int], Model]] = {
    "layered": layered,
    "series-parallel": series_parallel,
    "random": random_graph,
    "dense": dense,
}
