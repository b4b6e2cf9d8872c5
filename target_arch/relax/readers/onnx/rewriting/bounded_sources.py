"""Operators whose results have a size that depends on values, as operators of ours of the largest size."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from onnx import helper

from target_arch.relax.readers.onnx.rewriting.bodies import OWN_DOMAIN
from target_arch.relax.readers.onnx.rewriting.bounded_marks import (
    BOUNDED,
    FILLED,
    WHOLE,
    Mark,
    Rule,
    Walk,
    attribute,
    axis_of,
)
from target_arch.relax.readers.onnx.rewriting.bounded_sizes import clipped, sizes_of
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, OnnxGraph, TensorKind, reads, replace
from target_arch.relax.site import NotConverted

SUPPRESSION, NON_ZERO, UNIQUE = "NonMaxSuppression", "NonZero", "Unique"
BOUNDED_RESULTS = (SUPPRESSION, NON_ZERO, UNIQUE, FILLED)
"""Names of ONNX's operators, and of ours of the largest size, which write a count, too."""


def _own(walk: Walk, node: Any, name: str, kinds: list[TensorKind]) -> list[str]:
    """Make an operator one of ours; the names of what it writes: what it wrote, and a count."""
    node.name = node.name or node.output[0]
    written = [f"{node.output[0]}/{index}" for index in range(len(kinds))]
    node.op_type, node.domain = name, OWN_DOMAIN
    del node.output[:]
    node.output.extend(written)
    for each, kind in zip(written, kinds, strict=True):
        walk.declare(each, kind)
    walk.changed = True
    return written


def _passed(walk: Walk, whole: str, name: str, kind: TensorKind, axis: int, count: str) -> None:
    """Give a name of the file to a result of ours, with its mark."""
    walk.declare(name, kind)
    walk.after.append(
        helper.make_node(BOUNDED, [whole, count], [name], name=name, domain=OWN_DOMAIN, axis=axis)
    )


