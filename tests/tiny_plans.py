"""Hand-made plans that are small enough to read: SoC, model, steps and memory plan, without any stage."""

import struct

from attrs import evolve, fields_dict

from target_arch.backend.contract import Backend
from target_arch.emit import EmitInputs, Member, SelfTest, Tolerance, emit_bundle, manifest
from target_arch.plan.bundle import BundleFiles
from target_arch.plan.kernels import CFunction, Kernel, Operand, Slice
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import Buffer, MemoryPlan
from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.model_pools import Sharing
from target_arch.plan.orders import LoweringOrder, LoweringSlot
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.steps import Copy, Dispatch, Event, Load, Step, StepOrder, Wait
from target_arch.soc.model import (
    CopyPath,
    DLDevice,
    Dma,
    LoadProcess,
    Memory,
    MemoryMode,
    Port,
    SoC,
    TargetArch,
)
from target_arch.stages.memory.model_pools import model_pools
from tests.systems import HOST, PROCESSES, QEMU_MPS2

COUNT = 8
BIAS = (1, -2, 3, -4, -(2**31), 2**31 - 1, 0, 7)

ADD_TEXT = """\
/* out = wrap8(x + bias): enough to see a wrong constant. */
void add_bias(const int8_t *x, const int32_t *bias, int8_t *out)
{
    int i;
    for (i = 0; i < 8; i++)
        out[i] = (int8_t)(((uint32_t)x[i] + (uint32_t)bias[i]) & 0x7fu);
}
"""

ADD = CFunction(name="add_bias", parameters=("const int8_t *", "const int32_t *", "int8_t *"), text=ADD_TEXT)


def expected(frame: bytes) -> bytes:
    """What `ADD` makes of 8 bytes."""
    values = struct.unpack(f"{COUNT}b", frame)
    return bytes((value + bias) & 0x7F for value, bias in zip(values, BIAS, strict=True))


def soc() -> SoC:
    """A host with flash and SRAM, and a DSP whose TCM only a DMA channel reaches."""
    return SoC(
        name="tiny",
        memories=(
            Memory(name="flash", size=4096, base=0x0800_0000, writable=False),
            Memory(name="sram", size=4096, base=0x2000_0000),
            Memory(name="tcm", size=1024, observers={"dsp": 0x0}),
        ),
        dmas=(Dma(name="dma", channels=1),),
        copies=(
            CopyPath(source="flash", target="sram"),
            CopyPath(source="flash", target="tcm", engine="dma", cache="clean source"),
            CopyPath(source="sram", target="tcm", engine="dma", dimensions=2),
            CopyPath(source="tcm", target="sram", engine="dma", cache="invalidate destination"),
        ),
        archs=(
            TargetArch(
                name="host", backend="c", device=DLDevice(type="kDLCPU", id=0), host=True, memory=("sram",)
            ),
            TargetArch(
                name="dsp",
                backend="c",
                device=DLDevice(type="kDLCPU", id=1),
                memory=("tcm",),
                load=LoadProcess(process="firmware", image="dsp.elf"),
            ),
        ),
        modes=(MemoryMode(name="default", workspace=("sram",), constants=("flash",), io=("sram",)),),
        partitioning=("dsp", "host"),
    )


def port() -> Port:
    """Where `qemu_mps2` puts a program for the SoC."""
    return Port(name="qemu_mps2", machine="mps2-an500", code="flash", data="sram", stack=1024)


def model() -> Model:
    tensors = (
        Tensor(
            name="x:0",
            shape=(1, COUNT),
            dtype="int8",
            quantization=Quantization(scale=(0.5,), zero_point=(-1,)),
        ),
        Tensor(name="add/bias", shape=(COUNT,), dtype="int32", data=struct.pack(f"<{COUNT}i", *BIAS)),
        Tensor(name="y", shape=(1, COUNT), dtype="int8"),
    )
    add = Operator(
        id="add0", kind="add", arithmetic="tflite", inputs=("x:0",), constants=("add/bias",), output="y"
    )
    return Model(
        name="tiny-add",
        source="tiny.tflite",
        inputs=("x:0",),
        outputs=("y",),
        tensors={tensor.name: tensor for tensor in tensors},
        operators=(add,),
    )


