"""Small chips and models, built in Python, for the tests of the stages."""

from collections.abc import Iterator, Mapping
from random import Random

import pytest
from attrs import evolve

from target_arch.backend.contract import Backend, DoesNotFit, LoweringRequest, Question
from target_arch.plan.kernels import Call, Codegen, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.costs import NOTHING_MEASURED, Costs
from target_arch.soc.model import (
    CopyPath,
    Cores,
    DLDevice,
    Dma,
    LoadProcess,
    Memory,
    MemoryMode,
    SoC,
    TargetArch,
)
from target_arch.soc.words import OperandRule
from target_arch.stages.memory.planner import BEST, Planner
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.placement.search import portfolio
from target_arch.stages.setting import Setting

KIB = 1024
MODE = MemoryMode(name="default", workspace=("sram", "ddr"), constants=("ddr",), io=("sram",))

MEMORIES = (
    Memory(name="ddr", size=1024 * KIB, base=0x100000, cached=True),
    Memory(name="sram", size=64 * KIB, base=0x20000000),
    Memory(name="tcm", size=32 * KIB, observers={"dsp": 0}),
    Memory(name="bram", size=16 * KIB, observers={"conv": 0}),
    Memory(name="npu_inp", size=8 * KIB, observers={"npu": 0}),
    Memory(name="npu_out", size=8 * KIB, observers={"npu": 0x1000}),
)

HOST = TargetArch(
    name="host",
    backend="c",
    device=DLDevice(type="kDLCPU", id=0),
    host=True,
    clock=1e9,
    memory=("sram", "ddr"),
)
DSP = TargetArch(
    name="dsp",
    backend="c",
    device=DLDevice(type="kDLCPU", id=1),
    clock=1e9,
    memory=("tcm",),
    load=LoadProcess(process="firmware", image="dsp.elf"),
)
CONV = TargetArch(
    name="conv",
    backend="conv",
    device=DLDevice(type="kDLExtDev", id=0),
    memory=("bram",),
    load=LoadProcess(process="bitstream", image="conv.bit"),
)
NPU = TargetArch(
    name="npu",
    backend="npu",
    device=DLDevice(type="kDLExtDev", id=8),
    memory=("npu_inp", "npu_out"),
    buffers={"inp": "npu_inp", "out": "npu_out"},
    operands=OperandRule.OUTPUTS,
    load=LoadProcess(process="command_stream"),
)


def dma(source: str, target: str, **limits: object) -> CopyPath:
    """A path by the DMA engine."""
    values = {"bandwidth": 800e6, "setup": 2e-6, "alignment": 4, "max_bytes": 4096, "dimensions": 2, **limits}
    return CopyPath(source=source, target=target, engine="dma", **values)  # type: ignore[arg-type]


def both(one: str, other: str, **limits: object) -> tuple[CopyPath, CopyPath]:
    """DMA paths there and back."""
    return dma(one, other, **limits), dma(other, one, **limits)


COPIES = (
    CopyPath(source="ddr", target="sram", bandwidth=600e6, setup=2e-7),
    CopyPath(source="sram", target="ddr", bandwidth=600e6, setup=2e-7),
    *both("sram", "tcm", dimensions=1),
    dma("ddr", "tcm", cache="clean source"),
    *both("sram", "bram"),
    dma("ddr", "bram", cache="clean source"),
    dma("sram", "npu_inp"),
    dma("ddr", "npu_inp", cache="clean source"),
    dma("npu_out", "sram"),
)

EDGE = SoC(
    name="edge",
    memories=MEMORIES,
    dmas=(Dma(name="dma", channels=2),),
    copies=COPIES,
    archs=(HOST, DSP, CONV, NPU),
    modes=(MODE,),
    partitioning=("npu", "conv", "dsp", "host"),
)

ALONE = SoC(
    name="alone",
    memories=MEMORIES[:2],
    dmas=(),
    copies=COPIES[:2],
    archs=(HOST,),
    modes=(MODE,),
    partitioning=("host",),
)


def quad() -> SoC:
    """A host and four instances of one conv engine, each with its own memory."""
    brams = tuple(
        Memory(name=f"bram_{n}", size=16 * KIB, observers={"conv": 0}, replica_of="bram") for n in range(4)
    )
    arch = TargetArch(
        name="conv",
        backend="conv",
        device=DLDevice(type="kDLExtDev", id=0),
        instances=4,
        memory=("bram",),
        load=LoadProcess(process="bitstream", image="conv.bit"),
    )
    paths = tuple(path for n in range(4) for path in (*both("sram", f"bram_{n}"), dma("ddr", f"bram_{n}")))
    return SoC(
        name="quad",
        memories=(*MEMORIES[:2], *brams),
        dmas=(Dma(name="dma", channels=2),),
        copies=(*COPIES[:2], *paths),
        archs=(HOST, arch),
        modes=(MODE,),
        partitioning=("conv", "host"),
    )


