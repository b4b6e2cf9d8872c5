"""The operator kinds, each with all that is true of it.

The order counts: where patterns of two kinds cover equally much of a model, the earlier kind is taken.
To add a kind, see "Add an operator" in `docs/operators.md`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from attrs import evolve

from target_arch.plan.operators.facts import (
    ACTIVATION,
    COUNT_IN_MULTIPLIER,
    DEFINITION_NAME,
    EVERY_ARITHMETIC,
    INTEGERS,
    MACS_PER_OUTPUT,
    RELAX_OP,
    Aliasing,
    Arithmetic,
    Facts,
    LayoutRule,
    Lowering,
    OutputShape,
    Role,
    Scaling,
    Structure,
)

_STEPS = (
    Role(name="strides", meaning="(h, w)"),
    Role(name="padding", meaning="(top, left, bottom, right)"),
)
_WINDOW = (Role(name="kernel", meaning="(h, w)"), *_STEPS)
_DILATION = Role(name="dilation", meaning="(h, w)")
_IMAGE = (Role(name="x", meaning="[N,H,W,C]"),)
_ANY = (Role(name="x", meaning="of any shape"),)
_BIAS = Role(name="bias", meaning="[O]")
_SYMMETRIC = Role(name="symmetric", meaning="(of floats times int8 weights: whether zero points are 0)")

_OPAQUE = Facts(
    inputs=(Role(name="x", meaning="any number, of any shape"),),
    constants=(),
    attributes=(),
    structure=Structure.OPAQUE,
    layout=LayoutRule.AUTHOR,
    output_shape=OutputShape.FIXED,
    weight_taps=None,
    kernel_axes=None,
    element_work=8.0,
    arithmetics=EVERY_ARITHMETIC,
    float_inputs=False,
    float_output=False,
    integer_only=False,
    scaling=Scaling.NONE,
    oracle=False,
    keeps_quantization=False,
    aliasing=Aliasing.NONE,
    lowering=Lowering.DEFINITION,
)
"""Nothing is known but the tensors. The rows below say where they differ from one of these."""

_PRODUCTS = evolve(
    _OPAQUE,
    attributes=(ACTIVATION,),
    structure=Structure.PRODUCTS,
    integer_only=True,
    scaling=Scaling.WEIGHTS,
    oracle=True,
)
"""Sums of products with weights, and a bias."""

_PAIR = evolve(
    _OPAQUE,
    inputs=(
        Role(name="a", meaning="of any shape"),
        Role(name="b", meaning="of the same shape or [N,1,1,C]"),
    ),
    constants=(Role(name="constant0", meaning="in place of b: [C] or the shape of a"),),
    attributes=(ACTIVATION,),
    structure=Structure.BROADCAST,
    layout=LayoutRule.PAIR,
    integer_only=True,
    oracle=True,
)
"""Two tensors, element by element; the second may be a constant."""

_POOL = evolve(
    _OPAQUE,
    inputs=_IMAGE,
    attributes=(*_WINDOW, ACTIVATION),
    structure=Structure.POOL,
    layout=LayoutRule.IMAGE,
    integer_only=True,
    scaling=Scaling.RATIO,
    oracle=True,
    keeps_quantization=True,
)
"""One value for each window of an image."""

_UNARY = evolve(
    _OPAQUE,
    inputs=_ANY,
    structure=Structure.ELEMENTWISE,
    layout=LayoutRule.KEEP,
    output_shape=OutputShape.FREE,
    integer_only=True,
)
"""One tensor, element by element."""

_MOVE = evolve(
    _OPAQUE,
    inputs=_ANY,
    structure=Structure.MOVE,
    layout=LayoutRule.RENAME,
    element_work=1.0,
    integer_only=True,
    oracle=True,
    keeps_quantization=True,
)
"""The elements of the inputs at other places."""


_ALONG = Role(name="axes", meaning="(the dimensions it works along, where it has some)")
_CALLED = evolve(
    _OPAQUE, attributes=(Role(name=RELAX_OP, meaning="(the Relax operator)"), _ALONG), lowering=Lowering.TVM
)
"""One call of a Relax operator."""

_FAMILY = evolve(
    _OPAQUE,
    constants=(Role(name="constant", meaning="any number, as its definition wants them"),),
    attributes=(
        Role(name=RELAX_OP, meaning="(the Relax operator), or"),
        Role(name=DEFINITION_NAME, meaning="(the name of its definition, which says the others)"),
        _ALONG,
    ),
    integer_only=True,
)
"""One of several definitions, or one call of a Relax operator where none of them is its own."""


class OperatorKind(StrEnum):
    """A kind of operator. Its text is its name in models, manifests, rules and cost files."""

    facts: Facts

    def __new__(cls, name: str, facts: Facts) -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.facts = facts
        return made

    CONV2D = (
        "conv2d",
        evolve(
            _PRODUCTS,
            inputs=_IMAGE,
            constants=(Role(name="weight", meaning="[O,KH,KW,C / groups]"), _BIAS),
            attributes=(*_STEPS, _DILATION, Role(name="groups", meaning="(1)"), _SYMMETRIC, ACTIVATION),
            layout=LayoutRule.IMAGE,
            weight_taps=(1, 2, 3),
            kernel_axes=(1, 2),
        ),
    )
    DEPTHWISE_CONV2D = (
        "depthwise_conv2d",
        evolve(
            _PRODUCTS,
            inputs=_IMAGE,
            constants=(Role(name="weight", meaning="[KH,KW,O]"), _BIAS),
            attributes=(
                *_STEPS,
                _DILATION,
                Role(name="depth_multiplier", meaning="(O / C)"),
                _SYMMETRIC,
                ACTIVATION,
            ),
            layout=LayoutRule.IMAGE,
            weight_taps=(0, 1),
            kernel_axes=(0, 1),
        ),
    )
    CONV2D_TRANSPOSE = (
        "conv2d_transpose",
        evolve(
            _PRODUCTS,
            inputs=_IMAGE,
            constants=(Role(name="weight", meaning="[O,KH,KW,C]"), _BIAS),
            attributes=(
                Role(name="strides", meaning="(h, w)"),
                Role(name="padding", meaning="(top, left, bottom, right: of the output, cut off)"),
                _DILATION,
                ACTIVATION,
            ),
            layout=LayoutRule.IMAGE,
            weight_taps=(1, 2, 3),
        ),
    )
    DENSE = (
        "dense",
        evolve(
            _PRODUCTS,
            inputs=(Role(name="x", meaning="of any shape; its last `in_features` elements are a row"),),
            constants=(Role(name="weight", meaning="[O,I]"), _BIAS),
            attributes=(Role(name="in_features", meaning="(I)"), _SYMMETRIC, ACTIVATION),
            layout=LayoutRule.MATRIX,
            output_shape=OutputShape.FREE,
            weight_taps=(1,),
        ),
    )
    MATMUL = (
        "matmul",
        evolve(
            _OPAQUE,
            inputs=(
                Role(name="a", meaning="[..,M,K]"),
                Role(name="b", meaning="[..,K,N], outer dimensions of extent 1 or left out are repeated"),
            ),
            attributes=(Role(name=MACS_PER_OUTPUT, meaning="(K)"), ACTIVATION),
            structure=Structure.MATRICES,
            integer_only=True,
            scaling=Scaling.FACTORS,
            oracle=True,
        ),
    )
    ADD = "add", evolve(_PAIR, element_work=12.0)
    MUL = "mul", evolve(_PAIR, scaling=Scaling.FACTORS)
    SUB = "sub", evolve(_PAIR, element_work=12.0)
    AVG_POOL2D = (
        "avg_pool2d",
        evolve(
            _POOL,
            attributes=(
                *_WINDOW,
                Role(name="count_include_pad", meaning="(true where padding counts as zeros)"),
                Role(name=COUNT_IN_MULTIPLIER, meaning="(true: TFLite's MEAN, whose multiplier divides)"),
                ACTIVATION,
            ),
        ),
    )
    MAX_POOL2D = "max_pool2d", _POOL
    SOFTMAX = (
        "softmax",
        evolve(
            _OPAQUE,
            inputs=_ANY,
            constants=(
                Role(name="exponentials", meaning="[513] and"),
                Role(name="reciprocals", meaning="[513], of TFLite's int16 values"),
            ),
            attributes=(
                Role(name="axis", meaning="(-1: the last)"),
                Role(name="beta", meaning="(1.0)"),
                Role(name="multiplier", meaning="and"),
                Role(name="shift", meaning="(of TFLite's int16 values: to the unit of their table)"),
            ),
            structure=Structure.ROWS,
            layout=LayoutRule.LAST_AXIS,
            output_shape=OutputShape.RESULT,
            element_work=40.0,
            oracle=True,
        ),
    )
    RESHAPE = "reshape", evolve(_MOVE, element_work=0.25, aliasing=Aliasing.WHOLE)
    TRANSPOSE = (
        "transpose",
        evolve(
            _MOVE,
            attributes=(Role(name="axes", meaning="(dimension i of the output is `axes[i]` of x)"),),
        ),
    )
    SLICE = (
        "slice",
        evolve(
            _MOVE,
            attributes=(
                Role(name="begin", meaning="(the first place along every dimension)"),
                Role(name="step", meaning="(to the next place, negative ones to earlier places)"),
            ),
            layout=LayoutRule.AUTHOR,
        ),
    )
    CONCAT = (
        "concat",
        evolve(
            _MOVE,
            inputs=(Role(name="x", meaning="several, of one element type and with the output's scale"),),
            attributes=(Role(name="axis", meaning="(the dimension they follow each other in)"),),
            layout=LayoutRule.JOIN,
            aliasing=Aliasing.SLICES,
            lowering=Lowering.COPIES,
        ),
    )
    RELU = "relu", evolve(_UNARY, attributes=(ACTIVATION,), scaling=Scaling.RATIO, oracle=True)
    LOOKUP = (
        "lookup",
        evolve(
            _UNARY,
            constants=(Role(name="table", meaning="[N]: results"),),
            attributes=(
                Role(
                    name="curve",
                    meaning="(`each`: the table has the result of each stored value, from the least one "
                    "on; of int16 `lines`: of 513, with lines between; `sigmoid`, `tanh`: LiteRT's table)",
                ),
                Role(name="multiplier", meaning="and"),
                Role(name="shift", meaning="(of `sigmoid` and `tanh`: to the unit of their table)"),
            ),
            element_work=6.0,
            arithmetics=INTEGERS,
            oracle=True,
        ),
    )
    FUNCTION = (
        "function",
        evolve(
            _UNARY,
            attributes=(
                Role(name="function", meaning="(its name: `sigmoid`, `erf`, `leaky_relu`)"),
                Role(name="parameters", meaning="(numbers, where it has some)"),
            ),
            element_work=20.0,
            arithmetics=(Arithmetic.FLOAT,),
            integer_only=False,
        ),
    )
    REQUANTIZE = "requantize", evolve(_UNARY, arithmetics=INTEGERS, scaling=Scaling.RATIO, oracle=True)
    QUANTIZE = (
        "quantize",
        evolve(_UNARY, arithmetics=INTEGERS, float_inputs=True, integer_only=False, oracle=True),
    )
    DEQUANTIZE = (
        "dequantize",
        evolve(_UNARY, arithmetics=INTEGERS, float_output=True, integer_only=False, oracle=True),
    )
    REDUCE = "reduce", evolve(_FAMILY, structure=Structure.REDUCED)
    ELEMENTWISE = "elementwise", evolve(_FAMILY, structure=Structure.SPREAD)
    NORMALIZE = "normalize", evolve(_FAMILY, structure=Structure.STATISTICS)
    RESIZE = "resize", evolve(_FAMILY, structure=Structure.AROUND)
    POOLING = "pooling", evolve(_CALLED, structure=Structure.AROUND)
    PAD = "pad", evolve(_FAMILY, structure=Structure.ARRANGED)
    TILE = "tile", evolve(_FAMILY, structure=Structure.ARRANGED, oracle=True)
    REARRANGE = "rearrange", evolve(_CALLED, structure=Structure.ARRANGED)
    GATHER = "gather", evolve(_FAMILY, structure=Structure.INDEXED)
    SCATTER = "scatter", evolve(_FAMILY, structure=Structure.INDEXED)
    SCAN = "scan", evolve(_CALLED, structure=Structure.SEQUENCE)
    RECURRENT = (
        "recurrent",
        evolve(
            _FAMILY,
            attributes=(*_FAMILY.attributes, Role(name=MACS_PER_OUTPUT, meaning="(how many are summed)")),
            structure=Structure.SEQUENCE,
        ),
    )
    TREES = "trees", evolve(_CALLED, structure=Structure.WALKED)
    PRODUCTS = (
        "products",
        evolve(
            _FAMILY,
            attributes=(*_FAMILY.attributes, Role(name=MACS_PER_OUTPUT, meaning="(how many are summed)")),
            structure=Structure.SUMS,
        ),
    )
    STORE = (
        "store",
        evolve(
            _MOVE,
            inputs=(Role(name="x", meaning="the next value of a state, of any shape"),),
            element_work=0.25,
            aliasing=Aliasing.WHOLE,
            lowering=Lowering.ONE_COPY,
        ),
    )
    RELAX = (
        "relax",
        evolve(
            _OPAQUE,
            attributes=(Role(name=RELAX_OP, meaning="(the Relax operator)"),),
            arithmetics=(Arithmetic.FLOAT,),
            lowering=Lowering.TVM,
        ),
    )


class IncompleteTableError(Exception):
    """A table of operator kinds lacks a kind, or contradicts the facts about one."""


FOREIGN = evolve(_OPAQUE, lowering=Lowering.FOREIGN)
"""The facts about a kind from a plug-in's pattern: its own backend knows the rest."""

_BY_NAME = {str(kind): kind for kind in OperatorKind}
_FACTS: Mapping[str, Facts] = {str(kind): kind.facts for kind in OperatorKind}


def kind_of(name: str) -> OperatorKind | str:
    """The kind of that name; the name itself for a kind that a plug-in brought."""
    return _BY_NAME.get(name, name)


def facts_of(kind: OperatorKind | str) -> Facts:
    """The facts of a kind, FOREIGN of one that a plug-in brought."""
    return _FACTS.get(kind, FOREIGN)
