"""Random divisions of random networks, and the kinds of faults of a divided model. What is computed comes
from the oracle of integer arithmetic, not from steps.
"""

from collections.abc import Callable, Iterator, Mapping
from random import Random

import numpy as np
from attrs import evolve, field, frozen

from conformance.channel_networks import random_network
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.partitions import PartitionGraph
from target_arch.run.exact.oracle import exact_outputs
from target_arch.stages.check.meaning.check import check_imported
from target_arch.stages.errors import CheckError
from tests.plan_faults.execution import NoRun
from tests.stages.check.meaning.division_faults import of_attributes, of_claims, of_operands, of_tensors
from tests.stages.division.random_divisions import divided_at, random_division

Fault = Callable[[Random, Model], Model | None]


@frozen(kw_only=True)
class RightDivision:
    """A divided model that the checker accepts, and the one that was imported."""

    imported: Model = field(repr=False)
    right: Model = field(repr=False)

    @property
    def kinds(self) -> Mapping[str, Fault]:
        """Those of divided models."""
        return DIVISION_FAULTS

    def accepts(self, changed: Model) -> bool:
        """True where a compilation would go on with this model."""
        try:
            check_imported(self.imported, PartitionGraph(model=changed, partitions=(), choices=()))
        except CheckError:
            return False
        return True

    def outcomes(self, changed: Model, seed: int) -> object:
        """The outputs for some inputs."""
        draw, model = np.random.default_rng(seed), self.imported
        frame = [draw.integers(-128, 128, model.tensors[name].shape, dtype=np.int8) for name in model.inputs]
        try:
            found = exact_outputs(changed, frame)
        except Exception as error:  # of an array of another shape, or an attribute that is missing
            raise NoRun(str(error)) from error
        assert found is not None
        return [each.tobytes() for each in found]


def division(number: int) -> RightDivision | None:
    """The division of that number; None where nothing of its network has an axis."""
    model, _ = random_network(number)
    draw = np.random.default_rng(number)
    made = divided_at(model, random_division(draw, model)).model
    return RightDivision(imported=model, right=made) if made.slices else None


def _one_of(changes: Callable[[Random, Model], Iterator[tuple[str, Model]]]) -> Fault:
    def fault(random: Random, model: Model) -> Model | None:
        able = [changed for _, changed in changes(random, model)]
        return random.choice(able) if able else None

    return fault


def _operator(random: Random, model: Model) -> Operator:
    """One that a division made, more often than another."""
    own = [each for each in model.operators if each.id in model.slices or each.kind in _MOVES]
    return random.choice(own if own and random.random() < 0.9 else model.operators)


_MOVES = (OperatorKind.SLICE, OperatorKind.CONCAT)


def _operand_alike(random: Random, model: Model) -> Model | None:
    """Another tensor of the shape and type in the place of an operand."""
    each = _operator(random, model)
    names = [*each.inputs, *each.constants]
    place = random.randrange(len(names))
    own = model.tensors[names[place]]
    able = [
        name
        for name, other in model.tensors.items()
        if (other.shape, other.dtype, other.data is None) == (own.shape, own.dtype, own.data is None)
        and name != own.name
    ]
    if not able:
        return None
    names[place] = random.choice(able)
    count = len(each.inputs)
    return _with(model, each, inputs=tuple(names[:count]), constants=tuple(names[count:]))


def _with(model: Model, operator: Operator, **facts: object) -> Model:
    changed = evolve(operator, **facts)  # type: ignore[arg-type]
    return evolve(
        model, operators=tuple(changed if each.id == operator.id else each for each in model.operators)
    )


def _of_kind(random: Random, model: Model, kind: OperatorKind) -> Operator | None:
    able = [each for each in model.operators if each.kind is kind]
    return random.choice(able) if able else None


def _join_in_another_order(random: Random, model: Model) -> Model | None:
    join = _of_kind(random, model, OperatorKind.CONCAT)
    return (
        None
        if join is None
        else _with(model, join, inputs=tuple(random.sample(join.inputs, len(join.inputs))))
    )


def _join_with_one_twice(random: Random, model: Model) -> Model | None:
    join = _of_kind(random, model, OperatorKind.CONCAT)
    if join is None:
        return None
    one, other = random.choices(range(len(join.inputs)), k=2)
    inputs = list(join.inputs)
    inputs[one] = inputs[other]
    return _with(model, join, inputs=tuple(inputs))


