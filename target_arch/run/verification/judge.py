"""The results of a model beside the answers of its reference."""

import math
from collections.abc import Sequence

import numpy as np

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.manifest.verification import AccuracyEntry, ExpectedEntry, FloatsEntry
from target_arch.run.execute.labels import named_class, require_class
from target_arch.run.references import rounding
from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    Array,
    Frame,
    Reference,
    differences,
    spread,
)
from target_arch.run.references.rounding import ROUNDING_RULE, STEPS_RULE
from target_arch.run.verification.faults import faults
from target_arch.run.verification.result import Verification


def judged(
    reference: Reference,
    results: Sequence[bytes],
    frames: Sequence[Frame],
    answers: Sequence[tuple[Frame, ...]],
    names: Sequence[str],
    *,
    seed: int,
    own: bool | None,
) -> Verification:
    """Compare results with the reference's answers to these frames. `names` are those of the outputs; `own`
    is how the self-test ended, None where there is none. Where outputs break the rule, what rounding may do
    in this model decides.
    """
    ours = tuple(_split(result, answer[0]) for result, answer in zip(results, answers, strict=True))
    equal, mode = _most_equal(reference, ours, answers)
    apart = spread(reference, answers)
    limits = tuple(each + apart for each in reference.limits)
    wrong, rule = faults(reference, ours, answers, limits), reference.rule
    if wrong and reference.rounds:
        limits, rule = rounding.limits(reference, frames, [first for first, *_ in answers]), ROUNDING_RULE
        wrong = faults(reference, ours, answers, limits)
    elif wrong and reference.layers.judges:
        steps = rounding.step_limits(reference, frames, [first for first, *_ in answers])
        limits = tuple(limit + more for limit, more in zip(limits, steps, strict=True))
        wrong, rule = faults(reference, ours, answers, limits), f"{reference.rule}, {STEPS_RULE}"
    real = [number for number, is_real in enumerate(reference.reals) if is_real]
    others = [number for number in range(len(reference.units)) if number not in real]
    mixed = bool(real and others)
    return Verification(
        reference=reference.name,
        rule=rule,
        seed=seed,
        frames=len(answers),
        recorded=bool(reference.recorded),
        outputs=len(answers) * len(reference.units),
        equal=equal,
        equal_to=mode,
        largest=_largest(reference, ours, answers, others if mixed else range(len(reference.units))),
        allowed=max((limits[number] for number in others or real), default=reference.allowed),
        relative=reference.relative if others else FLOAT_RELATIVE if real else reference.relative,
        floats=_floats(reference, ours, answers, limits, real) if mixed else None,
        wrong=sum(fault.elements for fault in wrong),
        first_wrong=wrong[0].said(names) if wrong else "",
        expected=_expected(reference, ours, answers, limits, names),
        accuracy=_accuracy(reference, ours, answers),
        self_test={None: "absent", True: "passed", False: "failed"}[own],
    )


def _expected(
    reference: Reference,
    ours: Sequence[Frame],
    answers: Sequence[tuple[Frame, ...]],
    limits: Sequence[float],
    names: Sequence[str],
) -> ExpectedEntry | None:
    """The comparison with the recorded outputs, by the rule of the reference's; None where there are none."""
    if not reference.expected:
        return None
    wanted = [_completed(frame, mine) for frame, mine in zip(reference.expected, ours, strict=True)]
    theirs = [first for first, *_ in answers]
    single = [(frame,) for frame in wanted]
    wrong = faults(reference, ours, single, limits)
    given = [number for number, value in enumerate(reference.expected[0]) if value is not None]
    equal = sum(
        mine[number].tobytes() == right[number].tobytes()
        for mine, right in zip(ours, wanted, strict=True)
        for number in given
    )
    against = [_completed(frame, answer) for frame, answer in zip(reference.expected, theirs, strict=True)]
    return ExpectedEntry(
        outputs=len(given) * len(wanted),
        equal=equal,
        largest=_largest(reference, ours, single, given),
        of_reference=_largest(reference, theirs, [(frame,) for frame in against], given),
        wrong=sum(fault.elements for fault in wrong),
        first_wrong=wrong[0].said(names).replace("the reference has", "the record has") if wrong else "",
    )


