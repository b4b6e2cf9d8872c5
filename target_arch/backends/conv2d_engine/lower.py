"""From a partition of convolutions to packed weights and a program of moves and commands."""

from collections.abc import Iterator

from attrs import frozen

from target_arch.backend.contract import DoesNotFit, LoweringRequest
from target_arch.backends.conv2d_engine.registers import FUNCTION, REGISTERS
from target_arch.backends.conv2d_engine.tiles import (
    PARAMETER_BYTES,
    ROLES,
    Convolution,
    Engine,
    Tiling,
    choose,
    convolution,
    seconds,
    smallest,
)
from target_arch.backends.quantized import blocks, parameters, words
from target_arch.backends.tiling import Recorder, Ring, after, rows_of, spans
from target_arch.plan.kernels import Kernel, Slice
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.soc.rounding import round_up

Extent = tuple[int, int]

SHARES = 8
"""Granularity of the search for a division of the memory that suits several operators."""


@frozen(kw_only=True)
class Layer:
    """One operator of the partition with its sizes."""

    operator: Operator
    sizes: Convolution


def lower(request: LoweringRequest, engine: Engine) -> Kernel:
    """The kernel of a partition. Raises DoesNotFit where an operator fits with no tiling.

    All operators share the three rings of local buffers, so an operator can reuse data that the previous one
    left there.
    """
    memory = request.instance.memory[0]
    layers = tuple(
        Layer(operator=operator, sizes=convolution(operator, request.model, engine.inward))
        for operator in request.partition.operators
    )
    tilings = _tilings(layers, engine, request, memory)
    recorder = Recorder()
    rings = {role: Ring(role=role, memory=memory, alignment=engine.alignment) for role in ROLES}
    constants = []
    notes = []
    for layer, tiling in zip(layers, tilings, strict=True):
        packed, filters = pack(layer.operator, request.model, tiling.channels, engine.inward.alignment)
        common = _common_words(layer.operator, request.model, layer.sizes)
        _Writer(layer, tiling, engine, recorder, rings, filters, common).write()
        constants.append(packed)
        notes.append(f"{layer.operator.id}: {tiling}")
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        constants=tuple(constants),
        buffers=recorder.buffers,
        actions=recorder.actions,
        notes=tuple(notes),
    )


def pack(operator: Operator, model: Model, channels: int, alignment: int) -> tuple[Tensor, dict[int, Slice]]:
    """Weights and parameters in blocks of `channels` output channels, and the block of each first channel.

    A block starts aligned and is the parameters of its channels (12 bytes each), then their weights.
    """
    weights = model.tensors[operator.constants[0]]
    assert weights.data is not None
    each = parameters(operator, model)
    size = len(weights.data) // len(each)
    ranges = spans(len(each), channels)
    pieces = tuple(
        b"".join(each[first:last]) + weights.data[first * size : last * size] for first, last in ranges
    )
    data, offsets = blocks(pieces, alignment)
    tensor = Tensor(name=f"{operator.id}.packed", shape=(len(data),), dtype="int8", data=data)
    slices = {
        first: Slice(of=tensor.name, offset=offset, row_bytes=len(piece))
        for (first, _), offset, piece in zip(ranges, offsets, pieces, strict=True)
    }
    return tensor, slices


def _tilings(
    layers: tuple[Layer, ...], engine: Engine, request: LoweringRequest, memory: str
) -> tuple[Tiling, ...]:
    """A tiling per layer such that the shared buffers fit the budget guaranteed to every call site."""
    budgets = [request.budget.guaranteed(layer.operator.id, memory) for layer in layers]
    alone = []
    for layer, budget in zip(layers, budgets, strict=True):
        tiling = choose(layer.sizes, engine, budget)
        if tiling is None:
            raise DoesNotFit(layer.operator.id, memory, smallest(layer.sizes, engine), budget)
        alone.append(tiling)
    if _shared(alone, engine) <= min(budgets):
        return tuple(alone)
    return _divided(layers, engine, min(budgets), alone, memory)


def _shared(tilings: list[Tiling], engine: Engine) -> int:
    """Bytes of the buffers when all tilings use the same ones."""
    total = 0
    for role in range(len(ROLES)):
        slots = [
            max((t.sizes[role] for t in tilings if t.buffers[role] > slot), default=0) for slot in range(2)
        ]
        total += sum(round_up(size, engine.alignment) for size in slots)
    return total


