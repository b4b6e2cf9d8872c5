"""Operators that libraries of others convert (`backend/operators.py`)."""

import traceback
from typing import Any

from target_arch.backend.operators import ForeignConverter
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.site import NotConverted, Result, Site


def results_of(foreign: ForeignConverter, site: Site) -> list[Any]:
    """Return the results of an operator. Raises NotConverted where the library has none, fails, or gives
    others than the file states.
    """
    try:
        value = foreign.convert(site)
        values = list(value) if isinstance(value, tuple | list) else [value]
        values = [site.builder.normalize(each) for each in values]
        kinds = [Result(shape=shape_of(each), dtype=dtype_of(each)) for each in values]
    except NotConverted:
        raise
    except Exception as error:
        said = traceback.format_exception_only(error)[-1].strip()
        raise NotConverted(f"its converter fails: {said} ({foreign.origin})") from error
    if len(kinds) != len(site.results):
        raise _other(foreign, f"{len(kinds)} results", f"{len(site.results)}")
    for kind, stated in zip(kinds, site.results, strict=True):
        if stated is not None and kind != stated:
            raise _other(foreign, _text(kind), _text(stated))
    return values


def _other(foreign: ForeignConverter, result: str, stated: str) -> NotConverted:
    return NotConverted(f"its converter gives {result} where the file has {stated} ({foreign.origin})")


def _text(kind: Result) -> str:
    return f"{kind.dtype} {list(kind.shape)}"
