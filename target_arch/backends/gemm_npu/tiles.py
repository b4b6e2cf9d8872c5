"""How one matrix product is cut so that its blocks fit the scratchpads.

Rows of the input, columns of the result, and, only where nothing else fits, the depth that is summed over.
The search tries useful sizes, both loop orders and one or two buffers per role, and takes the cheapest by
the estimate of `tile_costs`. Ties go to the smaller footprint. Accumulators have one buffer: commands run in
order, and no move touches it.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from math import prod
from typing import Any

from attrs import evolve, frozen

from target_arch.backends.tile_costs import EngineSpeed, TileCosts, TileMoves
from target_arch.backends.tiling import Link, loads, spans, tile_sizes
from target_arch.plan.model import Model, Operator
from target_arch.soc.rounding import ceil_div, round_up

PARAMETER_BYTES = 12
"""Bias, multiplier and shift of one column, int32 each."""

ROLES = ("input", "weights", "accumulators", "output")
SCRATCHPADS = {"input": "inp", "weights": "wgt", "accumulators": "acc", "output": "acc"}
"""The local buffer (as the SoC file maps it) of each role: results are written beside the accumulators."""


@frozen(kw_only=True)
class Product:
    """int8 [rows, depth] times int8 [columns, depth] transposed."""

    rows: int
    depth: int
    columns: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the whole product."""
        return self.rows * self.depth * self.columns


@frozen(kw_only=True)
class GemmTiling:
    """Block sizes, loop order, and per role (see ROLES) how many buffers of how many bytes."""

    rows: int
    depth: int
    columns: int
    columns_outer: bool
    buffers: tuple[int, int, int, int]
    sizes: tuple[int, int, int, int]

    def __str__(self) -> str:
        order = "columns, then rows" if self.columns_outer else "rows, then columns"
        roles = zip(ROLES, self.buffers, self.sizes, strict=True)
        local = ", ".join(f"{role} {count} x {size} B" for role, count, size in roles)
        return f"blocks of {self.rows} x {self.depth} x {self.columns}, {order}; {local}"


@frozen(kw_only=True)
class GemmEngine:
    """Properties of the instance that the search uses: memory per role, links, speed (seconds)."""

    memories: Mapping[str, str]
    inputs: Link
    weights: Link
    outward: Link
    start: float
    per_mac: float

    @property
    def alignment(self) -> int:
        """Alignment of every local buffer."""
        return max(16, self.inputs.alignment, self.weights.alignment, self.outward.alignment)

    @property
    def names(self) -> tuple[str, ...]:
        """The memories, by name."""
        return tuple(sorted(set(self.memories.values())))

    @property
    def speed(self) -> EngineSpeed:
        """How fast it moves and computes."""
        return EngineSpeed(
            links=(self.inputs, self.weights, self.outward), start=self.start, per_mac=self.per_mac
        )

    @property
    def shape(self) -> tuple[object, ...]:
        """Everything that tilings and kernels depend on; how fast they are depends on the speed, too."""
        limits = (link.limits for link in self.speed.links)
        return (*sorted(self.memories.items()), *limits)


def product(operator: Operator, model: Model) -> Product:
    """The sizes of a dense or a pointwise conv2d operator that `supports` accepted."""
    weights = model.tensors[operator.constants[0]].shape
    depth = prod(weights[1:])
    return Product(
        rows=prod(model.tensors[operator.inputs[0]].shape) // depth, depth=depth, columns=weights[0]
    )


def block_bytes(columns: int, depth: int, last: bool) -> int:
    """Bytes of one block of weights; the last over the depth also carries the parameters."""
    return columns * (depth + (PARAMETER_BYTES if last else 0))


def with_two_results(whole: Product, tiling: GemmTiling) -> GemmTiling:
    """A tiling with two buffers for blocks of results, if there is more than one block."""
    blocks = ceil_div(whole.rows, tiling.rows) * ceil_div(whole.columns, tiling.columns)
    return evolve(tiling, buffers=(*tiling.buffers[:3], min(2, blocks)))


def taken(buffers: tuple[int, ...], sizes: tuple[int, ...], engine: GemmEngine) -> dict[str, int]:
    """Bytes per memory of so many buffers of such sizes per role, each aligned."""
    total, alignment = dict.fromkeys(engine.memories.values(), 0), engine.alignment
    for role, count, size in zip(ROLES, buffers, sizes, strict=True):
        total[engine.memories[role]] += count * round_up(size, alignment)
    return total


def depths(whole: Product, engine: GemmEngine) -> tuple[int, ...]:
    """Depths worth trying, the whole first: a cut needs aligned rows and 2-D moves, or a single row."""
    if whole.rows > 1 and (whole.depth % engine.inputs.alignment or not engine.inputs.two_dimensional):
        return (whole.depth,)
    return tile_sizes(whole.depth, engine.inputs.alignment)


