"""Engines to run kernels on: the real driver and simulator, with memories that start full of 0xBF."""

import ctypes
import random
import struct
from collections.abc import Iterable

from attrs import evolve, frozen

from target_arch.backend.contract import LoweringRequest, Question
from target_arch.plan.kernels import Call, Kernel, Move, Slice
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.plan.model import Attribute, Model, Operator, Quantization, Tensor
from target_arch.plan.partitions import Partition
from target_arch.soc.model import CopyPath, DLDevice, Instance, Memory, MemoryMode, SoC, TargetArch

Attributes = dict[str, Attribute]


class Window(ctypes.Structure):
    """`ta_window`."""

    _fields_ = (
        ("memory", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("address", ctypes.c_uint64),
        ("base", ctypes.c_void_p),
    )


class Device:
    """One instance: local memories at the addresses it sees, and a driver to start commands."""

    def __init__(self, library: ctypes.CDLL, soc: SoC, instance: Instance) -> None:
        self.library = library
        self.soc = soc
        names = sorted({*instance.memory, *instance.buffers.values()})
        self.memories = {name: ctypes.create_string_buffer(soc.memory(name).size) for name in names}
        self.base = {name: soc.memory(name).observers[instance.arch.name] for name in names}
        for memory in self.memories.values():
            ctypes.memset(memory, 0xBF, len(memory))
        windows = [
            Window(index, len(self.memories[name]), self.base[name], ctypes.addressof(self.memories[name]))
            for index, name in enumerate(names)
        ]
        self.windows = (Window * len(windows))(*windows)
        library.engine_reset(self.windows, len(windows))

    def start(self, words: Iterable[int], operands: Iterable[int]) -> int:
        """The status of the driver's `start`."""
        words, operands = tuple(words), tuple(operands)
        return int(
            self.library.engine_start(
                (ctypes.c_uint32 * len(words))(*words),
                len(words),
                (ctypes.c_uint64 * max(1, len(operands)))(*operands),
                len(operands),
            )
        )

    def poll(self) -> int:
        return int(self.library.engine_poll())

    def run(self, kernel: Kernel, tensors: dict[str, bytes], outputs: dict[str, int]) -> dict[str, bytes]:
        """Execute the actions in order; the bytes of the outputs, which start as 0xBF."""
        outside = {name: bytearray(data) for name, data in tensors.items()}
        outside |= {tensor.name: bytearray(tensor.data or b"") for tensor in kernel.constants}
        outside |= {name: bytearray(b"\xbf" * size) for name, size in outputs.items()}
        places = self._places(kernel)
        for action in kernel.actions:
            if isinstance(action, Call):
                operands = (self.address(places, each.of) + each.offset for each in action.operands)
                assert self.start(action.words, operands) == 0, action
                assert self.poll() == 0, action
            else:
                self._move(action, outside, places)
        return {name: bytes(outside[name]) for name in outputs}

    def address(self, places: dict[str, tuple[str, int, int]], name: str) -> int:
        memory, offset, _ = places[name]
        return self.base[memory] + offset

    def _places(self, kernel: Kernel) -> dict[str, tuple[str, int, int]]:
        """Memory, offset and size of every local buffer, one after the other."""
        ends = dict.fromkeys(self.memories, 0)
        places = {}
        for buffer in kernel.buffers:
            start = -(-ends[buffer.memory] // buffer.alignment) * buffer.alignment
            places[buffer.name] = (buffer.memory, start, buffer.bytes)
            ends[buffer.memory] = start + buffer.bytes
            assert ends[buffer.memory] <= len(self.memories[buffer.memory])
        return places

    def _move(
        self, move: Move, outside: dict[str, bytearray], places: dict[str, tuple[str, int, int]]
    ) -> None:
        self._check(move, places)
        assert move.source.rows == move.target.rows
        for row in range(move.source.rows):
            data = self._row(move.source, row, outside, places)
            if move.target.of in places:
                memory, base, size = places[move.target.of]
                start = move.target.offset + row * move.target.stride
                assert start + len(data) <= size
                ctypes.memmove(ctypes.byref(self.memories[memory], base + start), data, len(data))
            else:
                start = move.target.offset + row * move.target.stride
                tensor = outside[move.target.of]
                assert start + len(data) <= len(tensor)
                tensor[start : start + len(data)] = data

    def _row(
        self,
        piece: Slice,
        row: int,
        outside: dict[str, bytearray],
        places: dict[str, tuple[str, int, int]],
    ) -> bytes:
        start = piece.offset + row * piece.stride
        if piece.of not in places:
            assert start + piece.row_bytes <= len(outside[piece.of])
            return bytes(outside[piece.of][start : start + piece.row_bytes])
        memory, base, size = places[piece.of]
        assert start + piece.row_bytes <= size
        return self.memories[memory].raw[base + start : base + start + piece.row_bytes]

    def _check(self, move: Move, places: dict[str, tuple[str, int, int]]) -> None:
        """Every path into or out of the local memory can carry the move."""
        assert move.source.bytes == move.target.bytes > 0
        inward = move.target.of in places
        memory = places[move.target.of if inward else move.source.of][0]
        paths = [path for path in self.soc.copies if (path.target if inward else path.source) == memory]
        for path in paths:
            for piece in (move.source, move.target):
                assert piece.offset % path.alignment == 0
                assert piece.rows == 1 or (piece.stride % path.alignment == 0 and path.dimensions == 2)
                assert path.max_bytes is None or piece.row_bytes <= path.max_bytes


@frozen(kw_only=True)
class Bench:
    """A SoC with one engine, to ask and to lower for."""

    soc: SoC

    @property
    def instance(self) -> Instance:
        return self.soc.instance("engine")

    def question(self, operator: Operator, model: Model) -> Question:
        return Question(operator=operator, model=model, instance=self.instance, soc=self.soc)

    def request(self, model: Model, budget: dict[str, int] | None = None) -> LoweringRequest:
        """All operators of the model as one partition; without a budget the whole memories."""
        sizes = {memory.name: memory.size for memory in self.soc.memories} | (budget or {})
        pools = tuple(
            PoolBudget(memory=name, live=0, remaining=size, guaranteed=size) for name, size in sizes.items()
        )
        return LoweringRequest(
            partition=Partition(id="p0", instance="engine", operators=model.operators, reason="test"),
            model=model,
            soc=self.soc,
            instance=self.instance,
            budget=Budget(partition="p0", sites={each.id: pools for each in model.operators}),
        )


def bench(
    backend: str,
    sizes: dict[str, int],
    *,
    buffers: dict[str, str] | None = None,
    options: dict[str, int | str] | None = None,
    alignment: int = 4,
    dimensions: int = 2,
    max_bytes: int | None = 4096,
) -> Bench:
    """A SoC with `ddr`, and the local memories of one engine behind a DMA; all paths have these limits."""
    locals_ = tuple(
        Memory(name=name, size=size, observers={"engine": 0x10000 * index})
        for index, (name, size) in enumerate(sizes.items())
    )
    path = CopyPath(
        source="ddr",
        target="ddr",
        engine="dma",
        bandwidth=800e6,
        setup=2e-6,
        alignment=alignment,
        dimensions=dimensions,
        max_bytes=max_bytes,
    )
    ways = tuple(evolve(path, **{end: memory.name}) for memory in locals_ for end in ("source", "target"))
    arch = TargetArch(
        name="engine",
        backend=backend,
        device=DLDevice(type="kDLExtDev", id=0),
        clock=100e6,
        memory=tuple(sizes),
        buffers=buffers or {},
        options=options or {},
    )
    mode = MemoryMode(name="default", workspace=("ddr",), constants=("ddr",), io=("ddr",))
    return Bench(
        soc=SoC(
            name="bench",
            memories=(Memory(name="ddr", size=1 << 20, base=0), *locals_),
            dmas=(),
            copies=ways,
            archs=(arch,),
            modes=(mode,),
            partitioning=("engine",),
        )
    )


def random_bytes(count: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(count)


def layer(
    kind: str,
    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    attributes: Attributes,
    *,
    arithmetic: str = "tflite",
    seed: int = 0,
    name: str = "op0",
    source: str = "x",
) -> Model:
    """A model of one layer: shapes of input, weights and output; random weights, biases and scales."""
    chance = random.Random(seed)
    shape, weight_shape, out_shape = shapes
    channels = weight_shape[0]
    depth = 1
    for size in weight_shape[1:]:
        depth *= size

    def quantized(scale: tuple[float, ...], zero: int, axis: int | None = None) -> Quantization:
        return Quantization(scale=scale, zero_point=(zero,) * len(scale), axis=axis)

    def float32(value: float) -> float:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])

    scales = tuple(float32(chance.uniform(0.2, 1.5) / (60 * depth**0.5)) for _ in range(channels))
    biases = [chance.randint(-2000, 2000) for _ in range(channels)]
    weights = random_bytes(channels * depth, seed + 1)
    low, high = sorted(chance.sample(range(-128, 128), 2)) if seed % 3 == 0 else (-128, 127)
    tensors = (
        Tensor(
            name=source,
            shape=shape,
            dtype="int8",
            quantization=quantized((float32(0.02),), chance.randint(-128, 127)),
        ),
        Tensor(
            name=f"{name}.w",
            shape=weight_shape,
            dtype="int8",
            quantization=quantized(scales, 0, 0),
            data=weights,
        ),
        Tensor(
            name=f"{name}.b", shape=(channels,), dtype="int32", data=struct.pack(f"<{channels}i", *biases)
        ),
        Tensor(
            name=f"{name}.y",
            shape=out_shape,
            dtype="int8",
            quantization=quantized((float32(0.03),), chance.randint(-40, 40)),
        ),
    )
    operator = Operator(
        id=name,
        kind=kind,
        arithmetic=arithmetic,
        inputs=(source,),
        constants=(f"{name}.w", f"{name}.b"),
        output=f"{name}.y",
        attributes={**attributes, "activation_min": low, "activation_max": high},
    )
    return Model(
        name="layer",
        source="test",
        inputs=(source,),
        outputs=(f"{name}.y",),
        tensors={tensor.name: tensor for tensor in tensors},
        operators=(operator,),
    )
