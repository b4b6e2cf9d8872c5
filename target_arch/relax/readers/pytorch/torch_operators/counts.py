"""Tensors of a program whose size depends on values get their largest size, and a count of what is there.

PyTorch names such a size by a symbol, which stands in the shape of every tensor that has it, so that the
dimension is known wherever it goes. What is behind the count is no result: an operator may read it only where
its own result has it behind the count, too, or where it is replaced before.
Imports PyTorch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from math import prod
from typing import Any

import torch
from attrs import define, evolve, field, frozen

from target_arch.relax.readers.source import BoundedOutput


@frozen(kw_only=True)
class CountedTensor:
    """A tensor that has as many places along `axis` as the size of this name says; `zeros`: whether zeros are
    behind them.
    """

    axis: int
    size: str
    zeros: bool


@frozen(kw_only=True, eq=False)
class CountedTensors:
    """Tensors of a program with a count, by their nodes. `behind`: what a node wants behind the count of its
    operands, where it does not read them as they are; `refused`: why a node cannot have them. `bounded` are
    the outputs among them, whose counts, of these `sizes`, follow the `results`, of which there are so many.
    """

    of: Mapping[Any, CountedTensor]
    behind: Mapping[Any, str]
    refused: Mapping[Any, str]
    bounded: tuple[BoundedOutput, ...]
    results: int
    sizes: tuple[str, ...]

    def begins(self, node: Any) -> bool:
        """Whether a size begins at this node, which has a mask."""
        return _mask(node) is not None


def counted_tensors(program: Any, results: Sequence[str]) -> CountedTensors:
    """Find those of a program in core operators, with `results` by the names of their nodes. The tensors that
    stand for values get shapes of the largest size; what PyTorch asserts of sizes is left out.
    """
    walk = _Walk()
    for node in list(program.graph.nodes):
        if node.op == "call_function":
            walk.visit(node)
    if walk.largest:
        program.graph.eliminate_dead_code()
    nodes = {node.name: node for node in program.graph.nodes}
    counts, bounded = dict[str, int](), []
    for number, name in enumerate(results):
        found = walk.tensors.get(nodes.get(name))
        if found is not None:
            place = counts.setdefault(found.size, len(results) + len(counts))
            bounded.append(BoundedOutput(output=number, axis=found.axis, count=place))
    return CountedTensors(
        of=walk.tensors,
        behind=walk.behind,
        refused=walk.refused,
        bounded=tuple(bounded),
        results=len(results),
        sizes=tuple(counts),
    )


@define(eq=False)
class _Walk:
    """The knowledge after some nodes; `largest` has the largest extents by the names of sizes."""

    tensors: dict[Any, CountedTensor] = field(factory=dict)
    behind: dict[Any, str] = field(factory=dict)
    refused: dict[Any, str] = field(factory=dict)
    largest: dict[str, int] = field(factory=dict)

    def visit(self, node: Any) -> None:
        """Judge a node, and give its results their largest size."""
        name = node.target.__name__
        if name in _ASSERTIONS and all(_sizes_in(each) for each in node.all_input_nodes):
            node.graph.erase_node(node)
            return
        operands = {each: self.tensors[each] for each in node.all_input_nodes if each in self.tensors}
        begun = _begun(node, name)
        if begun is not None and begun > 0:
            self.largest.update({size: begun for size in _sizes_in(node) if size not in self.largest})
        if name in _SHAPED:
            known = {each.size for each in operands.values()}
            node.args = torch.fx.node.map_arg(node.args, lambda each: self._extent(each, known))
        found = self._sized(node)
        reason = self._reason(node, name, operands, found, begins=begun is not None)
        if reason is not None:
            self.refused[node] = reason
        elif found is not None:
            zeros = begun is not None and name == _NON_ZERO
            moved = name in _MOVED and all(each.zeros for each in operands.values())
            self.tensors[node] = evolve(found, zeros=zeros or moved)

    def _extent(self, node: Any, known: Set[str]) -> Any:
        """The largest extent in place of a node that is a known size."""
        size = str(node.meta.get("val"))
        return self.largest[size] if _is_size(node) and size in known else node

    def _sized(self, node: Any) -> CountedTensor | None:
        """The first of a node's results with a known size, where all have such or a fixed shape."""
        value, found = node.meta.get("val"), list[CountedTensor]()
        several = isinstance(value, tuple | list)
        made = []
        for each in value if several else [value]:
            axes = [axis for axis, extent in enumerate(_shape(each)) if not isinstance(extent, int)]
            names = [str(each.shape[axis]) for axis in axes]
            if axes and (len(axes) > 1 or names[0] not in self.largest):
                return None
            if axes:
                found.append(CountedTensor(axis=axes[0], size=names[0], zeros=False))
            made.append(self._largest(each) if axes else each)
        if found:
            node.meta["val"] = type(value)(made) if several else made[0]
        return found[0] if found else None

    def _largest(self, value: Any) -> Any:
        shape = [self.largest.get(str(extent), extent) for extent in value.shape]
        return torch.empty(shape, dtype=value.dtype, device="meta")

    def _reason(
        self,
        node: Any,
        name: str,
        operands: Mapping[Any, CountedTensor],
        found: CountedTensor | None,
        *,
        begins: bool,
    ) -> str | None:
        """Why a node cannot have its operands or its result; None where it can."""
        if _is_size(node) and _sizes_in(node):
            return "its result is a size that depends on values"
        number = next((each for each in node.all_input_nodes if _is_size(each) and _sizes_in(each)), None)
        if number is not None:
            return f"its operand `{number.name}` is a size that depends on values"
        if not operands:
            return None
        if begins:
            behind = _chosen(node, operands, found)
        else:
            rule = _RULES.get(name, _elementwise if torch.Tag.pointwise in _tags(node) else _never)
            behind = rule(node, operands, found)
        if behind is None:
            return f"the size of its operand `{next(iter(operands)).name}` depends on values"
        if behind:
            self.behind[node] = behind
        return None


