"""From drafts in the author's layout to operators on NHWC tensors.

Every value is held in one storage (see `storage.py`), chosen where it is computed: operators on images
compute NHWC, element-wise operators keep the storage of their input, and reshapes and transposes move
nothing. Only where a reader needs another storage does a `transpose` (or, for the shape alone, a `reshape`)
appear, once per value and storage. A dense layer needs none: the columns of its weights are permuted instead.
"""

from collections.abc import Mapping
from math import prod
from typing import Any, assert_never

import numpy as np
from attrs import define, evolve, field

from target_arch.plan.model import Attribute, Operator, Origin, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic, LayoutRule, OutputShape
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.graph import Graph, dtype_of, shape_of
from target_arch.relax.operators.storage import TO_NHWC, Storage, nhwc, plain, transposition
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import NCHW, NHWC, Draft


@define
class _Held:
    """A tensor of the plan and the storage it has."""

    tensor: str
    storage: Storage


@define
class Layout:
    """The pass over the drafts of one program; `run` gives operators, tensors and outputs.

    `quantizations` are those of all activations, `names` the authors' names of constants by their bytes.
    """

    graph: Graph
    quantizations: Mapping[Any, Quantization]
    names: Mapping[bytes, str]
    tensors: dict[str, Tensor] = field(factory=dict)
    operators: list[Operator] = field(factory=list)
    owners: list[Draft | None] = field(factory=list)
    """For each operator the draft it came from, None for those put in between."""
    _held: dict[Any, _Held] = field(factory=dict)
    _moved: dict[tuple[str, tuple[int, ...], tuple[int, ...]], str] = field(factory=dict)

    def run(self, drafts: tuple[Draft, ...], inputs: tuple[str, ...]) -> tuple[str, ...]:
        """Lay out all drafts; `inputs` are the tensor names to use. Returns the names of the outputs."""
        for var, name in zip(self.graph.function.params, inputs, strict=True):
            self._hold(var, name, plain(shape_of(var)))
        for draft in drafts:
            self._place(draft)
        found: list[str] = []
        for var in self.graph.outputs:
            name = self._with(var, plain(shape_of(var)))
            found.append(self._copied(name) if name in found else name)
        return tuple(found)

    def _copied(self, name: str) -> str:
        """A tensor of its own for an output that is another output, too."""
        source = self.tensors[name]
        self._moved.pop((name, source.shape, ()), None)
        return self._move(OperatorKind.RESHAPE, name, source.shape, {})

    def _place(self, draft: Draft) -> None:
        match draft.facts.layout:
            case LayoutRule.RENAME:
                self._alias(draft)
            case LayoutRule.IMAGE:
                self._image(draft)
            case LayoutRule.MATRIX:
                self._matrix(draft)
            case LayoutRule.PAIR:
                self._pair(draft)
            case LayoutRule.LAST_AXIS:
                self._last_axis(draft)
            case LayoutRule.JOIN:
                self._join(draft)
            case LayoutRule.KEEP:
                self._keep(draft)
            case LayoutRule.AUTHOR:
                self._plain(draft)
            case forgotten:
                assert_never(forgotten)

    def _alias(self, draft: Draft) -> None:
        """Reshape and transpose: the same tensor, understood differently."""
        source = draft.inputs[0]
        axes = draft.attributes.get("axes")
        if not isinstance(axes, tuple):
            self._held[draft.output] = self._held[source]
            self._remember(draft.output)
            return
        storage = self._held[source].storage
        if storage.view != shape_of(source):
            storage = plain(shape_of(source))
        name = self._with(source, storage, exact=False)
        self._held[draft.output] = _Held(name, storage.permuted(tuple(int(axis) for axis in axes)))
        self._remember(draft.output)

    def _image(self, draft: Draft) -> None:
        layout = draft.layout or NHWC
        source, shape = draft.inputs[0], shape_of(draft.output)
        if len(shape) == 2:
            shape = (shape[0], 1, 1, shape[1]) if layout == NHWC else (*shape, 1, 1)
        x = self._with(source, nhwc(shape_of(source), layout))
        storage = nhwc(shape, layout)
        self._emit(draft, (x,), draft.constants, storage, storage.shape)

    def _matrix(self, draft: Draft) -> None:
        """Rows stay rows; within a row any order will do, once the weights' columns have the same."""
        weights, bias = draft.constants
        source, columns = draft.inputs[0], weights.values.shape[1]
        held = self._held[source]
        rows = prod(shape_of(source)) // columns
        kept = held.storage
        by_row = rows == 1 or (kept.view[0] == rows and kept.axes[0] == 0)
        if kept.is_plain or not by_row:
            x = self._with(source, plain(shape_of(source)), exact=False)
        else:
            x, order = held.tensor, kept.author_index()[:columns]
            weights = evolve(weights, values=weights.values[:, order])
        shape = shape_of(draft.output)
        self._emit(draft, (x,), (weights, bias), plain(shape), shape)

    def _pair(self, draft: Draft) -> None:
        """Both sides in one storage: that of an image where one is, else the first one's."""
        if draft.layout is not None:
            self._broadcast(draft, draft.layout)
            return
        storages = [self._held[source].storage for source in draft.inputs]
        storage = next((storage for storage in storages if not storage.is_plain), storages[0])
        if draft.constants:
            self._with_constant(draft, storage)
            return
        first, second = (self._with(source, storage, exact=False) for source in draft.inputs)
        shape = self.tensors[first].shape
        self._emit(draft, (first, self._shaped(second, shape)), (), storage, shape)

    def _with_constant(self, draft: Draft, storage: Storage) -> None:
        shape = shape_of(draft.output)
        storage = storage if storage.view == shape else plain(shape)
        name = self._with(draft.inputs[0], storage)
        constants = tuple(_laid_out(constant, shape, storage) for constant in draft.constants)
        self._emit(draft, (name,), constants, storage, storage.shape)

    def _broadcast(self, draft: Draft, layout: str) -> None:
        names = tuple(self._with(source, nhwc(shape_of(source), layout)) for source in draft.inputs)
        storage = nhwc(shape_of(draft.output), layout)
        self._emit(draft, names, (), storage, storage.shape)

    def _plain(self, draft: Draft) -> None:
        """All other operators get their tensors in the author's order."""
        names = tuple(self._with(source, plain(shape_of(source))) for source in draft.inputs)
        shape = shape_of(draft.output)
        self._emit(draft, names, draft.constants, plain(shape), shape)

    def _join(self, draft: Draft) -> None:
        """Images where one of the operands is held as an image, else as the author wrote them."""
        shape, axis = shape_of(draft.output), draft.attributes["axis"]
        held = [self._held[source].storage for source in draft.inputs]
        image = nhwc(shape, NCHW) if len(shape) == len(TO_NHWC) else plain(shape)
        if any(storage.axes == image.axes and not storage.is_plain for storage in held):
            names = tuple(self._with(source, nhwc(shape_of(source), NCHW)) for source in draft.inputs)
            turned = evolve(draft, attributes={"axis": image.axes.index(axis)})
            self._emit(turned, names, (), image, image.shape)
        else:
            self._plain(draft)

    def _keep(self, draft: Draft) -> None:
        """Element by element: in the storage of the input."""
        held = self._held[draft.inputs[0]]
        self._emit(draft, (held.tensor,), (), held.storage, self.tensors[held.tensor].shape)

    def _last_axis(self, draft: Draft) -> None:
        """Only the last dimension counts."""
        storage = nhwc(shape_of(draft.output), draft.layout or NHWC)
        x = self._with(draft.inputs[0], storage, exact=False)
        shape = self.tensors[x].shape
        if shape[-1] != storage.shape[-1]:
            x, shape = self._shaped(x, storage.shape), storage.shape
        self._emit(draft, (x,), (), storage, shape)

    def _with(self, var: Any, storage: Storage, *, exact: bool = True) -> str:
        """A tensor that holds `var` in `storage`; `exact` asks for its shape too, else only bytes count."""
        held = self._held[var]
        name, here = held.tensor, held.storage
        if here.essence != storage.essence:
            name = self._transposed(name, here, storage)
        if exact and self.tensors[name].shape != storage.shape:
            name = self._move(OperatorKind.RESHAPE, name, storage.shape, {})
        return name

    def _transposed(self, name: str, here: Storage, storage: Storage) -> str:
        if here.view == storage.view:
            name = self._shaped(name, here.shape)
            axes = transposition(here, storage)
            moved = self._move(OperatorKind.TRANSPOSE, name, storage.shape, {"axes": axes})
            origin = self.tensors[name].origin
            if origin is not None and origin.view == here.view:
                self.tensors[moved] = evolve(self.tensors[moved], origin=evolve(origin, axes=storage.axes))
            return moved
        if not here.is_plain:
            name = self._transposed(name, here, plain(here.view))
        if storage.is_plain:
            return name
        return self._transposed(name, plain(storage.view), storage)

    def _shaped(self, name: str, shape: tuple[int, ...]) -> str:
        if self.tensors[name].shape == shape:
            return name
        return self._move(OperatorKind.RESHAPE, name, shape, {})

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

    def _emit(
        self,
        draft: Draft,
        inputs: tuple[str, ...],
        constants: tuple[Constant, ...],
        storage: Storage,
        shape: tuple[int, ...],
    ) -> None:
        id = f"{draft.kind}_{len(self.operators)}"
        free = draft.facts.output_shape is not OutputShape.FIXED
        if free and storage.is_plain and draft.output in self.graph.outputs:
            shape = shape_of(draft.output)
        tensor = Tensor(
            name=f"{id}_out",
            shape=shape,
            dtype=dtype_of(draft.output),
            quantization=self.quantizations.get(draft.output),
        )
        operator = Operator(
            id=id,
            kind=draft.kind,
            arithmetic=draft.arithmetic,
            inputs=inputs,
            constants=self._constants(id, draft, constants),
            output=tensor.name,
            attributes=draft.attributes,
            relax_ops=draft.relax_ops,
            location=self._location(draft),
        )
        self._add(operator, tensor, draft)
        self._held[draft.output] = _Held(tensor.name, storage)
        self._remember(draft.output)

    def _add(self, operator: Operator, tensor: Tensor, owner: Draft | None) -> None:
        self.tensors[tensor.name] = tensor
        self.operators.append(operator)
        self.owners.append(owner)

    def _hold(self, var: Any, name: str, storage: Storage) -> None:
        self.tensors[name] = Tensor(
            name=name, shape=storage.shape, dtype=dtype_of(var), quantization=self.quantizations.get(var)
        )
        self._held[var] = _Held(name, storage)
        self._remember(var)

    def _remember(self, var: Any) -> None:
        """Which tensor of the model's file the tensor of a variable is; the first one counts."""
        held, name = self._held[var], self.graph.in_file.get(var)
        tensor = self.tensors[held.tensor]
        if name is not None and tensor.origin is None:
            origin = Origin(name=name, view=held.storage.view, axes=held.storage.axes)
            self.tensors[held.tensor] = evolve(tensor, origin=origin)

    def _constants(self, id: str, draft: Draft, constants: tuple[Constant, ...]) -> tuple[str, ...]:
        names = tuple(f"{id}_{draft.facts.role(index)}" for index in range(len(constants)))
        for name, constant in zip(names, constants, strict=True):
            values = np.ascontiguousarray(constant.values)
            self.tensors[name] = Tensor(
                name=name,
                shape=tuple(values.shape),
                dtype=str(values.dtype),
                quantization=constant.quantization,
                data=values.astype(values.dtype.newbyteorder("<")).tobytes(),
            )
        return names

    def _location(self, draft: Draft) -> str:
        """The author's name, else that of the first constant with one, else the variable in the program."""
        if draft.location:
            return draft.location
        for constant in draft.constants:
            name = self.names.get(constant.stored)
            if name is not None:
                return name
        return str(draft.output.name)


def _laid_out(constant: Constant, shape: tuple[int, ...], storage: Storage) -> Constant:
    """An elementwise constant in the storage of its partner: along the last axis alone where it varies only
    there.
    """
    spread = np.broadcast_to(constant.values, shape).transpose(storage.axes)
    last = spread.reshape(-1, *spread.shape[-1:] or (1,))
    if bool((last == last[0]).all()):
        return evolve(constant, values=last[0].copy())
    return evolve(constant, values=spread.copy())
