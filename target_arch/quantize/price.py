"""Prices of quantized models on a chip: seconds of a run and bytes by memory, planned as by `compile`.

Tests: `tests/quantize/test_price.py`.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from attrs import define, field, frozen

from target_arch.explore.chip import ChipFile
from target_arch.explore.evaluate import Evaluator, PointTask
from target_arch.explore.measures import measure
from target_arch.explore.outcome import PointOutcome
from target_arch.explore.space import Limit
from target_arch.pipeline.reuse import Reuse
from target_arch.plan.goal import Goal
from target_arch.registry.plug_ins import PlugIns

NAME = "model"
"""The name that models have while they are priced."""


@frozen(kw_only=True)
class ModelPrice:
    """A model on the chip; `constants` are those of the `outcome`'s bytes by memory that are constants."""

    outcome: PointOutcome
    constants: Mapping[str, int] = field(factory=dict)

    @property
    def fits(self) -> bool:
        """Whether there are numbers."""
        return self.outcome.fits

    def of(self, name: str) -> float:
        """A measure by its name; infinite where there is none."""
        known = measure(name, [NAME])
        value = known.of(self.outcome) if known is not None and self.fits else None
        return float("inf") if value is None else value

    def keeps(self, limits: tuple[Limit, ...]) -> bool:
        """Whether no measure is above its limit, to the byte."""
        return self.fits and all(self.of(limit.measure) <= limit.most for limit in limits)

    def excess(self, limits: tuple[Limit, ...]) -> float:
        """The largest share of a limit that is taken; infinite where the model does not fit."""
        return max((self.of(limit.measure) / max(limit.most, 1e-30) for limit in limits), default=0.0)


@define(eq=False)
class PriceList:
    """Prices on a chip; equal files are planned once."""

    chip: ChipFile
    plug_ins: PlugIns = field(repr=False)
    mode: str = "default"
    optimize: Goal = Goal.BALANCED
    _known: dict[bytes, ModelPrice] = field(factory=dict, init=False, repr=False)

    def of(self, content: bytes, suffix: str) -> ModelPrice:
        """The price of a model file with that content. Raises NotInstalled where a backend lacks a tool."""
        if content not in self._known:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"{NAME}{suffix}"
                file.write_bytes(content)
                self._known[content] = self._planned(file)
        return self._known[content]

    @property
    def count(self) -> int:
        """How many models were planned."""
        return len(self._known)

    def _planned(self, file: Path) -> ModelPrice:
        task = PointTask(chip=self.chip, models={NAME: file}, mode=self.mode, optimize=self.optimize)
        outcome, planned = Evaluator(self.plug_ins, Reuse()).planned(task)
        constants: dict[str, int] = {}
        for pool in planned.pools.pools if planned is not None else ():
            if pool.pool.constant:
                constants[pool.memory] = constants.get(pool.memory, 0) + pool.bytes
        return ModelPrice(outcome=outcome, constants=constants)
