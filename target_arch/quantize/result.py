"""The result of quantizing to fit: the model, what each layer is, and the table.

Tests: `tests/quantize/test_result.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from target_arch.explore.measures import LATENCY, amount
from target_arch.explore.space import Limit
from target_arch.explore.summary import first_line, table
from target_arch.quantize.budget import written
from target_arch.quantize.precision import Precision, QuantizableLayer
from target_arch.quantize.price import NAME, ModelPrice
from target_arch.quantize.score import Score

SCHEMA = 1
"""Of the JSON that is printed; `result.schema.json` describes it."""
_LONGEST_NAME = 40
"""Characters of a layer's name in a table."""
OURS = "chosen"
"""The name of the row of the result."""


@frozen(kw_only=True)
class PricedModel:
    """A row of the table: a model with its score and its price. `keeps` says whether it keeps the limits."""

    name: str
    score: Score
    price: ModelPrice
    keeps: bool


@frozen(kw_only=True)
class ChosenLayer:
    """A layer with its precision; `errors` are what it alone does to the outputs, as `Score.distance`, in
    each precision that it may have.
    """

    layer: QuantizableLayer
    precision: Precision
    errors: Mapping[Precision, float]


@frozen(kw_only=True)
class QuantizedToFit:
    """The quantized model, `content` of a file, and how it came about: `rows` are the table's, the last one
    is the result; `compiled` models were planned for the chip, of `combinations` that there are.
    """

    content: bytes = field(repr=False)
    library: str
    setting: str
    rows: tuple[PricedModel, ...]
    layers: tuple[ChosenLayer, ...]
    limits: tuple[Limit, ...]
    frames: int
    compiled: int
    combinations: int
    prediction_error: Mapping[str, float]
    """By limited measure: how far a prediction was off at most, of the models that were compiled."""

    @property
    def chosen(self) -> PricedModel:
        """The row of the result."""
        return self.rows[-1]

    def to_json(self) -> dict[str, Any]:
        """Everything but the model, for programs."""
        return {
            "schema": SCHEMA,
            "library": self.library,
            "setting": self.setting,
            "frames": self.frames,
            "limits": {limit.measure: limit.most for limit in self.limits},
            "models": [_row_json(row) for row in self.rows],
            "layers": [
                {
                    "name": each.layer.name,
                    "kind": each.layer.kind,
                    "weights": each.layer.weights,
                    "precision": str(each.precision),
                    "errors": {str(name): error for name, error in each.errors.items()},
                }
                for each in self.layers
            ],
            "compiled": self.compiled,
            "combinations": self.combinations,
            "prediction_error": dict(self.prediction_error),
        }

    def __str__(self) -> str:
        return "".join((table(list(self._table())), "\n", self._layers(), self._facts()))

    def _table(self) -> Iterator[Sequence[str]]:
        memories = sorted({name for row in self.rows for name in row.price.outcome.bytes})
        labelled = self.chosen.score.accuracy is not None
        yield ["model", *(["accuracy"] if labelled else []), "distance", *memories, "time", "within"]
        for row in self.rows:
            score = row.score
            judged = [] if score.accuracy is None else [f"{score.accuracy:.2%}"]
            yield [row.name, *judged, f"{score.distance:.3%}", *_prices(row, memories), _keeping(row)]

    def _layers(self) -> str:
        rows = [["layer", "precision", "error in it alone", "instead"]]
        for each in self.layers:
            others = [f"{name} {error:.3%}" for name, error in each.errors.items() if name != each.precision]
            own = each.errors.get(each.precision, 0.0)
            rows.append([_short(each.layer.name), str(each.precision), f"{own:.3%}", ", ".join(others)])
        return table(rows)

    def _facts(self) -> str:
        budget = ",".join(map(written, self.limits))
        return (
            f"\n{self.library}, {self.setting}, {self.frames:,} frames; within {budget}\n"
            f"{self.compiled:,} models compiled, {self.combinations:,} combinations of precisions\n"
        )


def _short(name: str) -> str:
    """The end of a name that is long."""
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _row_json(row: PricedModel) -> dict[str, Any]:
    outcome = row.price.outcome
    return {
        "name": row.name,
        "accuracy": row.score.accuracy,
        "distance": row.score.distance,
        "fits": row.price.fits,
        "reason": outcome.reason,
        "latency": row.price.of(LATENCY) if row.price.fits else None,
        "bytes": dict(outcome.bytes),
        "constants": dict(row.price.constants),
        "within": row.keeps,
    }


def _prices(row: PricedModel, memories: Sequence[str]) -> list[str]:
    if not row.price.fits:
        return ["-" for _ in (*memories, LATENCY)]
    sizes = [f"{row.price.outcome.bytes.get(name, 0):,} B" for name in memories]
    return [*sizes, amount(LATENCY, row.price.of(LATENCY), [NAME])]


def _keeping(row: PricedModel) -> str:
    if not row.price.fits:
        return f"no: {first_line(row.price.outcome.reason)}"
    return "yes" if row.keeps else "no"
