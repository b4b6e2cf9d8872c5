"""Scores of classical models, the labels that follow from them, and what is done with them last."""

from math import pi

import numpy as np
from attrs import frozen
from onnx import TensorProto

from target_arch.relax.readers.onnx.rewriting.bodies import Body
from target_arch.relax.readers.onnx.rewriting.graph import Array
from target_arch.relax.site import NotConverted

_AXES_ARE_INPUTS = {"ReduceSum": 13, "ReduceMax": 18}
"""The version from which on an operator has its dimensions as an input."""
_ERF = 0.147
"""The constant in Winitzki's inverse of the error function."""
_NOTHING = 1e-7
"""Scores that are no larger are zero to SOFTMAX_ZERO."""


def text(body: Body, name: str, otherwise: str) -> str:
    """An attribute that is a word."""
    value = body.attributes.get(name, otherwise)
    return value.decode() if isinstance(value, bytes) else str(value)


def rows(body: Body) -> int:
    """The extent of the first dimension of the first operand; a list is a row."""
    shape = body.kind.shape or ()
    return int(shape[0]) if len(shape) > 1 else 1


def columns(body: Body) -> int:
    """The number of features of a row."""
    shape = body.kind.shape or ()
    return int(np.prod(shape[1:])) if len(shape) > 1 else int(np.prod(shape))


def reals(body: Body) -> str:
    """The first operand in float32. Raises NotConverted for float64."""
    if body.kind.elements == TensorProto.DOUBLE:
        raise NotConverted("its elements are float64")
    if body.kind.elements == TensorProto.STRING:
        raise NotConverted("its elements are texts")
    if body.kind.elements == TensorProto.FLOAT:
        return body.given(0)
    return body.add("Cast", body.given(0), to=TensorProto.FLOAT)


def _reduced(body: Body, operator: str, x: str, *, keep: bool) -> str:
    """A result for each row, along the last dimension."""
    if body.opset >= _AXES_ARE_INPUTS[operator]:
        return body.add(operator, x, body.constant(np.array([-1], np.int64)), keepdims=int(keep))
    return body.add(operator, x, axes=[-1], keepdims=int(keep))


def summed(body: Body, x: str) -> str:
    """The sum of each row."""
    return _reduced(body, "ReduceSum", x, keep=True)


def largest(body: Body, x: str, *, keep: bool = True) -> str:
    """The largest value of each row."""
    return _reduced(body, "ReduceMax", x, keep=keep)


def argmax(body: Body, x: str, axis: int = 1) -> str:
    """The first place of the largest value of each row, which is the last dimension."""
    return body.add("ArgMax", x, axis=axis, keepdims=0)


@frozen
class Labels:
    """The labels of a classifier's classes; None where they are texts."""

    values: Array
    texts: bool

    def best(self, body: Body, scores: str) -> None:
        """Write the label of the largest score as the first result."""
        self._write(body, argmax(body, scores))

    def above(self, body: Body, score: str, limit: float) -> None:
        """Write the second label where a score is above a limit, else the first."""
        above = body.add("Greater", score, body.constant(np.float32(limit)))
        flat = body.add("Reshape", above, body.constant(np.array([-1], np.int64)))
        self._write(body, body.add("Cast", flat, to=TensorProto.INT64))

    def _write(self, body: Body, places: str) -> None:
        name = body.result(0)
        if not name:
            return
        if self.texts:
            raise NotConverted("its labels are texts; the scores alone are numbers")
        body.add("Gather", body.constant(self.values), places, out=name, axis=0)

    def scores(self, body: Body, scores: str) -> None:
        """Write the scores as the second result."""
        if body.result(1):
            body.add("Identity", scores, out=body.result(1))


def labels_of(body: Body) -> Labels:
    """The labels that a classifier has."""
    own = body.attributes
    for name in ("classlabels_int64s", "classlabels_ints"):
        if len(own.get(name, ())):
            return Labels(np.asarray(own[name], np.int64), texts=False)
    texts = own.get("classlabels_strings", ())
    if not len(texts):
        raise NotConverted("it has no labels")
    return Labels(np.arange(len(texts)), texts=True)


def beside(body: Body, scores: str, *, opposite: bool) -> str:
    """A score of the first class before that of the second: its opposite, or what is missing to one."""
    if opposite:
        return body.add("Concat", body.add("Neg", scores), scores, axis=1)
    rest = body.add("Sub", body.constant(np.float32(1)), scores)
    return body.add("Concat", rest, scores, axis=1)


def transformed(body: Body, scores: str, how: str, targets: int) -> str:
    """Scores behind a `post_transform`."""
    if how == "NONE":
        return scores
    if how == "PROBIT":
        return _probit(body, scores)
    if how not in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        raise NotConverted(f"its `post_transform` is `{how}`")
    if targets == 1:
        raise NotConverted(
            f"of one score its `post_transform` `{how}` is something to ONNX and not to onnxruntime"
        )
    if how == "LOGISTIC":
        return body.add("Sigmoid", scores)
    if how == "SOFTMAX":
        return body.add("Softmax", scores, axis=1)
    return _softmax_of_others(body, scores)


def _softmax_of_others(body: Body, scores: str) -> str:
    """A softmax in which zeros stay zeros."""
    top = largest(body, scores)
    centred = body.add("Exp", body.add("Sub", scores, top))
    flat = body.add("Mul", scores, body.add("Exp", body.add("Neg", top)))
    counts = body.add("Greater", body.add("Abs", scores), body.constant(np.float32(_NOTHING)))
    parts = body.add("Where", counts, centred, flat)
    return body.add("Div", parts, summed(body, parts))


def _probit(body: Body, scores: str) -> str:
    """The square root of 2 times the inverse error function of `2 x - 1`, as onnxruntime approximates it."""
    two, one = body.constant(np.float32(2)), body.constant(np.float32(1))
    x = body.add("Sub", body.add("Mul", scores, two), one)
    log = body.add("Log", body.add("Mul", body.add("Sub", one, x), body.add("Add", one, x)))
    half = body.add("Mul", log, body.constant(np.float32(0.5)))
    v = body.add("Add", half, body.constant(np.float32(2 / (pi * _ERF))))
    v2 = body.add("Mul", log, body.constant(np.float32(1 / _ERF)))
    root = body.add("Sqrt", body.add("Sub", body.add("Mul", v, v), v2))
    size = body.add("Sqrt", body.add("Sub", root, v))
    inverse = body.add("Mul", body.add("Sign", x), size)
    return body.add("Mul", inverse, body.constant(np.float32(2**0.5)))
