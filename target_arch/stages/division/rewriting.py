"""The divided model: every slice of an operator is an operator of its kind.

A slice reads a slice of the operator's input, which is a view of it where they are in one memory: kind
`slice`. Where a slice of the producer has all that it needs, it reads that slice, so that neighbours which
are divided alike are chains. The whole result of a divided operator exists where somebody reads it: kind
`concat`. Padding is that of the slice's own windows; constants along the axis are slices, too.
"""

from collections.abc import Mapping, Sequence
from math import prod

from attrs import evolve, frozen

from target_arch.plan.division import Division, Share, SliceOf
from target_arch.plan.model import DTYPE_BYTES, Attribute, Model, Operator, Quantization, Tensor
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.stages.division.axes import DivisionAxis, axis_along


@frozen(kw_only=True)
class Divided:
    """A divided model. `wanted` is the instance of every slice, by operator id; `helpers` are the operators
    that name bytes of others, or gather them, each with the instance at which that moves least.
    """

    model: Model
    wanted: Mapping[str, str]
    helpers: Mapping[str, str]


def divided(model: Model, order: Sequence[Operator], division: Division, homes: Mapping[str, str]) -> Divided:
    """The model with these operators divided, in that order of its operators. The cuts are along axes of
    `axes`. `homes` are the instances of the operators that are not divided, and of the host (by the empty
    name).
    """
    rewriting = _Rewriting(model, division, homes)
    for operator in order:
        rewriting.add(operator)
    return rewriting.divided()


@frozen(kw_only=True)
class _Part:
    """A tensor that is a range of the places of another along an axis."""

    name: str
    places: range
    instance: str


