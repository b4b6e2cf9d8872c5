"""The largest slice of an operator for which an instance has room.

Kernels that touch whole tensors have their operands in the memories of their instance at once.
"""

from bisect import bisect_right

from target_arch.plan.model import Model, Operator
from target_arch.soc.model import Instance
from target_arch.stages.division.axes import DivisionAxis, axis_of
from target_arch.stages.placement.held import held, held_bytes, room
from target_arch.stages.setting import Setting


def too_large(operator: Operator, model: Model, instance: Instance, setting: Setting) -> bool:
    """Whether the instance has no room for the operands of the whole operator."""
    return held_bytes(operator, model, instance, setting) > room(setting.soc, instance)


def only_in_slices(model: Model, setting: Setting) -> frozenset[tuple[str, str]]:
    """The operators and the instances that have room for slices of them, and none for the whole."""
    return frozenset(
        (operator.id, instance.name)
        for operator in model.operators
        for instance in setting.soc.instances
        if too_large(operator, model, instance, setting) and most_places(operator, model, instance, setting)
    )


def most_places(
    operator: Operator, model: Model, instance: Instance, setting: Setting, unit: int = 1, part: int = 1
) -> int:
    """The most places, in multiples of the unit, of a slice for which the instance has room, or one of so
    many parts of its room; 0 where it has none, and where the operator is not divisible.
    """
    axis, space = axis_of(operator, model), room(setting.soc, instance) // part
    if axis is None:
        return 0
    names = held(operator, instance, setting)
    counts = range(unit, axis.extent + 1, unit)
    fitting = bisect_right(
        counts, space, key=lambda places: _slice_bytes(operator, model, axis, names, places)
    )
    return axis.extent if fitting == len(counts) else fitting * unit


def _slice_bytes(
    operator: Operator, model: Model, axis: DivisionAxis, names: tuple[str, ...], places: int
) -> int:
    """The bytes of these operands of a slice in the middle of the result, with both of its halos."""
    first, sizes = (axis.extent - places) // 2, dict[str, int]()
    for number, name in enumerate((*operator.inputs, *operator.constants)):
        tensor, window = model.tensors[name], axis.windows.get(number)
        sizes[name] = tensor.bytes
        if window is not None:
            needed = window.needed(range(first, first + places))
            sizes[name] = tensor.with_extent(axis.axes[number], len(needed)).bytes
    sizes[operator.output] = model.tensors[operator.output].with_extent(axis.axis, places).bytes
    return sum(sizes[name] for name in names)