def _divided(
    layers: tuple[Layer, ...], engine: Engine, budget: int, alone: list[Tiling], memory: str
) -> tuple[Tiling, ...]:
    """The cheapest of a grid of divisions of the budget into shares for input, weights and output."""
    best: tuple[float, tuple[Tiling, ...]] | None = None
    share = budget // SHARES
    grid = [(a, b, SHARES - a - b) for a in range(1, SHARES) for b in range(1, SHARES - a)]
    for shares in grid:
        roles = (shares[0] * share, shares[1] * share, shares[2] * share)
        chosen = [choose(layer.sizes, engine, budget, roles) for layer in layers]
        tilings = tuple(tiling for tiling in chosen if tiling is not None)
        if len(tilings) < len(layers) or _shared(list(tilings), engine) > budget:
            continue
        cost = sum(seconds(each.sizes, t, engine) for each, t in zip(layers, tilings, strict=True))
        if best is None or cost < best[0]:
            best = (cost, tilings)
    if best is None:
        raise DoesNotFit(layers[0].operator.id, memory, _shared(alone, engine), budget)
    return best[1]


@frozen
class _Writer:
    """Records the moves and commands of one operator."""

    layer: Layer
    tiling: Tiling
    engine: Engine
    recorder: Recorder
    rings: dict[str, Ring]
    filters: dict[int, Slice]
    common: dict[str, int]

    def write(self) -> None:
        for rows, channels in self._order():
            self._tile(rows, channels)
        self.recorder.finish()

    def _order(self) -> Iterator[tuple[Extent, Extent]]:
        row_spans = spans(self.layer.sizes.out_height, self.tiling.rows)
        channel_spans = spans(self.layer.sizes.out_channels, self.tiling.channels)
        if self.tiling.channels_outer:
            return ((rows, channels) for channels in channel_spans for rows in row_spans)
        return ((rows, channels) for rows in row_spans for channels in channel_spans)

    def _tile(self, rows: Extent, channels: Extent) -> None:
        conv, tiling = self.layer.sizes, self.tiling
        count = channels[1] - channels[0]
        source = self._source(rows)
        read = self.recorder.fetch(self.rings["input"], tiling.buffers[0], source, self.engine.inward)
        block = self.recorder.fetch(
            self.rings["weights"], tiling.buffers[1], self.filters[channels[0]], self.engine.inward
        )
        size = (rows[1] - rows[0]) * conv.out_width * count
        written = self.recorder.claim(self.rings["output"], tiling.buffers[2], size)
        operands = (read, after(block, PARAMETER_BYTES * count), block, written)
        command = {
            **self.common,
            "IN_HEIGHT": source.bytes // conv.row_bytes,
            "OUT_HEIGHT": rows[1] - rows[0],
            "OUT_CHANNELS": count,
            "PAD_TOP": conv.window(*rows)[2],
        }
        call = REGISTERS.call(FUNCTION, self.layer.operator.id, operands, command)
        self.recorder.call(call, written, self._target(rows, channels), self.engine.outward)

    def _source(self, rows: Extent) -> Slice:
        conv = self.layer.sizes
        top, bottom, _ = conv.window(*rows)
        return rows_of(
            self.layer.operator.inputs[0],
            offset=top * conv.row_bytes,
            rows=rows[1] - rows[0] if conv.row_step > 1 else bottom - top,
            row_bytes=conv.row_bytes,
            stride=conv.row_step * conv.row_bytes,
        )

    def _target(self, rows: Extent, channels: Extent) -> Slice:
        conv = self.layer.sizes
        return rows_of(
            self.layer.operator.output,
            offset=rows[0] * conv.out_row_bytes + channels[0],
            rows=(rows[1] - rows[0]) * conv.out_width,
            row_bytes=channels[1] - channels[0],
            stride=conv.out_channels,
        )


def _common_words(operator: Operator, model: Model, conv: Convolution) -> dict[str, int]:
    """The command words that every tile of an operator shares."""
    return {
        **words(operator, model),
        "IN_WIDTH": conv.width,
        "IN_CHANNELS": conv.channels,
        "OUT_WIDTH": conv.out_width,
        "KERNEL_HEIGHT": conv.kernel[0],
        "KERNEL_WIDTH": conv.kernel[1],
        "STRIDE_HEIGHT": 1 if conv.row_step > 1 else conv.strides[0],
        "STRIDE_WIDTH": conv.strides[1],
        "PAD_LEFT": conv.pad_left,
    }
