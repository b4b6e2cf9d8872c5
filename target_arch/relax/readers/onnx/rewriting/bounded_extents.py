"""Operators that read or write extents, one of which may be a count."""

from math import prod
from typing import Any

from onnx import TensorProto, helper

from target_arch.relax.readers.onnx.rewriting.bounded_marks import (
    TWO,
    WHOLE,
    Mark,
    Size,
    Walk,
    attribute,
    inner,
)
from target_arch.relax.readers.onnx.rewriting.bounded_sizes import clipped, count_of, largest, sizes_of
from target_arch.relax.readers.onnx.rewriting.graph import TensorKind
from target_arch.relax.site import NotConverted


def meet(walk: Walk, node: Any, operands: list[str]) -> None:
    """Operands of several shapes, whose last dimensions meet."""
    shapes = {name: walk.shape(name) for name in operands}
    rank = max(map(len, shapes.values()))
    marks = {
        (rank - len(shapes[name]) + mark.axis, mark.count)
        for name in shapes
        if (mark := walk.marks.get(name)) is not None
    }
    if len(marks) > 1:
        raise NotConverted("its operands have different sizes, which depend on values")
    ((axis, count),) = marks
    for name, shape in shapes.items():
        at = axis - rank + len(shape)
        if name not in walk.marks and at >= 0 and shape[at] != 1:
            raise NotConverted(f"the size of one operand depends on values, the other has {shape[at]}")
    walk.mark(node, axis, count)


