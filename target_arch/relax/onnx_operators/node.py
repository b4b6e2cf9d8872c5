"""An operator of ONNX.

It is listed with the attributes that its converter honours; any other one is a refusal.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from target_arch.relax.site import NotConverted, Result, Site, counted


@frozen(kw_only=True, eq=False)
class Node(Site):
    """An operator. `inputs` are Relax expressions, None for one that is left out; `outputs` counts its
    outputs, of which a foreign operator has the `results`; `opset` is the version of ONNX's operators.
    """

    inputs: tuple[Any | None, ...]
    attributes: Mapping[str, Any]
    results: tuple[Result | None, ...] = ()
    outputs: int
    opset: int

    def given(self, index: int) -> Any | None:
        """Return an operand, None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def integers(self, index: int, name: str) -> tuple[int, ...] | None:
        """As `constant`, for a list of whole numbers that was an attribute in earlier versions."""
        value = self.attributes.get(name)
        if value is not None:
            return tuple(int(each) for each in value)
        found = self.constant(index, name)
        return None if found is None else tuple(int(each) for each in found.reshape(-1))

    def integer(self, name: str, otherwise: int) -> int:
        """An attribute that is a whole number."""
        return int(self.attributes.get(name, otherwise))

    def text(self, name: str, otherwise: str, allowed: Sequence[str]) -> str:
        """An attribute that is one of several words. Raises NotConverted for any other."""
        value = self.attributes.get(name, otherwise)
        found = value.decode() if isinstance(value, bytes) else str(value)
        if found not in allowed:
            raise NotConverted(f"its attribute `{name}` is `{found}`")
        return found

    def axis(self, otherwise: int, *, rank: int, name: str = "axis") -> int:
        """An attribute that is a dimension, counted from the start. Raises NotConverted for none."""
        return counted(self.integer(name, otherwise), rank)


Convert = Callable[[Node], Any]


@frozen
class Converter:
    """A converter and the attributes that it honours; `only` says which operators of its name it takes, where
    TVM's own takes the others.
    """

    convert: Convert
    attributes: tuple[str, ...]
    only: Callable[[Node], bool]


def converter(
    convert: Convert, attributes: str = "", *, only: Callable[[Node], bool] = lambda _: True
) -> Converter:
    """A converter with the names of its attributes in one text."""
    return Converter(convert, tuple(attributes.split()), only)
