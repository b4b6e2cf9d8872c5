"""The tensors of an operator and the copies they need on a group: computed once for all operators alike."""

from collections.abc import Sequence

from attrs import frozen

from target_arch.plan.model import Model, Operator
from target_arch.stages.paths.reach import MemoryAccess
from target_arch.stages.placement.transfer_costs import Traffic

_Sizes = tuple[tuple[int, ...], tuple[int, ...], int]


@frozen(kw_only=True)
class Footprint:
    """The activations of an operator, each once, and the bytes of these, of its constants and of its result.

    Operators whose bytes are the same in all of these are of one `form`.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    fixed: tuple[int, ...]
    result: int
    form: int


@frozen(kw_only=True)
class CopyCost:
    """The costs of the copies of an operator on a group, in picoseconds, and the memories of its tensors
    then.

    `brought` is for its activations, `fixed` for its constants, `left` for its result; `copy` is the sum.
    """

    brought: tuple[int, ...]
    fixed: int
    left: int
    copy: int
    inputs: tuple[int, ...]
    output: int


class CopyCosts:
    """The copy costs of all operators of a model, cached by everything they depend on.

    `reaches` are those of the groups, `constants` the memories (bits) that hold constants. Those of the
    operators of `staying` are there already, on the groups beside them.
    """

    def __init__(
        self,
        model: Model,
        traffic: Traffic,
        reaches: Sequence[MemoryAccess],
        constants: int,
        staying: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        self._traffic, self._reaches, self._constants = traffic, reaches, constants
        self._staying = staying
        self._tensors = model.tensors
        self._forms: dict[_Sizes, int] = {}
        self._known: dict[tuple[int, int, tuple[int, ...], bool], CopyCost | None] = {}
        self.operands = {operator.id: self._touched(operator) for operator in model.operators}
        """By operator id."""

    def of(self, operator: str, group: int, masks: tuple[int, ...]) -> CopyCost | None:
        """The copy cost of an operator (by id) with activations in the memories of `masks`; None if links are
        missing.
        """
        touched = self.operands[operator]
        stay = (operator, group) in self._staying
        key = (touched.form, group, masks, stay)
        if key not in self._known:
            fixed = () if stay else touched.fixed
            self._known[key] = self._visit(touched, fixed, self._reaches[group], masks)
        return self._known[key]

    def _touched(self, operator: Operator) -> Footprint:
        tensors = self._tensors
        names = tuple(name for name in dict.fromkeys(operator.inputs) if tensors[name].data is None)
        sizes = tuple(tensors[name].bytes for name in names)
        fixed = tuple(tensors[name].bytes for name in dict.fromkeys(operator.constants))
        result = tensors[operator.output].bytes
        form = self._forms.setdefault((sizes, fixed, result), len(self._forms))
        return Footprint(names=names, sizes=sizes, fixed=fixed, result=result, form=form)

    def _visit(
        self, touched: Footprint, fixed_sizes: tuple[int, ...], reach: MemoryAccess, masks: tuple[int, ...]
    ) -> CopyCost | None:
        bring = self._traffic.bring
        brought = [bring(mask, size, reach) for mask, size in zip(masks, touched.sizes, strict=True)]
        fixed = [bring(self._constants, size, reach) for size in fixed_sizes]
        left = self._traffic.leave(touched.result, reach)
        if left is None or None in brought or None in fixed:
            return None
        arrived = [pair for pair in brought if pair is not None]
        costs = tuple(cost for cost, _ in arrived)
        constants = sum(pair[0] for pair in fixed if pair is not None)
        return CopyCost(
            brought=costs,
            fixed=constants,
            left=left[0],
            copy=sum(costs) + constants + left[0],
            inputs=tuple(after for _, after in arrived),
            output=left[1],
        )
