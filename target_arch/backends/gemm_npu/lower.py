"""From a partition of matrix products to packed weights and a program of moves and commands."""

from collections.abc import Mapping

from attrs import define, evolve, frozen

from target_arch.backend.contract import DoesNotFit, LoweringRequest
from target_arch.backends.gemm_npu.registers import FIRST, FUNCTION, LAST, REGISTERS
from target_arch.backends.gemm_npu.tiles import (
    PARAMETER_BYTES,
    ROLES,
    GemmEngine,
    GemmTiling,
    Product,
    choose,
    product,
    smallest,
    taken,
    with_two_results,
)
from target_arch.backends.known_kernels import known_kernel
from target_arch.backends.quantized import packed, parameters, words
from target_arch.backends.tiling import Recorder, Ring, Span, after, rows_of, spans, tiles
from target_arch.plan.kernels import Access, Kernel, Operand, Slice
from target_arch.plan.model import Model, Operator, Tensor


@frozen(kw_only=True)
class SizedProduct:
    """One operator of the partition with its sizes."""

    operator: Operator
    sizes: Product


def lower(request: LoweringRequest, engine: GemmEngine) -> Kernel:
    """The kernel of a partition. Raises DoesNotFit where an operator fits with no tiling.

    All operators share the local buffers of each role, so an operator can reuse data that the previous one
    left there.
    """
    layers = tuple(
        SizedProduct(operator=operator, sizes=product(operator, request.model))
        for operator in request.partition.operators
    )
    tilings = _tilings(layers, engine, request)
    return known_kernel(request, (engine.shape, tilings), lambda: _written(layers, tilings, engine, request))


def _written(
    layers: tuple[SizedProduct, ...],
    tilings: tuple[GemmTiling, ...],
    engine: GemmEngine,
    request: LoweringRequest,
) -> Kernel:
    recorder = Recorder()
    rings = {
        role: Ring(role=role, memory=engine.memories[role], alignment=engine.alignment) for role in ROLES
    }
    constants = []
    notes = []
    for layer, tiling in zip(layers, tilings, strict=True):
        constant, weights = pack(layer.operator, request.model, tiling, engine.weights.alignment)
        _Writer(layer, tiling, engine, recorder, rings, weights, words(layer.operator, request.model)).write()
        constants.append(constant)
        notes.append(f"{layer.operator.id}: {tiling}")
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        constants=tuple(constants),
        buffers=recorder.buffers,
        actions=recorder.actions,
        notes=tuple(notes),
    )


def pack(
    operator: Operator, model: Model, tiling: GemmTiling, alignment: int
) -> tuple[Tensor, dict[tuple[int, int], Slice]]:
    """Weights in blocks, and the block that starts at each (column, depth).

    A block starts aligned and is the weights of its columns over its depth, after the parameters of its
    columns (12 bytes each) where it is the last one over the depth.
    """
    weights = model.tensors[operator.constants[0]]
    assert weights.data is not None
    each = parameters(operator, model)
    depth = len(weights.data) // len(each)
    rows = tuple(weights.data[column * depth : (column + 1) * depth] for column in range(len(each)))
    pieces = {}
    for first, last in spans(len(each), tiling.columns):
        for low, high in spans(depth, tiling.depth):
            head = b"".join(each[first:last]) if high == depth else b""
            pieces[first, low] = head + b"".join(row[low:high] for row in rows[first:last])
    return packed(operator, pieces, alignment)


def _tilings(
    layers: tuple[SizedProduct, ...], engine: GemmEngine, request: LoweringRequest
) -> tuple[GemmTiling, ...]:
    """A tiling per layer such that the shared buffers fit the budget guaranteed to every call site.

    Two buffers per role where they fit all layers together, else one per role. Results have two wherever
    there is room: one leaves while the next is computed, even where the block after that has to wait.
    """
    names = engine.names
    budgets = [
        {name: request.budget.guaranteed(layer.operator.id, name) for name in names} for layer in layers
    ]
    common = {name: min(budget[name] for budget in budgets) for name in names}
    for double in (True, False):
        chosen = [_chosen(layer.sizes, engine, common, request, double=double) for layer in layers]
        for layer, tiling in zip(layers, chosen, strict=True):
            if tiling is None:
                raise _refused(layer, engine, common)
        tilings = tuple(tiling for tiling in chosen if tiling is not None)
        shared = _shared(tilings, engine)
        if all(shared[name] <= common[name] for name in names):
            twice = tuple(
                with_two_results(layer.sizes, tiling) for layer, tiling in zip(layers, tilings, strict=True)
            )
            more = _shared(twice, engine)
            return twice if all(more[name] <= common[name] for name in names) else tilings
    name = max(names, key=lambda each: shared[each] - common[each])
    raise DoesNotFit(layers[0].operator.id, name, shared[name], common[name])


