"""The way from a float model to one that fits: measure, choose, compile, and choose again.

Predictions choose, and only models that were planned for the chip count. Tests:
`tests/quantize/test_search.py`.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import define, evolve, field, frozen

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.explore.chip import ChipFile
from target_arch.explore.measures import BYTES
from target_arch.explore.space import Limit
from target_arch.explore.summary import first_line
from target_arch.plan.goal import Goal
from target_arch.quantize.budget import held, limits_of, option, shown, written
from target_arch.quantize.data import read_frames, require_classes
from target_arch.quantize.formats import calibrated, one_frame, require_float
from target_arch.quantize.library import QuantizedModel
from target_arch.quantize.precision import Precision, Precisions
from target_arch.quantize.price import ModelPrice, PriceList
from target_arch.quantize.result import OURS, ChosenLayer, PricedModel, QuantizedToFit
from target_arch.quantize.score import Judge, Score, best_of_library
from target_arch.quantize.score import best as best_scored
from target_arch.quantize.solver import LayerPrices, Problem, best, nearest
from target_arch.registry.plug_ins import PlugIns
from target_arch.run.references.find import reference_for

ROUNDS = 24
"""How many choices of the solver are compiled at most."""
KEPT = 8
"""So many that keep the limits are judged together with the library's own."""
EVERY = 64
"""Up to so many combinations are all compiled before the model is refused."""
_NARROWER = (Precision.INT8_TENSOR, Precision.INT4)
"""Precisions that may take fewer bytes than int8."""


@frozen(kw_only=True)
class QuantizeRequest:
    """A float model file, data in files, a chip, and limits; without limits the bytes and the time of the
    library's own int8 model are the limits. `said` is called with a line for each step.
    """

    model: Path
    data: Path
    labels: Path | None = None
    chip: ChipFile
    limits: tuple[Limit, ...] = ()
    mode: str = "default"
    optimize: Goal = Goal.BALANCED
    plug_ins: PlugIns = field(repr=False)
    said: Callable[[str], None] = field(default=lambda text: None, repr=False)


@frozen(kw_only=True)
class _Candidate:
    """Precisions with what they cost on the chip."""

    precisions: Precisions
    setting: str
    content: bytes = field(repr=False)
    price: ModelPrice


def quantize_to_fit(request: QuantizeRequest) -> QuantizedToFit:
    """The model of the least error within the limits.

    DiagnosticError for data, labels and models that cannot be used, and where no choice keeps the limits,
    with the nearest that can be kept. ToolMissing where a library is not installed.
    """
    require_float(request.model)
    with tempfile.TemporaryDirectory() as folder:
        file = one_frame(request.model, Path(folder))
        reference = reference_for(file)
        data = read_frames(request.data, request.labels, reference.inputs)
        expected = tuple(reference.answer(frame)[0] for frame in data.frames)
        require_classes(data, expected[0])
        request.said(f"calibrating with {len(data.frames):,} frames")
        model = calibrated(file, data, Path(folder))
        judge = Judge(data=data, expected=expected)
        return _Search(request=request, file=file, model=model, judge=judge, folder=Path(folder)).result()


