"""The parts of a pattern: a shape in the graph (`tvm.relax.dpl`) and a function that reads a match.

A `Matcher` finds the shape quickly (only calls named in `roots` are tried) and `build` turns a `Match` into a
`Draft` of an operator, or returns None to refuse. Values that are neither inputs of the draft nor constants
are the inside of the composite: no other operator may read them, except a `dequantize`, which is then
repeated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import tvm_ffi
from attrs import field, frozen
from tvm import relax
from tvm.relax.dpl import DFPattern

from target_arch.plan.model import Attribute, Quantization, VirtualDevice
from target_arch.plan.operators.facts import Arithmetic, Facts
from target_arch.plan.operators.kinds import OperatorKind, facts_of, kind_of
from target_arch.relax.ir.graph import Graph
from target_arch.relax.patterns.constants import Constant, constant_of, quantization_of
from target_arch.relax.patterns.operands import Alternative, alternatives

NHWC, NCHW = "NHWC", "NCHW"


@frozen(kw_only=True, eq=False)
class Draft:
    """An operator in the author's layout; the layout pass makes a `plan.Operator` of it.

    `layout` is NHWC or NCHW for operators that see their inputs as images, else None. `constants` are already
    in the layout of the operator kind, but for two things the pass may still have to permute: the columns of
    a dense weight and an elementwise constant (which is as the author shaped it). `quantizations` are those
    that the composite states of its tensors.
    """

    kind: OperatorKind | str = field(converter=kind_of)
    inputs: tuple[Any, ...]
    output: Any
    arithmetic: Arithmetic = field(default=Arithmetic.FLOAT, converter=Arithmetic)
    constants: tuple[Constant, ...] = ()
    attributes: Mapping[str, Attribute] = field(factory=dict)
    layout: str | None = None
    quantizations: Mapping[Any, Quantization] = field(factory=dict)
    relax_ops: tuple[str, ...] = ()
    location: str = ""
    """The author's name of the operator, if the frontend kept one; set after the match."""
    device: VirtualDevice | None = None
    """The device that the author puts it on; set after the match."""

    @property
    def facts(self) -> Facts:
        """The facts of its kind, from the table of operator kinds."""
        return facts_of(self.kind)


@frozen(kw_only=True, eq=False)
class Match:
    """One place where a pattern fits, with functions to inspect it."""

    graph: Graph
    root: Any
    """The variable the composite defines."""
    _found: Any
    _calls: Mapping[str, Any]

    def call(self, name: str) -> Any | None:
        """The call that the named sub-pattern matched; None where that alternative was not taken."""
        expr = self._found.get(self._calls[name])
        if isinstance(expr, relax.Var):
            return self.graph.call(expr)
        return expr

    def required(self, name: str) -> Any:
        """The call that a sub-pattern without alternative matched."""
        call = self.call(name)
        if call is None:
            raise KeyError(name)
        return call

    def constant(self, expr: Any) -> Constant | None:
        """The constant behind an expression, None for an activation."""
        return constant_of(self.graph, expr)

    def quantization(self, call: Any) -> Quantization | None:
        """The parameters of a quantize or dequantize call, None where they are not constant."""
        return quantization_of(self.graph, call, call.args[0])

    def is_activation(self, expr: Any) -> bool:
        """True for a variable that depends on the model's inputs."""
        return self.graph.is_activation(expr)


@frozen(kw_only=True, eq=False)
class Matcher:
    """A composite: `pattern` ends in a call of one of the Relax operators `roots`.

    `calls` names the sub-patterns that `build` asks for. `build` returns None to refuse.
    """

    roots: tuple[str, ...]
    pattern: Any
    calls: Mapping[str, Any]
    build: Callable[[Match], Draft | None]

    @cached_property
    def _depth(self) -> int:
        return _depth(self.pattern)

    @cached_property
    def _alternatives(self) -> tuple[Alternative, ...]:
        return alternatives(self.pattern)

    def may_match(self, operator: str, operands: Sequence[str]) -> bool:
        """False where the pattern cannot match a call of `operator` on results of the operators `operands`,
        as `Graph.called` names them.
        """
        return any(one.may_be(operator, operands) for one in self._alternatives)

    def match(self, graph: Graph, var: Any) -> Draft | None:
        """The operator ending at this variable, which is bound to a call, None where there is none."""
        call = graph.bound[var]
        found = self.pattern.extract_matched_expr(call, graph.matchable.around(var, self._depth))
        if not found:
            return None
        return self.build(Match(graph=graph, root=var, found=found, calls=self.calls))


_PARTS = ("args", "body", "fields", "left", "op", "params", "pattern", "reject", "right", "tuple")
"""The fields of TVM's patterns that are patterns, or lists of them."""


def _depth(pattern: Any) -> int:
    """How many patterns stand inside each other: at least the calls on the longest way through a match."""
    parts = (getattr(pattern, name, None) for name in _PARTS)
    inside = (one for part in parts for one in (part if isinstance(part, tvm_ffi.Array) else (part,)))
    return 1 + max((_depth(one) for one in inside if isinstance(one, DFPattern)), default=0)


def single_quantization(quantization: Quantization | None) -> Quantization | None:
    """The same when it holds for the whole tensor, else None."""
    return quantization if quantization is not None and quantization.axis is None else None


def full_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type of 8, 16 or 32 bits."""
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def activation_range(
    quantization: Quantization, dtype: str, low: float | None, high: float | None, arithmetic: Arithmetic
) -> tuple[int, int]:
    """The clamp to [low, high] in the stored domain; None means no bound on that side.

    As TFLite's `CalculateActivationRangeQuantized` defines it (half away from zero, in float32); ONNX models
    round half to even, as QuantizeLinear does.
    """
    smallest, largest = full_range(dtype)
    scale, zero_point = np.float32(quantization.scale[0]), quantization.zero_point[0]
    rounded = np.rint if arithmetic == Arithmetic.ONNX else _round_away
    least = smallest if low is None else zero_point + int(rounded(np.float32(low) / scale))
    most = largest if high is None else zero_point + int(rounded(np.float32(high) / scale))
    return max(smallest, least), min(largest, most)


def operators_between(graph: Graph, root: Any, inputs: tuple[Any, ...]) -> Iterator[Any]:
    """The variables inside a composite, `root` first, up to but without `inputs` and constants; each once."""
    seen = dict.fromkeys([root])
    queue = [root]
    while queue:
        var = queue.pop()
        yield var
        for read in graph.reads[var]:
            if graph.is_activation(read) and read not in inputs and read not in seen:
                seen[read] = None
                queue.append(read)


def _round_away(value: np.float32) -> np.float32:
    return np.float32(np.copysign(np.floor(np.abs(value) + np.float32(0.5)), value))