def reshaped(walk: Walk, node: Any) -> None:
    """The axis of the same elements: everything before it is one row, so what is behind the count is last."""
    mark = walk.marks.get(node.input[0])
    sizes = sizes_of(walk, node.input[1]) if len(node.input) > 1 else None
    if mark is None:
        if sizes is None or any(not each.is_fixed for each in sizes.reshape(-1)):
            raise NotConverted("its shape depends on values")
        return
    before, kind = walk.shape(node.input[0]), walk.types.get(node.output[0])
    after = kind.shape if kind is not None else None
    if after is None and sizes is not None:
        after = _whole_shape(before, largest(sizes))
    if after is None:
        raise NotConverted("its shape depends on values")
    _keep_shape(walk, node, after)
    axis = _same_place(before, mark.axis, after)
    whole, part = inner(before, mark.axis), inner(after, axis)
    if whole == part:
        walk.mark(node, axis, mark.count)
        return
    if whole % part and part % whole:
        raise NotConverted(TWO)
    node.input[0] = walk.filled(node.input[0], "zero")
    factor = walk.number(f"{node.output[0]}/factor", [max(whole, part) // min(whole, part)])
    scaled = "Mul" if whole > part else "Div"
    walk.bound(node, 0, axis, walk.counted(f"{node.output[0]}/count", scaled, mark.count, factor))


def _whole_shape(before: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that a reshape writes, with its -1 and its zeros."""
    copied = [before[at] if extent == 0 else extent for at, extent in enumerate(wanted)]
    known = prod(extent for extent in copied if extent > 0)
    return tuple(prod(before) // known if extent < 0 else extent for extent in copied)


def _keep_shape(walk: Walk, node: Any, shape: tuple[int, ...]) -> None:
    """Reshape to numbers that are known now."""
    if node.op_type == "Reshape" and node.input[1] not in walk.constants:
        node.input[1] = walk.number(f"{node.output[0]}/shape", list(shape))
        walk.declare(node.output[0], TensorKind(walk.types[node.input[0]].elements, shape))
        walk.changed = True


def _same_place(before: tuple[int, ...], axis: int, after: tuple[int, ...]) -> int:
    """The axis with as many elements before it as another has."""
    rows = prod(before[:axis])
    for at in range(len(after)):
        if prod(after[:at]) == rows and (after[at] != 1 or at == len(after) - 1):
            return at
    raise NotConverted(TWO)


def sliced(walk: Walk, node: Any) -> None:
    """Of the axis with a count, from a known first place on; of others, any known part."""
    if len(node.input) < 3:
        raise NotConverted("its places are attributes")
    mark, shape = walk.marks.get(node.input[0]), walk.shape(node.input[0])
    starts, axes, steps = _places(walk, node)
    ends = sizes_of(walk, node.input[2])
    if ends is None:
        raise NotConverted("its operand `ends` must be a constant, or a count")
    moving = [
        at for at, end in enumerate(ends.reshape(-1)) if not end.is_fixed or (mark and axes[at] == mark.axis)
    ]
    if not moving:
        if mark is not None:
            walk.mark(node, mark.axis, mark.count)
        return
    if len(moving) > 1 or (mark is not None and axes[moving[0]] != mark.axis):
        raise NotConverted(TWO)
    (at,) = moving
    if starts[at] < 0 or steps[at] != 1:
        raise NotConverted("it counts from the end of a dimension whose size depends on values")
    end: Size = ends.reshape(-1)[at]
    if mark is not None and end.is_fixed and starts[at] == 0 and end.largest >= shape[mark.axis]:
        walk.mark(node, mark.axis, mark.count)
        return
    _part(walk, node, axes[at], starts[at], end, at, mark)


def _part(walk: Walk, node: Any, axis: int, start: int, end: Size, at: int, mark: Mark | None) -> None:
    """A slice of the first elements up to a number that depends on values."""
    name, shape = node.output[0], walk.shape(node.input[0])
    stop = shape[axis] if end.is_fixed and end.largest < 0 else min(shape[axis], end.largest)
    if stop <= start:
        raise NotConverted("its result has no elements")
    count = mark.count if mark is not None else walk.number(f"{name}/extent", [shape[axis]])
    if end.is_fixed and end.largest < 0:
        count = walk.counted(f"{name}/left", "Add", count, walk.number(f"{name}/end", [end.largest]))
    else:
        last = (
            walk.number(f"{name}/end", [end.largest])
            if end.is_fixed
            else count_of(walk, node.input[2], at, end)
        )
        count = walk.counted(f"{name}/last", "Min", count, last)
    if start:
        count = walk.counted(f"{name}/rest", "Sub", count, walk.number(f"{name}/start", [start]))
    count = clipped(walk, count, stop - start, f"{name}/count")
    ends = list(largest(_known(walk, node)))
    ends[at] = stop
    node.input[2] = walk.number(f"{name}/ends", ends)
    kind = TensorKind(walk.types[node.input[0]].elements, _sliced_shape(walk, node, ends, axis, stop - start))
    walk.declare(name, kind)
    if mark is not None:
        node.input[0] = walk.filled(node.input[0], "zero")
    walk.bound(node, 0, axis, count)


def _known(walk: Walk, node: Any) -> Any:
    sizes = sizes_of(walk, node.input[2])
    assert sizes is not None
    return sizes


def _places(walk: Walk, node: Any) -> tuple[tuple[int, ...], list[int], tuple[int, ...]]:
    """The first places, axes and steps of a slice."""
    starts, rank = walk.numbers(node.input[1], "starts"), len(walk.shape(node.input[0]))
    given = [*node.input, "", ""]
    named = walk.numbers(given[3], "axes") if given[3] else range(len(starts))
    steps = walk.numbers(given[4], "steps") if given[4] else (1,) * len(starts)
    return starts, [axis % rank for axis in named], steps


def _sliced_shape(walk: Walk, node: Any, ends: list[int], axis: int, extent: int) -> tuple[int, ...]:
    """The shape of a slice of which the extent of one axis is known."""
    shape = list(walk.shape(node.input[0]))
    starts, axes, steps = _places(walk, node)
    for start, end, place, step in zip(starts, ends, axes, steps, strict=True):
        shape[place] = len(range(*slice(start, end, step).indices(shape[place])))
    shape[axis] = extent
    return tuple(shape)


def extents_of(walk: Walk, node: Any) -> None:
    """The extents of a tensor, one of which is a count."""
    mark, shape = walk.marks[node.input[0]], walk.shape(node.input[0])
    name = node.output[0]
    begin, end = (attribute(node, key, None) for key in ("start", "end"))
    parts = [
        mark.count if axis == mark.axis else walk.number(f"{name}/extent{axis}", [extent])
        for axis, extent in enumerate(shape)
    ][begin:end]
    node.op_type = "Concat"
    del node.attribute[:]
    del node.input[:]
    node.attribute.append(helper.make_attribute("axis", 0))
    node.input.extend(parts)
    walk.declare(name, TensorKind(WHOLE, (len(parts),)))
    walk.changed = True


def elements_of(walk: Walk, node: Any) -> None:
    """Size: the count times what is in each."""
    mark, shape = walk.marks[node.input[0]], walk.shape(node.input[0])
    name = node.output[0]
    rest = walk.number(f"{name}/rest", [prod(shape) // shape[mark.axis]])
    whole = walk.counted(f"{name}/whole", "Mul", mark.count, rest)
    node.op_type = "Reshape"
    del node.input[:]
    node.input.extend([whole, walk.number("counts/scalar", [])])
    walk.declare(name, TensorKind(WHOLE, ()))
    walk.changed = True


def spread(walk: Walk, node: Any) -> None:
    """Expand, and ConstantOfShape: to extents one of which may be a count."""
    shaped = node.op_type == "ConstantOfShape"
    sizes = sizes_of(walk, node.input[0 if shaped else 1])
    if sizes is None:
        raise NotConverted("its shape depends on values")
    wanted = [*sizes.reshape(-1)]
    if all(each.is_fixed for each in wanted):
        if not shaped:
            meet(walk, node, [node.input[0]])
        return
    moving = [at for at, each in enumerate(wanted) if not each.is_fixed]
    if len(moving) > 1:
        raise NotConverted(TWO)
    source = node.input[0 if shaped else 1]
    count = count_of(walk, source, moving[0], wanted[moving[0]])
    shape = largest(sizes)
    if not shaped:
        shape = _met(walk.shape(node.input[0]), shape)
    axis = moving[0] + len(shape) - len(wanted)
    if not shaped and node.input[0] in walk.marks:
        node.input[0] = walk.filled(node.input[0], "zero")
    given = attribute(node, "value", None)
    elements = (
        walk.types[node.input[0]].elements if not shaped else given.data_type if given else TensorProto.FLOAT
    )
    node.input[0 if shaped else 1] = walk.number(f"{node.output[0]}/shape", list(shape))
    walk.declare(node.output[0], TensorKind(elements, shape))
    walk.bound(node, 0, axis, count)


def _met(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of two that are spread to each other's."""
    rank = max(len(one), len(other))
    both = ((1,) * (rank - len(one)) + one, (1,) * (rank - len(other)) + other)
    return tuple(map(max, *both))


def counted_up(walk: Walk, node: Any) -> None:
    """Range from 0, by 1."""
    sizes = sizes_of(walk, node.input[1])
    begin, step = (walk.constant(node.input[index]) for index in (0, 2))
    if sizes is None or begin is None or step is None or begin.item() != 0 or step.item() != 1:
        raise NotConverted("the shape of its output depends on values")
    size = sizes.reshape(-1)[0]
    count = count_of(walk, node.input[1], 0, size)
    kind = TensorKind(walk.types[node.input[1]].elements, (size.largest,))
    if kind.elements != WHOLE:
        raise NotConverted("its elements are not int64")
    node.input[1] = walk.number(f"{node.output[0]}/limit", size.largest)
    walk.declare(node.output[0], kind)
    walk.bound(node, 0, 0, count)