def _completed(frame: Sequence[Array | None], otherwise: Frame) -> Frame:
    """The recorded outputs of a frame, and the given ones in place of those that are not recorded."""
    return tuple(own if one is None else one for one, own in zip(frame, otherwise, strict=True))


def _accuracy(
    reference: Reference, ours: Sequence[Frame], answers: Sequence[tuple[Frame, ...]]
) -> AccuracyEntry | None:
    """How many labels are found; None without labels. DiagnosticError where there is no such class."""
    labels = reference.labels
    if not labels:
        return None
    require_class(max(labels), answers[0][0][0])
    theirs = [first for first, *_ in answers]
    mine, right = (
        sum(named_class(outputs) == label for outputs, label in zip(frames, labels, strict=True))
        for frames in (ours, theirs)
    )
    return AccuracyEntry(frames=len(labels), right=mine, of_reference=right)


def _floats(
    reference: Reference,
    ours: Sequence[Frame],
    answers: Sequence[tuple[Frame, ...]],
    limits: Sequence[float],
    real: Sequence[int],
) -> FloatsEntry:
    return FloatsEntry(
        largest=_largest(reference, ours, answers, real),
        allowed=max(limits[number] for number in real),
        relative=FLOAT_RELATIVE,
    )


def _largest(
    reference: Reference,
    ours: Sequence[Frame],
    answers: Sequence[tuple[Frame, ...]],
    outputs: Sequence[int],
) -> float:
    """The largest difference of some outputs from any of the reference's answers; whole steps where the
    reference counts steps.
    """
    apart = (
        float(differences(mine[number], theirs[number]).max(initial=0.0) / reference.units[number])
        for mine, every in zip(ours, answers, strict=True)
        for theirs in every
        for number in outputs
    )
    return max(apart, default=0.0)


def _most_equal(
    reference: Reference, ours: Sequence[Frame], answers: Sequence[tuple[Frame, ...]]
) -> tuple[int, str]:
    """How many outputs agree in every bit with the mode that agrees most, and which mode that is."""
    counts = [
        sum(_equal(mine, answer[index]) for mine, answer in zip(ours, answers, strict=True))
        for index in range(len(reference.modes))
    ]
    return max(counts), reference.modes[counts.index(max(counts))]


def _equal(mine: Frame, theirs: Frame) -> int:
    return sum(a.tobytes() == b.tobytes() for a, b in zip(mine, theirs, strict=True))


def _split(result: bytes, answer: Frame) -> Frame:
    """The output bytes of a frame as arrays like the reference's."""
    ends = np.cumsum([value.nbytes for value in answer])
    return tuple(
        np.frombuffer(result[end - value.nbytes : end], dtype=value.dtype).reshape(value.shape)
        for value, end in zip(answer, ends.tolist(), strict=True)
    )


def same_model(
    reference: Reference, sizes: tuple[Sequence[int], Sequence[int]], answer: Frame, place: str
) -> None:
    """DiagnosticError where inputs and outputs have other sizes than those of the model in a bundle."""
    takes, gives = (tuple(each) for each in sizes)
    wanted = tuple(math.prod(value.shape) * value.dtype.itemsize for value in reference.inputs)
    given = tuple(value.nbytes for value in answer)
    if takes == wanted and gives == given:
        return
    message = (
        f"the bundle takes {_sizes(takes)} and gives {_sizes(gives)}, "
        f"the model takes {_sizes(wanted)} and gives {_sizes(given)}"
    )
    hint = "name the model that the bundle was compiled from"
    raise DiagnosticError([Diagnostic(rule="another-model", place=place, message=message, hint=hint)])


def _sizes(sizes: Sequence[int]) -> str:
    return " + ".join(f"{size} B" for size in sizes) or "nothing"