def cores(workers: int = 1) -> SoC:
    """A host with further cores like it, which share its memories, and a conv engine."""
    seen = tuple(evolve(each, observers={"worker": each.base or 0}) for each in MEMORIES[:2])
    worker = evolve(
        HOST,
        name="worker",
        host=False,
        device=DLDevice(type="kDLCPU", id=1),
        instances=workers,
        operands=OperandRule.OUTPUTS,
        cores=Cores(stack=1024, coherent=True),
    )
    return SoC(
        name="cores",
        memories=(*seen, MEMORIES[3]),
        dmas=(Dma(name="dma", channels=2),),
        copies=(*COPIES[:2], *both("sram", "bram"), dma("ddr", "bram", cache="clean source")),
        archs=(HOST, worker, CONV),
        modes=(MODE,),
        partitioning=("conv", "worker", "host"),
    )


def tensor(name: str, size: int, constant: bool = False) -> Tensor:
    """An int8 tensor of so many bytes; a constant holds bytes that differ from name to name."""
    data = Random(name).randbytes(size) if constant else None
    return Tensor(name=name, shape=(size,), dtype="int8", data=data)


def model(*rows: tuple[str, str, tuple[str, ...], int], inputs: Mapping[str, int], weights: int = 0) -> Model:
    """A model of operators (id, kind, inputs, bytes of the output); an operator's output has its name.

    Operators of kind `conv` and `dense` get a constant of `weights` bytes. The outputs are what nobody reads.
    """
    tensors = {name: tensor(name, size) for name, size in inputs.items()}
    operators = []
    for id, kind, names, size in rows:
        tensors[id] = tensor(id, size)
        constants = (f"{id}.w",) if weights and kind in ("conv", "dense") else ()
        tensors |= {name: tensor(name, weights, constant=True) for name in constants}
        operators.append(
            Operator(
                id=id,
                kind=kind,
                arithmetic="tflite",
                inputs=names,
                constants=constants,
                output=id,
                attributes={"axis": 0} if kind == "concat" else {},
            )
        )
    read = {name for operator in operators for name in operator.inputs}
    outputs = tuple(operator.output for operator in operators if operator.output not in read)
    return Model(
        name="m",
        source="m.tflite",
        inputs=tuple(inputs),
        outputs=outputs,
        tensors=tensors,
        operators=tuple(operators),
    )


CHAIN = model(
    ("a", "conv", ("x",), 4096),
    ("b", "dense", ("a",), 4096),
    ("c", "soft", ("b",), 1024),
    ("d", "add", ("c",), 1024),
    inputs={"x": 4096},
    weights=512,
)

RESIDUAL = model(
    ("a", "conv", ("x",), 4096),
    ("b", "conv", ("a",), 4096),
    ("c", "conv", ("b",), 4096),
    ("d", "add", ("a", "c"), 4096),
    ("e", "dense", ("d",), 64),
    inputs={"x": 2048},
    weights=256,
)

NO_SIZES: Mapping[str, int] = {}
SPEED = {"host": 100e-6, "worker": 100e-6, "dsp": 60e-6, "conv": 5e-6, "npu": 4e-6}
KINDS = {"host": None, "worker": None, "dsp": ("soft", "add"), "conv": ("conv",), "npu": ("dense",)}


def dense(operators: int, reads: int, size: int = 16) -> Model:
    """Each operator reads the results of the `reads` before it."""
    names = [f"n{number}" for number in range(operators)]
    ops = tuple(
        Operator(
            id=name,
            kind="add",
            arithmetic="tflite",
            inputs=tuple(names[max(0, number - reads) : number]) or ("x",),
            constants=(),
            output=name,
        )
        for number, name in enumerate(names)
    )
    return Model(
        name="dense",
        source="made by hand",
        inputs=("x",),
        outputs=(names[-1],),
        tensors={name: Tensor(name=name, shape=(size,), dtype="int8") for name in ("x", *names)},
        operators=ops,
    )


def supports(question: Question) -> str | None:
    kinds = KINDS[question.instance.arch.name]
    kind = question.operator.kind
    return None if kinds is None or kind in kinds else f"`{kind}` is not among {', '.join(kinds)}"


def cost(question: Question) -> float:
    return SPEED[question.instance.arch.name]


def unused(request: LoweringRequest) -> Kernel:
    raise AssertionError(request)


def backend(name: str, codegen: str) -> Backend:
    return Backend(
        name=name, description="", codegen=codegen, patterns=(), supports=supports, cost=cost, lower=unused
    )


BACKENDS = {
    "host": backend("c", "c"),
    "worker": backend("c", "c"),
    "dsp": backend("c", "c"),
    "conv": backend("conv", "command_stream"),
    "npu": backend("npu", "command_stream"),
}