class _Rewriting:
    def __init__(self, model: Model, division: Division, homes: Mapping[str, str]) -> None:
        self._model, self._division, self._homes = model, division, homes
        self._tensors = dict(model.tensors)
        self._operators: list[Operator] = []
        self._slices: dict[str, SliceOf] = {}
        self._wanted: dict[str, str] = {}
        self._helpers: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._joined: set[str] = set()
        self._origins: dict[str, str] = {}
        """The instance that leaves each tensor."""
        self._parts: dict[str, tuple[int, list[_Part]]] = {}
        """By tensor of the model, the axis and the parts in which its maker leaves it."""
        self._made: dict[tuple[str, int, range, str], str] = {}
        """The tensors that have places of another one along an axis: by instance, or of constants."""

    def add(self, operator: Operator) -> None:
        """The operator, or its slices."""
        cut = self._division.get(operator.id)
        if cut is None:
            for name in operator.inputs:
                self._whole(name)
            self._operators.append(operator)
            self._origins[operator.output] = self._homes[operator.id]
            return
        axis = axis_along(operator, self._model, cut.axis)
        assert axis is not None, f"{operator.id} is not divisible along axis {cut.axis}"
        parts, slices = [], list[Operator]()
        for number, share in enumerate(cut.shares):
            part, made = self._slice(operator, axis, number, share)
            parts.append(part)
            slices.append(made)
        self._operators += slices
        self._parts[operator.output] = (axis.axis, parts)

    def divided(self) -> Divided:
        """The model so far, with all that the caller reads."""
        for name in self._model.kept:
            self._whole(name)
        made = evolve(
            self._model,
            tensors=self._tensors,
            operators=tuple(self._operators),
            slices=self._slices,
            links=self._links,
        )
        return Divided(model=made, wanted=self._wanted, helpers=self._helpers)

    def _slice(
        self, operator: Operator, axis: DivisionAxis, number: int, share: Share
    ) -> tuple[_Part, Operator]:
        """A part of the result, and the operator that makes it; views that it reads are added before."""
        id = f"{operator.id}_slice{number}"
        self._slices[id] = SliceOf(operator=operator.id, axis=axis.axis, start=share.start, stop=share.stop)
        names = (*operator.inputs, *operator.constants)
        operands, attributes = list(names), dict(operator.attributes)
        for index, window in axis.windows.items():
            needed = window.needed(share.places)
            operands[index] = self._range(names[index], axis.axes[index], needed, id, share.instance)
            if index == 0 and not window.plain:
                part = window.part(share.places, needed)
                attributes["padding"] = _padded(attributes, axis.axes[0] - 1, part.before, part.after)
        for index in range(len(operator.inputs)):
            if index not in axis.windows:
                self._whole(names[index])
        count = len(operator.inputs)
        output = f"{operator.output}.slice{number}"
        whole = self._model.tensors[operator.output]
        self._tensors[output] = evolve(
            whole.with_extent(axis.axis, len(share.places)), name=output, origin=None
        )
        self._wanted[id] = self._origins[output] = share.instance
        made = evolve(
            operator,
            id=id,
            inputs=tuple(operands[:count]),
            constants=tuple(operands[count:]),
            output=output,
            attributes=attributes,
        )
        return _Part(name=output, places=share.places, instance=share.instance), made

    def _range(self, name: str, axis: int, needed: range, reader: str, instance: str) -> str:
        """A tensor that has these places of another one, and no more."""
        tensor = self._model.tensors[name]
        if tensor.data is not None:
            return self._constant(tensor, axis, needed)
        source, start = name, 0
        if name in self._parts and self._parts[name][0] == axis:
            able = [part for part in self._parts[name][1] if _covers(part.places, needed)]
            if able:
                part = min(able, key=lambda each: (each.instance != instance, len(each.places)))
                source, start = part.name, part.places.start
        if source == name:
            self._whole(name)
        if self._tensors[source].shape[axis] == len(needed):
            return source
        return self._view(source, axis, range(needed.start - start, needed.stop - start), reader, instance)

    def _view(self, source: str, axis: int, needed: range, reader: str, instance: str) -> str:
        key = (source, axis, needed, instance)
        if key not in self._made:
            tensor = self._tensors[source]
            output = self._unused(source, needed)
            id = f"{reader}_view{sum(each.startswith(f'{reader}_view') for each in self._helpers)}"
            self._tensors[output] = evolve(tensor.with_extent(axis, len(needed)), name=output, origin=None)
            begin = tuple(needed.start if number == axis else 0 for number in range(len(tensor.shape)))
            self._operators.append(
                Operator(
                    id=id,
                    kind=OperatorKind.SLICE,
                    arithmetic=self._model.operators[0].arithmetic,
                    inputs=(source,),
                    constants=(),
                    output=output,
                    attributes={"begin": begin, "step": (1,) * len(tensor.shape)},
                )
            )
            self._links[id] = self._slices[reader].operator if reader in self._slices else reader
            near = self._origins.get(source) == instance
            self._helpers[id] = self._origins[output] = instance if near else self._homes[""]
            self._made[key] = output
        return self._made[key]

    def _constant(self, tensor: Tensor, axis: int, needed: range) -> str:
        if len(needed) == tensor.shape[axis]:
            return tensor.name
        key = (tensor.name, axis, needed, "")
        if key not in self._made:
            assert tensor.data is not None
            name = self._made[key] = self._unused(tensor.name, needed)
            part = evolve(tensor.with_extent(axis, len(needed)), name=name, origin=None)
            data = _cut(tensor, axis, needed)
            quantization = _of_channels(tensor.quantization, axis, needed)
            self._tensors[name] = evolve(part, data=data, quantization=quantization)
        return self._made[key]

    def _unused(self, name: str, places: range) -> str:
        """A name for these places of a tensor."""
        found = f"{name}.{places.start}to{places.stop}"
        while found in self._tensors:
            found += "a"
        return found

    def _whole(self, name: str) -> None:
        """The whole tensor, joined where its maker was divided and nobody asked for it before."""
        if name not in self._parts or name in self._joined:
            return
        self._joined.add(name)
        axis, parts = self._parts[name]
        maker = self._model.makers[name]
        id, done, names = f"{maker.id}_join", 0, []
        for part in parts:
            if part.places.stop > done:
                first = max(done - part.places.start, 0)
                names.append(
                    part.name
                    if not first
                    else self._view(part.name, axis, range(first, len(part.places)), id, part.instance)
                )
                done = part.places.stop
        self._operators.append(
            Operator(
                id=id,
                kind=OperatorKind.CONCAT,
                arithmetic=maker.arithmetic,
                inputs=tuple(names),
                constants=(),
                output=name,
                attributes={"axis": axis},
                location=maker.location,
            )
        )
        self._helpers[id] = self._origins[name] = self._homes[""]
        self._links |= {id: maker.id, **{view: maker.id for view, of in self._links.items() if of == id}}


def _covers(there: range, needed: range) -> bool:
    return there.start <= needed.start and needed.stop <= there.stop


def _padded(attributes: Mapping[str, Attribute], axis: int, before: int, after: int) -> tuple[int, ...]:
    padding = attributes.get("padding", (0, 0, 0, 0))
    assert isinstance(padding, tuple)
    found = [int(number) for number in padding]
    found[axis], found[axis + 2] = before, after
    return tuple(found)


def _cut(tensor: Tensor, axis: int, needed: range) -> bytes:
    """The bytes of a range of places of a constant."""
    assert tensor.data is not None
    run = prod(tensor.shape[axis + 1 :]) * DTYPE_BYTES[tensor.dtype]
    whole = run * tensor.shape[axis]
    starts = range(0, len(tensor.data), whole)
    return b"".join(tensor.data[start + needed.start * run : start + needed.stop * run] for start in starts)


def _of_channels(quantization: Quantization | None, axis: int, needed: range) -> Quantization | None:
    if quantization is None or quantization.axis != axis or len(quantization.scale) == 1:
        return quantization
    zeros = quantization.zero_point
    return evolve(
        quantization,
        scale=quantization.scale[needed.start : needed.stop],
        zero_point=zeros if len(zeros) == 1 else zeros[needed.start : needed.stop],
    )
