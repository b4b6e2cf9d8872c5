"""The questions that the table of operator kinds answers.

No answer has a default: a kind that leaves one out cannot be made, so it is noticed at import.
"""

from enum import Enum, StrEnum

from attrs import frozen


class Arithmetic(StrEnum):
    """The rules of rounding: of TFLite's or of ONNX's quantized operators, or floating point."""

    TFLITE = "tflite"
    ONNX = "onnx"
    FLOAT = "float"


MACS_PER_OUTPUT = "macs_per_output"
"""The attribute of operators whose multiply-accumulates do not follow from their kind."""

LOOP_OPERATIONS = "loop_operations"
"""The attribute of operators with loops that a reader wrote: how many operations these execute beside the
multiply-accumulates, those of floats counted twice.
"""

RELAX_OP = "relax_op"
"""The attribute of operators that are one call of a Relax operator, by its name: TVM lowers them."""

DEFINITION_NAME = "operator"
"""The attribute of operators with one of several definitions of their kind, by its name."""

COUNT_IN_MULTIPLIER = "count_in_multiplier"
"""The attribute of averages whose multiplier also divides by the size of the window."""

INTEGERS = (Arithmetic.TFLITE, Arithmetic.ONNX)
EVERY_ARITHMETIC = (*INTEGERS, Arithmetic.FLOAT)


class Structure(Enum):
    """From which elements of its operands an operator computes an element of its output."""

    PRODUCTS = "sums of products with constant weights"
    POOL = "the elements of a window"
    ELEMENTWISE = "the element at the same place"
    BROADCAST = "the elements of two operands at the same place; the second operand may repeat"
    ROWS = "the elements of its row"
    MATRICES = "sums of products of a row of one operand and a column of the other"
    MOVE = "one element, unchanged"
    ARRANGED = "one element, unchanged, at a place that follows from the shapes, or a constant"
    INDEXED = "one element at a computed place"
    SPREAD = "the elements of its operands at the same place, any of which may repeat"
    REDUCED = "the elements along some dimensions"
    AROUND = "the elements around its place"
    STATISTICS = "the element at the same place, and statistics of its row or channel"
    SUMS = "sums of products, of other forms"
    SEQUENCE = "the elements before it, in order"
    WALKED = "entries of tables, to which the elements of its row lead"
    OPAQUE = "not known to the table"


_OF_ANY_TYPES = frozenset(
    {
        Structure.ARRANGED,
        Structure.INDEXED,
        Structure.SPREAD,
        Structure.REDUCED,
        Structure.AROUND,
        Structure.STATISTICS,
        Structure.SUMS,
        Structure.SEQUENCE,
        Structure.WALKED,
        Structure.OPAQUE,
    }
)
"""Structures of kinds whose operands have the types that their definitions take, whatever the arithmetic."""


class LayoutRule(Enum):
    """In which order of dimensions an operator reads and writes its tensors, see `relax.operators.layout`."""

    IMAGE = "reads and writes NHWC"
    MATRIX = "reads rows in any order of elements; the columns of its weights are permuted instead"
    KEEP = "writes in the order it reads"
    PAIR = "reads both operands in one order and writes in it"
    LAST_AXIS = "reads and writes with the dimension it works along as the last one"
    JOIN = "NHWC where an operand is, else the author's order"
    RENAME = "moves nothing: its output is its input, with its dimensions named in another order"
    AUTHOR = "reads and writes in the author's order"


class OutputShape(Enum):
    """Whether the output may have another shape with as many elements."""

    FIXED = "no"
    RESULT = "as an output of the model, which has the author's shape"
    FREE = "yes"


class Scaling(Enum):
    """The real multiplier from an accumulator to stored results, from the scales of the tensors."""

    WEIGHTS = "input * weights / output, per channel where the weights are"
    FACTORS = "first * second / output"
    RATIO = "input / output"
    NONE = "no requantization"


class Aliasing(Enum):
    """Which bytes of its output are those of an operand, by definition."""

    NONE = "none"
    WHOLE = "all: the output is the input"
    SLICES = "each operand is a slice of the output"


class Lowering(Enum):
    """How an operator becomes loops."""

    DEFINITION = "by its definition in TE"
    COPIES = "by a copy for each operand"
    ONE_COPY = "by one copy; import makes it, where a state is stored"
    TVM = "by TVM's own legalization of its Relax call"
    FOREIGN = "by the backend that brought its pattern"


@frozen(kw_only=True, eq=False)
class Role:
    """An operand or attribute of a kind: its name, and its shape or meaning."""

    name: str
    meaning: str

    def __str__(self) -> str:
        return f"`{self.name}` {self.meaning}".rstrip()


ACTIVATION = Role(name="activation", meaning="")
"""The attribute of operators that clamp their results: see Activation in `docs/operators.md`."""


@frozen(kw_only=True, eq=False)
class Facts:
    """The facts about every operator of a kind.

    `inputs` are activations, `constants` come after them, in this order. `weight_taps` are the axes of the
    first constant that are multiplied and summed for each output: their extents are its
    multiply-accumulates; None where the kind is not counted in them. `kernel_axes` are those of them that go
    along the axes of an image; None where it has no kernel. `element_work` is the rest of an
    element's work in plain C, in multiply-accumulates: of each output where products are counted, else of
    each element read.

    `arithmetics` are those with a definition. Integer arithmetics store 8-bit values, but for
    `float_inputs` and `float_output`, which are float32; `integer_only` kinds compute them without floats.
    `keeps_quantization`: input and output hold equal stored values for equal reals where no one says
    otherwise. Kinds with an `oracle` have a second definition of their stored values, in exact arithmetic
    (`target_arch.run.exact`).
    """

    inputs: tuple[Role, ...]
    constants: tuple[Role, ...]
    attributes: tuple[Role, ...]
    structure: Structure
    layout: LayoutRule
    output_shape: OutputShape
    weight_taps: tuple[int, ...] | None
    kernel_axes: tuple[int, ...] | None
    element_work: float
    arithmetics: tuple[Arithmetic, ...]
    float_inputs: bool
    float_output: bool
    integer_only: bool
    scaling: Scaling
    oracle: bool
    keeps_quantization: bool
    aliasing: Aliasing
    lowering: Lowering

    @property
    def elementwise(self) -> bool:
        """True where every output depends on operands at its own place only."""
        return self.structure in (Structure.ELEMENTWISE, Structure.BROADCAST)

    @property
    def weighted(self) -> bool:
        """True where the constants are weights and an int32 (or float32) bias."""
        return self.structure is Structure.PRODUCTS

    @property
    def moves(self) -> bool:
        """True where elements only change their place, whatever their type."""
        return self.structure is Structure.MOVE

    @property
    def of_any_types(self) -> bool:
        """True where a definition, and not the arithmetic, says which types the tensors have."""
        return self.structure in _OF_ANY_TYPES

    def role(self, index: int) -> str:
        """The name of a constant in the names of tensors."""
        return self.constants[index].name if index < len(self.constants) else f"constant{index}"
