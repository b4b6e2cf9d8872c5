"""A VTA-class engine on its own: lower a layer, lay tensors out in its DRAM, run driver and simulator."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve

from target_arch.backends.gemm_vta import backend
from target_arch.backends.gemm_vta.description import REGISTERS, SHAPE, Instruction, decoded
from target_arch.plan.arithmetic import requantization
from target_arch.plan.kernels import Call, Kernel
from target_arch.plan.model import Model
from target_arch.relax.lower.hook_stages import lower_by_hooks
from tests.backends.engines import Attributes, Bench, Device, bench, layer, random_bytes

Build = Callable[[str], ctypes.CDLL]
WHOLE = (32768, 65536, 65536)
DRAM = 1 << 20
STATUS = {
    name.removeprefix("STATUS_"): value for name, value, _ in REGISTERS.values if name.startswith("STATUS_")
}


def engine(sizes: tuple[int, int, int] = WHOLE, **options: int) -> Bench:
    """An engine with buffers of so many bytes (inputs, weights, accumulators), on a DRAM that it sees."""
    names = dict(zip(("inp", "wgt", "acc"), sizes, strict=True))
    made = bench("gemm_vta", names, buffers={name: name for name in names}, options=options)
    ddr, *locals_ = made.soc.memories
    (arch,) = made.soc.archs
    memories = (evolve(ddr, size=DRAM, observers={"engine": 0x1000_0000}), *locals_)
    return Bench(soc=evolve(made.soc, memories=memories, archs=(evolve(arch, memory=("ddr",)),)))


def conv2d(
    image: tuple[int, int, int],
    out_channels: int,
    kernel: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    **changes: Any,
) -> Model:
    """A model of one convolution with random weights."""
    height, width, channels = image
    top, left, bottom, right = padding
    rows = (height + top + bottom - kernel[0]) // strides[0] + 1
    columns = (width + left + right - kernel[1]) // strides[1] + 1
    attributes: Attributes = {"strides": strides, "padding": padding, "dilation": (1, 1)}
    shapes = ((1, *image), (out_channels, *kernel, channels), (1, rows, columns, out_channels))
    return layer("conv2d", shapes, attributes, **changes)


def dense(rows: int, depth: int, columns: int, **changes: Any) -> Model:
    """A model of one dense layer with random weights."""
    return layer(
        "dense", ((rows, depth), (columns, depth), (rows, columns)), {"in_features": depth}, **changes
    )


def reference(model: Model, x: bytes) -> bytes:
    """What exact integers say."""
    (operator,) = model.operators
    scaling = requantization(operator, model)
    shape, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    weights, bias = (model.tensors[name] for name in operator.constants)
    values = np.frombuffer(x, np.int8).astype(np.int64).reshape(shape) + scaling.input_offset
    w = np.frombuffer(weights.data or b"", np.int8).astype(np.int64).reshape(weights.shape)
    if operator.kind == "dense":
        sums = values.reshape(-1, weights.shape[1]) @ w.T
    else:
        top, left, bottom, right = operator.attributes["padding"]  # type: ignore[misc]
        sy, sx = operator.attributes["strides"]  # type: ignore[misc]
        padded = np.pad(values, ((0, 0), (top, bottom), (left, right), (0, 0)))
        views = np.lib.stride_tricks.sliding_window_view(padded, w.shape[1:3], axis=(1, 2))
        sums = np.einsum("nyxcij,oijc->nyxo", views[:, ::sy, ::sx], w, optimize=True)
    sums = (sums + np.frombuffer(bias.data or b"", "<i4")).reshape(-1, out[-1])
    return bytes(scaling.apply(int(v), n % out[-1]) & 0xFF for n, v in enumerate(sums.ravel()))


def lowered(model: Model, on: Bench, budget: dict[str, int] | None = None) -> Kernel:
    """The kernel of a model, through all the hooks."""
    assert backend.hooks is not None
    return lower_by_hooks(backend.hooks, on.request(model, budget))


def instructions(kernel: Kernel) -> tuple[Instruction, ...]:
    """The instructions of a kernel's only stream."""
    (data,) = (each.data for each in kernel.constants if each.name.endswith(".stream"))
    assert data is not None
    size = SHAPE["INSTRUCTION_BYTES"]
    return tuple(decoded(data[at : at + size]) for at in range(0, len(data), size))


class Run:
    """One kernel on one device; a stream of one's own may take the place of the kernel's."""

    def __init__(self, build: Build, on: Bench, model: Model, kernel: Kernel) -> None:
        self.device = Device(build("gemm_vta"), on.soc, on.instance)
        self.model, self.kernel = model, kernel
        (call,) = kernel.actions
        assert isinstance(call, Call)
        self.call = call

    def __call__(
        self, x: bytes, stream: tuple[Instruction, ...] | None = None, **words: int
    ) -> tuple[int, bytes]:
        """The engine's status, and the bytes of the output, which start as 0xBF."""
        offsets = self._lay_out(x, stream)
        named = dict(zip((name for name, _ in REGISTERS.words), self.call.words, strict=True))
        if stream is not None:
            named["COUNT"] = len(stream)
        named |= words
        assert self.device.start(named.values(), offsets) == 0
        self.device.poll()
        status = int(self.device.library.engine_register(REGISTERS.offsets["STATUS"]))
        return status, self._output(offsets)

    def _lay_out(self, x: bytes, stream: tuple[Instruction, ...] | None) -> list[int]:
        constants = {each.name: each.data for each in self.kernel.constants}
        locals_ = {each.name: self.device.base[each.memory] for each in self.kernel.buffers}
        ddr, base, free = self.device.memories["ddr"], self.device.base["ddr"], 64
        addresses = []
        for operand in self.call.operands:
            if operand.of in locals_:
                addresses.append(locals_[operand.of])
                continue
            data = constants.get(operand.of, x)
            if stream is not None and operand.of.endswith(".stream"):
                data = b"".join(each.encoded() for each in stream)
            assert data is not None
            size = self.model.tensors[operand.of].bytes if operand.access == "w" else len(data)
            if operand.access == "r":
                ctypes.memmove(ctypes.byref(ddr, free), data, len(data))
            addresses.append(base + free)
            free += -(-size // 64) * 64 + 64
        assert free <= len(ddr)
        return addresses

    def _output(self, addresses: list[int]) -> bytes:
        place = next(n for n, each in enumerate(self.call.operands) if each.of in self.model.outputs)
        start = addresses[place] - self.device.base["ddr"]
        size = self.model.tensors[self.call.operands[place].of].bytes
        return self.device.memories["ddr"].raw[start : start + size]


def checked(
    build: Build, on: Bench, model: Model, budget: dict[str, int] | None = None, seed: int = 1
) -> Kernel:
    """The kernel of a model, after its results were compared with the reference."""
    kernel = lowered(model, on, budget)
    x = random_bytes(model.tensors[model.inputs[0]].bytes, seed)
    status, found = Run(build, on, model, kernel)(x)
    assert status == STATUS["DONE"], {value: name for name, value in STATUS.items()}[status]
    assert found == reference(model, x)
    return kernel
