"""A `Loop` whose trips are known only at run time: one function of C with its body (`relax.repeated`)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import evolve
from onnx import helper, numpy_helper
from tvm import relax, te, tirx
from tvm.ir import GenericConst

from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.graph import FileFacts, dtype_of, shape_of
from target_arch.relax.lower.lowering import lowered
from target_arch.relax.readers.onnx.rewriting.graph import reads
from target_arch.relax.readers.subprograms import NoSubprogram, subprogram
from target_arch.relax.repeated.call import NotRepeated, called
from target_arch.relax.repeated.loop import Loop
from target_arch.relax.repeated.straight import Placed, Straight
from target_arch.relax.site import NotConverted
from target_arch.relax.te.half import HALF

_ONE = (1, "int64")
_MOST, _NEXT, _GOES = "most trips", "next trip", "goes on"


def looped(
    node: Any, nodes: Mapping[str, Any], builder: Any, opset: int, read: Callable[[Any], tuple[Any, int]]
) -> list[Any]:
    """The results of a `Loop`, of the values by name that there are so far; `read` makes a Relax module of a
    model, and says how many results it has. Raises NotConverted.
    """
    body = next(attribute.g for attribute in node.attribute if attribute.name == "body")
    carried = [nodes[name] for name in node.input[2:]]
    if len(node.output) > len(carried):
        raise NotConverted("it collects a value of each trip, and their number is known only at run time")
    outside = {name: nodes[name] for name in _captured(body) if name in nodes}
    first = [relax.const(0, "int64"), _given(node, 1, nodes, relax.const(True, "bool")), *carried]
    most = _given(node, 0, nodes, relax.const(np.iinfo(np.int64).max, "int64"))
    moving = {name: value for name, value in outside.items() if not isinstance(value, GenericConst)}
    if HALF in {dtype_of(value) for value in (*first, *outside.values())}:
        raise NotConverted("its values are float16")
    trip = _functions(read(_model(body, first, outside, opset)))
    values = [*first, *moving.values(), most]
    if len(trip.inputs) != len(values) - 1:
        raise NotConverted("its body has another number of inputs")
    loop = _loop(trip, len(moving))
    try:
        return called(builder, relax.const(np.array([True])), loop, values)[2 : 2 + len(carried)]
    except NotRepeated as error:
        raise NotConverted(str(error)) from None


def _given(node: Any, index: int, nodes: Mapping[str, Any], otherwise: Any) -> Any:
    name = node.input[index] if index < len(node.input) else ""
    return nodes[name] if name else otherwise


def _captured(body: Any) -> list[str]:
    """The names that a body reads from outside."""
    inside = {value.name for value in (*body.input, *body.initializer)}
    found: dict[str, None] = {}
    for node in body.node:
        found |= {name: None for name in reads(node) if name not in inside}
        inside |= set(node.output)
    found |= {value.name: None for value in body.output if value.name not in inside}
    return list(found)


def _model(body: Any, first: list[Any], outside: Mapping[str, Any], opset: int) -> Any:
    """The body as a model; what it reads from outside are further inputs and constants."""
    empty = helper.make_graph([], "body", [], [])
    model = helper.make_model(empty, opset_imports=[helper.make_opsetid("", opset)])
    graph = model.graph
    graph.CopyFrom(body)
    del graph.input[:]
    del graph.value_info[:]
    for declared, value in zip(body.input, first, strict=True):
        graph.input.append(_declared(declared.name, value))
    for name, value in outside.items():
        if isinstance(value, GenericConst):
            graph.initializer.append(numpy_helper.from_array(value.value.numpy(), name))
        else:
            graph.input.append(_declared(name, value))
    return model


def _declared(name: str, value: Any) -> Any:
    elements = helper.np_dtype_to_tensor_dtype(np.dtype(dtype_of(value)))
    return helper.make_tensor_value_info(name, elements, list(shape_of(value)))


def _functions(read: tuple[Any, int]) -> Straight:
    module, results = read
    try:
        return subprogram("body", module, Arithmetic.ONNX, FileFacts(), results, halves=True)
    except NoSubprogram as error:
        raise NotConverted(str(error)) from None


def _loop(trip: Straight, captured: int) -> Loop:
    """The loop of a body: it counts its trips, and goes on while there are more and its condition holds."""
    count, goes, *_ = trip.inputs
    kept = trip.inputs[len(trip.inputs) - captured :] if captured else ()
    body = evolve(
        trip,
        inputs=(*trip.inputs, _MOST),
        outputs=(_NEXT, *trip.outputs, *kept, _MOST),
        calls=(*trip.calls, Placed(function=_counting(), tensors=(count, _NEXT))),
        sizes={**trip.sizes, _NEXT: _ONE, _MOST: _ONE},
    )
    condition = Straight(
        inputs=body.inputs,
        outputs=(_GOES,),
        calls=(Placed(function=_going(), tensors=(count, _MOST, goes, _GOES)),),
        constants={},
        sizes={**{name: body.sizes[name] for name in body.inputs}, _GOES: (1, "bool")},
    )
    return Loop(condition=condition, body=body)


def _counting() -> Any:
    count = te.placeholder((1,), "int64", "count")
    return _function(count, te.compute((1,), lambda i: count[i] + tirx.const(1, "int64"), name="more"))


def _going() -> Any:
    count, most = (te.placeholder((1,), "int64", name) for name in ("count", "most"))
    goes = te.placeholder((1,), "bool", "goes")
    further = te.compute((1,), lambda i: tirx.all(count[i] < most[i], goes[i]), name="further")
    return _function(count, most, goes, further)


def _function(*arguments: Any) -> Any:
    return lowered(te.create_prim_func(list(arguments)))
