"""The tensors and operators of a model while its drafts are laid out, and the storage of every value.

A value of the program is held in one tensor, in one storage. Only where a reader needs another storage does a
`transpose` (or, for the shape alone, a `reshape`) appear, once per tensor and storage.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from target_arch.plan.model import Attribute, Operator, Origin, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import Graph, dtype_of
from target_arch.relax.operators.storage import Storage, plain, transposition
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import Draft


@frozen
class Held:
    """A tensor of the plan and the storage it has."""

    tensor: str
    storage: Storage


@define
class Values:
    """The tensors and operators so far. `quantizations` are those of all activations."""

    graph: Graph
    quantizations: Mapping[Any, Quantization]
    tensors: dict[str, Tensor] = field(factory=dict)
    operators: list[Operator] = field(factory=list)
    owners: list[Draft | None] = field(factory=list)
    """For each operator the draft it came from, None for those put in between."""
    _held: dict[Any, Held] = field(factory=dict)
    _moved: dict[tuple[str, tuple[int, ...], tuple[int, ...]], str] = field(factory=dict)

    def held(self, var: Any) -> Held:
        """The tensor of a value, and its storage."""
        return self._held[var]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return self.tensors[name].shape

    def give(self, var: Any, name: str, storage: Storage) -> None:
        """A new tensor, which the caller of the model gives the value of a variable."""
        self.tensors[name] = self._tensor(var, name, storage.shape, storage)
        self._held[var] = Held(name, storage)

    def give_constant(self, name: str, constant: Constant) -> None:
        """A new tensor with the elements of a constant."""
        elements = np.ascontiguousarray(constant.values)
        self.tensors[name] = Tensor(
            name=name,
            shape=tuple(elements.shape),
            dtype=str(elements.dtype),
            quantization=constant.quantization,
            data=elements.astype(elements.dtype.newbyteorder("<")).tobytes(),
        )

    def hold(self, var: Any, name: str, storage: Storage) -> None:
        """The value of a variable is in this tensor, which is that of the variable in the model's file unless
        it is known to be another's.
        """
        self._held[var] = Held(name, storage)
        tensor, origin = self.tensors[name], self._origin(var, storage)
        if origin is not None and tensor.origin is None:
            self.tensors[name] = evolve(tensor, origin=origin)

    def add(self, operator: Operator, draft: Draft, shape: tuple[int, ...], storage: Storage) -> None:
        """The operator of a draft, and the tensor of its output."""
        self._add(operator, self._tensor(draft.output, operator.output, shape, storage), draft)
        self._held[draft.output] = Held(operator.output, storage)

    def stored(self, var: Any, storage: Storage, *, exact: bool = True) -> str:
        """A tensor that holds `var` in `storage`; `exact` asks for its shape too, else only bytes count."""
        name, here = self._held[var].tensor, self._held[var].storage
        if here.essence != storage.essence:
            name = self._transposed(name, here, storage)
        if exact and self.tensors[name].shape != storage.shape:
            name = self._move(OperatorKind.RESHAPE, name, storage.shape, {})
        return name

    def copied(self, name: str) -> str:
        """A tensor of its own for an output that is another output, too."""
        source = self.tensors[name]
        self._moved.pop((name, source.shape, ()), None)
        return self._move(OperatorKind.RESHAPE, name, source.shape, {})

    def shaped(self, name: str, shape: tuple[int, ...]) -> str:
        """The same bytes as a tensor of that shape."""
        if self.tensors[name].shape == shape:
            return name
        return self._move(OperatorKind.RESHAPE, name, shape, {})

    def _transposed(self, name: str, here: Storage, storage: Storage) -> str:
        if here.view == storage.view:
            name = self.shaped(name, here.shape)
            axes = transposition(here, storage)
            moved = self._move(OperatorKind.TRANSPOSE, name, storage.shape, {"axes": axes})
            origin = self.tensors[name].origin
            if origin is not None and (origin.view, origin.axes) == (here.view, here.axes):
                self.tensors[moved] = evolve(self.tensors[moved], origin=evolve(origin, axes=storage.axes))
            return moved
        if not here.is_plain:
            name = self._transposed(name, here, plain(here.view))
        if storage.is_plain:
            return name
        return self._transposed(name, plain(storage.view), storage)

    def _move(
        self, kind: OperatorKind, name: str, shape: tuple[int, ...], attributes: dict[str, Attribute]
    ) -> str:
        """A transpose or reshape of a tensor, made once."""
        axes = attributes.get("axes", ())
        key = (name, shape, tuple(int(axis) for axis in axes) if isinstance(axes, tuple) else ())
        if key not in self._moved:
            source = self.tensors[name]
            id = f"{kind}_{len(self.operators)}"
            kept = source.origin if kind is OperatorKind.RESHAPE else None
            tensor = evolve(source, name=f"{id}_out", shape=shape, origin=kept)
            arithmetic = Arithmetic.FLOAT if source.dtype.startswith("float") else self.graph.arithmetic
            operator = Operator(
                id=id,
                kind=kind,
                arithmetic=arithmetic,
                inputs=(name,),
                constants=(),
                output=tensor.name,
                attributes=attributes,
            )
            self._add(operator, tensor, None)
            self._moved[key] = tensor.name
        return self._moved[key]

    def _tensor(self, var: Any, name: str, shape: tuple[int, ...], storage: Storage) -> Tensor:
        return Tensor(
            name=name,
            shape=shape,
            dtype=dtype_of(var),
            quantization=self.quantizations.get(var),
            origin=self._origin(var, storage),
        )

    def _origin(self, var: Any, storage: Storage) -> Origin | None:
        """The tensor of the model's file that a variable is; None where it is none."""
        in_file = self.graph.in_file.get(var)
        return None if in_file is None else Origin(name=in_file, view=storage.view, axes=storage.axes)

    def _add(self, operator: Operator, tensor: Tensor, owner: Draft | None) -> None:
        self.tensors[tensor.name] = tensor
        self.operators.append(operator)
        self.owners.append(owner)