@define(kw_only=True, eq=False)
class _Search:
    """Everything that is known of a model on a chip while it is quantized."""

    request: QuantizeRequest
    file: Path
    model: QuantizedModel
    judge: Judge
    folder: Path
    candidates: dict[tuple[Precisions, str], _Candidate] = field(factory=dict)
    scores: dict[bytes, Score] = field(factory=dict)
    tried: dict[Precisions, _Candidate] = field(factory=dict)
    alone: dict[tuple[int, Precision], float] = field(factory=dict)
    prices: PriceList = field(init=False)
    setting: str = ""

    def __attrs_post_init__(self) -> None:
        asked = self.request
        self.prices = PriceList(
            chip=asked.chip, plug_ins=asked.plug_ins, mode=asked.mode, optimize=asked.optimize
        )

    def result(self) -> QuantizedToFit:
        """The whole search."""
        own = {name: self._candidate(self._all(Precision.INT8), name) for name in self.model.settings}
        self.setting = best_scored(list(own), lambda name: self._score(own[name].content))
        base = own[self.setting] if own[self.setting].price.fits else self._narrower(own[self.setting])
        limits = self.request.limits or limits_of(base.price)
        self.tried = {base.precisions: base}
        problem = self._problem(base, limits)
        keeping = self._keeping(problem, limits)
        recipes = {name: self._candidate(layers, name) for name, layers in self.model.recipes.items()}
        theirs = [each for each in (recipes or own).values() if each.price.keeps(limits)]
        own |= _others(recipes, own)
        keeping += [each for each in (*own.values(), *self._uniform()) if each.price.keeps(limits)]
        if not keeping:
            raise self._refusal(problem, limits)
        ours = best_scored(keeping, lambda candidate: self._score(candidate.content))
        ours = best_of_library(ours, theirs, lambda candidate: self._score(candidate.content))
        return self._result(own, ours, problem, limits)

    def _all(self, precision: Precision) -> Precisions:
        return tuple(precision for _ in self.model.layers)

    def _uniform(self) -> Iterator[_Candidate]:
        """The model in each precision that all layers have: what the library makes of it as a whole, which
        the result is never behind.
        """
        for precision in Precision:
            if all(precision in layer.choices for layer in self.model.layers):
                yield self._candidate(self._all(precision), self.setting)

    def _narrower(self, whole: _Candidate) -> _Candidate:
        """The model for which the chip has room where it has none for all of it in int8."""
        for precision in _NARROWER:
            if all(precision in layer.choices for layer in self.model.layers):
                candidate = self._candidate(self._all(precision), self.setting)
                if candidate.price.fits:
                    return candidate
        said = f"in int8 it is refused: {first_line(whole.price.outcome.reason)}"
        raise refusal("no-precision-fits", self.request.model, said)

    def _candidate(self, precisions: Precisions, setting: str) -> _Candidate:
        if (precisions, setting) not in self.candidates:
            content = self.model.quantized(precisions, setting)
            price = self.prices.of(content, self.model.float_model.suffix)
            self.candidates[precisions, setting] = _Candidate(
                precisions=precisions, setting=setting, content=content, price=price
            )
        return self.candidates[precisions, setting]

    def _score(self, content: bytes) -> Score:
        if content not in self.scores:
            self.scores[content] = self.judge.score(self.model.answer(content, self.folder))
        return self.scores[content]

    def _problem(self, base: _Candidate, limits: tuple[Limit, ...]) -> Problem:
        """Every layer in each of its precisions: its error where the others are float, its price where they
        are as in the base.
        """
        names = [limit.measure for limit in limits]
        choices, layers = [], []
        for number, layer in enumerate(self.model.layers):
            self.request.said(f"layer {number + 1:,} of {len(self.model.layers):,}: {layer.name}")
            changed = [_with(base.precisions, number, one) for one in layer.choices]
            prices = [self._candidate(one, self.setting).price for one in changed]
            kept = [index for index, price in enumerate(prices) if price.fits]
            precisions = tuple(layer.choices[index] for index in kept)
            errors = tuple(self._alone(number, one) ** 2 for one in precisions)
            choices.append(precisions)
            layers.append(_layer_prices(base.price, [prices[index] for index in kept], errors, names))
        return Problem(
            choices=tuple(choices),
            layers=tuple(layers),
            base={name: base.price.of(name) for name in names},
            most={limit.measure: limit.most for limit in limits},
        )

    def _alone(self, number: int, precision: Precision) -> float:
        """The distance of the outputs where just this layer is quantized."""
        if precision is Precision.FLOAT:
            return 0.0
        if (number, precision) not in self.alone:
            precisions = _with(self._all(Precision.FLOAT), number, precision)
            content = self.model.quantized(precisions, self.setting)
            self.alone[number, precision] = self._score(content).distance
        return self.alone[number, precision]

    def _keeping(self, problem: Problem, limits: tuple[Limit, ...]) -> list[_Candidate]:
        """The solver's choices, compiled, that keep the limits; the first of them once more with single
        layers better, as far as that keeps them, too.
        """
        keeping: list[_Candidate] = []
        tightened = problem
        for _ in range(ROUNDS):
            precisions = best(tightened, self.tried)
            if precisions is None and tightened is not problem:
                tightened = problem
                precisions = best(problem, self.tried)
            if precisions is None:
                break
            candidate = self._try(precisions)
            if candidate.price.keeps(limits):
                keeping.append(candidate)
                if len(keeping) == KEPT:
                    break
            else:
                tightened = _tightened(tightened, candidate)
        return [*keeping, *(self._improved(problem, keeping[0], limits) if keeping else ())]

    def _try(self, precisions: Precisions) -> _Candidate:
        self.tried[precisions] = self._candidate(precisions, self.setting)
        return self.tried[precisions]

    def _improved(
        self, problem: Problem, first: _Candidate, limits: tuple[Limit, ...]
    ) -> Iterator[_Candidate]:
        """The candidate with one layer after the other in a better precision, the largest gain first, as far
        as that keeps the limits.
        """
        current = first
        gains = [
            (layer.errors[choices.index(now)] - error, number, choices[index])
            for number, (layer, choices, now) in enumerate(
                zip(problem.layers, problem.choices, first.precisions, strict=True)
            )
            for index, error in enumerate(layer.errors)
        ]
        for gain, number, precision in sorted(gains, key=lambda each: (-each[0], each[1])):
            precisions = _with(current.precisions, number, precision)
            if gain > 0 and precisions not in self.tried:
                candidate = self._try(precisions)
                if candidate.price.keeps(limits):
                    current = candidate
        if current is not first:
            yield current

    def _result(
        self, own: dict[str, _Candidate], ours: _Candidate, problem: Problem, limits: tuple[Limit, ...]
    ) -> QuantizedToFit:
        suffix = self.model.float_model.suffix
        content = self.file.read_bytes()
        float_price = self.prices.of(content, suffix)
        rows = [_row("float", self.judge.perfect, float_price, limits)]
        for name, candidate in own.items():
            score = self._score(candidate.content)
            rows.append(_row(f"{self.model.library}, {name}", score, candidate.price, limits))
        rows.append(_row(OURS, self._score(ours.content), ours.price, limits))
        return QuantizedToFit(
            content=ours.content,
            library=self.model.library,
            setting=ours.setting,
            rows=tuple(rows),
            layers=tuple(self._chosen(problem, ours.precisions)),
            limits=limits,
            frames=len(self.judge.data.frames),
            compiled=self.prices.count,
            combinations=problem.combinations,
            prediction_error={limit.measure: self._error(problem, limit.measure) for limit in limits},
        )

    def _chosen(self, problem: Problem, precisions: Precisions) -> Iterator[ChosenLayer]:
        rows = zip(self.model.layers, precisions, problem.choices, strict=True)
        for number, (layer, precision, choices) in enumerate(rows):
            errors = {one: self._alone(number, one) for one in dict.fromkeys((*choices, precision))}
            yield ChosenLayer(layer=layer, precision=precision, errors=errors)

    def _error(self, problem: Problem, name: str) -> float:
        """How far predictions of a measure were off, of the models that were tried."""
        fitting = [each for each in self.tried.values() if each.price.fits]
        return max(abs(problem.predicted(each.precisions, name) - each.price.of(name)) for each in fitting)

    def _off(self, problem: Problem, name: str) -> str:
        error = self._error(problem, name)
        said = f"off by at most {shown(name, error)}" if error else "exact"
        return f"what was predicted of `{option(name)}` was {said}"

    def _refusal(self, problem: Problem, limits: tuple[Limit, ...]) -> DiagnosticError:
        """Nothing of the choices keeps the limits: the nearest that does, compiled."""
        whole = problem.combinations <= EVERY
        for _ in range(problem.combinations if whole else ROUNDS):
            precisions = nearest(problem, self.tried)
            if precisions is None:
                break
            self._try(precisions)
        candidates = [each for each in self.tried.values() if each.price.fits]
        least = min(candidates, key=lambda each: each.price.excess(limits))
        wanted = " and ".join(f"`{written(limit)}`" for limit in limits)
        near = " and ".join(f"`{held(limit, least.price)}`" for limit in limits)
        off = ", ".join(self._off(problem, limit.measure) for limit in limits)
        counted = "all" if whole else f"{len(self.tried):,} of"
        checked = f"{counted} {problem.combinations:,} combinations were compiled"
        said = f"no choice of precisions keeps {wanted}: {checked}{'' if whole else f', {off}'}"
        return refusal("no-precision-fits", self.request.model, said, f"the nearest that holds: {near}")


