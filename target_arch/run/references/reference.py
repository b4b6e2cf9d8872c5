"""The reference a model is compared with, as a value.

Each reference answers a frame with one or more lists of arrays. Where there are several (onnxruntime with and
without its optimizations) they are all right, and the difference between them is added to the allowed one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from target_arch.diagnostics import DiagnosticError, Keyword, advice, refusal
from target_arch.emit import Tolerance
from target_arch.plan.input_range import InputRange
from target_arch.run.tools.toolchain import ToolMissing, missing

FLOAT_TOLERANCE = 1e-4
FLOAT_RELATIVE = 1e-4
FLOAT_RULE = f"no element farther than {FLOAT_TOLERANCE:g} + {FLOAT_RELATIVE:g} of its magnitude"

ULPS = 4
"""The last digits of a float that count for nothing: a quantized output that is printed as float is a product
that each side rounds once, and so is the step that it is compared in."""

Shape = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]
Frame = tuple[Array, ...]
Shapes = Sequence[Shape]
"""Of the inputs of a model, in order; empty where only the file's own are known."""


@frozen(kw_only=True)
class Input:
    """A model input. Random values for it are in [`low`, `high`]. `step` is that of its quantization, in the
    model if it is a float; 0 for a float that is not quantized.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    low: float
    high: float
    step: float = 0.0


def _nothing() -> None:
    """The reset of a model without states."""


def _sees_nothing(frame: Frame) -> Mapping[str, Array]:
    """The tensors inside of a reference that shows none."""
    return {}


@frozen(kw_only=True)
class LayerRule:
    """How far one operator's output may be from the reference's, which computes it from the same inputs:
    `steps` of a quantized element. `judges`: a model whose outputs are not equal to the reference's is judged
    operator by operator, since a difference of one step early on may move an output by any number of them.
    """

    steps: int = 0
    judges: bool = False


@frozen(kw_only=True)
class Reference:
    """An interpreter with a model in it.

    `answer` gives the outputs of a frame, one tuple per way of computing them, named by `modes`. Differences
    in output i are counted in `units[i]` (the step of a quantized output that is printed as float, else 1);
    `allowed` of these units are accepted, plus the difference of the answers among themselves, plus
    `relative` of the magnitude of a float element. NaN and infinity belong where the answer has them.

    A model with states answers frame after frame of a sequence; `reset` begins a new one.

    `inside` answers a frame with every tensor that it computes on the way, by its name in the file (in the
    shape of the file), in the first of its modes. `layers` is the rule for operators that compute from these.

    `rounds`: all arithmetic is in floats, and the effect of rounding in this model may be more than
    `allowed`. `reals` says of each output whether it is a float without a step in a model of integers: the
    rule of floats is its, whatever `allowed` and `relative` are. Empty where no output is.

    `varied` answers a frame with the model's real constants changed in the last digit, at random by a seed;
    None where it cannot.

    `recorded` are frames of the caller's, in place of random ones, `expected` the outputs that these should
    have, None for an output of which nothing is recorded, `labels` their classes.
    """

    name: str
    rule: str
    inputs: tuple[Input, ...]
    units: tuple[float, ...]
    allowed: float
    relative: float = 0.0
    modes: tuple[str, ...] = ("",)
    answer: Callable[[Frame], tuple[Frame, ...]] = field(repr=False)
    reset: Callable[[], None] = field(default=_nothing, repr=False)
    inside: Callable[[Frame], Mapping[str, Array]] = field(default=_sees_nothing, repr=False)
    layers: LayerRule = LayerRule()
    rounds: bool = False
    reals: tuple[bool, ...] = ()
    varied: Callable[[Frame, int], Frame] | None = field(default=None, repr=False)
    recorded: tuple[Frame, ...] = field(default=(), repr=False)
    expected: tuple[tuple[Array | None, ...], ...] = field(default=(), repr=False)
    labels: tuple[int, ...] = field(default=(), repr=False)

    @property
    def limits(self) -> tuple[float, ...]:
        """The allowed difference of each output, in units."""
        reals = self.reals or (False,) * len(self.units)
        return tuple(FLOAT_TOLERANCE if real else self.allowed for real in reals)

    def relative_of(self, output: int) -> float:
        """The part of the magnitude of an output's element that is allowed beside."""
        return FLOAT_RELATIVE if self.reals and self.reals[output] else self.relative

    def frames(self, count: int, seed: int) -> tuple[Frame, ...]:
        """Random inputs; the same for the same seed, and the first ones the same for any count. Where frames
        are recorded, the first ones of these.
        """
        if self.recorded:
            return self.recorded[:count]
        return tuple(
            tuple(
                _random(terminal, np.random.default_rng((seed, number, index)))
                for index, terminal in enumerate(self.inputs)
            )
            for number in range(count)
        )


