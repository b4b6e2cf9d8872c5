"""One operator of a TFLite file as a converter sees it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tflite
from attrs import evolve, field, frozen
from flatbuffers import flexbuffers
from tvm.ir import GenericConst

from target_arch.plan.model import Attribute, Quantization
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.defined import Grids, defined_call
from target_arch.relax.site import NotConverted, Result, Site, constant

STORED = ("int8", "uint8")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")


@frozen(kw_only=True, eq=False)
class TFLiteOperand:
    """A tensor that an operator reads or writes.

    `value` is the value of a constant, None for an activation. `quantization` is None where the file has
    none. A tensor that is `kept` has memory of its own from run to run. A `narrow` constant is int8 here and
    has 4 bits for each element in the file.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None
    value: np.ndarray[Any, Any] | None = field(repr=False)
    kept: bool = False
    narrow: bool = False
    _expression: Callable[[], Any] = field(repr=False)

    @property
    def expr(self) -> Any:
        """Its Relax expression."""
        return self._expression()

    @property
    def scale(self) -> float:
        """The scale of a tensor that has one. NotConverted for any other."""
        return self._single().scale[0]

    @property
    def zero_point(self) -> int:
        """The zero point of a tensor that has one. NotConverted for any other."""
        return self._single().zero_point[0]

    def _single(self) -> Quantization:
        if self.quantization is None or len(self.quantization.scale) != 1:
            raise NotConverted(f"tensor `{self.name}` has no single scale")
        return self.quantization

    @property
    def constant(self) -> np.ndarray[Any, Any]:
        """The value of a constant. NotConverted for an activation."""
        if self.value is None:
            raise NotConverted(f"tensor `{self.name}` is computed, only a constant is supported here")
        return self.value


_TABLES = {value: name for name, value in vars(tflite.BuiltinOptions).items() if isinstance(value, int)}
"""The names of tables of options by their numbers."""


class ConstantsAlone(NotConverted):
    """No operator of a model has constants alone."""


