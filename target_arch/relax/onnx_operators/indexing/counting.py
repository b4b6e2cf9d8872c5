"""TfIdfVectorizer: how often each pattern of a pool occurs in a sequence of whole numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from tvm import tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import Array, NotConverted, constant, local


@frozen(kw_only=True)
class _Pattern:
    """Numbers in a row, the place of their count in the result, and their weight."""

    numbers: tuple[int, ...]
    place: int
    weight: float


def _tf_idf(node: Node) -> Any:
    """Skips of 0 to `max_skip_count` elements between those of a pattern; a single element has no skips."""
    shape = node.shape(0)
    if not node.dtype(0).startswith("int") or "pool_strings" in node.attributes:
        raise NotConverted("its elements are no whole numbers")
    mode = node.text("mode", "TF", ("TF", "IDF", "TFIDF"))
    patterns = [
        each
        for each in _patterns(node)
        if node.integer("min_gram_length", 1) <= len(each.numbers) <= node.integer("max_gram_length", 1)
    ]
    places = [each.place for each in patterns]
    if mode != "TF" and len({*places}) < len(places):
        raise NotConverted("patterns with one place have weights of their own")
    rows, length = (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])
    outputs = max(int(each) for each in node.attributes["ngram_indexes"]) + 1
    skips = node.integer("max_skip_count", 0)

    def body(out: Any, x: Any, numbers: Any, weights: Any) -> None:
        count = local("count", (1,), "int32")
        with ib.grid(rows, outputs) as (row, place):
            ib.buffer_store(out, tirx.const(0.0, "float32"), [row, place])
        start = 0
        for index, pattern in enumerate(patterns):
            size = len(pattern.numbers)
            with ib.grid(rows, 1) as (row, _):
                ib.buffer_store(count, tirx.const(0, "int32"), [0])
                for skip in range(1, skips + 2 if size > 1 else 2):
                    _count(count, x, row, [numbers[start + each] for each in range(size)], length, skip)
                counted = out[row, pattern.place] + _weighted(count[0], weights[index], mode)
                ib.buffer_store(out, counted, [row, pattern.place])
            start += size

    pool = np.array([number for each in patterns for number in each.numbers] or [0])
    weights: Array = np.array([each.weight for each in patterns] or [0.0])
    tables = (constant(pool, node.dtype(0)), constant(weights, "float32"))
    flat = node.reshaped(node.operand(0), (rows, length))
    made = node.written((rows, outputs), "float32", body, flat, *tables)
    return made if len(shape) > 1 else node.reshaped(made, (outputs,))


def _count(count: Any, x: Any, row: Any, pattern: Sequence[Any], length: int, step: int) -> None:
    """Add how often a pattern occurs with its elements `step` apart."""
    span = (len(pattern) - 1) * step
    if span >= length:
        return
    with ib.serial(0, length - span) as first:
        found = [x[row, first + each * step] == number for each, number in enumerate(pattern)]
        with ib.If(tirx.all(*found)), ib.Then():
            ib.buffer_store(count, count[0] + 1, [0])


def _weighted(count: Any, weight: Any, mode: str) -> Any:
    number = count.astype("float32")
    if mode == "TF":
        return number
    if mode == "TFIDF":
        return number * weight
    return tirx.Select(count > 0, weight, tirx.const(0.0, "float32"))


def _patterns(node: Node) -> Sequence[_Pattern]:
    pool = [int(each) for each in node.attributes["pool_int64s"]]
    starts = [int(each) for each in node.attributes["ngram_counts"]]
    places = [int(each) for each in node.attributes["ngram_indexes"]]
    weights = [float(each) for each in node.attributes.get("weights", [1.0] * len(places))]
    found: list[_Pattern] = []
    for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        for first in range(start, end, size):
            numbers = tuple(pool[first : first + size])
            place, weight = places[len(found)], weights[len(found)]
            found.append(_Pattern(numbers=numbers, place=place, weight=weight))
    return found


CONVERTERS: Mapping[str, Converter] = {
    "TfIdfVectorizer": converter(
        _tf_idf,
        "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s"
        " pool_strings weights",
    ),
}
