"""Outputs of runs that TFLite Micro's interpreter ends early, which it leaves undefined."""

from typing import Any

import numpy as np
from attrs import define, field
from flatbuffers import flexbuffers

from target_arch.run.references.reference import Array, Frame

_BUFFER = b"CIRCULAR_BUFFER"


@define(eq=False)
class EndedRuns:
    """How many runs each of a model's early ends counts until one goes on, and how many of them come before
    each output is written: an output that a run does not reach is as the run before left it, zeros at first.
    """

    cycles: tuple[int, ...]
    passed: tuple[int, ...]
    _counts: list[int] = field(factory=list)
    _held: list[Array] = field(factory=list)

    @classmethod
    def of(cls, model: Any) -> "EndedRuns":
        """The early ends of a file."""
        graph, cycles = model.Subgraphs(0), list[int]()
        passed: dict[int, int] = {}
        for number in range(graph.OperatorsLength()):
            operator = graph.Operators(number)
            passed |= {operator.Outputs(index): len(cycles) for index in range(operator.OutputsLength())}
            code = model.OperatorCodes(operator.OpcodeIndex()).CustomCode()
            if code == _BUFFER and operator.OutputsLength() == 1 and operator.CustomOptionsLength():
                options = flexbuffers.Loads(operator.CustomOptionsAsNumpy().tobytes())
                cycles.append(int(options.get("cycles_max", 0)))
        outputs = (graph.Outputs(index) for index in range(graph.OutputsLength()))
        return cls(cycles=tuple(cycles), passed=tuple(passed.get(index, 0) for index in outputs))

    def reset(self) -> None:
        """The next run is the first one."""
        self._counts, self._held = [0] * len(self.cycles), []

    def after(self, outputs: Frame) -> Frame:
        """The outputs of a run, of those that the interpreter gives."""
        if not self.cycles:
            return outputs
        reached = self._reached()
        held = self._held or [np.zeros_like(value) for value in outputs]
        pairs = zip(self.passed, outputs, held, strict=True)
        self._held = [new.copy() if passed <= reached else old for passed, new, old in pairs]
        return tuple(self._held)

    def _reached(self) -> int:
        """How many ends the run passes; each counts the runs that come to it."""
        self._counts = self._counts or [0] * len(self.cycles)
        for number, cycles in enumerate(self.cycles):
            self._counts[number] = (self._counts[number] + 1) % max(cycles, 1)
            if self._counts[number]:
                return number
        return len(self.cycles)