def on_host(**changes: object) -> EmitInputs:
    """The operator runs on the host, straight on input, constant and output."""
    steps: tuple[Step, ...] = (
        Dispatch(
            partition="p0",
            operator="add0",
            instance="host",
            function="add_bias",
            operands=(
                Operand(of="x:0@sram", access="r"),
                Operand(of="add/bias@flash", access="r"),
                Operand(of="y@sram", access="w"),
            ),
        ),
    )
    buffers = (
        Buffer(
            name="x:0@sram", kind="input", memory="sram", bytes=8, alignment=16, first=0, last=0, tensor="x:0"
        ),
        Buffer(
            name="y@sram", kind="output", memory="sram", bytes=8, alignment=16, first=0, last=0, tensor="y"
        ),
        _bias(last=0),
    )
    offsets = {"x:0@sram": 0, "y@sram": 16, "add/bias@flash": 16}
    return _inputs("host", steps, buffers, offsets, **changes)


def on_machine(*, flash: int = 65536, stack: int = 1024, **changes: object) -> EmitInputs:
    """As `on_host`, for the port `qemu_mps2`: with memories where its machine has them."""
    inputs = on_host(**changes)
    sizes = {"flash": (0x0, flash), "sram": (0x2000_0000, 16384)}
    memories = tuple(
        evolve(each, base=sizes[each.name][0], size=sizes[each.name][1]) if each.name in sizes else each
        for each in inputs.soc.memories
    )
    chip = evolve(inputs.soc, memories=memories, ports=(evolve(port(), stack=stack),))
    return changed(inputs, soc=chip, port=QEMU_MPS2)


def on_dsp(**changes: object) -> EmitInputs:
    """The operator runs on the DSP: everything it touches is copied to its TCM and back."""
    whole = {"offset": 0, "row_bytes": 8}
    halves = {"offset": 0, "row_bytes": 4, "rows": 2, "stride": 4}
    steps: tuple[Step, ...] = (
        Load(instance="dsp", process="firmware", image="dsp.elf"),
        Copy(
            source=Slice(of="x:0@sram", **halves),
            target=Slice(of="x:0@tcm", **whole),
            engine="dma",
            event=Event(timeline="dma.0", value=1),
        ),
        Copy(
            source=Slice(of="add/bias@flash", offset=0, row_bytes=32),
            target=Slice(of="add/bias@tcm", offset=0, row_bytes=32),
            engine="dma",
            cache="clean source",
            event=Event(timeline="dma.0", value=2),
        ),
        Wait(event=Event(timeline="dma.0", value=2)),
        Dispatch(
            partition="p0",
            operator="add0",
            instance="dsp",
            function="add_bias",
            operands=(
                Operand(of="x:0@tcm", access="r"),
                Operand(of="add/bias@tcm", access="r"),
                Operand(of="y@tcm", access="w"),
            ),
            event=Event(timeline="dsp", value=1),
        ),
        Wait(event=Event(timeline="dsp", value=1)),
        Copy(
            source=Slice(of="y@tcm", **whole),
            target=Slice(of="y@sram", **whole),
            engine="dma",
            cache="invalidate destination",
            event=Event(timeline="dma.0", value=3),
        ),
        Wait(event=Event(timeline="dma.0", value=3)),
    )
    tcm = {"kind": "activation", "memory": "tcm", "alignment": 16, "first": 1, "last": 7}
    buffers = (
        Buffer(
            name="x:0@sram", kind="input", memory="sram", bytes=8, alignment=16, first=0, last=3, tensor="x:0"
        ),
        Buffer(
            name="y@sram", kind="output", memory="sram", bytes=8, alignment=16, first=6, last=7, tensor="y"
        ),
        Buffer(name="x:0@tcm", bytes=8, tensor="x:0", **tcm),
        Buffer(name="add/bias@tcm", bytes=32, tensor="add/bias", **tcm),
        Buffer(name="y@tcm", bytes=8, tensor="y", **tcm),
        _bias(last=7),
    )
    offsets = {
        "x:0@sram": 0, "y@sram": 0, "x:0@tcm": 48, "add/bias@tcm": 16, "y@tcm": 0, "add/bias@flash": 16,
    }  # fmt: skip
    return _inputs("dsp", steps, buffers, offsets, **changes)


