"""The operator kinds, each with all that is true of it.

The order counts: where patterns of two kinds cover equally much of a model, the earlier kind is taken.
To add a kind, see "Add an operator" in `docs/operators.md`.
"""

from enum import StrEnum
from typing import Self

from target_arch.plan.operators.facts import (
    ACTIVATION,
    EVERY_ARITHMETIC,
    INTEGERS,
    MACS_PER_OUTPUT,
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
_IMAGE = (Role(name="x", meaning="[N,H,W,C]"),)
_ANY = (Role(name="x", meaning="of any shape"),)
_BIAS = Role(name="bias", meaning="[O]")


def _product(
    *,
    inputs: tuple[Role, ...],
    weight: str,
    attributes: tuple[Role, ...],
    layout: LayoutRule,
    output_shape: OutputShape,
    weight_taps: tuple[int, ...],
) -> Facts:
    """Sums of products with weights, and a bias."""
    return Facts(
        inputs=inputs,
        constants=(Role(name="weight", meaning=weight), _BIAS),
        attributes=(*attributes, ACTIVATION),
        structure=Structure.PRODUCTS,
        layout=layout,
        output_shape=output_shape,
        weight_taps=weight_taps,
        element_work=8.0,
        arithmetics=EVERY_ARITHMETIC,
        float_inputs=False,
        float_output=False,
        integer_only=True,
        scaling=Scaling.WEIGHTS,
        oracle=True,
        keeps_quantization=False,
        aliasing=Aliasing.NONE,
        lowering=Lowering.DEFINITION,
    )


def _binary(*, scaling: Scaling, element_work: float) -> Facts:
    """Two tensors, element by element; the second may be a constant."""
    return Facts(
        inputs=(
            Role(name="a", meaning="of any shape"),
            Role(name="b", meaning="of the same shape or [N,1,1,C]"),
        ),
        constants=(Role(name="constant0", meaning="in place of b: [C] or the shape of a"),),
        attributes=(ACTIVATION,),
        structure=Structure.BROADCAST,
        layout=LayoutRule.PAIR,
        output_shape=OutputShape.FIXED,
        weight_taps=None,
        element_work=element_work,
        arithmetics=EVERY_ARITHMETIC,
        float_inputs=False,
        float_output=False,
        integer_only=True,
        scaling=scaling,
        oracle=True,
        keeps_quantization=False,
        aliasing=Aliasing.NONE,
        lowering=Lowering.DEFINITION,
    )


def _pool(*, attributes: tuple[Role, ...]) -> Facts:
    """One value for each window of an image."""
    return Facts(
        inputs=_IMAGE,
        constants=(),
        attributes=(Role(name="kernel", meaning="(h, w)"), *_STEPS, *attributes, ACTIVATION),
        structure=Structure.POOL,
        layout=LayoutRule.IMAGE,
        output_shape=OutputShape.FIXED,
        weight_taps=None,
        element_work=8.0,
        arithmetics=EVERY_ARITHMETIC,
        float_inputs=False,
        float_output=False,
        integer_only=True,
        scaling=Scaling.RATIO,
        oracle=True,
        keeps_quantization=True,
        aliasing=Aliasing.NONE,
        lowering=Lowering.DEFINITION,
    )


def _unary(
    *,
    attributes: tuple[Role, ...],
    element_work: float,
    arithmetics: tuple[Arithmetic, ...],
    float_inputs: bool,
    float_output: bool,
    scaling: Scaling,
    oracle: bool,
) -> Facts:
    """One tensor, element by element; without floats where none is stored."""
    return Facts(
        inputs=_ANY,
        constants=(),
        attributes=attributes,
        structure=Structure.ELEMENTWISE,
        layout=LayoutRule.KEEP,
        output_shape=OutputShape.FREE,
        weight_taps=None,
        element_work=element_work,
        arithmetics=arithmetics,
        float_inputs=float_inputs,
        float_output=float_output,
        integer_only=not (float_inputs or float_output),
        scaling=scaling,
        oracle=oracle,
        keeps_quantization=False,
        aliasing=Aliasing.NONE,
        lowering=Lowering.DEFINITION,
    )


def _move(
    *,
    inputs: tuple[Role, ...],
    attributes: tuple[Role, ...],
    layout: LayoutRule,
    element_work: float,
    aliasing: Aliasing,
    lowering: Lowering,
) -> Facts:
    """The elements of the inputs at other places."""
    return Facts(
        inputs=inputs,
        constants=(),
        attributes=attributes,
        structure=Structure.MOVE,
        layout=layout,
        output_shape=OutputShape.FIXED,
        weight_taps=None,
        element_work=element_work,
        arithmetics=EVERY_ARITHMETIC,
        float_inputs=False,
        float_output=False,
        integer_only=True,
        scaling=Scaling.NONE,
        oracle=True,
        keeps_quantization=True,
        aliasing=aliasing,
        lowering=lowering,
    )


def _opaque(
    *,
    constants: tuple[Role, ...],
    attributes: tuple[Role, ...],
    arithmetics: tuple[Arithmetic, ...],
    integer_only: bool,
    lowering: Lowering,
) -> Facts:
    """Nothing is known but the tensors."""
    return Facts(
        inputs=(Role(name="x", meaning="any number, of any shape"),),
        constants=constants,
        attributes=attributes,
        structure=Structure.OPAQUE,
        layout=LayoutRule.AUTHOR,
        output_shape=OutputShape.FIXED,
        weight_taps=None,
        element_work=8.0,
        arithmetics=arithmetics,
        float_inputs=False,
        float_output=False,
        integer_only=integer_only,
        scaling=Scaling.NONE,
        oracle=False,
        keeps_quantization=False,
        aliasing=Aliasing.NONE,
        lowering=lowering,
    )


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
        _product(
            inputs=_IMAGE,
            weight="[O,KH,KW,C]",
            attributes=(*_STEPS, Role(name="dilation", meaning="(h, w)")),
            layout=LayoutRule.IMAGE,
            output_shape=OutputShape.FIXED,
            weight_taps=(1, 2, 3),
        ),
    )
    DEPTHWISE_CONV2D = (
        "depthwise_conv2d",
        _product(
            inputs=_IMAGE,
            weight="[KH,KW,O]",
            attributes=(
                *_STEPS,
                Role(name="dilation", meaning="(h, w)"),
                Role(name="depth_multiplier", meaning="(O / C)"),
            ),
            layout=LayoutRule.IMAGE,
            output_shape=OutputShape.FIXED,
            weight_taps=(0, 1),
        ),
    )
    DENSE = (
        "dense",
        _product(
            inputs=(Role(name="x", meaning="of any shape; its last `in_features` elements are a row"),),
            weight="[O,I]",
            attributes=(Role(name="in_features", meaning="(I)"),),
            layout=LayoutRule.MATRIX,
            output_shape=OutputShape.FREE,
            weight_taps=(1,),
        ),
    )
    ADD = "add", _binary(scaling=Scaling.NONE, element_work=12.0)
    MUL = "mul", _binary(scaling=Scaling.FACTORS, element_work=8.0)
    SUB = "sub", _binary(scaling=Scaling.NONE, element_work=12.0)
    AVG_POOL2D = (
        "avg_pool2d",
        _pool(attributes=(Role(name="count_include_pad", meaning="(true where padding counts as zeros)"),)),
    )
    MAX_POOL2D = "max_pool2d", _pool(attributes=())
    SOFTMAX = (
        "softmax",
        Facts(
            inputs=_ANY,
            constants=(),
            attributes=(Role(name="axis", meaning="(-1: the last)"), Role(name="beta", meaning="(1.0)")),
            structure=Structure.ROWS,
            layout=LayoutRule.LAST_AXIS,
            output_shape=OutputShape.RESULT,
            weight_taps=None,
            element_work=40.0,
            arithmetics=EVERY_ARITHMETIC,
            float_inputs=False,
            float_output=False,
            integer_only=False,
            scaling=Scaling.NONE,
            oracle=False,
            keeps_quantization=False,
            aliasing=Aliasing.NONE,
            lowering=Lowering.DEFINITION,
        ),
    )
    RESHAPE = (
        "reshape",
        _move(
            inputs=_ANY,
            attributes=(),
            layout=LayoutRule.RENAME,
            element_work=0.25,
            aliasing=Aliasing.WHOLE,
            lowering=Lowering.DEFINITION,
        ),
    )
    TRANSPOSE = (
        "transpose",
        _move(
            inputs=_ANY,
            attributes=(Role(name="axes", meaning="(dimension i of the output is `axes[i]` of x)"),),
            layout=LayoutRule.RENAME,
            element_work=1.0,
            aliasing=Aliasing.NONE,
            lowering=Lowering.DEFINITION,
        ),
    )
    CONCAT = (
        "concat",
        _move(
            inputs=(Role(name="x", meaning="several, of one element type and with the output's scale"),),
            attributes=(Role(name="axis", meaning="(the dimension they follow each other in)"),),
            layout=LayoutRule.JOIN,
            element_work=1.0,
            aliasing=Aliasing.SLICES,
            lowering=Lowering.COPIES,
        ),
    )
    RELU = (
        "relu",
        _unary(
            attributes=(ACTIVATION,),
            element_work=8.0,
            arithmetics=EVERY_ARITHMETIC,
            float_inputs=False,
            float_output=False,
            scaling=Scaling.RATIO,
            oracle=True,
        ),
    )
    HARD_SWISH = (
        "hard_swish",
        _unary(
            attributes=(),
            element_work=8.0,
            arithmetics=EVERY_ARITHMETIC,
            float_inputs=False,
            float_output=False,
            scaling=Scaling.NONE,
            oracle=False,
        ),
    )
    REQUANTIZE = (
        "requantize",
        _unary(
            attributes=(),
            element_work=8.0,
            arithmetics=INTEGERS,
            float_inputs=False,
            float_output=False,
            scaling=Scaling.RATIO,
            oracle=True,
        ),
    )
    QUANTIZE = (
        "quantize",
        _unary(
            attributes=(),
            element_work=8.0,
            arithmetics=INTEGERS,
            float_inputs=True,
            float_output=False,
            scaling=Scaling.NONE,
            oracle=True,
        ),
    )
    DEQUANTIZE = (
        "dequantize",
        _unary(
            attributes=(),
            element_work=8.0,
            arithmetics=INTEGERS,
            float_inputs=False,
            float_output=True,
            scaling=Scaling.NONE,
            oracle=True,
        ),
    )
    DEFINED = (
        "defined",
        _opaque(
            constants=(Role(name="constant", meaning="any number, as its definition wants them"),),
            attributes=(
                Role(name="operator", meaning="(the name of its definition, which says the others)"),
                Role(name=MACS_PER_OUTPUT, meaning="(where it sums products)"),
            ),
            arithmetics=EVERY_ARITHMETIC,
            integer_only=True,
            lowering=Lowering.DEFINITION,
        ),
    )
    STORE = (
        "store",
        _move(
            inputs=(Role(name="x", meaning="the next value of a state, of any shape"),),
            attributes=(),
            layout=LayoutRule.RENAME,
            element_work=0.25,
            aliasing=Aliasing.WHOLE,
            lowering=Lowering.ONE_COPY,
        ),
    )
    RELAX = (
        "relax",
        _opaque(
            constants=(),
            attributes=(Role(name="relax_op", meaning="(the Relax operator)"),),
            arithmetics=(Arithmetic.FLOAT,),
            integer_only=False,
            lowering=Lowering.TVM,
        ),
    )


class IncompleteTableError(Exception):
    """A table of operator kinds lacks a kind, or contradicts the facts about one."""


FOREIGN = _opaque(
    constants=(),
    attributes=(),
    arithmetics=EVERY_ARITHMETIC,
    integer_only=False,
    lowering=Lowering.FOREIGN,
)
"""The facts about a kind from a plug-in's pattern: its own backend knows the rest."""

_BY_NAME = {str(kind): kind for kind in OperatorKind}


def kind_of(name: str) -> OperatorKind | str:
    """The kind of that name; the name itself for a kind that a plug-in brought."""
    return _BY_NAME.get(name, name)


def facts_of(kind: OperatorKind | str) -> Facts:
    """The facts of a kind, FOREIGN of one that a plug-in brought."""
    known = kind_of(kind)
    return known.facts if isinstance(known, OperatorKind) else FOREIGN