def _chosen(
    sizes: Product, engine: GemmEngine, budget: Mapping[str, int], request: LoweringRequest, *, double: bool
) -> GemmTiling | None:
    """As `choose`, once for all layers of these sizes with this budget in a compilation."""
    key = ("gemm_npu", request.instance.name, sizes, tuple(sorted(budget.items())), double)
    if key not in request.kept:
        request.kept[key] = choose(sizes, engine, budget, double=double, shared=request.shared)
    tiling: GemmTiling | None = request.kept[key]
    return tiling


def _refused(layer: SizedProduct, engine: GemmEngine, budget: dict[str, int]) -> DoesNotFit:
    least = smallest(layer.sizes, engine)
    name = max(sorted(least), key=lambda each: least[each] - budget[each])
    return DoesNotFit(layer.operator.id, name, least[name], budget[name])


def _shared(tilings: tuple[GemmTiling, ...], engine: GemmEngine) -> dict[str, int]:
    """Bytes per memory when all tilings use the same buffers."""
    total = dict.fromkeys(engine.memories.values(), 0)
    for slot in range(2):
        sizes = tuple(
            max((tiling.sizes[role] for tiling in tilings if tiling.buffers[role] > slot), default=0)
            for role in range(len(ROLES))
        )
        for name, size in taken((1,) * len(ROLES), sizes, engine).items():
            total[name] += size
    return total


@define(eq=False)
class _Writer:
    """Records the moves and commands of one operator."""

    layer: SizedProduct
    tiling: GemmTiling
    engine: GemmEngine
    recorder: Recorder
    rings: Mapping[str, Ring]
    weights: Mapping[tuple[int, int], Slice]
    common: Mapping[str, int]

    def write(self) -> None:
        rows = spans(self.layer.sizes.rows, self.tiling.rows)
        columns = spans(self.layer.sizes.columns, self.tiling.columns)
        for of_rows, of_columns in tiles(rows, columns, columns_outer=self.tiling.columns_outer):
            self._block(of_rows, of_columns)
        self.recorder.finish()

    def _block(self, rows: Span, columns: Span) -> None:
        """One block of results: a command per depth, the last of which completes it."""
        size = (rows[1] - rows[0]) * (columns[1] - columns[0])
        sums = self.recorder.claim(self.rings["accumulators"], 1, 4 * size)
        for depth in spans(self.layer.sizes.depth, self.tiling.depth):
            self._command(rows, columns, depth, sums, size)

    def _command(self, rows: Span, columns: Span, depth: Span, sums: Operand, size: int) -> None:
        first, last = depth[0] == 0, depth[1] == self.layer.sizes.depth
        read = self._fetch_input(rows, depth)
        block = self.recorder.fetch(
            self.rings["weights"],
            self.tiling.buffers[1],
            self.weights[columns[0], depth[0]],
            self.engine.weights,
        )
        count = columns[1] - columns[0]
        access = Access.WRITE if first else Access.READ_WRITE
        operands: tuple[Operand, ...] = (read, block, evolve(sums, access=access))
        written = target = None
        if last:
            written = self.recorder.claim(self.rings["output"], self.tiling.buffers[3], size)
            target = self._target(rows, columns)
            weights = after(block, PARAMETER_BYTES * count)
            operands = (read, weights, operands[2], block, written)
        command = {
            **self.common,
            "ROWS": rows[1] - rows[0],
            "DEPTH": depth[1] - depth[0],
            "COLUMNS": count,
            "FLAGS": (FIRST if first else 0) | (LAST if last else 0),
        }
        call = REGISTERS.call(FUNCTION, self.layer.operator.id, operands, command)
        self.recorder.call(call, written, target, self.engine.outward)

    def _fetch_input(self, rows: Span, depth: Span) -> Operand:
        whole = self.layer.sizes.depth
        source = rows_of(
            self.layer.operator.inputs[0],
            offset=rows[0] * whole + depth[0],
            rows=rows[1] - rows[0],
            row_bytes=depth[1] - depth[0],
            stride=whole,
        )
        return self.recorder.fetch(self.rings["input"], self.tiling.buffers[0], source, self.engine.inputs)

    def _target(self, rows: Span, columns: Span) -> Slice:
        return rows_of(
            self.layer.operator.output,
            offset=rows[0] * self.layer.sizes.columns + columns[0],
            rows=rows[1] - rows[0],
            row_bytes=columns[1] - columns[0],
            stride=self.layer.sizes.columns,
        )