def _with(precisions: Precisions, number: int, precision: Precision) -> Precisions:
    return (*precisions[:number], precision, *precisions[number + 1 :])


def _others(recipes: Mapping[str, _Candidate], own: Mapping[str, _Candidate]) -> dict[str, _Candidate]:
    """The recipes that are none of the library's own models already."""
    contents = {each.content for each in own.values()}
    return {name: each for name, each in recipes.items() if each.content not in contents}


def _row(name: str, score: Score, price: ModelPrice, limits: tuple[Limit, ...]) -> PricedModel:
    return PricedModel(name=name, score=score, price=price, keeps=price.keeps(limits))


def _layer_prices(
    base: ModelPrice, prices: Sequence[ModelPrice], errors: tuple[float, ...], names: Sequence[str]
) -> LayerPrices:
    added, tensors = {}, {}
    for name in names:
        memory = name.removeprefix(f"{BYTES}.") if name.startswith(BYTES) else ""
        whole = [price.of(name) - base.of(name) for price in prices]
        constant = [price.constants.get(memory, 0) - base.constants.get(memory, 0) for price in prices]
        added[name] = tuple(map(float, constant)) if memory else tuple(whole)
        apart = [total - part for total, part in zip(whole, constant, strict=True)]
        tensors[name] = tuple(apart) if memory else tuple(0.0 for _ in prices)
    return LayerPrices(errors=errors, added=added, tensors=tensors)


def _tightened(problem: Problem, candidate: _Candidate) -> Problem:
    """The problem with limits that are less by as much as a candidate that does not keep them is above its
    predictions.
    """
    most = dict(problem.most)
    for name in most if candidate.price.fits else ():
        over = candidate.price.of(name) - problem.predicted(candidate.precisions, name)
        if candidate.price.of(name) > most[name] and over > 0:
            most[name] -= over
    return evolve(problem, most=most)