def codegens(soc: SoC) -> dict[str, Codegen]:
    return {instance.name: BACKENDS[instance.arch.name].codegen for instance in soc.instances}


def setting(soc: SoC = EDGE, costs: Costs = NOTHING_MEASURED, planner: Planner = BEST) -> Setting:
    """The setting of a chip with the backends above."""
    return Setting.of(soc, BACKENDS, None, costs, planner)


def placed(model: Model, soc: SoC = EDGE, rules: Rules | None = None) -> PartitionGraph:
    """Placed by the quick methods alone: the local search takes seconds, also where rules leave no choice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portfolio, "LARGE", 0)
        return place(model, setting(soc), BACKENDS, rules or Rules())


def c_kernel(partition: Partition, sizes: Mapping[str, int] = NO_SIZES) -> Kernel:
    """One call per operator on whole tensors; add and soft in place where sizes allow that. What copies bytes
    has one for each operand.
    """
    actions: list[Call] = []
    for op in partition.operators:
        if op.kind in ("reshape", "concat", "store"):
            actions += copies(op, sizes)
            continue
        operands = (
            *(Operand(of=name, access="r") for name in (*op.inputs, *op.constants)),
            Operand(of=op.output, access="w", over=op.inputs if op.kind in ("add", "soft") else ()),
        )
        actions.append(Call(function=f"f_{op.kind}", operands=operands, operator=op.id))
    return Kernel(partition=partition.id, instance=partition.instance, actions=tuple(actions))


def copies(op: Operator, sizes: Mapping[str, int]) -> Iterator[Call]:
    """A call per operand, which goes to its place in the output."""
    offset = 0
    for name in op.inputs:
        target = Operand(of=op.output, access="w", offset=offset, bytes=sizes[name])
        read = Operand(of=name, access="r")
        yield Call(function=f"copy_{sizes[name]}", operands=(read, target), operator=op.id, copies=True)
        offset += sizes[name]


def tiled_kernel(
    graph: PartitionGraph, partition: Partition, soc: SoC, given: Budget, tiles: int = 2
) -> Kernel:
    """Tiles of inputs in, a command, tiles of the output out; constants stay. Two sets of tile buffers."""
    instance, op = soc.instance(partition.instance), partition.operators[0]
    inside = instance.buffers.get("inp", instance.memory[0])
    outside = instance.buffers.get("out", instance.memory[0])
    size = {name: graph.model.tensors[name].bytes for name in (*op.inputs, *op.constants, op.output)}
    buffers = [LocalBuffer(name=f"l_{name}", bytes=size[name], memory=inside) for name in op.constants]
    for side in range(2):
        buffers += [
            LocalBuffer(name=f"l_{name}_{side}", bytes=size[name] // tiles, memory=inside)
            for name in op.inputs
        ]
        buffers.append(
            LocalBuffer(name=f"l_{op.output}_{side}", bytes=size[op.output] // tiles, memory=outside)
        )
    for memory in dict.fromkeys((inside, outside)):
        needed = sum(buffer.bytes for buffer in buffers if buffer.memory == memory)
        if needed > given.guaranteed(op.id, memory):
            raise DoesNotFit(op.id, memory, needed, given.guaranteed(op.id, memory))
    actions: list[Move | Call] = [
        Move(source=_part(name, 0, size[name]), target=_part(f"l_{name}", 0, size[name]))
        for name in op.constants
    ]
    for tile in range(tiles):
        side = tile % 2
        for name in op.inputs:
            part = size[name] // tiles
            actions.append(
                Move(source=_part(name, tile * part, part), target=_part(f"l_{name}_{side}", 0, part))
            )
        reads = (*(f"l_{name}_{side}" for name in op.inputs), *(f"l_{name}" for name in op.constants))
        operands = (
            *(Operand(of=n, access="r") for n in reads),
            Operand(of=f"l_{op.output}_{side}", access="w"),
        )
        actions.append(Call(function="command", operands=operands, words=(1, tile), operator=op.id))
        part = size[op.output] // tiles
        actions.append(
            Move(source=_part(f"l_{op.output}_{side}", 0, part), target=_part(op.output, tile * part, part))
        )
    return Kernel(
        partition=partition.id, instance=partition.instance, buffers=tuple(buffers), actions=tuple(actions)
    )


def lowerer(soc: SoC, tiles: int = 2):  # type: ignore[no-untyped-def] # noqa: ANN201
    """A lowerer for all instances of a chip."""
    names = codegens(soc)

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        if names[partition.instance] == "c":
            return c_kernel(partition, {name: t.bytes for name, t in graph.model.tensors.items()})
        return tiled_kernel(graph, partition, soc, given, tiles)

    return lower


def _part(of: str, offset: int, size: int) -> Slice:
    return Slice(of=of, offset=offset, row_bytes=size)