def _suppression(walk: Walk, node: Any) -> None:
    """Boxes that stay: up to as many of each class of an image as there are, or as may be."""
    name = node.output[0]
    boxes, scores = (walk.shape(node.input[index]) for index in (0, 1))
    if len(boxes) != 3 or len(scores) != 3:
        raise NotConverted("its boxes and scores must have three dimensions")
    most = walk.constant(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(1)
    largest = boxes[1] if most is None else min(boxes[1], int(most.reshape(-1)[0]))
    if largest < 1:
        raise NotConverted("its result has no elements")
    bound = scores[0] * scores[1] * largest
    for index, axis in ((0, 1), (1, 2)):
        mark = walk.marks.get(node.input[index])
        if mark is not None and mark.axis != axis:
            raise NotConverted("its images or classes have a size that depends on values")
    mark = walk.marks.get(node.input[1], walk.marks.get(node.input[0]))
    given = [*node.input, *[""] * (5 - len(node.input))]
    del node.input[:]
    node.input.extend([*given, mark.count] if mark is not None else given)
    node.attribute.append(helper.make_attribute("rows", bound))
    kinds = [TensorKind(WHOLE, (bound, 3)), TensorKind(WHOLE, (1,))]
    whole, count = _own(walk, node, SUPPRESSION, kinds)
    _passed(walk, whole, name, kinds[0], 0, count)


def _non_zero(walk: Walk, node: Any) -> None:
    """The places of elements that are not zero, up to all."""
    name, shape = node.output[0], walk.shape(node.input[0])
    if not shape:
        raise NotConverted("its operand has no dimensions")
    if node.input[0] in walk.marks:
        node.input[0] = walk.filled(node.input[0], "zero")
    kinds = [TensorKind(WHOLE, (len(shape), prod(shape))), TensorKind(WHOLE, (1,))]
    whole, count = _own(walk, node, NON_ZERO, kinds)
    _passed(walk, whole, name, kinds[0], 1, count)


def _unique(walk: Walk, node: Any) -> None:
    """Different elements, or slices; with the first place of each, the number of each element's, and how
    often each is there.
    """
    if node.input[0] in walk.marks:
        raise NotConverted("its operand has a size that depends on values")
    kind, shape = walk.types[node.input[0]], walk.shape(node.input[0])
    names = [*node.output, *[""] * (4 - len(node.output))]
    axis = attribute(node, "axis", None)
    x = node.input[0]
    if axis is None:
        flat = TensorKind(kind.elements, (prod(shape),))
        x = walk.add("Reshape", [x, walk.number("counts/flat", [-1])], f"{x}/flat", flat)
        shape, axis = flat.shape or (), 0
    axis %= len(shape)
    node.input[0] = x
    attributes = {"axis": axis, "sorted": attribute(node, "sorted", 1)}
    del node.attribute[:]
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    one = TensorKind(WHOLE, (shape[axis],))
    first, numbers, often, count = _own(walk, node, UNIQUE, [one, one, one, TensorKind(WHOLE, (1,))])
    whole = f"{first}/elements"
    walk.after.append(helper.make_node("Gather", [x, first], [whole], name=whole, axis=axis))
    walk.declare(whole, TensorKind(kind.elements, shape))
    _passed(walk, whole, names[0], TensorKind(kind.elements, shape), axis, count)
    for ours, name in ((first, names[1]), (often, names[3])):
        if name:
            _passed(walk, ours, name, one, 0, count)
    if names[2]:
        walk.declare(names[2], one)
        walk.after.append(helper.make_node("Identity", [numbers], [names[2]], name=names[2]))


def _compress(walk: Walk, node: Any) -> None:
    """The elements at the places where a condition holds: those that are not zero."""
    x, condition, name = node.input[0], node.input[1], node.output[0]
    if walk.constant(condition) is not None and x not in walk.marks:
        return
    kind, shape = walk.types[x], walk.shape(x)
    if "axis" in {each.name for each in node.attribute}:
        axis = axis_of(node, len(shape), 0)
    elif x in walk.marks:
        raise NotConverted("its operand has a size that depends on values")
    else:
        flat = TensorKind(kind.elements, (prod(shape),))
        x = walk.add("Reshape", [x, walk.number("counts/flat", [-1])], f"{x}/flat", flat)
        shape, axis = flat.shape or (), 0
    mark = walk.marks.get(x)
    if mark is not None and (
        mark.axis != axis or walk.marks.get(condition) != Mark(axis=0, count=mark.count)
    ):
        raise NotConverted("its condition has another size than its elements")
    if condition in walk.marks:
        condition = walk.filled(condition, "zero")
    extent = walk.shape(condition)[0]
    if extent > shape[axis]:
        raise NotConverted("its condition is longer than the axis")
    places, count = f"{name}/places", f"{name}/count"
    found = helper.make_node(NON_ZERO, [condition], [places, count], name=places, domain=OWN_DOMAIN)
    walk.nodes.append(found)
    walk.declare(places, TensorKind(WHOLE, (1, extent)))
    walk.declare(count, TensorKind(WHOLE, (1,)))
    row = walk.add(
        "Reshape", [places, walk.number("counts/flat", [-1])], f"{name}/row", TensorKind(WHOLE, (extent,))
    )
    node.op_type = "Gather"
    del node.attribute[:]
    del node.input[:]
    node.attribute.append(helper.make_attribute("axis", axis))
    node.input.extend([x, row])
    walk.declare(name, TensorKind(kind.elements, (*shape[:axis], extent, *shape[axis + 1 :])))
    walk.bound(node, 0, axis, count)


def _top_k(walk: Walk, node: Any) -> None:
    """The largest elements, as many as a number says that is computed."""
    x, k = node.input[0], node.input[1]
    kind, shape = walk.types[x], walk.shape(x)
    axis = axis_of(node, len(shape), -1)
    mark = walk.marks.get(x)
    if mark is not None and mark.axis != axis and walk.constant(k) is None:
        raise NotConverted("two of its dimensions depend on values")
    if mark is not None and mark.axis == axis:
        lowest = "lowest" if attribute(node, "largest", 1) else "highest"
        node.input[0] = walk.filled(x, lowest)
    if walk.constant(k) is not None:
        walk.marks.update({name: mark for name in node.output if mark is not None and mark.axis != axis})
        return
    sizes = sizes_of(walk, k)
    bound = shape[axis] if sizes is None else min(shape[axis], sizes.reshape(-1)[0].largest)
    if bound < 1:
        raise NotConverted("its result has no elements")
    size = None if sizes is None else sizes.reshape(-1)[0]
    if size is not None and size.count and size.largest == bound:
        count = size.count
    else:
        flat = walk.add(
            "Reshape", [k, walk.number("counts/flat", [-1])], f"{node.output[0]}/k", TensorKind(WHOLE, (1,))
        )
        count = clipped(walk, flat, bound, f"{node.output[0]}/count")
    node.input[1] = walk.number(f"{node.output[0]}/most", [bound])
    found = (*shape[:axis], bound, *shape[axis + 1 :])
    for index, elements in enumerate((kind.elements, WHOLE)):
        if index < len(node.output) and node.output[index]:
            walk.declare(node.output[index], TensorKind(elements, found))
            walk.bound(node, index, axis, count)


SOURCES: Mapping[str, Rule] = {
    SUPPRESSION: _suppression,
    NON_ZERO: _non_zero,
    UNIQUE: _unique,
    "Compress": _compress,
    "TopK": _top_k,
}
"""Operators that begin an axis of which a count says how much there is."""


def forget_sizes(graph: OnnxGraph) -> None:
    """Forget the extents that a file states of tensors behind such operators: those of one run of it."""
    reached: set[str] = set()
    known = {*graph.constants()}
    for node in graph.model.graph.node:
        if node.op_type == "Constant":
            known.update(node.output)
        begins = node.domain in ONNX_DOMAINS and node.op_type in SOURCES
        if begins and node.op_type in ("Compress", "TopK"):
            begins = len(node.input) > 1 and node.input[1] not in known
        if begins or any(name in reached for name in reads(node)):
            reached.update(filter(None, node.output))
    content = graph.model.graph
    replace(content.value_info, [value for value in content.value_info if value.name not in reached])
    for value in content.output:
        if value.name in reached and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
