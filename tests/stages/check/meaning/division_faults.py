"""Every small fault of a divided model."""

from collections.abc import Iterator

import numpy as np
from attrs import evolve

from target_arch.plan.division import SliceOf
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators.kinds import OperatorKind


def _operators(model: Model, id: str, **facts: object) -> Model:
    changed = (evolve(each, **facts) if each.id == id else each for each in model.operators)  # type: ignore[arg-type]
    return evolve(model, operators=tuple(changed))


def _tensors(model: Model, name: str, **facts: object) -> Model:
    return evolve(model, tensors={**model.tensors, name: evolve(model.tensors[name], **facts)})  # type: ignore[arg-type]


def faults(model: Model) -> Iterator[tuple[str, Model]]:
    """Every small fault of a divided model, named."""
    for side in ("inputs", "outputs"):
        names = getattr(model, side)
        yield f"{side} in another order", evolve(model, **{side: names[::-1]})
        yield f"fewer {side}", evolve(model, **{side: names[1:]})
    for operator in model.operators:
        yield from of_attributes(model, operator)
        yield from of_operands(model, operator)
    yield from of_claims(model)
    for tensor in model.tensors.values():
        yield from of_tensors(model, tensor)


def of_attributes(model: Model, operator: Operator) -> Iterator[tuple[str, Model]]:
    """Each attribute of an operator left out, and each of its numbers one more or less."""
    for key, value in operator.attributes.items():
        own = dict(operator.attributes)
        yield (
            f"{operator.id} without {key}",
            _operators(model, operator.id, attributes={k: v for k, v in own.items() if k != key}),
        )
        if isinstance(value, str):
            continue
        numbers = value if isinstance(value, tuple) else (value,)
        for place, number in enumerate(numbers):
            for more in (1, -1):
                changed = (*numbers[:place], number + more, *numbers[place + 1 :])
                new = changed if isinstance(value, tuple) else changed[0]
                yield (
                    f"{operator.id} with {key} {new}",
                    _operators(model, operator.id, attributes={**own, key: new}),
                )


def of_operands(model: Model, operator: Operator) -> Iterator[tuple[str, Model]]:
    """Another operand or kind of an operator, an operand less or more, and the operator twice or not."""
    names = operator.inputs
    for place, name in enumerate(names):
        yield (
            f"{operator.id} without {name}",
            _operators(model, operator.id, inputs=(*names[:place], *names[place + 1 :])),
        )
        for other in model.tensors:
            if other != name and model.tensors[other].data is None:
                changed = (*names[:place], other, *names[place + 1 :])
                yield f"{operator.id} with {other} for {name}", _operators(model, operator.id, inputs=changed)
    if len(names) > 1:
        yield (
            f"{operator.id} with operands in another order",
            _operators(model, operator.id, inputs=names[::-1]),
        )
    stored = operator.constants
    if stored:
        yield (
            f"{operator.id} with constants in another order",
            _operators(model, operator.id, constants=stored[::-1]),
        )
        yield f"{operator.id} with a constant less", _operators(model, operator.id, constants=stored[:-1])
    for name in stored:
        for other, tensor in model.tensors.items():
            if other != name and tensor.data is not None:
                changed = tuple(other if each == name else each for each in stored)
                yield (
                    f"{operator.id} with {other} for {name}",
                    _operators(model, operator.id, constants=changed),
                )
                more = _operators(model, operator.id, constants=(*stored, other))
                yield f"{operator.id} with {other} beside {name}", more
    yield (
        f"{operator.id} of another kind",
        _operators(
            model,
            operator.id,
            kind=OperatorKind.MUL if operator.kind is OperatorKind.ADD else OperatorKind.ADD,
        ),
    )
    yield f"{operator.id} twice", evolve(model, operators=(*model.operators, evolve(operator, id="again")))
    left = tuple(each for each in model.operators if each is not operator)
    yield f"{operator.id} left out", evolve(model, operators=left)


def of_claims(model: Model) -> Iterator[tuple[str, Model]]:
    """Other places, or another axis, of each slice."""
    for name, claim in model.slices.items():
        for change, other in _other_claims(claim):
            yield f"{name} claims {change}", evolve(model, slices={**model.slices, name: other})


def _other_claims(claim: SliceOf) -> Iterator[tuple[str, SliceOf]]:
    for start, stop in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)):
        other = evolve(claim, start=claim.start + start, stop=claim.stop + stop)
        yield f"{other.start}:{other.stop}", other
    for axis in range(4):
        if axis != claim.axis:
            yield f"axis {axis}", evolve(claim, axis=axis)


def of_tensors(model: Model, tensor: Tensor) -> Iterator[tuple[str, Model]]:
    """Another shape, type, grid or content of a tensor."""
    for axis, extent in enumerate(tensor.shape):
        for more in (1, -1):
            shape = (*tensor.shape[:axis], extent + more, *tensor.shape[axis + 1 :])
            yield f"{tensor.name} with {shape}", _tensors(model, tensor.name, shape=shape)
    yield f"{tensor.name} of int16", _tensors(model, tensor.name, dtype="int16")
    yield f"{tensor.name} flat", _tensors(model, tensor.name, shape=(int(np.prod(tensor.shape)),))
    grid = tensor.quantization
    if grid is not None:
        for what, other in (
            ("without a grid", None),
            ("on another grid", evolve(grid, scale=(0.75,) * len(grid.scale))),
            ("from another zero", evolve(grid, zero_point=tuple(each + 1 for each in grid.zero_point))),
            ("on grids of its places", evolve(grid, scale=grid.scale * 2, axis=0)),
            ("along another axis", evolve(grid, axis=1)),
        ):
            yield f"{tensor.name} {what}", _tensors(model, tensor.name, quantization=other)
    if tensor.data is not None:
        for what, data in (
            ("reversed", tensor.data[::-1]),
            ("moved", tensor.data[1:] + tensor.data[:1]),
            ("that are not there", None),
        ):
            yield f"{tensor.name} with bytes {what}", _tensors(model, tensor.name, data=data)
