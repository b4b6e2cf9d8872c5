"""WHERE and UNIQUE: arrays of their largest size, with a count of what is there."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.loops.different import DifferentSlices
from target_arch.relax.loops.places import PlacesOfElements
from target_arch.relax.readers.tflite_operators.site import Converter, TFLiteOperator
from target_arch.relax.site import NotConverted, constant, filled


def where(site: TFLiteOperator) -> Any:
    """The places of elements that are not zero, a row for each."""
    shape = site.shape(0)
    if not prod(shape) or not shape:
        raise NotConverted("its operand has no elements" if shape else "its operand has no dimensions")
    kernel = PlacesOfElements(shape=shape, by_element=True)
    whole = site.written((kernel.size,), "int64", kernel.write, site.operand(0))
    site.counted(0, _part(site, whole, kernel.size - 1, kernel.size))
    return site.reshaped(_part(site, whole, 0, kernel.size - 1), kernel.rows)


def unique(site: TFLiteOperator) -> list[Any]:
    """The different elements in the order of their first places, and the number of each element's."""
    shape = site.shape(0)
    if len(shape) != 1 or not shape[0]:
        raise NotConverted("its operand has not one dimension with elements")
    (extent,) = filled(*shape)
    kernel = DifferentSlices(shape=shape, axis=0, is_sorted=False)
    whole = site.written((3 * extent + 1,), "int64", kernel.write, site.operand(0))
    count = _part(site, whole, 3 * extent, 3 * extent + 1)
    firsts = site.cast(_part(site, whole, 0, extent), "int32")
    elements = site.emit(relax.op.take(site.operand(0), firsts, 0))
    there = site.emit(relax.op.less(constant(np.arange(extent, dtype=np.int64)), count))
    zeros = constant(np.zeros(extent, dtype_of(elements)))
    site.counted(0, count)
    return [site.emit(relax.op.where(there, elements, zeros)), _part(site, whole, extent, 2 * extent)]


def _part(site: TFLiteOperator, whole: Any, first: int, end: int) -> Any:
    return site.emit(relax.op.strided_slice(whole, [0], [first], [end]))


CONVERTERS: Mapping[str, Converter] = {"WHERE": where, "UNIQUE": unique}
