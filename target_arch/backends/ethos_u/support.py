"""The operators and chains that the unit takes, and the cost of an operator.

Limits are those of Vela's list of supported operators (`SUPPORTED_OPS.md`) for Ethos-U55 and U65.
"""

from collections.abc import Iterator, Mapping
from math import prod

from target_arch.backend.contract import Option, Question
from target_arch.backends.ethos_u.config import ACCELERATORS, EthosU
from target_arch.backends.ethos_u.graph import refusal as unwritable
from target_arch.backends.ethos_u.graph import unjoinable
from target_arch.backends.ethos_u.writers import VALID, padding, pair
from target_arch.plan.arithmetic import counts_in_multiplier
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Structure
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.partitions import border

BORDER = 5
"""Tensors that may cross the border of a chain: of eight regions three are taken by weights and scratch."""
FIRST_REGION = 3
"""The region of the first input of a chain; the others follow, then the outputs."""

OPTIONS = (
    Option(name="accelerator", default="ethos-u55-128", help=f"the unit: {', '.join(ACCELERATORS)}"),
    Option(
        name="constants",
        default="",
        help="the memory that weights are streamed from; by default the first it sees beside its own",
    ),
    Option(name="burst", default=32, positive=True, help="bytes that an access to its own memory fetches"),
)
_FITTED_MACS = 128
"""The figures below are cycles of a unit with so many multipliers, fitted to Vela's figures for the single
operators of the four int8 models of MLPerf Tiny on ethos-u55-128. Their sums are close for kws_int8 and
ic_resnet_int8; where weights pack much better than `_PACKED`, as those of vww_96_int8, they are too high.
"""
_PER_RESULT: Mapping[str, float] = {
    OperatorKind.CONV2D: 0.86,
    OperatorKind.DEPTHWISE_CONV2D: 1.05,
    OperatorKind.ADD: 1.5,
    OperatorKind.SUB: 1.5,
    OperatorKind.MUL: 1.5,
    OperatorKind.LOOKUP: 1.03,
    OperatorKind.RELU: 1.03,
    OperatorKind.REQUANTIZE: 1.03,
    OperatorKind.CONCAT: 1.03,
    OperatorKind.SLICE: 1.2,
    OperatorKind.TRANSPOSE: 0.1,
}
_PER_WINDOW = 0.65
_PER_SUMMAND = 1.45
"""Each element that a pool looks at, and each that a mean adds up."""
_WIDE = 2
"""Cycles of int16 for one of eight bits."""
_FULL_DEPTH = 24
"""Channels of an input from which on a convolution keeps all multipliers busy."""
_DENSE_SHARE = 20
"""A dense layer of one row keeps one in this many multipliers busy."""
_SOFTMAX = 700
_MOST = 65535
"""Elements along a dimension."""
_PACKED = 0.75
"""The size of weights as Vela encodes them, as a fraction of their bytes."""


def refusal(question: Question) -> str | None:
    """None, or why the unit does not take the operator."""
    operator, model = question.operator, question.model
    return _memories(question) or unwritable(operator, model) or next(_limits(operator, model), None)


def joins(chain: tuple[Question, ...]) -> str | None:
    """None, or why these operators cannot be one chain."""
    model, operators = chain[0].model, tuple(question.operator for question in chain)
    inputs, outputs = border(model, operators)
    count = len(inputs) + len(outputs)
    if count > BORDER:
        return f"{count} tensors cross the border of the chain, the unit has base addresses for {BORDER}"
    return unjoinable(operators, model)


def seconds(question: Question, unit: EthosU) -> float:
    """The time that an operator adds to a chain: the longest of computing, feature maps and weights."""
    operator, model = question.operator, question.model
    maps = sum(model.tensors[name].bytes for name in (*operator.inputs, operator.output))
    fixed = sum(model.tensors[name].bytes for name in operator.constants) * _PACKED
    wide = _WIDE if model.tensors[operator.inputs[0]].dtype == "int16" else 1
    cycles = _cycles(operator, model) * wide * _FITTED_MACS / unit.macs
    moved = max(maps / unit.bandwidth(unit.arena), fixed / unit.bandwidth(unit.constants))
    return max(cycles / unit.clock, moved)