def self_test(outputs: bytes | None = None) -> SelfTest:
    frame = bytes(range(COUNT))
    return SelfTest(
        reference="the arithmetic of this file",
        inputs=(frame,),
        outputs=(expected(frame) if outputs is None else outputs,),
        tolerances=(Tolerance(),),
    )


def _bias(last: int) -> Buffer:
    return Buffer(
        name="add/bias@flash", kind="constant", memory="flash", bytes=32, alignment=16, first=0, last=last,
        tensor="add/bias",
    )  # fmt: skip


def _inputs(
    instance: str,
    steps: tuple[Step, ...],
    buffers: tuple[Buffer, ...],
    offsets: dict[str, int],
    **changes: object,
) -> EmitInputs:
    chip, net = soc(), model()
    partition = Partition(id="p0", instance=instance, operators=net.operators, reason="only one there is")
    graph = PartitionGraph(model=net, partitions=(partition,), choices=())
    order = StepOrder(steps=steps, buffers=buffers, inputs=(("x:0", "x:0@sram"),), outputs=(("y", "y@sram"),))
    peaks = {
        buffer.arena: max(
            offsets[other.name] + other.bytes for other in buffers if other.arena == buffer.arena
        )
        for buffer in buffers
    }
    plan = MemoryPlan(buffers=buffers, offsets=offsets, peaks=peaks, bounds=peaks)
    lowering = LoweringOrder(
        policy="c-first", slots=(LoweringSlot(partition="p0", phase="codegen", reason="codegen is C"),)
    )
    lowered = Lowered(
        graph=graph,
        lowering=lowering,
        kernels={"p0": Kernel(partition="p0", instance=instance, functions=(ADD,))},
        budgets=(),
        steps=order,
        plan=plan,
        execution=None,
    )
    inputs = EmitInputs(
        name=net.name,
        soc=chip,
        mode=chip.mode(),
        backends={"host": C_BACKEND, "dsp": C_BACKEND},
        members=(Member(model=net, lowered=lowered, self_test=self_test()),),
        port=HOST,
        processes=PROCESSES,
        pools=model_pools(chip, {net.name: plan}, Sharing.SHARED),
    )
    return changed(inputs, **changes)


def changed(inputs: EmitInputs, **changes: object) -> EmitInputs:
    """The inputs with other facts of the bundle, of its only model, or of how that was lowered."""
    (member,) = inputs.members
    of = {kind: fields_dict(kind).keys() & changes.keys() for kind in (EmitInputs, Member, Lowered)}
    assert changes.keys() == {name for names in of.values() for name in names}
    given = {kind: {name: changes[name] for name in of[kind]} for kind in of}
    lowered = evolve(member.lowered, **given[Lowered])
    member = evolve(member, lowered=lowered, **given[Member])
    pools = model_pools(inputs.soc, {member.name: lowered.plan}, Sharing.SHARED)
    return evolve(inputs, name=member.name, members=(member,), pools=pools, **given[EmitInputs])


def bundle(inputs: EmitInputs) -> BundleFiles:
    """Every file, with the manifest."""
    return emit_bundle(inputs, manifest(inputs))


C_BACKEND = Backend(
    name="c",
    description="any CPU",
    codegen="c",
    patterns=(),
    supports=lambda question: None,
    cost=lambda question: 0.0,
    lower=lambda request: Kernel(partition=request.partition.id, instance=request.instance.name),
)
