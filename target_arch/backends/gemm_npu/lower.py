"""From a partition of matrix products to packed weights and a program of moves and commands."""

from collections.abc import Iterator

from attrs import evolve, frozen

from target_arch.backend.contract import DoesNotFit, LoweringRequest
from target_arch.backends.gemm_npu.registers import FIRST, FUNCTION, LAST, REGISTERS
from target_arch.backends.gemm_npu.tiles import (
    PARAMETER_BYTES,
    ROLES,
    Engine,
    Product,
    Tiling,
    choose,
    product,
    smallest,
    taken,
)
from target_arch.backends.quantized import blocks, parameters, words
from target_arch.backends.tiling import Recorder, Ring, after, rows_of, spans
from target_arch.plan.kernels import Access, Kernel, Operand, Slice
from target_arch.plan.model import Model, Operator, Tensor

Extent = tuple[int, int]


@frozen(kw_only=True)
class Layer:
    """One operator of the partition with its sizes."""

    operator: Operator
    sizes: Product


def lower(request: LoweringRequest, engine: Engine) -> Kernel:
    """The kernel of a partition. Raises DoesNotFit where an operator fits with no tiling.

    All operators share the local buffers of each role, so an operator can reuse data that the previous one
    left there.
    """
    layers = tuple(
        Layer(operator=operator, sizes=product(operator, request.model))
        for operator in request.partition.operators
    )
    tilings = _tilings(layers, engine, request)
    recorder = Recorder()
    rings = {
        role: Ring(role=role, memory=engine.memories[role], alignment=engine.alignment) for role in ROLES
    }
    constants = []
    notes = []
    for layer, tiling in zip(layers, tilings, strict=True):
        packed, weights = pack(layer.operator, request.model, tiling, engine.weights.alignment)
        _Writer(layer, tiling, engine, recorder, rings, weights, words(layer.operator, request.model)).write()
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


def pack(
    operator: Operator, model: Model, tiling: Tiling, alignment: int
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
    starts = []
    pieces = []
    for first, last in spans(len(each), tiling.columns):
        for low, high in spans(depth, tiling.depth):
            head = b"".join(each[first:last]) if high == depth else b""
            starts.append((first, low))
            pieces.append(head + b"".join(row[low:high] for row in rows[first:last]))
    data, offsets = blocks(tuple(pieces), alignment)
    tensor = Tensor(name=f"{operator.id}.packed", shape=(len(data),), dtype="int8", data=data)
    slices = {
        start: Slice(of=tensor.name, offset=offset, row_bytes=len(piece))
        for start, offset, piece in zip(starts, offsets, pieces, strict=True)
    }
    return tensor, slices


def _tilings(layers: tuple[Layer, ...], engine: Engine, request: LoweringRequest) -> tuple[Tiling, ...]:
    """A tiling per layer such that the shared buffers fit the budget guaranteed to every call site.

    Two buffers per role where they fit all layers together, else one per role.
    """
    names = sorted(set(engine.memories.values()))
    budgets = [
        {name: request.budget.guaranteed(layer.operator.id, name) for name in names} for layer in layers
    ]
    common = {name: min(budget[name] for budget in budgets) for name in names}
    for double in (True, False):
        chosen = [choose(layer.sizes, engine, common, double=double) for layer in layers]
        for layer, tiling in zip(layers, chosen, strict=True):
            if tiling is None:
                raise _refused(layer, engine, common)
        tilings = tuple(tiling for tiling in chosen if tiling is not None)
        shared = _shared(tilings, engine)
        if all(shared[name] <= common[name] for name in names):
            return tilings
    name = max(names, key=lambda each: shared[each] - common[each])
    raise DoesNotFit(layers[0].operator.id, name, shared[name], common[name])


def _refused(layer: Layer, engine: Engine, budget: dict[str, int]) -> DoesNotFit:
    least = smallest(layer.sizes, engine)
    name = max(sorted(least), key=lambda each: least[each] - budget[each])
    return DoesNotFit(layer.operator.id, name, least[name], budget[name])


def _shared(tilings: tuple[Tiling, ...], engine: Engine) -> dict[str, int]:
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


@frozen
class _Writer:
    """Records the moves and commands of one operator."""

    layer: Layer
    tiling: Tiling
    engine: Engine
    recorder: Recorder
    rings: dict[str, Ring]
    weights: dict[tuple[int, int], Slice]
    common: dict[str, int]

    def write(self) -> None:
        for rows, columns in self._order():
            self._block(rows, columns)
        self.recorder.finish()

    def _order(self) -> Iterator[tuple[Extent, Extent]]:
        row_spans = spans(self.layer.sizes.rows, self.tiling.rows)
        column_spans = spans(self.layer.sizes.columns, self.tiling.columns)
        if self.tiling.columns_outer:
            return ((rows, columns) for columns in column_spans for rows in row_spans)
        return ((rows, columns) for rows in row_spans for columns in column_spans)

    def _block(self, rows: Extent, columns: Extent) -> None:
        """One block of results: a command per depth, the last of which completes it."""
        size = (rows[1] - rows[0]) * (columns[1] - columns[0])
        sums = self.recorder.claim(self.rings["accumulators"], 1, 4 * size)
        for depth in spans(self.layer.sizes.depth, self.tiling.depth):
            self._command(rows, columns, depth, sums, size)

    def _command(self, rows: Extent, columns: Extent, depth: Extent, sums: Operand, size: int) -> None:
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

    def _fetch_input(self, rows: Extent, depth: Extent) -> Operand:
        whole = self.layer.sizes.depth
        source = rows_of(
            self.layer.operator.inputs[0],
            offset=rows[0] * whole + depth[0],
            rows=rows[1] - rows[0],
            row_bytes=depth[1] - depth[0],
            stride=whole,
        )
        return self.recorder.fetch(self.rings["input"], self.tiling.buffers[0], source, self.engine.inputs)

    def _target(self, rows: Extent, columns: Extent) -> Slice:
        return rows_of(
            self.layer.operator.output,
            offset=rows[0] * self.layer.sizes.columns + columns[0],
            rows=rows[1] - rows[0],
            row_bytes=columns[1] - columns[0],
            stride=self.layer.sizes.columns,
        )
