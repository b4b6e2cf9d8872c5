"""`schedules`: the stages of a layer staged through the buffers of the engine, in tiles that fit the budget.

for each tile of rows, columns, output channels
    acc = 0
    for each tile of input channels
        inp ← image, wgt ← weights          (a DMA each, see dma.py)
        acc += products                      (tensorized: GEMM)
    bias, multiplier, shift ← constants      (a DMA each)
    biased, scaled, shifted, low, high       (tensorized: ALU)
    out ← high                               (a DMA)
"""

from typing import Any

from tvm import s_tir

from target_arch.backend.hooks import TirFunction
from target_arch.backend.lowering import DoesNotFit, LoweringRequest
from target_arch.backends.gemm_vta.definition import AluStage, alu_stages
from target_arch.backends.gemm_vta.description import LANES
from target_arch.backends.gemm_vta.intrinsics import alu, gemm, reset
from target_arch.backends.gemm_vta.layer import LayerSizes, layer_of
from target_arch.backends.gemm_vta.tiles import ENTRY_BYTES, Tile, choose, entries, smallest
from target_arch.plan.arithmetic import requantization
from target_arch.relax.lower.hook_stages import NOTE

SCOPE = {"inp": "local.inp_buffer", "wgt": "local.wgt_buffer", "acc": "local.acc_buffer"}


def schedules(function: TirFunction, request: LoweringRequest) -> Any:
    """The schedule of a layer. Raises DoesNotFit where a buffer has no room for one result."""
    operator = request.model.operator(function.operator)
    layer = layer_of(operator, request.model)
    tile = _tile(function.operator, layer, request)
    stages = alu_stages(requantization(operator, request.model))
    schedule = s_tir.Schedule(function.function.with_attr(NOTE, f"{operator.id}: {tile}"))
    _Staged(schedule, stages, tile).run()
    return schedule


def _tile(operator: str, layer: LayerSizes, request: LoweringRequest) -> Tile:
    memories = request.instance.buffers
    room = {
        name: request.budget.guaranteed(operator, memories[name]) // size
        for name, size in ENTRY_BYTES.items()
    }
    tile = choose(layer, room)
    if tile is not None:
        return tile
    least = entries(layer, smallest(layer))
    worst = max(sorted(least), key=lambda name: least[name] - room[name])
    size = ENTRY_BYTES[worst]
    raise DoesNotFit(operator, memories[worst], least[worst] * size, room[worst] * size)


class _Staged:
    """The steps of the schedule, in their order."""

    def __init__(self, schedule: Any, stages: tuple[AluStage, ...], tile: Tile) -> None:
        self.schedule, self.stages, self.tile = schedule, stages, tile
        self.block = schedule.get_sblock

    def run(self) -> None:
        names = [stage.name for stage in self.stages]
        self.schedule.set_scope(self.block("inp"), 0, SCOPE["inp"])
        for name in ("acc", *names):
            self.schedule.set_scope(self.block(name), 0, SCOPE["acc"])
        weights = self._staged("acc", "weights", "wgt")
        parameters = [
            self._staged(stage.name, each, "acc") for stage in self.stages for each in stage.operands[1:]
        ]
        inner = self._tiled(names)
        for block in parameters:
            self.schedule.compute_at(block, inner, preserve_unit_loops=True)
        self._summed(inner, weights)
        self.schedule.reverse_compute_at(self.block("out"), inner, preserve_unit_loops=True)
        self.schedule.split(self.schedule.get_loops(self.block("out"))[-1], [None, LANES])
        for stage in self.stages:
            self._alu(stage)

    def _read(self, block: Any, buffer: str) -> int:
        """The number of a buffer among those that a block reads."""
        reads = self.schedule.get(block).reads
        return next(index for index, read in enumerate(reads) if read.source.name.startswith(buffer))

    def _staged(self, name: str, buffer: str, local: str) -> Any:
        block = self.block(name)
        return self.schedule.cache_read(block, self._read(block, buffer), SCOPE[local])

    def _tiled(self, names: list[str]) -> Any:
        """The innermost loop over tiles; everything up to the result is computed under it."""
        schedule, tile = self.schedule, self.tile
        o, y, x, lane = schedule.get_loops(self.block(names[-1]))
        (o0, o1), (y0, y1), (x0, x1) = (
            schedule.split(loop, [None, size])
            for loop, size in ((o, tile.outputs), (y, tile.rows), (x, tile.columns))
        )
        schedule.reorder(y0, x0, o0, o1, y1, x1, lane)
        for name in reversed(names[:-1]):
            schedule.compute_at(self.block(name), o0, preserve_unit_loops=True)
        schedule.compute_at(self.block("acc"), o0, preserve_unit_loops=True)
        return o0

    def _summed(self, inner: Any, weights: Any) -> None:
        schedule, sums = self.schedule, self.block("acc")
        outer = len(schedule.get_loops(self.block("high"))) - 4
        o, y, x, lane, c, i, j, k = schedule.get_loops(sums)[outer:]
        c0, c1 = schedule.split(c, [None, self.tile.inputs])
        schedule.reorder(c0, o, c1, i, j, y, x, lane, k)
        schedule.compute_at(self.block("inp"), c0, preserve_unit_loops=True)
        schedule.compute_at(weights, c0, preserve_unit_loops=True)
        start = schedule.decompose_reduction(sums, c0)
        schedule.tensorize(lane, gemm())
        schedule.tensorize(schedule.get_loops(start)[-1], reset())

    def _alu(self, stage: AluStage) -> None:
        block = self.block(stage.name)
        reads = [self._read(block, name) for name in stage.operands]
        order = tuple(reads.index(index) for index in range(len(reads)))
        name = alu(stage.operation, stage.immediate, order)
        self.schedule.tensorize(self.schedule.get_loops(block)[-1], name)