_ASSERTIONS = (
    "_assert_scalar.default",
    "sym_constrain_range.default",
    "sym_constrain_range_for_size.default",
)
_NON_ZERO, _INDEX = "nonzero.default", "index.Tensor"
_SHAPED = ("expand.default", "view.default")
"""Operators that have a shape among their arguments: that of a tensor whose size is known."""


def _tags(node: Any) -> Sequence[Any]:
    found: Sequence[Any] = getattr(node.target, "tags", ())
    return found


def _shape(value: Any) -> Sequence[Any]:
    return tuple(getattr(value, "shape", ()))


def _is_size(node: Any) -> bool:
    return isinstance(node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool)


def _sizes_in(node: Any) -> list[str]:
    """The names of sizes that depend on values in what a node gives."""
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    value = node.meta.get("val")
    listed = value if isinstance(value, tuple | list) else [value]
    kinds = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
    found = {str(each) for one in listed if isinstance(one, kinds) for each in free_unbacked_symbols(one)}
    return sorted(found)


def _begun(node: Any, name: str) -> int | None:
    """The largest extent of a size that begins at this node; None where none does."""
    if name in (_NON_ZERO, "_unique2.default"):
        return _elements(node.args[0])
    if name == "masked_select.default":
        shapes = (each.meta["val"].shape for each in node.args)
        return int(prod(torch.broadcast_shapes(*shapes)))
    mask = _mask(node) if name == _INDEX else None
    return None if mask is None else _elements(mask)


def _elements(node: Any) -> int:
    return int(prod(node.meta["val"].shape))


def _mask(node: Any) -> Any | None:
    """The mask by which elements are read, where no other index is there."""
    given = [each for each in node.args[1] if each is not None]
    alone = len(given) == 1 and given[0].meta["val"].dtype == torch.bool
    return given[0] if alone else None


Operands = Mapping[Any, CountedTensor]
Rule = Callable[[Any, Operands, CountedTensor | None], str | None]
"""What must be behind the count of the operands: "" for anything, None where it cannot be read."""


