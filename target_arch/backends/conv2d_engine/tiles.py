"""How one convolution is cut so that its tiles fit the block RAM.

Two cuts: output rows (a full-width run of rows is one contiguous slice of an NHWC tensor) and output channels
(the weights of a run of channels are contiguous in OHWI; the output tile is then a 2-D slice). The search
tries every useful pair, both loop orders and one or two buffers per role, and takes the cheapest by the
estimate of `tile_costs`. Ties go to the smaller footprint.
"""

from collections.abc import Iterator, MutableMapping
from math import prod
from typing import Any

from attrs import evolve, frozen

from target_arch.backends.tile_costs import EngineSpeed, TileCosts, TileMoves
from target_arch.backends.tiling import Link, Spans, loads, needed, spans, tile_sizes
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.window import Window
from target_arch.plan.windows import required_windows
from target_arch.soc.rounding import ceil_div, round_up

PARAMETER_BYTES = 12
"""Bias, multiplier and shift of one output channel, int32 each."""

ROLES = ("input", "weights", "output")


@frozen(kw_only=True)
class Conv2dSizes:
    """The sizes of a conv2d. `row_step` is the distance of the input rows that are moved.

    It is 1, unless the kernel has one row and a vertical stride: then only the rows that are read are moved,
    and the engine sees them as adjacent.
    """

    channels: int
    out_channels: int
    rows: Window
    columns: Window
    row_step: int = 1

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""
        return self.rows.kernel, self.columns.kernel

    @property
    def row_bytes(self) -> int:
        """Bytes of one input row."""
        return self.columns.extent * self.channels

    @property
    def out_row_bytes(self) -> int:
        """Bytes of one output row, all channels."""
        return self.columns.out * self.out_channels

    @property
    def filter_bytes(self) -> int:
        """Bytes of the weights of one output channel."""
        return prod(self.kernel) * self.channels

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the whole convolution."""
        return self.rows.out * self.out_row_bytes * self.filter_bytes

    def window(self, first: int, last: int) -> tuple[int, int, int]:
        """Of output rows `first … last`: the input rows they read (half open) and the padding above those."""
        rows = self.rows.needed(range(first, last))
        return rows.start, rows.stop, max(-self.rows.at(first), 0)


@frozen(kw_only=True)
class Conv2dTiling:
    """Tile sizes, loop order, and per role how many buffers of how many bytes (input, weights, output)."""

    rows: int
    channels: int
    channels_outer: bool
    buffers: tuple[int, int, int]
    sizes: tuple[int, int, int]

    def __str__(self) -> str:
        order = "channels, then rows" if self.channels_outer else "rows, then channels"
        roles = zip(ROLES, self.buffers, self.sizes, strict=True)
        local = ", ".join(f"{role} {count} x {size} B" for role, count, size in roles)
        return f"tiles of {self.rows} rows x {self.channels} channels, {order}; {local}"


@frozen(kw_only=True)
class Conv2dEngine:
    """Properties of the instance that the search uses: its links and its speed (seconds)."""

    inward: Link
    outward: Link
    start: float
    per_mac: float

    @property
    def alignment(self) -> int:
        """Alignment of every local buffer."""
        return max(16, self.inward.alignment, self.outward.alignment)

    @property
    def speed(self) -> EngineSpeed:
        """How fast it moves and computes."""
        return EngineSpeed(links=(self.inward, self.outward), start=self.start, per_mac=self.per_mac)

    @property
    def shape(self) -> tuple[object, ...]:
        """Everything that tilings and kernels depend on; how fast they are depends on the speed, too."""
        return tuple(link.limits for link in self.speed.links)


def convolution(operator: Operator, model: Model, inward: Link) -> Conv2dSizes:
    """The sizes of a conv2d operator that `supports` accepted."""
    rows, columns = required_windows(operator, model)
    out_channels, *_, channels = model.tensors[operator.constants[0]].shape
    whole = Conv2dSizes(channels=channels, out_channels=out_channels, rows=rows, columns=columns)
    aligned = whole.row_bytes % inward.alignment == 0
    skips = (
        rows.kernel == 1 and rows.stride > 1 and not rows.leaves_before and inward.two_dimensional and aligned
    )
    return evolve(whole, row_step=rows.stride) if skips else whole


def pair(operator: Operator, name: str) -> tuple[int, int]:
    """A (height, width) attribute."""
    value = operator.attributes[name]
    assert isinstance(value, tuple)
    return int(value[0]), int(value[1])


def input_bytes(conv: Conv2dSizes, first: int, last: int, alignment: int) -> int:
    """Bytes moved in for output rows `first … last`, with the lead back to an aligned offset."""
    top, bottom, _ = conv.window(first, last)
    if conv.row_step > 1:
        return (last - first) * conv.row_bytes
    return (bottom - top) * conv.row_bytes + top * conv.row_bytes % alignment


def block_bytes(conv: Conv2dSizes, channels: int) -> int:
    """Bytes of the parameters and weights of that many output channels."""
    return channels * (PARAMETER_BYTES + conv.filter_bytes)


def tilings(conv: Conv2dSizes, engine: Conv2dEngine) -> Iterator[Conv2dTiling]:
    """Every candidate tiling, whether or not it fits."""
    for rows, row_spans, size in _row_tiles(conv, engine):
        for channels in _channel_sizes(conv, engine.outward):
            sizes = (size, block_bytes(conv, channels), rows * conv.columns.out * channels)
            blocks = ceil_div(conv.out_channels, channels)
            yield from _variants(rows, channels, sizes, len(row_spans), blocks)


def _row_tiles(conv: Conv2dSizes, engine: Conv2dEngine) -> Iterator[tuple[int, Spans, int]]:
    """The rows of a tile, the spans of all tiles, and the most bytes of the input of one."""
    for rows in tile_sizes(conv.rows.out, engine.outward.unit(conv.out_row_bytes)):
        row_spans = spans(conv.rows.out, rows)
        yield rows, row_spans, max(input_bytes(conv, *span, engine.inward.alignment) for span in row_spans)


def _channel_sizes(conv: Conv2dSizes, outward: Link) -> tuple[int, ...]:
    if conv.out_channels % outward.alignment:
        return (conv.out_channels,)
    return tile_sizes(conv.out_channels, outward.alignment)


def _variants(
    rows: int, channels: int, sizes: tuple[int, int, int], row_tiles: int, blocks: int
) -> Iterator[Conv2dTiling]:
    single = (1, 1, 1)
    double = (min(row_tiles, 2), min(blocks, 2), min(row_tiles * blocks, 2))
    for channels_outer in (True, False) if blocks > 1 and row_tiles > 1 else (True,):
        for buffers in (single, (double[0], 1, double[2]), double):
            yield Conv2dTiling(
                rows=rows, channels=channels, channels_outer=channels_outer, buffers=buffers, sizes=sizes
            )


def moves(conv: Conv2dSizes, tiling: Conv2dTiling, engine: Conv2dEngine) -> TileMoves:
    """The moves of a tiling, in and out; its rings are those of inputs, weights and results."""
    row_spans = spans(conv.rows.out, tiling.rows)
    blocks = ceil_div(conv.out_channels, tiling.channels)
    inputs = sum(input_bytes(conv, *span, engine.inward.alignment) for span in row_spans)
    weights = block_bytes(conv, conv.out_channels)
    input_rounds, weight_rounds = (blocks, 1) if tiling.channels_outer else (1, len(row_spans))
    input_loads = loads(len(row_spans), input_rounds, tiling.buffers[0])
    weight_loads = loads(blocks, weight_rounds, tiling.buffers[1])
    arriving = inputs * input_loads // len(row_spans) + weights * weight_loads // blocks
    calls = len(row_spans) * blocks
    strided = conv.columns.out * tiling.rows if blocks > 1 and not engine.outward.two_dimensional else 1
    return TileMoves(
        carried=(
            (arriving, input_loads + weight_loads),
            (conv.rows.out * conv.out_row_bytes, calls * strided),
        ),
        calls=calls,
        rings=tuple(zip((input_loads, weight_loads, calls), tiling.buffers, strict=True)),
    )


@frozen
class Conv2dCandidates:
    """Tilings, and what each costs on an engine of any speed."""

    tilings: tuple[Conv2dTiling, ...]
    costs: TileCosts


def candidates(conv: Conv2dSizes, engine: Conv2dEngine) -> Conv2dCandidates:
    """Every candidate tiling. They depend on the engine's `shape` alone, not on its speed."""
    every, alignment = tuple(tilings(conv, engine)), engine.alignment
    taken = [
        [count * round_up(size, alignment) for count, size in zip(each.buffers, each.sizes, strict=True)]
        for each in every
    ]
    return Conv2dCandidates(every, TileCosts(conv.macs, [moves(conv, each, engine) for each in every], taken))


