"""Concatenations: what is there of several operands, one behind the other."""

from typing import Any

from onnx import TensorProto, helper

from target_arch.relax.readers.onnx.rewriting.bounded_marks import TWO, WHOLE, Mark, Walk, axis_of
from target_arch.relax.readers.onnx.rewriting.graph import TensorKind
from target_arch.relax.site import NotConverted


def joined(walk: Walk, node: Any) -> None:
    """Along another axis, operands of one size; along that with a count, what is there moves together."""
    marks = [walk.marks.get(name) for name in node.input]
    axis = axis_of(node, len(walk.shape(node.output[0])), 0)
    counts = {mark for mark in marks if mark is not None}
    if all(mark is None or mark.axis != axis for mark in marks):
        if len(counts) > 1 or None in marks:
            raise NotConverted("its operands have different sizes, which depend on values")
        ((other),) = counts
        walk.mark(node, other.axis, other.count)
        return
    if any(mark is not None and mark.axis != axis for mark in marks):
        raise NotConverted(TWO)
    _together(walk, node, axis, marks)


def _together(walk: Walk, node: Any, axis: int, marks: list[Mark | None]) -> None:
    """Read each row from where it is: those of an operand begin where the counts before it end."""
    name, kind, shape = node.output[0], walk.types[node.output[0]], walk.shape(node.output[0])
    rows = shape[axis]
    whole, flags = TensorKind(WHOLE, (rows,)), TensorKind(TensorProto.BOOL, (rows,))
    places = walk.number(f"{name}/places", list(range(rows)))
    total, first = walk.number("counts/none", [0]), 0
    for index, mark in enumerate(marks):
        extent = walk.shape(node.input[index])[axis]
        count = mark.count if mark is not None else walk.number(f"{name}/extent{index}", [extent])
        total = walk.counted(f"{name}/total{index}", "Add", total, count)
        first += extent
        if index + 1 == len(marks):
            break
        empty = walk.counted(f"{name}/gap{index}", "Sub", walk.number(f"{name}/first{index}", [first]), total)
        behind = walk.add(
            "GreaterOrEqual",
            [walk.number(f"{name}/rows", list(range(rows))), total],
            f"{name}/behind{index}",
            flags,
        )
        moved = walk.add(
            "Add", [walk.number(f"{name}/rows", list(range(rows))), empty], f"{name}/moved{index}", whole
        )
        places = walk.add("Where", [behind, moved, places], f"{name}/places{index}", whole)
    last = walk.number(f"{name}/last", [rows - 1])
    inside = walk.add("Min", [places, last], f"{name}/inside", whole)
    for index, mark in enumerate(marks):
        if mark is not None:
            node.input[index] = walk.filled(node.input[index], "zero")
    joined = f"{name}/joined"
    node.output[0] = joined
    walk.declare(joined, kind)
    gathered = helper.make_node("Gather", [joined, inside], [name], name=f"{name}/together", axis=axis)
    walk.bound(gathered, 0, axis, total)
    walk.after.insert(0, gathered)
