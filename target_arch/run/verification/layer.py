"""One operator beside the reference and the oracle, and the table of all."""

import math
from typing import Any

import numpy as np
from attrs import define, frozen

from target_arch.plan.manifest.verification import LayerEntry, LayersEntry
from target_arch.plan.model import Model, Operator
from target_arch.plan.printed.text import table
from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_TOLERANCE,
    Array,
    Reference,
    differences,
)
from target_arch.run.verification.in_file import place_in_file
from target_arch.soc.schema.records import to_json

_STEPPED = ("int8", "uint8", "int16", "uint16")


@frozen(kw_only=True, eq=False)
class Outcome:
    """The output of an operator in one frame, in the shape of the plan: `ours` (None where no step makes it),
    the reference's (None where it has no such tensor), the oracle's, to be met bit for bit (None without
    one, or without its operands), and the one that its readers in the bundle get (None where it is not known:
    the reference's is another one, unless it replaces it). The first and the third come from the same inputs;
    `own` where these are the reference's own, too, since no operator before it is without a tensor in the
    bundle or in the reference.
    """

    own: bool
    ours: Array | None
    theirs: Array | None
    must: Array | None
    used: Array | None


@frozen(kw_only=True)
class Layers(LayersEntry):
    """Every operator of a model, each on the reference's own inputs of it.

    `unlike` frames have other outputs in an ordinary run than where the steps run one by one: 0 where nothing
    is overtaken.
    """

    def to_json(self) -> dict[str, object]:
        """As JSON."""
        return dict(to_json(self))

    def __str__(self) -> str:
        drawn = f"{self.frames} frames, seed {self.seed}"
        head = f"operator by operator, on the inputs of {self.reference}: {drawn}\n"
        names = ("operator", "on", "elements", "differ", "largest", "allowed", "exact", "")
        return head + table(names, [_row(each) for each in self.layers], right=range(2, 6)) + self._said()

    def _said(self) -> str:
        wrong = [layer for layer in self.layers if not layer.passed]
        said = [f"first wrong: {wrong[0].first_wrong}\n"] if wrong else []
        if self.unlike:
            said.append(f"{self.unlike} frames have other outputs than where no step overlaps another\n")
        return "".join(said)


def summary(result: LayersEntry) -> str:
    """How many operators are right, and how many elements differ, in a line."""
    right = sum(layer.passed for layer in result.layers)
    differ = sum(layer.differ for layer in result.layers)
    elements = sum(layer.elements for layer in result.layers)
    exact = sum(layer.exact == "equal" for layer in result.layers)
    return (
        f"{right} of {len(result.layers)} right, {exact} equal to exact arithmetic; {differ:,} of "
        f"{elements:,} elements differ from the reference's"
    )


def _row(layer: LayerEntry) -> tuple[str, ...]:
    verdict = "" if layer.passed else "WRONG"
    if not layer.tensor:
        return (layer.operator, layer.on, "", "", "", "", layer.exact or "-", verdict)
    share = f"{layer.differ:,}" + (f" ({layer.differ / layer.elements:.2%})" if layer.differ else "")
    numbers = (
        f"{layer.elements:,}",
        share,
        f"{layer.largest:g}",
        "-" if layer.allowed is None else f"{layer.allowed:g}",
    )
    return (layer.operator, layer.on, *numbers, layer.exact or "-", verdict)


@define(kw_only=True)
class LayerResults:
    """The comparisons of one operator, frame after frame."""

    operator: Operator
    model: Model
    reference: Reference
    elements: int = 0
    differ: int = 0
    largest: float = 0.0
    wrong: int = 0
    exact: str = ""
    first_wrong: str = ""
    own: bool = True
    compared: bool = False

    def add(self, frame: int, outcome: Outcome) -> None:
        """Compare one more frame."""
        if outcome.ours is None:
            return
        self.own = self.own and outcome.own
        if outcome.must is not None:
            self._beside_oracle(frame, outcome.ours, outcome.must)
        if outcome.theirs is not None:
            self._beside_reference(frame, outcome.ours, outcome.theirs)

    def layer(self, on: str) -> LayerEntry:
        """The operator over all frames; `on` is the instance that computes it."""
        origin = self.model.tensors[self.operator.output].origin
        return LayerEntry(
            operator=self.operator.id,
            kind=str(self.operator.kind),
            on=on,
            location=self.operator.location,
            tensor=origin.name if origin is not None and self.compared else "",
            elements=self.elements,
            differ=self.differ,
            largest=self.largest,
            allowed=self._allowed(),
            wrong=self.wrong,
            exact=self.exact,
            first_wrong=self.first_wrong,
        )

    def _allowed(self) -> float | None:
        dtype = self.model.tensors[self.operator.output].dtype
        if dtype.startswith("float"):
            return FLOAT_TOLERANCE
        stepped = dtype in _STEPPED and not self.operator.facts.moves
        steps = self.reference.layers.steps if stepped else 0
        return None if steps and self.exact and not self.own else float(steps)

    def _beside_oracle(self, frame: int, ours: Array, must: Array) -> None:
        if ours.tobytes() == must.tobytes():
            self.exact = self.exact or "equal"
            return
        bits = f"u{ours.dtype.itemsize}"
        unequal = np.argwhere(np.ascontiguousarray(ours).view(bits) != np.ascontiguousarray(must).view(bits))
        self.exact = "WRONG"
        self._note(frame, tuple(unequal[0].tolist()), (ours, must), "exact arithmetic gives")

    def _beside_reference(self, frame: int, ours: Array, theirs: Array) -> None:
        apart, allowed = differences(ours, theirs), self._allowed()
        limit: Any = math.inf if allowed is None else allowed
        if ours.dtype.kind == "f":
            finite = np.where(np.isfinite(theirs), theirs, 0).astype(np.float64)
            limit = limit + FLOAT_RELATIVE * np.abs(finite)
        beyond = np.argwhere(apart > limit)
        self.compared = True
        self.elements += apart.size
        self.differ += int(np.count_nonzero(apart))
        self.largest = max(self.largest, float(apart.max(initial=0.0)))
        self.wrong += len(beyond)
        if len(beyond):
            self._note(frame, tuple(beyond[0].tolist()), (ours, theirs), "the reference has", in_file=True)

    def _note(
        self,
        frame: int,
        index: tuple[int, ...],
        both: tuple[Array, Array],
        said: str,
        *,
        in_file: bool = False,
    ) -> None:
        """The first fault alone; `in_file`: its element is that of the file's tensor, not of the plan's."""
        mine, other = (value[index].item() for value in both)
        operator, tensor = self.operator, self.model.tensors[self.operator.output]
        name = operator.output if tensor.origin is None else tensor.origin.name
        if in_file and tensor.origin is not None:
            index = place_in_file(index, tensor.origin, tensor.shape)
        inputs = ", ".join(f"`{each}`" for each in operator.inputs) or "nothing"
        self.first_wrong = self.first_wrong or (
            f"operator `{operator.id}` (`{operator.location}`), tensor `{name}`, element {list(index)} of "
            f"frame {frame}: {mine:g} where {said} {other:g}, from {inputs}"
        )
