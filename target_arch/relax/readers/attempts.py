"""Operators of a model, tried one by one: each that has no form is noted, zeros stand in for what it would
have given, and those behind it are tried, too. A refusal names all of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from attrs import define, field
from tvm import relax

from target_arch.relax.readers.frontend import FAILURES
from target_arch.relax.readers.unsupported import Unsupported
from target_arch.relax.site import NotConverted

T = TypeVar("T")

UNCLEAR = "not with these attributes and operands"
"""The reason of a converter that fails without one."""


@define(eq=False)
class Attempts:
    """The operators without a form so far."""

    failures: list[Unsupported] = field(factory=list)

    def tried(
        self,
        convert: Callable[[], T],
        refusal: Callable[[str], Unsupported],
        stand_in: Callable[[], T],
        unclear: Callable[[], str] = lambda: UNCLEAR,
    ) -> T:
        """Return what `convert` returns; where it fails, note the `refusal` for its reason, and return what
        `stand_in` returns. `unclear` says the reason of a converter of TVM's, which gives none.
        """
        try:
            return convert()
        except NotConverted as error:
            reason = str(error)
        except FAILURES:
            reason = unclear()
        self.failures.append(refusal(reason))
        return stand_in()


def zeros(builder: Any, shape: Sequence[int], dtype: str) -> Any:
    """Return zeros in place of a tensor that a failed operator would have given."""
    return builder.emit(relax.op.zeros(tuple(shape), dtype))
