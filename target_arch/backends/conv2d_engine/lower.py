"""From a partition of convolutions to packed weights and a program of moves and commands."""

from collections.abc import Mapping

from attrs import define, frozen

from target_arch.backend.contract import DoesNotFit, LoweringRequest
from target_arch.backends.conv2d_engine.registers import FUNCTION, REGISTERS
from target_arch.backends.conv2d_engine.tiles import (
    PARAMETER_BYTES,
    ROLES,
    Conv2dEngine,
    Conv2dSizes,
    Conv2dTiling,
    choose,
    convolution,
    seconds,
    smallest,
)
from target_arch.backends.known_kernels import known_kernel
from target_arch.backends.quantized import packed, parameters, words
from target_arch.backends.tiling import Recorder, Ring, Span, after, rows_of, spans, tiles
from target_arch.plan.kernels import Kernel, Slice
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.soc.rounding import round_up

SHARES = 8
"""Granularity of the search for a division of the memory that suits several operators."""


@frozen(kw_only=True)
class SizedConv2d:
    """One operator of the partition with its sizes."""

    operator: Operator
    sizes: Conv2dSizes


def lower(request: LoweringRequest, engine: Conv2dEngine) -> Kernel:
    """The kernel of a partition. Raises DoesNotFit where an operator fits with no tiling.

    All operators share the three rings of local buffers, so an operator can reuse data that the previous one
    left there.
    """
    memory = request.instance.memory[0]
    layers = tuple(
        SizedConv2d(operator=operator, sizes=convolution(operator, request.model, engine.inward))
        for operator in request.partition.operators
    )
    tilings = _tilings(layers, engine, request, memory)
    facts = (memory, engine.shape, tilings)
    return known_kernel(request, facts, lambda: _written(layers, tilings, engine, request))


def _written(
    layers: tuple[SizedConv2d, ...],
    tilings: tuple[Conv2dTiling, ...],
    engine: Conv2dEngine,
    request: LoweringRequest,
) -> Kernel:
    memory, recorder = request.instance.memory[0], Recorder()
    rings = {role: Ring(role=role, memory=memory, alignment=engine.alignment) for role in ROLES}
    constants = []
    notes = []
    for layer, tiling in zip(layers, tilings, strict=True):
        weights, filters = pack(layer.operator, request.model, tiling.channels, engine.inward.alignment)
        common = _common_words(layer.operator, request.model, layer.sizes)
        _Writer(layer, tiling, engine, recorder, rings, filters, common).write()
        constants.append(weights)
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
    pieces = {
        first: b"".join(each[first:last]) + weights.data[first * size : last * size]
        for first, last in spans(len(each), channels)
    }
    return packed(operator, pieces, alignment)


def _tilings(
    layers: tuple[SizedConv2d, ...], engine: Conv2dEngine, request: LoweringRequest, memory: str
) -> tuple[Conv2dTiling, ...]:
    """A tiling per layer such that the shared buffers fit the budget guaranteed to every call site."""
    budgets = [request.budget.guaranteed(layer.operator.id, memory) for layer in layers]
    alone = []
    for layer, budget in zip(layers, budgets, strict=True):
        tiling = choose(layer.sizes, engine, budget, shared=request.shared)
        if tiling is None:
            raise DoesNotFit(layer.operator.id, memory, smallest(layer.sizes, engine), budget)
        alone.append(tiling)
    if _shared(alone, engine) <= min(budgets):
        return tuple(alone)
    return _divided(layers, engine, min(budgets), alone, request)


def _shared(tilings: list[Conv2dTiling], engine: Conv2dEngine) -> int:
    """Bytes of the buffers when all tilings use the same ones."""
    total = 0
    for role in range(len(ROLES)):
        slots = [
            max((t.sizes[role] for t in tilings if t.buffers[role] > slot), default=0) for slot in range(2)
        ]
        total += sum(round_up(size, engine.alignment) for size in slots)
    return total


