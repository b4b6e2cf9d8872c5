"""Results whose size depends on values, as arrays of their largest size with a count: from the operators that
give them to those that read them, in order.

`bounded_marks.py` has the value; sources (`bounded_sources.py`) become operators of ours, rules
(`bounded_rules.py`, `bounded_extents.py`, `bounded_joining.py`) say which axis of what an operator writes has
the count of which axis that it reads, `bounded_sizes.py` which extents are counts. `bounded_results.py` ends
it.
"""

from typing import Any

import numpy as np
from onnx import helper

from target_arch.relax.readers.onnx.rewriting.bodies import OWN_DOMAIN
from target_arch.relax.readers.onnx.rewriting.bounded_marks import (
    BOUNDED,
    Mark,
    Size,
    UnknownShape,
    Walk,
    attribute,
)
from target_arch.relax.readers.onnx.rewriting.bounded_rules import BY_SIZES, RULES
from target_arch.relax.readers.onnx.rewriting.bounded_sizes import note_sizes
from target_arch.relax.readers.onnx.rewriting.bounded_sources import SOURCES
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, OnnxGraph, reads, replace
from target_arch.relax.site import NotConverted


def bound_results(graph: OnnxGraph) -> bool:
    """Make the results of such operators arrays of their largest size, as far as types are known. True where
    anything changed.
    """
    walk, _ = walked(graph)
    graph.unclear = walk.unclear
    if walk.changed:
        replace(graph.model.graph.node, walk.nodes)
        if all(each.domain != OWN_DOMAIN for each in graph.model.opset_import):
            graph.model.opset_import.append(helper.make_opsetid(OWN_DOMAIN, 1))
    return walk.changed


def has_bounds(graph: OnnxGraph) -> bool:
    """Whether an operator gives results whose size may depend on values."""
    return any(node.op_type in SOURCES or node.domain == OWN_DOMAIN for node in graph.model.graph.node)


def walked(graph: OnnxGraph) -> tuple[Walk, dict[str, str]]:
    """The walk over all operators, and why some cannot read a tensor with a count, by their first results."""
    walk, refused = Walk.over(graph), dict[str, str]()
    if not has_bounds(graph):
        return walk, refused
    for original in graph.model.graph.node:
        if any(name in walk.written for name in original.output):
            continue
        node = type(original)()
        node.CopyFrom(original)
        place = len(walk.nodes)
        try:
            _step(walk, node)
        except NotConverted as reason:
            if not isinstance(reason, UnknownShape):
                refused[original.output[0]] = str(reason)
            walk.drop(place)
            node = original
            walk.unclear.update(filter(None, node.output))
        if any(name in walk.unclear for name in reads(node)):
            walk.unclear.update(filter(None, node.output))
        place = len(walk.nodes)
        walk.put(node)
        for each in walk.nodes[place:]:
            if each.domain == OWN_DOMAIN and each.op_type == BOUNDED:
                _marked(walk, each)
    return walk, refused


def _step(walk: Walk, node: Any) -> None:
    if node.domain not in (*ONNX_DOMAINS, OWN_DOMAIN):
        _require_plain(walk, node)
        return
    if node.domain == OWN_DOMAIN:
        return
    if any(name and name not in walk.types for name in node.input):
        return
    note_sizes(walk, node)
    if node.op_type in SOURCES:
        if all(walk.types[name].shape is not None for name in node.input if name):
            SOURCES[node.op_type](walk, node)
        return
    read = [name for name in reads(node) if name in walk.marks]
    by_sizes = node.op_type in BY_SIZES and any(_moves(walk, name) for name in node.input)
    if not read and not by_sizes:
        return
    rule = RULES.get(node.op_type) if read else BY_SIZES[node.op_type]
    if rule is None:
        raise NotConverted("it reads a tensor whose size depends on values")
    rule(walk, node)
    note_sizes(walk, node)


def _moves(walk: Walk, name: str) -> bool:
    """Whether some element of a tensor of shapes is a count."""
    return name in walk.sizes and any(not each.is_fixed for each in walk.sizes[name].reshape(-1))


def _require_plain(walk: Walk, node: Any) -> None:
    if any(name in walk.marks for name in reads(node)):
        raise NotConverted("it reads a tensor whose size depends on values")


def _marked(walk: Walk, node: Any) -> None:
    axis, (name, count) = int(attribute(node, "axis", 0)), node.input
    walk.marks[node.output[0]] = Mark(axis=axis, count=count)
    kind = walk.types.get(name)
    if kind is not None and kind.shape is not None:
        size = np.empty(1, object)
        size[0] = Size(largest=kind.shape[axis], count=count)
        walk.sizes[count] = size