def seconds(conv: Conv2dSizes, tiling: Conv2dTiling, engine: Conv2dEngine) -> float:
    """The estimate for one tiling."""
    return float(TileCosts(conv.macs, [moves(conv, tiling, engine)], [[0]]).seconds(engine.speed)[0])


def smallest(conv: Conv2dSizes, engine: Conv2dEngine) -> int:
    """Bytes that the smallest tiling needs: single buffers, and the fewest channels."""
    channels = _channel_sizes(conv, engine.outward)[-1]
    block, pixels = block_bytes(conv, channels), conv.columns.out * channels
    every = ((size, block, rows * pixels) for rows, _, size in _row_tiles(conv, engine))
    return min(needed(zip((1, 1, 1), sizes, strict=True), engine.alignment) for sizes in every)


def choose(
    conv: Conv2dSizes,
    engine: Conv2dEngine,
    budget: int,
    roles: tuple[int, int, int] | None = None,
    shared: MutableMapping[object, Any] | None = None,
) -> Conv2dTiling | None:
    """The cheapest tiling whose buffers fit `budget` bytes, None where none does.

    `roles` bounds the bytes of each role in all, where several operators share the buffers. Candidates are
    taken from `shared`, and kept there.
    """
    known, key = {} if shared is None else shared, ("conv2d_engine", conv, engine.shape)
    if key not in known:
        known[key] = candidates(conv, engine)
    every: Conv2dCandidates = known[key]
    cheapest = every.costs.cheapest(engine.speed, roles, budget)
    return None if cheapest is None else every.tilings[cheapest]