def _divided(
    layers: tuple[SizedConv2d, ...],
    engine: Conv2dEngine,
    budget: int,
    alone: list[Conv2dTiling],
    request: LoweringRequest,
) -> tuple[Conv2dTiling, ...]:
    """The cheapest of a grid of divisions of the budget into shares for input, weights and output."""
    best: tuple[float, tuple[Conv2dTiling, ...]] | None = None
    share = budget // SHARES
    grid = [(a, b, SHARES - a - b) for a in range(1, SHARES) for b in range(1, SHARES - a)]
    for shares in grid:
        roles = (shares[0] * share, shares[1] * share, shares[2] * share)
        chosen = [choose(layer.sizes, engine, budget, roles, request.shared) for layer in layers]
        tilings = tuple(tiling for tiling in chosen if tiling is not None)
        if len(tilings) < len(layers) or _shared(list(tilings), engine) > budget:
            continue
        cost = sum(seconds(each.sizes, t, engine) for each, t in zip(layers, tilings, strict=True))
        if best is None or cost < best[0]:
            best = (cost, tilings)
    if best is None:
        memory = request.instance.memory[0]
        raise DoesNotFit(layers[0].operator.id, memory, _shared(alone, engine), budget)
    return best[1]


@define(eq=False)
class _Writer:
    """Records the moves and commands of one operator."""

    layer: SizedConv2d
    tiling: Conv2dTiling
    engine: Conv2dEngine
    recorder: Recorder
    rings: Mapping[str, Ring]
    filters: Mapping[int, Slice]
    common: Mapping[str, int]

    def write(self) -> None:
        rows = spans(self.layer.sizes.rows.out, self.tiling.rows)
        channels = spans(self.layer.sizes.out_channels, self.tiling.channels)
        for of_rows, of_channels in tiles(rows, channels, columns_outer=self.tiling.channels_outer):
            self._tile(of_rows, of_channels)
        self.recorder.finish()

    def _tile(self, rows: Span, channels: Span) -> None:
        conv, tiling = self.layer.sizes, self.tiling
        count = channels[1] - channels[0]
        source = self._source(rows)
        read = self.recorder.fetch(self.rings["input"], tiling.buffers[0], source, self.engine.inward)
        block = self.recorder.fetch(
            self.rings["weights"], tiling.buffers[1], self.filters[channels[0]], self.engine.inward
        )
        size = (rows[1] - rows[0]) * conv.columns.out * count
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

    def _source(self, rows: Span) -> Slice:
        conv = self.layer.sizes
        top, bottom, _ = conv.window(*rows)
        return rows_of(
            self.layer.operator.inputs[0],
            offset=top * conv.row_bytes,
            rows=rows[1] - rows[0] if conv.row_step > 1 else bottom - top,
            row_bytes=conv.row_bytes,
            stride=conv.row_step * conv.row_bytes,
        )

    def _target(self, rows: Span, channels: Span) -> Slice:
        conv = self.layer.sizes
        return rows_of(
            self.layer.operator.output,
            offset=rows[0] * conv.out_row_bytes + channels[0],
            rows=(rows[1] - rows[0]) * conv.columns.out,
            row_bytes=channels[1] - channels[0],
            stride=conv.out_channels,
        )


def _common_words(operator: Operator, model: Model, conv: Conv2dSizes) -> dict[str, int]:
    """The command words that every tile of an operator shares."""
    return {
        **words(operator, model),
        "IN_WIDTH": conv.columns.extent,
        "IN_CHANNELS": conv.channels,
        "OUT_WIDTH": conv.columns.out,
        "KERNEL_HEIGHT": conv.kernel[0],
        "KERNEL_WIDTH": conv.kernel[1],
        "STRIDE_HEIGHT": 1 if conv.row_step > 1 else conv.rows.stride,
        "STRIDE_WIDTH": conv.columns.stride,
        "PAD_LEFT": conv.columns.before,
    }
