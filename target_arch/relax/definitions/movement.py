"""Elements at other places, of any element type."""

from typing import Any

from tvm import tirx

from target_arch.plan.model import Model, Operator
from target_arch.relax.definitions.operands import Operands, operands_of
from target_arch.relax.te.definition import (
    Axes,
    Definition,
    elements,
    guarded,
    one_by_one,
    placeholder,
    stage,
    tensor_of,
)


def reshape(operator: Operator, model: Model) -> Definition:
    """The same bytes."""
    x = tensor_of(model, operator, 0)
    data = placeholder(x, (elements(x),), "x")
    out = stage("out", (("i", elements(x)),), lambda i: data[i])
    return Definition(arguments=(data, out), schedule=one_by_one((), ()))


def rows(operator: Operator, model: Model, run: int) -> Definition:
    """The same bytes, in rows of `run` elements."""
    x = tensor_of(model, operator, 0)
    axes: Axes = (("row", elements(x) // run), ("k", run))
    data = placeholder(x, (elements(x) // run, run), "x")
    return Definition(
        arguments=(data, stage("out", axes, lambda i, k: data[i, k])), schedule=one_by_one((), ())
    )


def transpose(operator: Operator, model: Model) -> Definition:
    """Dimension `axes[d]` of the input becomes dimension d."""
    x = tensor_of(model, operator, 0)
    order: Any = operator.attributes["axes"]
    data = placeholder(x, x.shape, "x")
    axes: Axes = tuple((f"i{d}", x.shape[axis]) for d, axis in enumerate(order))

    def element(*index: Any) -> Any:
        return data(*(index[order.index(axis)] for axis in range(len(order))))

    return Definition(arguments=(data, stage("out", axes, element)), schedule=one_by_one((), ()))


def sliced(operator: Operator, model: Model) -> Definition:
    """Element `begin + index * step` of every dimension; steps may be negative."""
    given = operands_of(operator, model)
    begin, step = given.numbers("begin"), given.numbers("step")

    def element(*i: Any) -> Any:
        return given.data[0](*(b + index * s for index, b, s in zip(i, begin, step, strict=False)))

    return given.finished(element)


def padded(operator: Operator, model: Model) -> Definition:
    """The input at offset `before`, and `fill` around it."""
    given = operands_of(operator, model)
    before, shape = given.numbers("before"), given.tensors[0].shape
    fill = tirx.const(given.operator.attributes["fill"], given.out.dtype)

    def element(*i: Any) -> Any:
        at = [index - b for index, b in zip(i, before, strict=True)]
        tests = []
        for place, first, extent, whole in zip(at, before, shape, given.out.shape, strict=True):
            tests += [place >= 0] if first else []
            tests += [place < extent] if first + extent < whole else []
        return guarded(tirx.all(*tests) if tests else None, given.data[0](*at), fill)

    return given.finished(element)


def mirrored(operator: Operator, model: Model) -> Definition:
    """The input at offset `before`, and around it its mirror image; `repeat` is 1 where the element at the
    border is repeated.
    """
    given = operands_of(operator, model)
    before, shape, repeat = given.numbers("before"), given.tensors[0].shape, given.number("repeat")

    def place(index: Any, first: int, extent: int) -> Any:
        at = index - first
        below = tirx.Select(at < 0, -at - repeat, at)
        return tirx.Select(at >= extent, 2 * (extent - 1) + repeat - at, below)

    def element(*i: Any) -> Any:
        return given.data[0](*(place(*each) for each in zip(i, before, shape, strict=True)))

    return given.finished(element)


def repeated(operator: Operator, model: Model) -> Definition:
    """Every dimension again and again until it has the output's extent; dimensions the input lacks come
    first.
    """
    given = operands_of(operator, model)
    shape = given.tensors[0].shape

    def element(*i: Any) -> Any:
        last = i[len(i) - len(shape) :]
        return given.data[0](
            *(tirx.floormod(index, extent) for index, extent in zip(last, shape, strict=True))
        )

    return given.finished(element)


def taken(operator: Operator, model: Model) -> Definition:
    """Dimension `axis` of the first operand at the places that the second one holds; its first `batch`
    dimensions are those of the second, too. Places outside are clamped.
    """
    return _taken(operands_of(operator, model), table=0)


def taken_from_constant(operator: Operator, model: Model) -> Definition:
    """As `taken`, of a constant: it comes second, after the places."""
    return _taken(operands_of(operator, model), table=1)


def _taken(given: Operands, *, table: int) -> Definition:
    axis, batch = given.number("axis"), given.number("batch")
    x, places = given.data[table], given.data[1 - table]
    shape, rank = given.tensors[table].shape, len(given.tensors[1 - table].shape)

    def element(*i: Any) -> Any:
        at = (*i[:batch], *i[axis : axis + rank - batch]) or (0,)
        place = _within(places(*at), shape[axis] - 1)
        return x(*i[:axis], place, *i[axis + rank - batch :][: len(shape) - axis - 1])

    return given.finished(element)


def _within(place: Any, last: int) -> Any:
    """A place that was computed, not before the first or after the last."""
    return tirx.max(tirx.min(place.astype("int32"), tirx.const(last, "int32")), tirx.const(0, "int32"))


def taken_nd(operator: Operator, model: Model) -> Definition:
    """Parts of the first operand: the last dimension of the second holds a place in each of its first
    dimensions. Places outside are clamped.
    """
    return _taken_nd(operands_of(operator, model), table=0)


def taken_nd_from_constant(operator: Operator, model: Model) -> Definition:
    """As `taken_nd`, of a constant: it comes second, after the places."""
    return _taken_nd(operands_of(operator, model), table=1)


def _taken_nd(given: Operands, *, table: int) -> Definition:
    x, places = given.data[table], given.data[1 - table]
    shape, (*outer, depth) = given.tensors[table].shape, given.tensors[1 - table].shape

    def element(*i: Any) -> Any:
        first, rest = i[: len(outer)], i[len(outer) :][: len(shape) - depth]
        return x(*(_within(places(*first, each), shape[each] - 1) for each in range(depth)), *rest)

    return given.finished(element)


def updated(operator: Operator, model: Model) -> Definition:
    """The first operand with the second in place of a part of it, which begins where the third says, but so
    that it is inside.
    """
    given = operands_of(operator, model)
    x, part, start = given.data
    shape, extents = given.tensors[0].shape, given.tensors[1].shape

    def element(*i: Any) -> Any:
        first = [_within(start(d), shape[d] - extent) for d, extent in enumerate(extents)]
        at = [index - begin for index, begin in zip(i, first, strict=False)]
        inside = [test for a, e in zip(at, extents, strict=True) for test in (a >= 0, a < e)]
        return guarded(tirx.all(*inside), part(*at), x(*i[: len(shape)]))

    return given.finished(element)


PADDED = {"padded": padded, "mirrored": mirrored}
REPEATED = {"repeated": repeated}
TAKEN = {
    "taken": taken,
    "taken_from_constant": taken_from_constant,
    "taken_nd": taken_nd,
    "taken_nd_from_constant": taken_nd_from_constant,
}
UPDATED = {"updated": updated}
