"""The result of comparing a bundle with its reference."""

from attrs import frozen

from target_arch.plan.manifest.verification import FloatsEntry, VerificationEntry
from target_arch.run.verification.layer import summary
from target_arch.soc.schema.records import to_json

BY_OPERATOR = "each operator on the reference's own inputs: at most one step, and equal to exact arithmetic"


@frozen(kw_only=True)
class Verification(VerificationEntry):
    """`outputs` output tensors were compared over `frames` random inputs; `equal` of them agree in every bit.

    Where the reference has several modes, `equal` counts for the mode with most agreement, `equal_to`.
    `largest` is the largest difference of one element, `allowed` the largest that the rule accepts, both in
    steps of the output (1 for float outputs of float models); `relative` of an element's magnitude passes
    besides. `wrong` elements break the rule; `first_wrong` names the first, both values, and the rule that it
    breaks. Where floats are outputs beside integers, `floats` has their differences, and `largest` and
    `allowed` are those of the others. `self_test` is `passed`, `failed` or `absent`. `layers` are operators
    one by one, where they were compared; where `rule` is BY_OPERATOR these alone judge, and `allowed` and
    `wrong` are 0. `in_flight` counts the frames whose outputs are those of runs while others are in flight.
    """

    def to_json(self) -> dict[str, object]:
        """The value as it stands in the manifest."""
        return dict(to_json(self))

    def __str__(self) -> str:
        return "\n".join(
            (
                f"verification {'passed' if self.passed else 'FAILED'}",
                f"  reference           {self.reference}",
                f"  rule                {self.rule}",
                f"  inputs              {self._frames()}",
                f"  bit-equal           {self.equal} of {self.outputs} outputs{self._mode()}",
                f"  largest difference  {self.largest:g}{self._allowed()}",
                *(() if self.floats is None else (_of_floats(self.floats),)),
                *self._faults(),
                *self._expected(),
                *self._accuracy(),
                *self._in_flight(),
                f"  self-test           {self.self_test}",
                *(() if self.layers is None else (f"  operators           {summary(self.layers)}",)),
                "",
            )
        )

    def _frames(self) -> str:
        return (
            f"{self.frames} recorded frames"
            if self.recorded
            else f"{self.frames} random frames, seed {self.seed}"
        )

    def _allowed(self) -> str:
        if self.rule == BY_OPERATOR:
            return ""
        relative = f" + {self.relative:g} of the magnitude" if self.relative else ""
        return f", allowed {self.allowed:g}{relative}"

    def _in_flight(self) -> tuple[str, ...]:
        if self.in_flight is None:
            return ()
        return (f"  in flight           {self.in_flight} of {self.frames} frames as single runs",)

    def _faults(self) -> tuple[str, ...]:
        if not self.wrong:
            return ()
        return (f"  wrong elements      {self.wrong:,}", f"  first wrong         {self.first_wrong}")

    def _expected(self) -> tuple[str, ...]:
        found = self.expected
        if found is None:
            return ()
        equal = f"{found.equal} of {found.outputs} outputs bit-equal"
        largest = f"largest difference {found.largest:g}, of the reference {found.of_reference:g}"
        wrong = () if not found.wrong else (f"{'':22}{found.wrong:,} wrong, first {found.first_wrong}",)
        return (f"  expected outputs    {equal}, {largest}", *wrong)

    def _accuracy(self) -> tuple[str, ...]:
        found = self.accuracy
        if found is None:
            return ()
        of = f" of {found.frames} frames"
        shares = [f"{count / found.frames:.2%}" for count in (found.right, found.of_reference)]
        return (f"  accuracy            {shares[0]}, of the reference {shares[1]},{of}",)

    def _mode(self) -> str:
        return f" ({self.equal_to})" if self.equal_to else ""


def _of_floats(floats: FloatsEntry) -> str:
    relative = f" + {floats.relative:g} of the magnitude" if floats.relative else ""
    return f"{'':22}{floats.largest:g} of floats, allowed {floats.allowed:g}{relative}"
