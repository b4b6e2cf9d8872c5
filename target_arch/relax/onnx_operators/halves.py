"""float16 tensors of a model: stored as such at its boundary, computed in float32 between."""

from typing import Any

import numpy as np
from tvm import relax, te
from tvm.ir import GenericConst

from target_arch.relax.ir.graph import dtype_of
from target_arch.relax.te.half import HALF, from_half, to_half


class Halves:
    """Both forms of values, each made once, inside a builder of Relax."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self._wide: dict[Any, Any] = {}

    def wide(self, value: Any) -> Any:
        """A float16 tensor as float32, any other as it is."""
        if dtype_of(value) != HALF:
            return value
        if isinstance(value, GenericConst):
            return relax.const(value.value.numpy().astype(np.float32), "float32")
        if value not in self._wide:
            self._wide[value] = self._builder.emit_te(_elements(from_half), value, primfunc_name_hint="widen")
        return self._wide[value]

    def stored(self, value: Any, *, rounds: bool) -> Any:
        """A float32 tensor as float16. With `rounds`, later operators read the rounded numbers, as after a
        cast that the model has; else those before.
        """
        if isinstance(value, GenericConst):
            return relax.const(value.value.numpy().astype(np.float16), HALF)
        made = self._builder.emit_te(_elements(to_half), value, primfunc_name_hint="narrow")
        if not rounds:
            self._wide[made] = value
        return made


def _elements(function: Any) -> Any:
    def definition(x: Any) -> Any:
        return te.compute(x.shape, lambda *at: function(x(*at)))

    return definition
