"""How much of a layer the engine holds at a time: the budget of each buffer decides.

A tile is `rows` x `columns` results of `outputs` blocks of channels, summed up over `inputs` blocks of
channels at a time. Sizes divide the layer, so that all tiles are equal. Tiles of outputs follow each other at
one place of the image, and data already in a buffer is not loaded again. The tile that moves the
fewest bytes is chosen:

    inputs    the image under every tile; times tiles of outputs, unless all channels fit at a time
    weights   once where all fit at a time, else once for each place
    results   leave once

Ties go to the tile with the fewest rounds.
"""

from collections.abc import Iterator, Mapping
from math import prod

from attrs import frozen

from target_arch.backends.gemm_vta.description import LANES, SHAPE
from target_arch.backends.gemm_vta.layer import LayerSizes

ENTRY_BYTES: Mapping[str, int] = {"inp": LANES, "wgt": LANES * LANES, "acc": 4 * LANES}
MOST: Mapping[str, int] = {name: SHAPE[f"{name.upper()}_MOST"] for name in ENTRY_BYTES}
PARAMETERS = 3
"""Entries that bias, multiplier and shift of a block of channels take beside its accumulators."""


@frozen(kw_only=True, order=True)
class Tile:
    """Rows, columns and blocks of output channels of a tile, and blocks of input channels at a time."""

    rows: int
    columns: int
    outputs: int
    inputs: int

    def __str__(self) -> str:
        channels = f"{self.outputs} x {LANES} channels from {self.inputs} x {LANES} at a time"
        return f"tiles of {self.rows} x {self.columns} results, {channels}"


def piece(layer: LayerSizes, tile: Tile) -> tuple[int, int]:
    """Rows and columns of the (padded) image under a tile."""
    (sy, sx), (kh, kw) = layer.strides, layer.kernel
    return (tile.rows - 1) * sy + kh, (tile.columns - 1) * sx + kw


def entries(layer: LayerSizes, tile: Tile) -> dict[str, int]:
    """Entries of each buffer that a tile takes."""
    return {
        "inp": prod(piece(layer, tile)) * tile.inputs,
        "wgt": tile.outputs * tile.inputs * prod(layer.kernel),
        "acc": tile.outputs * (tile.rows * tile.columns + PARAMETERS),
    }


def smallest(layer: LayerSizes) -> Tile:
    """The tile of one result."""
    return Tile(rows=1, columns=1, outputs=1, inputs=1)


def choose(layer: LayerSizes, room: Mapping[str, int]) -> Tile | None:
    """The best tile whose entries fit `room` (entries per buffer), None where not even one result does."""
    fitting = [
        tile
        for tile in _tiles(layer)
        if all(count <= min(room[name], MOST[name]) for name, count in entries(layer, tile).items())
    ]
    return min(fitting, key=lambda tile: (*_traffic(layer, tile), tile), default=None)


def _tiles(layer: LayerSizes) -> Iterator[Tile]:
    height, width, _ = layer.result
    for rows in _divisors(height):
        for columns in _divisors(width):
            for outputs in _divisors(layer.outputs):
                for inputs in _divisors(layer.inputs):
                    yield Tile(rows=rows, columns=columns, outputs=outputs, inputs=inputs)


def _divisors(extent: int) -> tuple[int, ...]:
    return tuple(size for size in range(1, extent + 1) if extent % size == 0)


def _traffic(layer: LayerSizes, tile: Tile) -> tuple[int, int]:
    """Bytes moved, and how often the sums are added to."""
    height, width, _ = layer.result
    places, blocks = (height // tile.rows) * (width // tile.columns), layer.outputs // tile.outputs
    rounds = layer.inputs // tile.inputs
    inputs = places * prod(piece(layer, tile)) * layer.inputs * ENTRY_BYTES["inp"]
    weights = layer.outputs * layer.inputs * prod(layer.kernel) * ENTRY_BYTES["wgt"]
    inputs *= 1 if rounds == 1 else blocks
    weights *= 1 if rounds == blocks == 1 else places
    return inputs + weights, places * blocks * rounds