def promised(reference: Reference, ranges: Sequence[InputRange | None]) -> Reference:
    """The reference whose random inputs are in these ranges, one for each of its first inputs in order; None
    where nothing is promised.
    """
    every = (*ranges, *(None for _ in reference.inputs[len(ranges) :]))
    inputs = (
        one if each is None else evolve(one, low=each.low, high=each.high)
        for one, each in zip(reference.inputs, every, strict=False)
    )
    return evolve(reference, inputs=tuple(inputs))


def spread(reference: Reference, answers: Sequence[tuple[Frame, ...]]) -> float:
    """The largest finite difference between two answers to the same frame, in units."""
    pairs = ((first, other) for first, *others in answers for other in others)
    apart = (
        differences(a, b)[np.isfinite(differences(a, b))].max(initial=0.0) / unit
        for first, other in pairs
        for a, b, unit in zip(first, other, reference.units, strict=True)
    )
    return float(max(apart, default=0.0))


def tolerance(reference: Reference, output: int, absolute: float, dtype: np.dtype[Any]) -> Tolerance:
    """How far an element of an output may be from the answer's. The relative part is at least `ULPS` units in
    the last place of a float, and nothing of an integer.
    """
    if dtype.kind != "f":
        return Tolerance(absolute=absolute)
    digits = ULPS * float(np.finfo(dtype).eps)
    return Tolerance(absolute=absolute * (1 + digits), relative=max(reference.relative_of(output), digits))


def distance(reference: Reference, first: Frame, other: Frame) -> float:
    """The largest difference of one element, in units of its output.

    Infinite where one is NaN and the other not.
    """
    apart = (
        float(differences(a, b).max(initial=0.0) / unit)
        for a, b, unit in zip(first, other, reference.units, strict=True)
    )
    return max(apart, default=0.0)


def differences(first: Array, other: Array) -> Array:
    """The difference of every element, as float64 in the shape of `first`; infinite where one is NaN or
    infinite and the other is not so.
    """
    a, b = first.astype(np.float64), other.astype(np.float64).reshape(first.shape)
    with np.errstate(invalid="ignore"):
        found = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    return np.where(np.isnan(found), np.inf, found)


def _random(terminal: Input, generator: np.random.Generator) -> Array:
    """An array also where NumPy draws a number, for an input without dimensions."""
    dtype, low, high, shape = terminal.dtype, terminal.low, terminal.high, terminal.shape
    if dtype.kind in "iu":
        return np.asarray(generator.integers(int(low), int(high), shape, dtype, endpoint=True))
    if dtype.kind == "b":
        return np.asarray(generator.integers(0, 1, shape, np.uint8, endpoint=True)).astype(dtype)
    return np.asarray(generator.uniform(low, high, shape)).astype(dtype)


def limits(dtype: np.dtype[Any], *, quantized: bool = False) -> tuple[float, float]:
    """The range of random values: all of an 8-bit type and of a `quantized` one of 16 bits, something
    harmless of a wider one.
    """
    if dtype.kind in "iu" and dtype.itemsize <= (2 if quantized else 1):
        return float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    if dtype.kind in "iu":
        return 0.0, 127.0
    return -1.0, 1.0


def quantized_limits(scale: float, zero_point: int, dtype: np.dtype[Any]) -> tuple[float, float]:
    """The real numbers that a quantization can hold."""
    bounds = np.iinfo(dtype)
    return (bounds.min - zero_point) * scale, (bounds.max - zero_point) * scale


def fixed_shape(shapes: Shapes, number: int, extents: Sequence[int | None]) -> Shape | None:
    """The shape of an input whose file says `extents` (None for an open one), open ones as in `shapes`; None
    where one stays open.
    """
    given: Sequence[int | None] = shapes[number] if number < len(shapes) else extents
    fits = len(given) == len(extents) and all(
        own in (None, one) for own, one in zip(extents, given, strict=True)
    )
    found = tuple(extent for extent in (given if fits else extents) if extent is not None)
    return found if len(found) == len(extents) else None


def package_missing(name: str, extra: str) -> ToolMissing:
    """The error for a reference whose Python package is not there."""
    return missing(
        "reference", f"the package `{name}` is not installed", f"pip install 'target-arch[{extra}]'"
    )


def unreadable(model: Path, reader: str, error: Exception) -> DiagnosticError:
    """The error for a model file that a reference does not accept."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return refusal("model-unreadable", model, f"{reader} cannot read the model: {said}", None)


_BEYOND = re.compile(r"out of (data )?(bounds|range)")
_OTHER_VALUES = advice(
    "say which values its inputs take with ",
    Keyword("input_ranges"),
    ", or give some with ",
    Keyword("inputs"),
)


def cannot_run(model: Path, reader: str, error: Exception) -> DiagnosticError:
    """The error for a model that a reference reads, but cannot execute."""
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    hint = _OTHER_VALUES if _BEYOND.search(said) else None
    return refusal("reference-failed", model, f"{reader} cannot run the model: {said}", hint)
