"""The errors of the stages. All are `DiagnosticError`s, so that a caller prints them alike."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, field, frozen

from target_arch.diagnostics import Advice, Diagnostic, DiagnosticError, Hint, Keyword, Note, advice
from target_arch.plan.lowered import Attempt, AttemptKind
from target_arch.plan.memory import Arena


class PlacementError(DiagnosticError):
    """An operator that nothing can run, or a rule that cannot be honoured."""


class SolverMissingError(DiagnosticError):
    """The exact method was asked for, and its solver is not installed."""


class OrderError(DiagnosticError):
    """A wish for a lowering order that names nothing, names something twice, leaves something out or is
    cyclic.
    """


class StepError(DiagnosticError):
    """A kernel that names unknown tensors or buffers, or bytes that no declared copy path carries."""


class PlanError(DiagnosticError):
    """A wish for the memory plan that names nothing."""


class CheckError(DiagnosticError):
    """The plan is wrong. Every fault is listed; each is a defect of this program, not of its input."""


_SAID = 6
"""Live buffers that a refusal lists; a large model has hundreds."""


@frozen(kw_only=True, repr=False)
class DoesNotFitError(DiagnosticError):
    """The buffers of one memory do not fit it.

    `step` is where most bytes are live, `bound` how many these are in the steps at hand, with every permitted
    reuse in place: with `bound > available` no planner can help. It is None where there are no steps yet, or
    those of several models. Other steps, such as stripes, may need less. `alive` are the buffers there, the
    most telling first: the message has only the first few. It is a value: each method that adds a fact
    returns a new error.
    """

    pool: Arena
    step: int
    needed: int
    available: int
    bound: int | None = None
    alive: tuple[tuple[str, int], ...]
    place: str = field()
    """Where the bytes are missing, such as `step 12 (dispatch conv3 on npu)`."""
    hint: Hint | None = None
    notes: tuple[Note, ...] = ()
    operators: tuple[str, ...] = ()
    """The operators on accelerators that need the memory, the first before all: moving them elsewhere may
    help.
    """
    staged: bool = False
    """Whether these need the memory for constants on their way to them, which any instance of a kind needs.
    """
    crowd: tuple[tuple[str, ...], ...] = ()
    """Groups of operators that keep bytes there: first those that run while bytes are missing, then those
    that make or read the buffers alive.
    """
    tried: tuple[Attempt, ...] = ()

    @place.default
    def _step(self) -> str:
        return f"step {self.step}"

    @property
    def memory(self) -> str:
        """The memory that the pool is a part of."""
        return self.pool.memory

    @property
    def missing(self) -> int:
        """The bytes it is too small by."""
        return self.needed - self.available

    @property
    def reason(self) -> str:
        """The pool and its bytes, without the buffers there."""
        return f"pool `{self.pool}` needs {self.needed:,} B, {self.available:,} B are available"

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        alive = ", ".join(f"`{name}` {size:,} B" for name, size in self.alive[:_SAID])
        if len(self.alive) > _SAID:
            others = sum(size for _, size in self.alive[_SAID:])
            alive += f" and {len(self.alive) - _SAID:,} more of {others:,} B together"
        bound = "" if self.bound is None else f" ({least_of_steps(self.bound)})"
        message = f"{self.reason}{bound}; alive there: {alive}"
        notes = (*self.notes, *_tried(self.tried))
        found = Diagnostic(
            rule="does-not-fit", place=self.place, message=message, hint=self.hint, notes=notes
        )
        return (found,)

    def at(self, place: str) -> "DoesNotFitError":
        """The same refusal at a place that a reader recognises."""
        return evolve(self, place=place)

    def advised(self, hint: Hint) -> "DoesNotFitError":
        """The same refusal with the change that would make it fit."""
        return evolve(self, hint=hint)

    def noted(self, notes: Iterable[Note]) -> "DoesNotFitError":
        """The same refusal with further places."""
        return evolve(self, notes=(*self.notes, *notes))

    def blaming(self, *operators: str, staged: bool = False) -> "DoesNotFitError":
        """The same refusal with the operators to move elsewhere."""
        return evolve(self, operators=operators, staged=staged)

    def crowded_by(self, *groups: tuple[str, ...]) -> "DoesNotFitError":
        """The same refusal with the operators that keep bytes in the memory."""
        return evolve(self, crowd=groups)

    def after(self, tried: Iterable[Attempt]) -> "DoesNotFitError":
        """The same refusal with the attempts that led to it."""
        return evolve(self, tried=tuple(tried))


def least_of_steps(bound: int) -> str:
    """The bytes of an arena that no plan of the same steps can do without."""
    return f"these steps need at least {bound:,} B"


def _tried(attempts: tuple[Attempt, ...]) -> Iterator[Note]:
    """The attempts that failed: changes of operators, counted by kind, and placements of the whole model."""
    placements = [attempt for attempt in attempts if attempt.kind == AttemptKind.TARGETS]
    kinds = Counter[AttemptKind](a.kind for a in attempts if a.kind != AttemptKind.TARGETS)
    counts = [f"{kind} ({kinds[kind]:,})" for kind in AttemptKind if kinds[kind]]
    if counts:
        yield Note(place="tried", message=", ".join(counts))
    yield from (Note(place=f"tried on {each.instance}", message=each.reason) for each in placements)


def failure(
    kind: type[DiagnosticError], rule: str, place: str, message: str, hint: Hint | None = None
) -> DiagnosticError:
    """One diagnostic as an error of that kind, to raise."""
    return kind((Diagnostic(rule=rule, place=place, message=message, hint=hint),))


def in_model(error: DiagnosticError, model: str) -> DiagnosticError:
    """The error with the model in the place of every diagnostic that has no place in a file."""
    if isinstance(error, DoesNotFitError):
        return error.at(f"model {model}, {error.place}")
    return DiagnosticError(
        evolve(each, place=f"model {model}, {each.place}") if isinstance(each.place, str) else each
        for each in error.diagnostics
    )


NO_CHANGE = "no single change"
"""The beginning of a hint that offers no change."""


NOT_LOWERED = (DoesNotFitError, OrderError, PlacementError, StepError)
"""What the lowering of a placed model may raise where it is one of several ways to go on."""


def with_way_out(
    refusal: DoesNotFitError | PlacementError, *way: str | Keyword
) -> DoesNotFitError | PlacementError:
    """The refusal with one more change in its hint."""
    if isinstance(refusal, DoesNotFitError):
        return refusal.advised(_one_more(refusal.hint, way))
    return PlacementError(evolve(each, hint=_one_more(each.hint, way)) for each in refusal.diagnostics)


def _one_more(hint: Hint | None, way: Sequence[str | Keyword]) -> Hint:
    """The hint with one more change; the change alone, where the hint offers none."""
    if hint is None or str(hint).startswith(NO_CHANGE):
        return advice(*way)
    known = hint.parts if isinstance(hint, Advice) else (str(hint),)
    return advice(*known, ", or ", *way)
