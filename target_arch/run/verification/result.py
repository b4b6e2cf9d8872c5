"""The result of comparing a bundle with its reference."""

from attrs import asdict, frozen


@frozen(kw_only=True)
class Verification:
    """`outputs` output tensors were compared over `frames` random inputs; `equal` of them agree in every bit.

    Where the reference has several modes, `equal` counts for the mode with most agreement, `equal_to`.
    `largest` is the largest difference of one element, `allowed` what the rule lets pass, both in steps of
    the output (1 for float outputs of float models); `relative` of an element's magnitude passes besides.
    `wrong` elements break the rule; `first_wrong` names the first, both values, and the rule that it breaks.
    `self_test` is `passed`, `failed` or `absent`.
    """

    reference: str
    rule: str
    seed: int
    frames: int
    outputs: int
    equal: int
    equal_to: str
    largest: float
    allowed: float
    relative: float = 0.0
    wrong: int = 0
    first_wrong: str = ""
    self_test: str

    @property
    def passed(self) -> bool:
        return not self.wrong and self.self_test != "failed"

    def to_json(self) -> dict[str, object]:
        """The value as it stands in the manifest."""
        return {**asdict(self), "passed": self.passed}

    def __str__(self) -> str:
        return "\n".join(
            (
                f"verification {'passed' if self.passed else 'FAILED'}",
                f"  reference           {self.reference}",
                f"  rule                {self.rule}",
                f"  inputs              {self.frames} random frames, seed {self.seed}",
                f"  bit-equal           {self.equal} of {self.outputs} outputs{self._mode()}",
                f"  largest difference  {self.largest:g}, allowed {self.allowed:g}{self._relative()}",
                *self._faults(),
                f"  self-test           {self.self_test}",
                "",
            )
        )

    def _relative(self) -> str:
        return f" + {self.relative:g} of the magnitude" if self.relative else ""

    def _faults(self) -> tuple[str, ...]:
        if not self.wrong:
            return ()
        return (f"  wrong elements      {self.wrong:,}", f"  first wrong         {self.first_wrong}")

    def _mode(self) -> str:
        return f" ({self.equal_to})" if self.equal_to else ""
