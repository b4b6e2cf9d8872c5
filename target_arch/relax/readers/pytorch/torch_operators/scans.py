"""Sums, products and extrema of all elements up to each one along a dimension."""

import operator as operators
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.pytorch.torch_operators.call import Convert, TorchCall
from target_arch.relax.site import NotConverted, within
from target_arch.relax.te.loops import running


def _running(call: TorchCall, *, start: int, combine: Callable[[Any, Any], Any]) -> Any:
    """The elements up to each one, combined."""
    x = call.cast(call.argument("self"), call.result_dtype())
    shape = shape_of(x)
    if not shape:
        return x
    axis = call.argument("dim") % len(shape)
    body = running(shape, axis, start, combine, exclusive=False, reverse=False)
    return call.written(shape, call.result_dtype(), body, x)


def _added_logarithms(one: Any, other: Any) -> Any:
    """The logarithm of the sum of two exponentials."""
    low, high = tirx.min(one, other), tirx.max(one, other)
    apart = tirx.Select(low == high, tirx.const(0, "float32"), low - high)
    return high + tirx.log1p(tirx.exp(apart))


def _running_extremum(call: TorchCall, *, better: Callable[[Any, Any], Any]) -> Any:
    """With its place, the last of equal ones; what is no number stays."""
    x = call.argument("self")
    shape, dtype = shape_of(x), dtype_of(x)
    if not shape or dtype == "bool":
        raise NotConverted("a tensor without dimensions" if not shape else "its elements are bool")
    axis = call.argument("dim") % len(shape)

    def body(out: Any, data: Any) -> None:
        with ib.grid(*(extent for number, extent in enumerate(shape) if number != axis), 1, 1) as given:
            around = list(given[:-2])

            def at(step: Any) -> list[Any]:
                return [*around[:axis], step, *around[axis:]]

            ib.buffer_store(out, tirx.const(0, "int64"), at(0))
            with ib.serial(1, shape[axis]) as step:
                before, here = out[at(step - 1)], data[at(step)]
                chosen = better(here, data[at(before.astype("int32"))])
                if dtype.startswith("float"):
                    chosen = tirx.any(tirx.isnan(here), chosen)
                ib.buffer_store(out, tirx.Select(chosen, step.astype("int64"), before), at(step))

    places = call.written(shape, "int64", body, x)

    def definition(data: Any, place: Any) -> Any:
        def element(*at: Any) -> Any:
            return data(*at[:axis], within(place(*at), shape[axis]), *at[axis + 1 :])

        return te.compute(shape, element)

    return [call.computed(definition, x, places), places]


CONVERTERS: Mapping[str, Convert] = {
    "cummax.default": partial(_running_extremum, better=operators.ge),
    "cummin.default": partial(_running_extremum, better=operators.le),
    "cumprod.default": partial(_running, start=1, combine=operators.mul),
    "cumsum.default": partial(_running, start=0, combine=operators.add),
    "logcumsumexp.default": partial(_running, start=0, combine=_added_logarithms),
}
