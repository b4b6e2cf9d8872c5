"""Ensembles of trees: each row goes from the root of every tree to a leaf, whose scores are joined.

A tree is a loop over tables, without recursion; the order of additions is that of the trees.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.ir.loop_work import turning
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import local

_FLOAT = "float32"
_MODES = (
    lambda value, limit: value <= limit,
    lambda value, limit: value < limit,
    lambda value, limit: value >= limit,
    lambda value, limit: value > limit,
    tirx.EQ,
    tirx.NE,
)


def _forest(node: Node) -> Any:
    rows, targets = node.integer("rows", 1), node.integer("targets", 1)
    aggregate = node.text("aggregate", "SUM", ("SUM", "AVERAGE", "MIN", "MAX"))
    modes = [int(each) for each in node.constant(3, "modes")]  # type: ignore[union-attr]
    inner, trees = node.shape(1)[0], node.shape(7)[0]
    depth, entries = _averages(*(node.constant(number, "tables") for number in (5, 6, 7, 8)))
    tracks = (node.shape(4)[0] == inner and inner > 1) or bool(node.constant(4, "missing").any())  # type: ignore[union-attr]

    def body(out: Any, x: Any, *tables: Any) -> None:
        features, values, kinds, missing, yes, no, roots, firsts, places, weights = tables
        here = local("here", (1,), "int32")

        def goes(value: Any) -> Any:
            """Whether the row goes to the first side of a node."""
            several = kinds[here[0]].astype("int32") if len(modes) > 1 else None
            found = _compared(value, values[here[0]], modes, several)
            if not tracks:
                return found
            return tirx.any(found, tirx.all(tirx.isnan(value), missing[here[0]].astype("int32") != 0))

        with ib.serial(0, rows) as row:
            with ib.serial(0, targets) as target:
                ib.buffer_store(out, tirx.const(_START[aggregate], _FLOAT), [row, target])
            with ib.serial(0, trees) as tree:
                ib.buffer_store(here, roots[tree].astype("int32"), [0])
                with turning(depth), ib.While(here[0] < inner):
                    value = x[row, features[here[0]].astype("int32")]
                    sides = (yes[here[0]].astype("int32"), no[here[0]].astype("int32"))
                    ib.buffer_store(here, tirx.Select(goes(value), *sides), [0])
                ib.buffer_store(here, here[0] - inner, [0])
                first = firsts[here[0]].astype("int32")
                with turning(entries), ib.serial(0, firsts[here[0] + 1].astype("int32") - first) as entry:
                    at = [row, places[first + entry].astype("int32")]
                    ib.buffer_store(out, _joined(aggregate, out[at], weights[first + entry]), at)
            if aggregate == "AVERAGE":
                with ib.serial(0, targets) as target:
                    mean = out[row, target] / tirx.const(float(trees), _FLOAT)
                    ib.buffer_store(out, mean, [row, target])

    return node.written((rows, targets), _FLOAT, body, *(node.operand(each) for each in range(11)))


def _averages(*tables: Any) -> tuple[float, float]:
    """The nodes of a tree that a row visits, and the scores that it takes from its leaf, on average where
    each side of a node is as likely as the other. `tables` are the first and the second side of the nodes,
    the roots, and the first score of each leaf.
    """
    yes, no, roots, firsts = (np.asarray(table, np.int64) for table in tables)
    inner, counts = len(yes), np.diff(firsts)
    places, chances = roots, np.full(len(roots), 1.0 / len(roots))
    depth = entries = 0.0
    while len(places):
        inside = places < inner
        entries += float(np.sum(chances[~inside] * counts[places[~inside] - inner]))
        nodes, halves = places[inside], chances[inside] / 2
        depth += 2 * float(np.sum(halves))
        places, chances = np.concatenate((yes[nodes], no[nodes])), np.concatenate((halves, halves))
    return depth, entries


_START = {"SUM": 0.0, "AVERAGE": 0.0, "MIN": float("inf"), "MAX": float("-inf")}


def _compared(value: Any, limit: Any, modes: Sequence[int], several: Any) -> Any:
    """The comparison of a node; of several modes the one that its table says."""
    if several is None:
        return _MODES[modes[0]](value, limit)
    used = sorted({*modes})
    found = _MODES[used[-1]](value, limit)
    for mode in reversed(used[:-1]):
        found = tirx.Select(tirx.EQ(several, tirx.const(mode, "int32")), _MODES[mode](value, limit), found)
    return found


def _joined(aggregate: str, total: Any, weight: Any) -> Any:
    if aggregate == "MIN":
        return tirx.min(total, weight)
    return tirx.max(total, weight) if aggregate == "MAX" else total + weight


CONVERTERS: Mapping[str, Converter] = {"Forest": converter(_forest, "aggregate rows targets")}