@frozen(kw_only=True, eq=False)
class TFLiteOperator(Site):
    """An operator: an operand that is left out is None."""

    inputs: tuple[TFLiteOperand | None, ...]
    outputs: tuple[TFLiteOperand, ...]
    _stored: Any = field(repr=False)
    variable: Callable[[int, tuple[int, ...]], Any] = field(repr=False)
    """The value of the variable that an input is, by its number and the shape in which it is kept."""
    update: Callable[[int, Any], None] = field(repr=False)
    """The value of such a variable after this operator."""
    state: Callable[..., Any] = field(repr=False)
    """The value of a state of its own that has no tensor, by a name, a shape and an element type; its bytes
    before the first run may follow, else they are zeros.
    """
    leave: Callable[[str, Any], None] = field(repr=False)
    """The value of such a state after this operator."""
    end_unless: Callable[[Any], None] = field(repr=False)
    """Let runs end after this operator where a value of one element is false."""
    counted: Callable[[int, Any], None] = field(repr=False)
    """Let an output, by its number, have its largest size: a value of one element, int64, says how much of
    its first dimension is there.
    """
    inner: bool = False
    """Whether a subgraph has it that an IF or a WHILE runs."""

    @property
    def x(self) -> TFLiteOperand:
        """The first input."""
        return self.tensor(0)

    @property
    def out(self) -> TFLiteOperand:
        """The first output."""
        return self.outputs[0]

    def given(self, index: int) -> Any | None:
        """Return the expression of an input, None where it is left out."""
        tensor = self.optional_tensor(index)
        return None if tensor is None else tensor.expr

    def tensor(self, index: int) -> TFLiteOperand:
        """Return an input that has to be there. Raises NotConverted."""
        found = self.optional_tensor(index)
        if found is None:
            raise NotConverted(f"input {index} is left out")
        return found

    def optional_tensor(self, index: int) -> TFLiteOperand | None:
        """An input that may be left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def options(self, name: str) -> Any:
        """Its options, of the table `name` of TFLite's schema; NotConverted where it has none."""
        stored = self._stored.BuiltinOptions()
        if stored is None:
            raise NotConverted("its options are missing")
        found = getattr(tflite, name)()
        found.Init(stored.Bytes, stored.Pos)
        return found

    @property
    def activation(self) -> int:
        """Its fused activation, of TFLite's `ActivationFunctionType`; none where its options have none."""
        name = _TABLES.get(self._stored.BuiltinOptionsType(), "")
        if not hasattr(getattr(tflite, name, None), "FusedActivationFunction"):
            return int(tflite.ActivationFunctionType.NONE)
        return int(self.options(name).FusedActivationFunction())

    @property
    def custom_bytes(self) -> bytes:
        """The options of a custom operator as they are in the file; empty where it has none."""
        count = range(self._stored.CustomOptionsLength())
        return bytes(self._stored.CustomOptions(index) for index in count)

    @property
    def custom(self) -> Mapping[str, Any]:
        """The options of a custom operator. NotConverted where they are no map."""
        try:
            found = flexbuffers.Loads(self.custom_bytes)
        except Exception:  # damaged bytes end in whatever they lead to
            raise NotConverted("its options are damaged") from None
        if not isinstance(found, dict):
            raise NotConverted("its options are missing")
        return found

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The options of a custom operator. Raises NotConverted where they are no map."""
        return self.custom if self.custom_bytes else {}

    @property
    def results(self) -> tuple[Result | None, ...]:
        """Its outputs as the file states them."""
        return tuple(Result(shape=each.shape, dtype=each.dtype) for each in self.outputs)

    @property
    def stored(self) -> bool:
        """True where the first input holds integers on a grid."""
        return self.x.dtype in INTEGERS and self.x.quantization is not None

    def writing(self, shape: tuple[int, ...]) -> "TFLiteOperator":
        """The same operator with an output of another shape, for a part of it."""
        return evolve(self, outputs=(evolve(self.out, shape=shape),))

    def defined(self, name: str, *operands: Any, **attributes: Attribute) -> Any:
        """A call of a definition (`relax.definitions`) that gives the first output; arrays among the operands
        are its constants.
        """
        given = self._expressions(operands)
        real = self.out.dtype.startswith("float")
        arithmetic = Arithmetic.FLOAT if real else Arithmetic.TFLITE
        return defined_call(name, given, self.out.shape, self.out.dtype, attributes, arithmetic)

    def stated(
        self, kind: OperatorKind, operands: tuple[Any, ...], grids: Grids, **attributes: Attribute
    ) -> Any:
        """A call of an operator of that kind that gives the first output; arrays are its constants, `grids`
        the quantizations of the operands and of the output.
        """
        given = self._expressions(operands)
        real = self.out.dtype.startswith("float")
        arithmetic = Arithmetic.FLOAT if real else Arithmetic.TFLITE
        return defined_call(kind, given, self.out.shape, self.out.dtype, attributes, arithmetic, grids)

    def defined_as(
        self,
        name: str,
        operands: tuple[Any, ...],
        shape: tuple[int, ...],
        dtype: str,
        **attributes: Attribute,
    ) -> Any:
        """The same with a result that is no tensor of the file."""
        given = self._expressions(operands)
        return defined_call(name, given, shape, dtype, attributes, Arithmetic.TFLITE)

    def _expressions(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Operands of an operator of ours, arrays as constants. ConstantsAlone where all are constants."""
        given = tuple(constant(each) if isinstance(each, np.ndarray) else each for each in operands)
        if given and all(isinstance(each, GenericConst) for each in given):
            raise ConstantsAlone("all of its operands are constants")
        return given


Converter = Callable[[TFLiteOperator], Any]
"""The Relax expression of an output, a list of those of several outputs, or None for an operator without any.
Raises NotConverted for a form that is not supported.
"""


def require_reals(site: TFLiteOperator) -> None:
    """Raise NotConverted where the values of a tensor are steps of a grid."""
    for tensor in (*site.inputs, *site.outputs):
        if tensor is not None and tensor.quantization is not None:
            raise NotConverted(f"stored values of type {tensor.dtype}")


def require_numbers(tensor: TFLiteOperand) -> None:
    """Raise NotConverted for truth values, which LiteRT does not divide either: a divisor may be zero."""
    if tensor.dtype == "bool":
        raise NotConverted("values of type bool")


def require_computed(tensor: TFLiteOperand) -> None:
    """Raise NotConverted for a constant."""
    if tensor.value is not None:
        raise NotConverted(f"its operand `{tensor.name}` is constant")


def require_rows(site: TFLiteOperator) -> None:
    """Raise NotConverted where there are no rows, or the file states another shape for the result."""
    if not site.x.shape or site.x.shape != site.out.shape:
        raise NotConverted(f"an input of shape {site.x.shape} and an output of shape {site.out.shape}")


def same_grid(first: TFLiteOperand, second: TFLiteOperand) -> bool:
    """True where equal stored values are equal reals."""
    one, other = first.quantization, second.quantization
    return (one is None and other is None) or (
        one is not None
        and other is not None
        and (one.scale, one.zero_point) == (other.scale, other.zero_point)
    )