def _cycles(operator: Operator, model: Model) -> float:
    """Cycles of computing, on a unit of `_FITTED_MACS`."""
    results = prod(model.tensors[operator.output].shape)
    if operator.kind is OperatorKind.SOFTMAX:
        return _SOFTMAX
    if operator.facts.structure is Structure.POOL:
        each = _PER_SUMMAND if counts_in_multiplier(operator) else _PER_WINDOW
        return results * _product(operator, "kernel") * each
    if operator.kind is OperatorKind.DENSE:
        return results * model.macs_per_output(operator) * _DENSE_SHARE / _FITTED_MACS
    least = results * _PER_RESULT.get(operator.kind, 0.0)
    if operator.kind not in (OperatorKind.CONV2D, OperatorKind.CONV2D_TRANSPOSE):
        return least
    channels = model.tensors[operator.constants[0]].shape[-1]
    share = max(1.0, _FULL_DEPTH / (channels + 1))
    return max(least, model.macs(operator) * share / _FITTED_MACS)


def _memories(question: Question) -> str | None:
    """Refusal of an instance without memory, or with memory that the host caches: no copy path cleans the
    cache.
    """
    soc, instance = question.soc, question.instance
    if not instance.memory:
        return f"`{instance.arch.name}` has no memory for its arena"
    for memory in soc.memories:
        if memory.cached and memory.writable and soc.sees(instance, memory.name) and memory.base is not None:
            return f"`{memory.name}` is cached by the host and shared with the unit; nothing cleans the cache"
    return None


def _limits(operator: Operator, model: Model) -> Iterator[str]:
    x, out = model.tensors[operator.inputs[0]].shape, model.tensors[operator.output].shape
    if operator.facts.weighted and operator.kind is not OperatorKind.DENSE:
        yield from _convolution_limits(operator, model)
    if operator.facts.structure is Structure.POOL:
        yield from (
            _mean_limits(operator, x) if counts_in_multiplier(operator) else _pool_limits(operator, x, out)
        )
    if operator.kind not in (OperatorKind.DENSE, OperatorKind.SLICE) and len(x) == 4 and x[0] != 1:
        yield f"a batch of {x[0]}, the unit takes 1"
    if max((*x, *out)) > _MOST:
        yield f"an extent of {max((*x, *out)):,}, the unit takes up to {_MOST:,}"


def _pool_limits(operator: Operator, x: tuple[int, ...], out: tuple[int, ...]) -> Iterator[str]:
    height, width = pair(operator, "kernel")
    within = padding(operator, x, (height, width)) == VALID or operator.kind is OperatorKind.MAX_POOL2D
    if height > 256 or height * width > 65536 or (not within and max(height, width) > 8):
        yield f"its window is {height} x {width}, the unit takes less"
    if out[1:3] != (1, 1) and max(pair(operator, "strides")) > 3:
        yield f"strides of {pair(operator, 'strides')}, the unit takes up to 3"


def _mean_limits(operator: Operator, x: tuple[int, ...]) -> Iterator[str]:
    count = _product(operator, "kernel")
    if count > 2**23 or x[2] > 4096:
        yield f"a mean of {count:,} elements of rows of {x[2]:,}, the unit takes less"


def _convolution_limits(operator: Operator, model: Model) -> Iterator[str]:
    shape = model.tensors[operator.constants[0]].shape
    deep = operator.kind is OperatorKind.DEPTHWISE_CONV2D
    height, width = shape[:2] if deep else shape[1:3]
    strides, dilation = pair(operator, "strides"), pair(operator, "dilation")
    reach = ((height - 1) * dilation[0] + 1, (width - 1) * dilation[1] + 1)
    if reach[0] > 64 or reach[0] * reach[1] > 4096:
        yield f"its window is {reach[0]} x {reach[1]}, the unit takes up to 64 high and 4,096 in all"
    if operator.kind is OperatorKind.CONV2D_TRANSPOSE:
        if strides not in ((1, 1), (2, 2)) or dilation != (1, 1):
            yield f"strides of {strides} with a dilation of {dilation}, the unit takes 1 or 2, and 1"
    elif max(strides) > 3:
        yield f"strides of {strides}, the unit takes up to 3"
    channels = model.tensors[operator.inputs[0]].shape[3]
    if deep and _multiplier(operator) != 1 and channels != 1:
        yield f"{_multiplier(operator)} results per channel of {channels}, the unit takes 1"


def _multiplier(operator: Operator) -> int:
    return operator.integer("depth_multiplier", 1)


def _product(operator: Operator, name: str) -> int:
    height, width = pair(operator, name)
    return height * width
