"""Support vector machines: distances to vectors, and probabilities of classes from those of pairs."""

from collections.abc import Mapping
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import local

_FLOAT = "float32"
_ROUNDS = 100
_NEAR = 0.005
"""LIBSVM ends where no error is as large, over the number of classes."""


def _distances(node: Node) -> Any:
    rows, features = node.shape(0)
    vectors = node.shape(1)[0]

    def definition(x: Any, support: Any) -> Any:
        k = te.reduce_axis((0, features), name="k")

        def squared(i: Any, j: Any) -> Any:
            apart = x[i, k] - support[j, k]
            return te.sum(apart * apart, axis=[k])

        return te.compute((rows, vectors), squared, name="distances")

    return node.computed(definition, node.operand(0), node.operand(1))


def _number(value: float) -> Any:
    return tirx.const(value, _FLOAT)


def _coupled(node: Node) -> Any:
    """The iteration of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise
    coupling" (2004), with LIBSVM's end and order.
    """
    rows, classes = node.shape(0)[0], node.integer("classes", 2)

    def body(out: Any, pairs: Any) -> None:
        q = local("q", (classes, classes), _FLOAT)
        qp, state = local("qp", (classes,), _FLOAT), local("state", (3,), _FLOAT)
        with ib.serial(0, rows) as row:
            _matrix(q, pairs, row, classes)
            with ib.serial(0, classes) as i:
                ib.buffer_store(out, _number(1.0 / classes), [row, i])
            ib.buffer_store(state, _number(1.0), [_MORE])
            with ib.serial(0, _ROUNDS):
                with ib.If(state[_MORE] > _number(0.0)), ib.Then():
                    _products(out, q, qp, state, row, classes)
                    ib.buffer_store(state, _larger(state[_ERROR], classes), [_MORE])
                with ib.If(state[_MORE] > _number(0.0)), ib.Then():
                    _step(out, q, qp, state, row, classes)

    return node.written((rows, classes), _FLOAT, body, node.operand(0))


_MORE, _SUM, _ERROR = range(3)


def _larger(error: Any, classes: int) -> Any:
    return tirx.Select(error >= _number(_NEAR / classes), _number(1.0), _number(0.0))


def _matrix(q: Any, pairs: Any, row: Any, classes: int) -> None:
    """Entries from the probability that the first of a pair is right, which pairs have in a row."""
    places: dict[tuple[int, int], Any] = {}
    for i in range(classes):
        for j in range(i + 1, classes):
            right = pairs[row, len(places) // 2]
            places[i, j], places[j, i] = right, _number(1.0) - right
    for i in range(classes):
        total = _number(0.0)
        for j in range(classes):
            if j != i:
                total = total + places[j, i] * places[j, i]
                ib.buffer_store(q, -(places[j, i] * places[i, j]), [i, j])
        ib.buffer_store(q, total, [i, i])


def _products(out: Any, q: Any, qp: Any, state: Any, row: Any, classes: int) -> None:
    """The matrix times the probabilities, their product with these, and the largest error."""
    ib.buffer_store(state, _number(0.0), [_SUM])
    with ib.serial(0, classes) as i:
        ib.buffer_store(qp, _number(0.0), [i])
        with ib.serial(0, classes) as j:
            ib.buffer_store(qp, qp[i] + q[i, j] * out[row, j], [i])
        ib.buffer_store(state, state[_SUM] + out[row, i] * qp[i], [_SUM])
    ib.buffer_store(state, _number(0.0), [_ERROR])
    with ib.serial(0, classes) as i:
        error = qp[i] - state[_SUM]
        size = tirx.max(error, -error)
        ib.buffer_store(state, tirx.max(state[_ERROR], size), [_ERROR])


def _step(out: Any, q: Any, qp: Any, state: Any, row: Any, classes: int) -> None:
    """Change each probability in turn."""
    change = local("change", (2,), _FLOAT)
    with ib.serial(0, classes) as i:
        ib.buffer_store(change, (state[_SUM] - qp[i]) / q[i, i], [0])
        ib.buffer_store(change, _number(1.0) + change[0], [1])
        ib.buffer_store(out, out[row, i] + change[0], [row, i])
        grown = state[_SUM] + change[0] * (change[0] * q[i, i] + _number(2.0) * qp[i])
        ib.buffer_store(state, grown / change[1] / change[1], [_SUM])
        with ib.serial(0, classes) as j:
            ib.buffer_store(qp, (qp[j] + change[0] * q[i, j]) / change[1], [j])
            ib.buffer_store(out, out[row, j] / change[1], [row, j])


CONVERTERS: Mapping[str, Converter] = {
    "CoupledProbabilities": converter(_coupled, "classes"),
    "SquaredDistances": converter(_distances),
}
