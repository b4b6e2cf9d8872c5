"""From drafts in the author's layout to operators on NHWC tensors.

Every value is held in one storage (`storage.py`, `values.py`), chosen where it is computed: operators on
images compute NHWC, element-wise operators keep the storage of their input, and reshapes and transposes move
nothing. A dense layer needs no transpose of its input: the columns of its weights are permuted instead.
"""

from collections.abc import Mapping
from math import prod
from typing import assert_never

import numpy as np
from attrs import define, evolve

from target_arch.plan.model import Operator
from target_arch.plan.operators.facts import LayoutRule, OutputShape
from target_arch.relax.ir.graph import shape_of
from target_arch.relax.operators.storage import TO_NHWC, Storage, nhwc, plain
from target_arch.relax.operators.values import Values
from target_arch.relax.patterns.constants import Constant
from target_arch.relax.patterns.matcher import NCHW, NHWC, Draft


@define(eq=False)
class Layout:
    """Lays drafts out over `values`. `names` are the authors' names of constants by their contents."""

    _values: Values
    _names: Mapping[bytes, str]

    def run(self, drafts: tuple[Draft, ...], inputs: tuple[str, ...]) -> tuple[str, ...]:
        """Lay out all drafts; `inputs` are the tensor names to use. Returns the names of the outputs."""
        graph, values = self._values.graph, self._values
        for var, name in zip(graph.function.params, inputs, strict=True):
            values.give(var, name, plain(shape_of(var)))
        for draft in drafts:
            self._place(draft)
        found: list[str] = []
        for var in graph.outputs:
            name = values.stored(var, plain(shape_of(var)))
            found.append(values.copied(name) if name in found else name)
        return tuple(found)

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
            held = self._values.held(source)
            self._values.hold(draft.output, held.tensor, held.storage)
            return
        storage = self._values.held(source).storage
        if storage.view != shape_of(source):
            storage = plain(shape_of(source))
        name = self._values.stored(source, storage, exact=False)
        self._values.hold(draft.output, name, storage.permuted(tuple(int(axis) for axis in axes)))

    def _image(self, draft: Draft) -> None:
        layout = draft.layout or NHWC
        source, shape = draft.inputs[0], shape_of(draft.output)
        x = self._values.stored(source, nhwc(_as_image(shape_of(source), layout), layout))
        storage = nhwc(_as_image(shape, layout), layout)
        self._emit(draft, (x,), draft.constants, storage, storage.shape)

    def _matrix(self, draft: Draft) -> None:
        """Rows stay rows; within a row any order will do, once the weights' columns have the same."""
        weights, bias = draft.constants
        source, columns = draft.inputs[0], weights.values.shape[1]
        held = self._values.held(source)
        rows = prod(shape_of(source)) // columns
        kept = held.storage
        by_row = rows == 1 or (kept.view[0] == rows and kept.axes[0] == 0)
        if kept.is_plain or not by_row:
            x = self._values.stored(source, plain(shape_of(source)), exact=False)
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
        storages = [self._values.held(source).storage for source in draft.inputs]
        storage = next((storage for storage in storages if not storage.is_plain), storages[0])
        if draft.constants:
            self._with_constant(draft, storage)
            return
        first, second = (self._values.stored(source, storage, exact=False) for source in draft.inputs)
        shape = self._values.shape(first)
        self._emit(draft, (first, self._values.shaped(second, shape)), (), storage, shape)

    def _with_constant(self, draft: Draft, storage: Storage) -> None:
        shape = shape_of(draft.output)
        storage = storage if storage.view == shape else plain(shape)
        name = self._values.stored(draft.inputs[0], storage)
        constants = tuple(_laid_out(constant, shape, storage) for constant in draft.constants)
        self._emit(draft, (name,), constants, storage, storage.shape)

    def _broadcast(self, draft: Draft, layout: str) -> None:
        names = tuple(self._values.stored(source, nhwc(shape_of(source), layout)) for source in draft.inputs)
        storage = nhwc(shape_of(draft.output), layout)
        self._emit(draft, names, (), storage, storage.shape)

    def _plain(self, draft: Draft) -> None:
        """All other operators get their tensors in the author's order."""
        names = tuple(self._values.stored(source, plain(shape_of(source))) for source in draft.inputs)
        shape = shape_of(draft.output)
        self._emit(draft, names, draft.constants, plain(shape), shape)

    def _join(self, draft: Draft) -> None:
        """Images where one of the operands is held as an image, else as the author wrote them."""
        shape, axis = shape_of(draft.output), draft.attributes["axis"]
        held = [self._values.held(source).storage for source in draft.inputs]
        image = nhwc(shape, NCHW) if len(shape) == len(TO_NHWC) else plain(shape)
        if any(storage.axes == image.axes and not storage.is_plain for storage in held):
            names = tuple(
                self._values.stored(source, nhwc(shape_of(source), NCHW)) for source in draft.inputs
            )
            turned = evolve(draft, attributes={"axis": image.axes.index(axis)})
            self._emit(turned, names, (), image, image.shape)
        else:
            self._plain(draft)

    def _keep(self, draft: Draft) -> None:
        """Element by element: in the storage of the input."""
        held = self._values.held(draft.inputs[0])
        self._emit(draft, (held.tensor,), draft.constants, held.storage, self._values.shape(held.tensor))

    def _last_axis(self, draft: Draft) -> None:
        """Only the last dimension counts."""
        storage = nhwc(shape_of(draft.output), draft.layout or NHWC)
        x = self._values.stored(draft.inputs[0], storage, exact=False)
        shape = self._values.shape(x)
        if shape[-1] != storage.shape[-1]:
            x, shape = self._values.shaped(x, storage.shape), storage.shape
        self._emit(draft, (x,), draft.constants, storage, shape)

    def _emit(
        self,
        draft: Draft,
        inputs: tuple[str, ...],
        constants: tuple[Constant, ...],
        storage: Storage,
        shape: tuple[int, ...],
    ) -> None:
        id = f"{draft.kind}_{len(self._values.operators)}"
        free = draft.facts.output_shape is not OutputShape.FIXED
        if free and storage.is_plain and draft.output in self._values.graph.outputs:
            shape = shape_of(draft.output)
        operator = Operator(
            id=id,
            kind=draft.kind,
            arithmetic=draft.arithmetic,
            inputs=inputs,
            constants=self._constants(id, draft, constants),
            output=f"{id}_out",
            attributes=draft.attributes,
            relax_ops=draft.relax_ops,
            location=self._location(draft),
            device=draft.device,
        )
        self._values.add(operator, draft, shape, storage)

    def _constants(self, id: str, draft: Draft, constants: tuple[Constant, ...]) -> tuple[str, ...]:
        names = tuple(f"{id}_{draft.facts.role(index)}" for index in range(len(constants)))
        for name, constant in zip(names, constants, strict=True):
            self._values.give_constant(name, constant)
        return names

    def _location(self, draft: Draft) -> str:
        """The author's name, else that of the first constant with one, else the variable in the program."""
        if draft.location:
            return draft.location
        for constant in draft.constants:
            name = self._names.get(constant.content)
            if name is not None:
                return name
        return str(draft.output.name)


def _as_image(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """The shape of an image whose author left out its rows, or rows and columns: there is one of them."""
    if len(shape) == 4:
        return shape
    first, *columns, last = (shape[0], *shape[1:]) if layout == NHWC else (shape[0], *shape[2:], shape[1])
    height, width = (1, *columns) if len(columns) == 1 else (1, 1)
    return (first, height, width, last) if layout == NHWC else (first, last, height, width)


def _laid_out(constant: Constant, shape: tuple[int, ...], storage: Storage) -> Constant:
    """An elementwise constant in the storage of its partner: along the last axis alone where it varies only
    there.
    """
    spread = np.broadcast_to(constant.values, shape).transpose(storage.axes)
    if constant.values.size == 1 and spread.size:  # however many places there are, none is looked at
        return evolve(constant, values=np.full(spread.shape[-1:] or (1,), constant.values.reshape(-1)[0]))
    last = spread.reshape(-1, *spread.shape[-1:] or (1,))
    if last.size and bool((last == last[0]).all()):
        return evolve(constant, values=last[0].copy())
    return evolve(constant, values=spread.copy())
