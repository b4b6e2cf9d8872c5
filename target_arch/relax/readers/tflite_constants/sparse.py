"""Sparse constants made dense, as by TFLite's DENSIFY (SparsityParameters in its schema)."""

from typing import Any

import numpy as np
import tflite

Array = np.ndarray[Any, Any]

_VECTORS = {
    tflite.SparseIndexVector.Int32Vector: tflite.Int32Vector,
    tflite.SparseIndexVector.Uint16Vector: tflite.Uint16Vector,
    tflite.SparseIndexVector.Uint8Vector: tflite.Uint8Vector,
}


def dense(tensor: Any, values: Array, shape: tuple[int, ...]) -> Array:
    """The tensor with its stored `values` in their places and zeros elsewhere.

    The dimensions of `shape`, then those of its blocks, are walked in the order that the file states: each is
    whole, or lists the places that it has for every place of those before it. ValueError for a list that does
    not fit.
    """
    sparsity = tensor.Sparsity()
    order = [sparsity.TraversalOrder(level) for level in range(sparsity.TraversalOrderLength())]
    blocked = [sparsity.BlockMap(number) for number in range(sparsity.BlockMapLength())]
    places: dict[int, Array] = {}
    count = 1
    sizes: dict[int, int] = {}
    for level, dimension in enumerate(order):
        metadata = sparsity.DimMetadata(level)
        parents, own = _level(metadata, count)
        places = {known: place[parents] for known, place in places.items()} | {dimension: own}
        sizes[dimension], count = metadata.DenseSize(), len(own)
    if count != len(values):
        raise ValueError(f"{len(values)} values for {count} places")
    for number, dimension in enumerate(blocked):
        block = len(shape) + number
        places[dimension] = places[dimension] * sizes[block] + places[block]
    result = np.zeros(shape, values.dtype)
    result[tuple(places[dimension] for dimension in range(len(shape)))] = values
    return result


def _level(metadata: Any, count: int) -> tuple[Array, Array]:
    """For each place of a dimension, which place of those before it belongs to (of `count`), and its own."""
    if metadata.Format() == tflite.DimensionType.DENSE:
        size = metadata.DenseSize()
        return np.repeat(np.arange(count), size), np.tile(np.arange(size), count)
    segments = _numbers(metadata.ArraySegments(), metadata.ArraySegmentsType())
    indices = _numbers(metadata.ArrayIndices(), metadata.ArrayIndicesType())
    return np.repeat(np.arange(count), np.diff(segments)), indices


def _numbers(table: Any, kind: int) -> Array:
    vector = _VECTORS[kind]()
    vector.Init(table.Bytes, table.Pos)
    return np.asarray(vector.ValuesAsNumpy() if vector.ValuesLength() else (), np.int64)
