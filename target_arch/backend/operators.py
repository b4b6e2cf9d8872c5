"""The contract of operator libraries: converters of operators that model files have and this program does not
know, such as custom operators of TFLite, operators of a domain of ONNX, and operators of a PyTorch library.

Found by the entry-point group `target_arch.operators`, in the folder `operators` of a `--backend-dir`, or
added in Python; asked when a model has an operator that is not known here.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen

ENTRY_POINT_GROUP = "target_arch.operators"


class ModelFormat(StrEnum):
    """The formats of model files, as they are named in a library."""

    ONNX = "onnx"
    PYTORCH = "pytorch"
    TFLITE = "tflite"


Convert = Callable[[Any], Any]
"""From a `target_arch.relax.site.Site` to the Relax expression of an operator's output, or a tuple of some.
Raises `target_arch.relax.site.NotConverted` with the reason for a form that it does not take.
"""


@frozen(kw_only=True)
class OperatorLibrary:
    """Converters by format and name of the operator: its custom code in TFLite, its domain and name in ONNX
    (`com.acme.Gain`), its namespace and name in PyTorch (`acme::gain`).

    `declare` is called before a PyTorch program with one of its operators is read: PyTorch has to know the
    operator (`torch.library`), with the shapes that it gives.
    """

    name: str
    description: str
    converters: Mapping[tuple[str, str], Convert] = field(repr=False)
    declare: Callable[[], None] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        listed = ", ".join(f"{form} {name}" for form, name in sorted(self.converters))
        return f"{self.name}: {self.description} ({listed})\n"


@frozen(kw_only=True)
class ForeignConverter:
    """The converter of an operator in a library, which is from `origin`."""

    convert: Convert = field(repr=False)
    library: OperatorLibrary
    origin: str


Foreign = Callable[[ModelFormat, str], ForeignConverter | None]
"""From an operator's format and name to its converter; None where no library has one. Raises DiagnosticError
where a library cannot be used.
"""


def no_libraries(form: ModelFormat, name: str) -> None:
    """Return None: no library is there."""