def tilings(whole: Product, depth: int, engine: GemmEngine, *, double: bool = True) -> Iterator[GemmTiling]:
    """Every candidate tiling of one depth, whether or not it fits; without `double`, with single buffers
    only.
    """
    row_unit = engine.outward.unit(whole.columns)
    for rows in tile_sizes(whole.rows, row_unit):
        for columns in _column_sizes(whole, engine.outward):
            counts = (
                ceil_div(whole.rows, rows),
                ceil_div(whole.depth, depth),
                ceil_div(whole.columns, columns),
            )
            sizes = _sizes(whole, rows, depth, columns, engine)
            twice = (
                min(2, counts[0] * counts[1]),
                min(2, counts[1] * counts[2]),
                min(2, counts[0] * counts[2]),
            )
            variants = [(1, 1, 1, 1)]
            if double:
                variants += [
                    (twice[0], 1, 1, twice[2]),
                    (1, twice[1], 1, twice[2]),
                    (*twice[:2], 1, twice[2]),
                ]
            for columns_outer in (True, False) if counts[0] > 1 and counts[2] > 1 else (True,):
                for buffers in dict.fromkeys(variants):
                    yield GemmTiling(
                        rows=rows,
                        depth=depth,
                        columns=columns,
                        columns_outer=columns_outer,
                        buffers=buffers,
                        sizes=sizes,
                    )


def _sizes(
    whole: Product, rows: int, depth: int, columns: int, engine: GemmEngine
) -> tuple[int, int, int, int]:
    """Bytes of a block of each role."""
    lead = 0 if depth < whole.depth else _lead(whole, rows, engine.inputs.alignment)
    return rows * depth + lead, block_bytes(columns, depth, True), 4 * rows * columns, rows * columns


def _lead(whole: Product, rows: int, alignment: int) -> int:
    """Most bytes that come along before a block of whole rows, back to an aligned offset."""
    if whole.depth % alignment == 0:
        return 0
    return max(first * whole.depth % alignment for first, _ in spans(whole.rows, rows))


def _column_sizes(whole: Product, outward: Link) -> tuple[int, ...]:
    """Columns may be cut where the pieces of a row stay aligned, a single row at any aligned place."""
    if whole.rows > 1 and whole.columns % outward.alignment:
        return (whole.columns,)
    return tile_sizes(whole.columns, outward.alignment)


def moves(whole: Product, tiling: GemmTiling, engine: GemmEngine) -> TileMoves:
    """The moves of a tiling: of inputs, weights and results."""
    row_blocks = ceil_div(whole.rows, tiling.rows)
    slices = ceil_div(whole.depth, tiling.depth)
    column_blocks = ceil_div(whole.columns, tiling.columns)
    if tiling.columns_outer:
        input_loads = loads(row_blocks * slices, column_blocks, tiling.buffers[0])
        weight_loads = column_blocks * loads(slices, row_blocks, tiling.buffers[1])
    else:
        input_loads = row_blocks * loads(slices, column_blocks, tiling.buffers[0])
        weight_loads = loads(column_blocks * slices, row_blocks, tiling.buffers[1])
    inputs = whole.rows * whole.depth * input_loads // (row_blocks * slices)
    weights = block_bytes(whole.columns, whole.depth, True) * weight_loads // (column_blocks * slices)
    strided = tiling.rows if column_blocks > 1 and not engine.outward.two_dimensional else 1
    results = row_blocks * column_blocks
    used = (tiling.buffers[0], tiling.buffers[1], tiling.buffers[3])
    return TileMoves(
        carried=(
            (inputs, input_loads),
            (weights, weight_loads),
            (whole.rows * whole.columns, results * strided),
        ),
        calls=results * slices,
        rings=tuple(zip((input_loads, weight_loads, results), used, strict=True)),
    )


@frozen
class GemmCandidates:
    """Tilings, and what each costs on an engine of any speed."""

    tilings: tuple[GemmTiling, ...]
    costs: TileCosts


def candidates(whole: Product, depth: int, engine: GemmEngine, *, double: bool = True) -> GemmCandidates:
    """Every candidate tiling of one depth. They depend on the engine's `shape` alone, not on its speed."""
    every = tuple(tilings(whole, depth, engine, double=double))
    bytes = [taken(each.buffers, each.sizes, engine) for each in every]
    names = engine.names
    return GemmCandidates(
        every,
        TileCosts(
            whole.macs,
            [moves(whole, each, engine) for each in every],
            [[each[name] for name in names] for each in bytes],
        ),
    )


def smallest(whole: Product, engine: GemmEngine) -> dict[str, int]:
    """Bytes per memory of the smallest tiling: single buffers, the least depth and columns."""
    depth = depths(whole, engine)[-1]
    columns = _column_sizes(whole, engine.outward)[-1]
    single = (1,) * len(ROLES)
    every = tile_sizes(whole.rows, engine.outward.unit(whole.columns))
    blocks = (_sizes(whole, rows, depth, columns, engine) for rows in every)
    return min((taken(single, sizes, engine) for sizes in blocks), key=lambda each: sum(each.values()))


def choose(
    whole: Product,
    engine: GemmEngine,
    budget: Mapping[str, int],
    *,
    double: bool = True,
    shared: MutableMapping[object, Any] | None = None,
) -> GemmTiling | None:
    """The cheapest tiling whose buffers fit the bytes of each memory, None where none does.

    The depth is cut only where no tiling of the whole depth fits. Candidates are taken from `shared`, and
    kept there.
    """
    known = {} if shared is None else shared
    for depth in depths(whole, engine):
        key = ("gemm_npu", whole, depth, engine.shape, double)
        if key not in known:
            known[key] = candidates(whole, depth, engine, double=double)
        every: GemmCandidates = known[key]
        cheapest = every.costs.cheapest(engine.speed, [budget[name] for name in engine.names])
        if cheapest is not None:
            return every.tilings[cheapest]
    return None