def _view_elsewhere(random: Random, model: Model) -> Model | None:
    """A view some places further along one axis, or along two."""
    view = _of_kind(random, model, OperatorKind.SLICE)
    if view is None:
        return None
    begin = [int(each) for each in view.attributes["begin"]]  # type: ignore[union-attr]
    for axis in random.sample(range(len(begin)), random.choice((1, 1, 2))):
        begin[axis] += random.choice((-2, -1, 1, 2))
    return _with(model, view, attributes={**view.attributes, "begin": tuple(begin)})


def _view_of_a_view(random: Random, model: Model) -> Model | None:
    """A view of another tensor of any shape."""
    view = _of_kind(random, model, OperatorKind.SLICE)
    able = (
        [] if view is None else [n for n, t in model.tensors.items() if t.data is None and n != view.output]
    )
    return _with(model, view, inputs=(random.choice(able),)) if view is not None and able else None


def _padding(random: Random, model: Model) -> Model | None:
    """Two sides of a padding that add up to the same, or one of them."""
    able = [each for each in model.operators if each.id in model.slices and "padding" in each.attributes]
    if not able:
        return None
    each = random.choice(able)
    padding = [int(side) for side in each.attributes["padding"]]  # type: ignore[union-attr]
    side, more = random.randrange(4), random.choice((-1, 1))
    padding[side] += more
    if random.random() < 0.5:
        padding[(side + 2) % 4] -= more
    return _with(model, each, attributes={**each.attributes, "padding": tuple(padding)})


def _claim(random: Random, model: Model) -> Model | None:
    """The claims of two slices in each other's place, or one of another operator."""
    names = list(model.slices)
    one = random.choice(names)
    if random.random() < 0.5 and len(names) > 1:
        other = random.choice([name for name in names if name != one])
        both = {one: model.slices[other], other: model.slices[one]}
        return evolve(model, slices={**model.slices, **both})
    claim = evolve(model.slices[one], operator=random.choice(names + [each.id for each in model.operators]))
    return evolve(model, slices={**model.slices, one: claim})


def _slice_in_another_place(random: Random, model: Model) -> Model | None:
    """The outputs of two operators in each other's place."""
    one, other = _operator(random, model), _operator(random, model)
    return (
        _with(_with(model, one, output=other.output), other, output=one.output) if one is not other else None
    )


def _operators_exchanged(random: Random, model: Model) -> Model | None:
    listed = list(model.operators)
    one, other = random.choices(range(len(listed)), k=2)
    listed[one], listed[other] = listed[other], listed[one]
    return evolve(model, operators=tuple(listed))


def _ends(random: Random, model: Model) -> Model | None:
    which = random.choice(("inputs", "outputs"))
    names = list(getattr(model, which))
    names[random.randrange(len(names))] = random.choice(list(model.tensors))
    return evolve(model, **{which: tuple(names)})  # type: ignore[arg-type]


def _two(random: Random, model: Model) -> Model | None:
    """Two faults at once, of which one may hide the other."""
    for _ in range(2):
        changed = DIVISION_FAULTS[random.choice(list(DIVISION_FAULTS))](random, model)
        model = model if changed is None else changed
    return model


DIVISION_FAULTS: dict[str, Fault] = {
    "another attribute": _one_of(lambda random, model: of_attributes(model, _operator(random, model))),
    "another operand, or one less or more": _one_of(
        lambda random, model: of_operands(model, _operator(random, model))
    ),
    "another claim": _one_of(lambda random, model: of_claims(model)),
    "another tensor": _one_of(
        lambda random, model: of_tensors(model, random.choice(list(model.tensors.values())))
    ),
    "another operand of its shape": _operand_alike,
    "slices joined in another order": _join_in_another_order,
    "a slice joined twice": _join_with_one_twice,
    "view of other places": _view_elsewhere,
    "view of another tensor": _view_of_a_view,
    "another padding": _padding,
    "claim of another slice": _claim,
    "outputs of operators exchanged": _slice_in_another_place,
    "operators exchanged": _operators_exchanged,
    "another input or output": _ends,
}
"""By what is wrong with a divided model."""

DIVISION_FAULTS["two faults"] = _two
