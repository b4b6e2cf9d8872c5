"""What the stages refuse with. All are `DiagnosticError`s, so that a caller prints them alike."""

from target_arch.diagnostics import Diagnostic, DiagnosticError


class PlacementError(DiagnosticError):
    """An operator that nothing can run, or a rule that cannot be honoured."""


class SolverMissingError(DiagnosticError):
    """The exact method was asked for, and its solver is not installed."""


class OrderError(DiagnosticError):
    """A wish for a lowering order that names nothing, names something twice, leaves something out or is
    cyclic.
    """


class StepError(DiagnosticError):
    """A kernel that names what does not exist, or bytes that no declared copy path carries."""


class PlanError(DiagnosticError):
    """A wish for the memory plan that names nothing."""


class CheckError(DiagnosticError):
    """The plan is wrong. Every fault is listed; each is a defect of this program, not of its input."""


class DoesNotFitError(DiagnosticError):
    """The buffers of one memory do not fit it.

    `step` is where most bytes are live, `bound` how many these are: with `bound > available` no planner can
    help. `culprit` is an operator and the instance (not the host) that needs the memory for it there; None
    where there is none.
    """

    culprit: tuple[str, str] | None = None
    operator: str | None = None
    """The operator that would have to go, where one is to blame."""

    def __init__(
        self,
        *,
        pool: str,
        step: int,
        needed: int,
        available: int,
        bound: int,
        alive: tuple[tuple[str, int], ...],
    ) -> None:
        self.pool, self.step = pool, step
        self.needed, self.available, self.bound = needed, available, bound
        self.alive = alive
        self._place = f"step {step}"
        super().__init__((self._diagnostic(),))

    @property
    def memory(self) -> str:
        """The memory that the pool is a part of."""
        return self.pool.removesuffix(".constants")

    def at(self, place: str, hint: str | None = None) -> "DoesNotFitError":
        """The same refusal with a place a reader recognises, such as `step 12 (dispatch conv3 on npu)`."""
        self._place = place
        self.diagnostics = (self._diagnostic(hint),)
        return self

    def advised(self, hint: str) -> "DoesNotFitError":
        """The same refusal with the change that would make it fit."""
        self.diagnostics = (self._diagnostic(hint),)
        return self

    def _diagnostic(self, hint: str | None = None) -> Diagnostic:
        alive = ", ".join(f"`{name}` {size:,} B" for name, size in self.alive)
        return Diagnostic(
            rule="does-not-fit",
            place=self._place,
            message=(
                f"pool `{self.pool}` needs {self.needed:,} B, {self.available:,} B are available "
                f"(lower bound {self.bound:,} B); alive there: {alive}"
            ),
            hint=hint,
        )


def failure(
    kind: type[DiagnosticError], rule: str, place: str, message: str, hint: str | None = None
) -> DiagnosticError:
    """One diagnostic as an error of that kind, to raise."""
    return kind((Diagnostic(rule=rule, place=place, message=message, hint=hint),))
