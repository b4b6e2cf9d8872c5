"""A C function that calls a kernel: its text, and the constants that go with it. Functions are named after a
hash of their text.
"""

import hashlib
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Protocol

from attrs import frozen

from target_arch.plan.kernels import CFunction
from target_arch.plan.model import C_TYPES, Tensor

_LINE = 110

_FORMS = {
    "TA_S8_WITHOUT_TFLITE": re.compile(r"\bTA_S8_TFLITE\b"),
    "TA_S8_WITHOUT_TFLITE_SINGLE": re.compile(r"\bTA_S8_TFLITE_SINGLE\b"),
    "TA_S8_WITHOUT_ONNX": re.compile(r"\bTA_S8_ONNX\b"),
    "TA_S8_WITHOUT_ADD": re.compile(r"\bta_s8_add\b"),
}
"""Macros of `s8_scale.h` that leave code out, and what the text of a function has that needs this code."""


@frozen(kw_only=True)
class Parameter:
    """A parameter of a kernel: its C name, the type of its elements, and whether the function writes it."""

    name: str
    dtype: str
    written: bool = False
    shape: tuple[int, ...] = ()

    @property
    def c_type(self) -> str:
        """The pointer as a C type."""
        return f"{'' if self.written else 'const '}{C_TYPES[self.dtype]} *"

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}[{','.join(map(str, self.shape))}]"


@frozen(kw_only=True)
class Made:
    """A C function and the constants that replace the operator's own: its parameters are the inputs,
    `packed`, the output, and memory of its own of so many bytes each.
    """

    function: CFunction
    packed: tuple[Tensor, ...]
    scratch: tuple[int, ...] = ()


class Inlined(Protocol):
    """One operator as C in the function of a region, or it and the addition after it: its constants and
    headers, whichever part it computes at a time.
    """

    @property
    def inside(self) -> tuple[Parameter, ...]:
        """The parameters for its constants, without their suffix."""

    @property
    def constants(self) -> tuple[str, ...]:
        """The tensors passed for these parameters."""

    @property
    def packed(self) -> tuple[Tensor, ...]:
        """The packed tensors among them, which the model does not have."""

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that its C needs."""


def parameter(name: str, tensor: Tensor, *, written: bool = False) -> Parameter:
    """The parameter that a tensor is given to."""
    return Parameter(name=name, dtype=tensor.dtype, shape=tensor.shape, written=written)


def function(
    kind: str,
    parameters: Sequence[Parameter],
    lines: Sequence[str],
    headers: tuple[str, ...],
    in_place: tuple[tuple[int, int], ...] = (),
) -> CFunction:
    """The C function with these lines as its body; `in_place` as in `CFunction`."""
    aliased = {index for pair in in_place for index in pair}
    restrict = ("" if index in aliased else "restrict " for index in range(len(parameters)))
    declared = [f"{each.c_type}{word}{each.name}" for each, word in zip(parameters, restrict, strict=True)]
    body = "".join(f"    {line}\n" for each in lines for line in wrapped(each))
    digest = hashlib.sha256((", ".join(declared) + body + "".join(headers)).encode()).hexdigest()[:8]
    name = f"{kind}_{digest}"
    head = "\n".join(wrapped(f"static void {name}({', '.join(declared)})"))
    comment = f"{kind}: {', '.join(str(each) for each in parameters if each.shape)}"
    text = f"/* {comment} */\n{head}\n{{\n{body}}}\n"
    return CFunction(
        name=name,
        parameters=tuple(each.c_type for each in parameters),
        text=text,
        headers=headers,
        in_place=in_place,
        without=frozenset(macro for macro, needed in _FORMS.items() if not needed.search(body)),
    )


def wrapped(text: str) -> list[str]:
    """Lines of C, broken at blanks."""
    return textwrap.wrap(text, _LINE, subsequent_indent="    ", break_long_words=False)


def struct(kind: str, name: str, numbers: Sequence[int | str]) -> str:
    """A constant of a struct type."""
    return f"static const {kind} {name} = {braced(numbers)};"


def braced(values: Iterable[int | str]) -> str:
    """An initializer in C."""
    return f"{{{', '.join(map(str, values))}}}"