def _never(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    return None


def _chosen(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    """By zeros of the mask no place behind the count is chosen, of elements that have the same count."""
    name = node.target.__name__
    if found is None or name not in (_NON_ZERO, _INDEX):
        return None
    if name == _NON_ZERO:
        return "zero"
    x, mask = node.args[0], _mask(node)
    if mask not in operands:
        return None
    place = node.args[1].index(mask) + operands[mask].axis
    return "zero" if x not in operands or _along(operands[x]) == (operands[mask].size, place) else None


def _along(counted: CountedTensor) -> tuple[str, int]:
    return counted.size, counted.axis


def _elementwise(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    """Every element from those at its own place."""
    if found is None:
        return None
    behind = len(_shape(node.meta["val"])) - found.axis
    for each in node.all_input_nodes:
        shape = _shape(each.meta["val"])
        counted = operands.get(each)
        if counted is None and len(shape) >= behind and shape[-behind] != 1:
            return None
        if counted is not None and (counted.size, len(shape) - counted.axis) != (found.size, behind):
            return None
    return ""


def _joined(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    """Operands of one count, along another dimension."""
    same = found is not None and all(
        each in operands and _along(operands[each]) == _along(found) for each in node.all_input_nodes
    )
    return "" if same else None


def _moved(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    """The same elements in another shape, in which as many are before the count's dimension."""
    (operand, counted), *more = operands.items()
    if more or found is None or found.size != counted.size:
        return None
    before = [prod(_shape(operand.meta["val"])[: counted.axis]), prod(_shape(node.meta["val"])[: found.axis])]
    return "" if before[0] == before[1] else None


def _turned(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    return None if found is None else ""


def _one_of_several(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    """A result of an operator with several, of which some may have no count."""
    return ""


def _rows(operand: int) -> Rule:
    """Every row of the result from a row of this operand."""

    def rule(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
        of_rows = set(operands) == {node.args[operand]} and operands[node.args[operand]].axis == 0
        alone = node.all_input_nodes.count(node.args[operand]) == 1
        return "" if of_rows and alone and found is not None and found.axis == 0 else None

    return rule


def _read_at(operand: int) -> Rule:
    """A table that has no count, at places that have one: 0 behind it, which is a place of every table."""

    def rule(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
        table = node.args[operand]
        return "zero" if table not in operands and found is not None else None

    return rule


def _softmax(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    """Along another dimension."""
    if found is None:
        return None
    return "" if node.args[1] % len(_shape(node.meta["val"])) != found.axis else None


def _normalized(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
    """Over the last dimensions, which have no count."""
    if found is None or set(operands) != {node.args[0]}:
        return None
    rank = len(_shape(node.args[0].meta["val"]))
    return "" if found.axis < rank - len(node.args[1]) else None


def _reduced(neutral: str) -> Rule:
    """Along another dimension, or with a value behind the count that changes no result."""

    def rule(node: Any, operands: Operands, found: CountedTensor | None) -> str | None:
        (operand,) = operands
        return "" if found is not None else neutral if operands[operand].axis in _reduced_axes(node) else None

    return rule


def _reduced_axes(node: Any) -> Iterator[int]:
    rank = len(_shape(node.args[0].meta["val"]))
    given = node.args[1] if len(node.args) > 1 else None
    yield from (axis % rank for axis in given or range(rank))


MEANS = ("mean.default", "mean.dim")
"""Means along the dimension of a count: the converter divides by it."""

_MOVED = ("_to_copy.default", "clone.default", "getitem", "permute.default", "select.int", "slice.Tensor",
          "split_with_sizes.default", "squeeze.dims", "unsqueeze.default", "view.default")  # fmt: skip
"""Operators that leave zeros behind a count."""

_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_MOVED, _moved),
    "permute.default": _turned,
    "getitem": _one_of_several,
    "expand.default": _elementwise,
    "full_like.default": _elementwise,
    "cat.default": _joined,
    "addmm.default": _rows(1),
    "convolution.default": _rows(0),
    "mm.default": _rows(0),
    "embedding.default": _read_at(0),
    _INDEX: _read_at(0),
    "index_select.default": _read_at(0),
    "_softmax.default": _softmax,
    "_log_softmax.default": _softmax,
    "native_layer_norm.default": _normalized,
    "amax.default": _reduced("lowest"),
    "amin.default": _reduced("highest"),
    "sum.dim_IntList": _reduced("zero"),
    **dict.fromkeys(MEANS, _reduced("zero")),
}
