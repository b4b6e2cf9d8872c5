"""How often a `Loop` runs whose condition counts: exporters write so what other formats call a while loop."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import frozen
from onnx import helper
from onnx.reference import ReferenceEvaluator

from target_arch.relax.readers.onnx.rewriting.folding import FAILURES, is_cheap
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, array_of, subgraphs

ENDLESS = 2**63 - 1
"""The trips of a loop that only its condition ends."""


def counted_trips(
    node: Any, constants: Mapping[str, Any], opset: int, limit: int, allowed: int
) -> int | None:
    """The trips of a loop of at most `limit`, where its condition follows from constants alone; None where it
    does not, or where there are more than `allowed`.
    """
    counter = _Counter.of(node, constants, opset)
    return None if counter is None else counter.trips(limit, allowed)


@frozen(kw_only=True, eq=False)
class _Counter:
    """The part of a loop's body from which its condition follows.

    Its inputs are the `number` of the trip, the condition that was `given`, and those that are `carried` on,
    each with the result that it gets; `started` are their first values.
    """

    evaluator: Any
    number: str
    given: str
    carried: Mapping[str, str]
    started: Mapping[str, Any]
    condition: str

    @classmethod
    def of(cls, node: Any, constants: Mapping[str, Any], opset: int) -> "_Counter | None":
        """None where the condition does not follow from constants."""
        body = next(subgraphs(node))
        number, given, *names = (value.name for value in body.input)
        condition, *results = (value.name for value in body.output)
        nexts = dict(zip(names, results, strict=False))
        starts = dict(zip(names, node.input[2:], strict=True))
        nodes, leaves = _behind(body, [condition], nexts)
        own = {value.name: value for value in body.initializer}
        carried = {name: nexts[name] for name in leaves if name in nexts}
        outer = [name for name in leaves if name not in (*nexts, number, given)]
        known = {**constants, **own}
        wanted = [*outer, *(starts[name] for name in carried)]
        if any(name not in known for name in wanted) or not all(map(is_cheap, nodes)):
            return None
        outputs = dict.fromkeys([condition, *carried.values()])
        graph = helper.make_graph(
            nodes,
            "counter",
            [helper.make_empty_tensor_value_info(name) for name in (number, given, *carried)],
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [known[name] for name in outer],
        )
        return cls(
            evaluator=ReferenceEvaluator(graph, opsets=dict.fromkeys(ONNX_DOMAINS, opset)),
            number=number,
            given=given,
            carried=carried,
            started={name: array_of(known[starts[name]]) for name in carried},
            condition=condition,
        )

    def trips(self, limit: int, allowed: int) -> int | None:
        """See `counted_trips`."""
        values = dict(self.started)
        for trip in range(min(limit, allowed)):
            try:
                fixed = {self.number: np.array(trip), self.given: np.array(True)}
                found = self.evaluator.run(None, {**fixed, **values})
            except FAILURES:
                return None
            results = dict(zip(self.evaluator.output_names, found, strict=True))
            if not np.all(results[self.condition]):
                return trip + 1
            values = {name: np.asarray(results[result]) for name, result in self.carried.items()}
        return limit if limit <= allowed else None


def _behind(body: Any, wanted: list[str], nexts: Mapping[str, str]) -> tuple[list[Any], list[str]]:
    """The operators that some results need, and the names they read that no operator writes; of an input that
    is carried on, the operators that give its next value, too.
    """
    writers = {name: node for node in body.node for name in node.output if name}
    needed: dict[str, None] = {}
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed[name] = None
            wanted += _reads(writers, name)
            wanted += [nexts[name]] if name in nexts else []
    nodes = [node for node in body.node if any(name in needed for name in node.output)]
    return nodes, [name for name in needed if name not in writers]


def _reads(writers: Mapping[str, Any], name: str) -> Iterator[str]:
    return (each for each in writers[name].input if each) if name in writers else iter(())
