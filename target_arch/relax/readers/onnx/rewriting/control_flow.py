"""Branches and loops whose course is known before the model runs become the operators inside.

So do branches with a computed condition whose results have one shape: both are computed, and one is selected.
Of others, `Course` says which inputs they are chosen by.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from target_arch.relax.readers.onnx.rewriting.graph import (
    ONNX_DOMAINS,
    OnnxGraph,
    TensorKind,
    array_of,
    opset_of,
    rename,
    replace,
)
from target_arch.relax.readers.onnx.rewriting.opset import BATCHED_SCAN
from target_arch.relax.readers.onnx.rewriting.trips import ENDLESS, counted_trips

_MOST_OPERATORS = 20_000
"""A loop that would become more operators stays one."""


def open_control_flow(graph: OnnxGraph) -> bool:
    """Replace every `If` with a constant condition by its branch, and every `Loop` whose trips follow from
    constants, and every `Scan`, by its iterations. True where there was one.
    """
    constants, types = graph.constants(), graph.types()
    nodes: list[Any] = []
    for node in graph.model.graph.node:
        nodes += _opened(graph, node, constants, types) or (node,)
    if len(nodes) == len(graph.model.graph.node) and all(map(_is, nodes, graph.model.graph.node)):
        return False
    replace(graph.model.graph.node, nodes)
    return True


def _is(one: Any, other: Any) -> bool:
    return one is other


def _opened(
    graph: OnnxGraph, node: Any, constants: Mapping[str, Any], types: Mapping[str, TensorKind]
) -> list[Any] | None:
    if node.domain not in ONNX_DOMAINS:
        return None
    if node.op_type == "If" and node.input[0] in constants:
        wanted = "then_branch" if np.all(array_of(constants[node.input[0]])) else "else_branch"
        return _branch(graph, node, _attribute(node, wanted))
    if node.op_type == "If":
        return _selected(graph, node, types, constants)
    if node.op_type == "Loop":
        return _iterations(graph, node, constants)
    if node.op_type == "Scan" and opset_of(graph.model) > BATCHED_SCAN:
        return _scanned(graph, node, types)
    return None


def _branch(graph: OnnxGraph, node: Any, body: Any) -> list[Any]:
    nodes, results = _inlined(graph, body, f"{node.output[0]}/", {})
    return nodes + [_same(result, name) for result, name in zip(results, node.output, strict=True) if name]


def _selected(
    graph: OnnxGraph, node: Any, types: Mapping[str, TensorKind], constants: Mapping[str, Any]
) -> list[Any] | None:
    """Both branches, and operators that select each result by the condition; None where they cannot both be
    computed.

    Shape inference gives a result a shape of numbers where both branches have it.
    """
    bodies = {name: _attribute(node, f"{name}_branch") for name in ("then", "else")}
    shapes = [types[name].shape if name in types else None for name in node.output if name]
    condition = types.get(node.input[0])
    known = condition is not None and condition.shape is not None and None not in shapes
    if not known or any(not _is_total(body, constants) for body in bodies.values()):
        return None
    first = node.output[0]
    nodes = [helper.make_node("Squeeze", [node.input[0]], [f"{first}/condition"])]
    results = []
    for name, body in bodies.items():
        inside, found = _inlined(graph, body, f"{first}/{name}/", {})
        nodes += inside
        results.append(found)
    return nodes + [
        helper.make_node("Where", [f"{first}/condition", one, other], [name])
        for one, other, name in zip(*results, node.output, strict=True)
        if name
    ]


_PARTIAL = ("Gather", "GatherElements", "GatherND", "Mod", "ScatterElements", "ScatterND")
"""Operators that are undefined for some operands: a branch may be there to avoid them."""


def _is_total(body: Any, constants: Mapping[str, Any]) -> bool:
    """Whether a branch may be computed where it is not taken: nothing in it can fail, and no loop need not
    end. Only a division of integers fails among the divisions.
    """
    real = {
        value.name
        for value in (*body.value_info, *body.output)
        if value.type.tensor_type.elem_type in (TensorProto.FLOAT, TensorProto.FLOAT16)
    }
    fixed = {value.name for value in body.initializer}
    fixed |= {name for node in body.node if node.op_type == "Constant" for name in node.output}

    def is_total(node: Any) -> bool:
        if node.op_type == "Loop":
            return node.input[0] in fixed or node.input[0] in constants
        if node.op_type in _PARTIAL:
            return node.input[1] in fixed
        return node.op_type != "Div" or node.output[0] in real

    return all(map(is_total, body.node))


def _trips(graph: OnnxGraph, node: Any, constants: Mapping[str, Any]) -> int | None:
    """How often a loop runs; None where that is not known, or it would become too many operators."""
    count, start = node.input[:2]
    if (count and count not in constants) or (start and not _is_true(constants, start)):
        return None
    if count and prod(constants[count].dims) != 1:
        return None
    body, limit = _attribute(node, "body"), int(array_of(constants[count]).item()) if count else ENDLESS
    allowed = _MOST_OPERATORS // max(1, len(body.node))
    if limit > 0 and _goes_on(body, constants):
        return limit if limit <= allowed else None
    return counted_trips(node, constants, opset_of(graph.model), limit, allowed) if limit > 0 else None


def _is_true(constants: Mapping[str, Any], name: str) -> bool:
    return name in constants and bool(np.all(array_of(constants[name])))


def _iterations(graph: OnnxGraph, node: Any, constants: Mapping[str, Any]) -> list[Any] | None:
    """The operators of all iterations, and those that join the values of each."""
    body, trips = _attribute(node, "body"), _trips(graph, node, constants)
    if trips is None:
        return None
    carried = list(node.input[2:])
    given: list[list[str]] = []
    nodes: list[Any] = []
    for number in range(trips):
        prefix = f"{node.output[0]}/{number}/"
        count, goes = f"{prefix}iteration", f"{prefix}condition"
        graph.add(helper.make_tensor(count, 7, (), [number]))
        graph.add(helper.make_tensor(goes, 9, (), [True]))
        bound = dict(zip((value.name for value in body.input), (count, goes, *carried), strict=True))
        inside, results = _inlined(graph, body, prefix, bound)
        nodes += inside
        carried, more = results[1 : 1 + len(carried)], results[1 + len(carried) :]
        given.append(more)
    ends = [_same(result, name) for result, name in zip(carried, node.output, strict=False) if name]
    further = len(node.output) - len(carried)
    return nodes + ends + _joined(graph, node, len(carried), given, [0] * further, [0] * further)


def _scanned(graph: OnnxGraph, node: Any, types: Mapping[str, TensorKind]) -> list[Any] | None:
    """The operators of a `Scan`: each iteration takes a slice of every scanned input."""
    body, settings = _attribute(node, "body"), {each.name: list(each.ints) for each in node.attribute}
    count = next(each.i for each in node.attribute if each.name == "num_scan_inputs")
    states, scanned = list(node.input)[:-count], list(node.input)[-count:]
    axes = settings.get("scan_input_axes", [0] * count)
    backwards = settings.get("scan_input_directions", [0] * count)
    shapes = [types[name].shape if name in types else None for name in scanned]
    if any(shape is None for shape in shapes):
        return None
    trips = min(shape[axis] for shape, axis in zip(shapes, axes, strict=True) if shape is not None)
    if not 0 < trips <= _MOST_OPERATORS // max(1, len(body.node)):
        return None
    nodes: list[Any] = []
    given: list[list[str]] = []
    for number in range(trips):
        prefix = f"{node.output[0]}/{number}/"
        slices = [f"{prefix}slice{index}" for index in range(count)]
        for name, part, axis, back in zip(scanned, slices, axes, backwards, strict=True):
            place = f"{part}/place"
            graph.add(helper.make_tensor(place, 7, (), [trips - 1 - number if back else number]))
            nodes.append(helper.make_node("Gather", [name, place], [part], axis=axis))
        bound = dict(zip((value.name for value in body.input), (*states, *slices), strict=True))
        inside, results = _inlined(graph, body, prefix, bound)
        nodes += inside
        states, more = results[: len(states)], results[len(states) :]
        given.append(more)
    ends = [_same(result, name) for result, name in zip(states, node.output, strict=False) if name]
    outputs = len(node.output) - len(states)
    joined = _joined(
        graph,
        node,
        len(states),
        given,
        settings.get("scan_output_axes", [0] * outputs),
        settings.get("scan_output_directions", [0] * outputs),
    )
    return nodes + ends + joined


def _joined(
    graph: OnnxGraph,
    node: Any,
    first: int,
    given: list[list[str]],
    axes: Sequence[int],
    backwards: Sequence[int],
) -> list[Any]:
    """Operators that stack the values of the iterations for each further output, in a new dimension `axes` of
    it, or `backwards` from the last iteration on.
    """
    nodes = []
    for index, name in enumerate(node.output[first:]):
        if not name:
            continue
        place = f"{name}/axes"
        graph.add(helper.make_tensor(place, 7, (1,), [axes[index]]))
        parts = [f"{name}/{number}/part" for number in range(len(given))]
        for part, values in zip(parts, given, strict=True):
            nodes.append(helper.make_node("Unsqueeze", [values[index], place], [part]))
        ordered = parts[::-1] if backwards[index] else parts
        nodes.append(helper.make_node("Concat", ordered, [name], axis=axes[index]))
    return nodes


def _goes_on(body: Any, constants: Mapping[str, Any]) -> bool:
    """Whether the condition that a body gives is always true, or the one that it was given."""
    name = body.output[0].name
    known = dict(constants) | {value.name: value for value in body.initializer}
    for node in reversed(body.node):
        if name in node.output and node.op_type == "Identity":
            name = node.input[0]
        elif name in node.output and node.op_type == "Constant" and node.attribute[0].name == "value":
            return bool(np.all(array_of(node.attribute[0].t)))
    return name == body.input[1].name or _is_true(known, name)


def _inlined(
    graph: OnnxGraph, body: Any, prefix: str, bound: Mapping[str, str]
) -> tuple[list[Any], list[str]]:
    """The operators of a body under names of their own, and the names of its results."""
    made = [name for node in body.node for name in node.output if name]
    names = {name: prefix + name for name in (*made, *(value.name for value in body.initializer))}
    names |= bound
    for value in body.initializer:
        copy = type(value)()
        copy.CopyFrom(value)
        copy.name = names[value.name]
        graph.add(copy)
    nodes = []
    for node in body.node:
        copy = type(node)()
        copy.CopyFrom(node)
        rename(copy, names)
        nodes.append(copy)
    return nodes, [names.get(value.name, value.name) for value in body.output]


def _same(source: str, name: str) -> Any:
    return helper.make_node("Identity", [source], [name])


def _attribute(node: Any, name: str) -> Any:
    return next(attribute.g for attribute in node.attribute if attribute.name == name)


class Course:
    """The operators of a graph by their results, and the inputs that they follow from."""

    def __init__(self, graph: Any, types: Mapping[str, TensorKind]) -> None:
        self._makers = {name: node for node in graph.node for name in node.output if name}
        self._inputs = {value.name for value in graph.input}
        self._types = types

    def deciding(self, node: Any) -> tuple[str, ...]:
        """The inputs that decide the course of a branch or loop; none where one has several elements."""
        if node.domain not in ONNX_DOMAINS or node.op_type not in ("If", "Loop"):
            return ()
        deciding = sorted(set(self._deciding(node.input[0])))
        if not deciding or not all(map(self._is_single, deciding)):
            return ()
        return tuple(deciding)

    def _deciding(self, name: str) -> Iterator[str]:
        """The inputs of the model that a tensor is computed from."""
        waiting, seen = [name], set[str]()
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if one in self._inputs:
                yield one
            if one in self._makers:
                waiting += [each for each in self._makers[one].input if each]

    def _is_single(self, name: str) -> bool:
        kind = self._types.get(name)
        return kind is not None and kind.shape is not None and prod(kind.shape) == 1
