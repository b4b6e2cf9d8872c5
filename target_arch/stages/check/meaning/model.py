"""The kernels against the model: every tensor that calls leave in memory is computed from exactly the tensors
that the model computes it from, by calls of its own partition.

The operators of a call are those between what it reads and what it writes. A tensor between them exists
nowhere; one that exists is read where it is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np
from attrs import frozen

from target_arch.diagnostics import Diagnostic
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import C_TYPES, DTYPE_BYTES, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.check.meaning.kernels import Meaning, MeantCall
from target_arch.stages.check.meaning.numbers import Runs, joined, picked, same
from target_arch.stages.check.rules.aliases import sliced_places
from target_arch.stages.check.rules.faults import Fault, at

_Leaf = frozenset[str]
"""The names of one value: of a tensor, and of others that are equal to it."""


@frozen(kw_only=True)
class Cone:
    """The operators, in the model's order, that compute a tensor from `reads`, the tensors that exist."""

    operators: tuple[Operator, ...]
    reads: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """The tensors that are read, with the constants of the operators."""
        return self.reads.union(*(each.constants for each in self.operators))

    @property
    def needs(self) -> frozenset[str]:
        """The tensors on which results depend. An operator without a row may ignore what it is given, as
        `ones_like` does; its call has the operands that its function has parameters for.
        """
        known = (each for each in self.operators if each.kind != OperatorKind.RELAX)
        return frozenset(name for each in known for name in each.inputs)


class ModelRules:
    """The rules for the kernels of a graph."""

    def __init__(self, graph: PartitionGraph, meaning: Meaning) -> None:
        self._model, self._graph, self._meaning = graph.model, graph, meaning
        self._every = tuple(meant for calls in meaning.calls.values() for meant in calls)
        self._packed = {tensor.name for kernel in meaning.kernels.values() for tensor in kernel.constants}

    def faults(self) -> Iterator[Diagnostic]:
        """Everything wrong with the kernels, in the order of the partitions; nothing more where the operators
        of these are not the model's, as all else is said about those.
        """
        divided = tuple(at("the partitions", self._divided()))
        if divided:
            yield from divided
            return
        yield from at("the kernels", self._named_once())
        for partition in self._graph.partitions:
            if partition.id not in self._meaning.kernels:
                continue
            inside = {operator.id for operator in partition.operators}
            for operator in partition.operators:
                if operator.output in self._there:
                    place = f"operator {operator.id} in partition {partition.id}"
                    yield from at(place, self._tensor(operator, inside))
            functions = {each.name: each for each in self._meaning.kernels[partition.id].functions}
            for number, meant in enumerate(self._meaning.calls[partition.id]):
                place = f"call {number} of partition {partition.id}"
                yield from at(place, self._call(meant, functions))
        for name in self._model.kept:
            if name not in self._there:
                yield from at("the kernels", (("missing-tensor", f"`{name}` is never computed"),))

    def _divided(self) -> Iterator[Fault]:
        """Every operator of the model is in one partition, as it is in the model."""
        held = Counter(each.id for partition in self._graph.partitions for each in partition.operators)
        for operator in self._model.operators:
            if held[operator.id] != 1:
                yield "wrong-operator", f"operator `{operator.id}` is in {held[operator.id]} partitions"
        known = {operator.id: operator for operator in self._model.operators}
        for each in (each for partition in self._graph.partitions for each in partition.operators):
            if each.id not in known or known[each.id] != each:
                yield "wrong-operator", f"operator `{each.id}` is not that of the model"

    def _named_once(self) -> Iterator[Fault]:
        """Constants of kernels that are known by the name of other bytes."""
        seen = dict(self._model.tensors)
        for kernel in self._meaning.kernels.values():
            for tensor in kernel.constants:
                if seen.setdefault(tensor.name, tensor).data != tensor.data:
                    yield "wrong-content", f"`{tensor.name}` is the name of two constants"

    @cached_property
    def _there(self) -> frozenset[str]:
        """The tensors that exist: those given, and those that calls or moves write."""
        named = self._meaning.named.values()
        return frozenset((*self._model.given, *(name for names in named for name in names)))

    def _tensor(self, operator: Operator, inside: set[str]) -> Iterator[Fault]:
        """The tensors that a tensor is made from, and whether all of it is made."""
        last = self._meaning.at_last(operator.output)
        unmade = [value for value in self._meaning.numbers.owners(last) if value not in self._meaning.named]
        if unmade:
            yield "incomplete-tensor", f"`{operator.output}` is not written entirely"
        elif operator.output not in self._computed:
            if not self._is_joined(operator, last):
                yield "wrong-operand", f"`{operator.output}` is no copy of {_listed(operator.inputs)}"
        else:
            yield from self._made(operator, last, inside)

    @cached_property
    def _computed(self) -> frozenset[str]:
        """The tensors that calls write that are no plain copies, or moves."""
        written = (
            (meant.call, each) for meant in self._every for each in meant.operands if each.written is not None
        )
        copied = {each.operand.of for call, each in written if call.copies}
        return frozenset(self._there - copied)

    def _is_joined(self, operator: Operator, last: Runs) -> bool:
        parts = [self._meaning.at_last(name) for name in operator.inputs]
        if operator.kind is OperatorKind.SLICE:
            size = DTYPE_BYTES[self._model.tensors[operator.output].dtype]
            places = sliced_places(operator, self._model)
            return same(last, picked(parts[0], places, size))
        return same(last, joined(np.concatenate(parts, axis=1)))

    def _made(self, operator: Operator, last: Runs, inside: set[str]) -> Iterator[Fault]:
        cone = self._cone(operator)
        outside = [each.id for each in cone.operators if each.id not in inside]
        if outside:
            yield "wrong-operand", f"`{operator.output}` is made without {_listed(outside)}, elsewhere"
            return
        values = self._meaning.numbers.owners(last)
        leaves = frozenset[_Leaf]().union(*(self._leaves.get(value, ()) for value in values))
        beside = (self._cone(self._model.makers[name]) for name in self._beside.get(operator.output, ()))
        allowed = {name for each in (cone, *beside) for name in each.names}
        wrong = [leaf for leaf in leaves if leaf.isdisjoint(allowed) and leaf.isdisjoint(self._packed)]
        for name in sorted(map(min, wrong)):
            yield "wrong-operand", f"`{operator.output}` is made from `{name}`"
        for name in sorted(cone.reads & cone.needs):
            if not any(name in leaf for leaf in leaves):
                yield "wrong-operand", f"`{operator.output}` is made without `{name}`"

    def _cone(self, operator: Operator) -> Cone:
        """Tensors that exist end it, but for those that calls write beside its own: they were made inside."""
        inside = self._beside.get(operator.output, frozenset())
        found, reads, left = {operator.id: operator}, set(), [operator]
        while left:
            for name in left.pop().inputs:
                if name in self._there and name not in inside:
                    reads.add(name)
                elif (maker := self._model.makers[name]).id not in found:
                    found[maker.id] = maker
                    left.append(maker)
        ordered = sorted(found.values(), key=lambda each: self._model.numbers[each.id])
        return Cone(operators=tuple(ordered), reads=frozenset(reads))

    @cached_property
    def _beside(self) -> Mapping[str, frozenset[str]]:
        """By tensor that a call writes and does not read, all of these, itself included: nothing says which
        operands of the call one of them is made from.
        """
        beside: dict[str, frozenset[str]] = {}
        for meant in self._every:
            read = {each.operand.of for each in meant.operands if each.read is not None}
            made = ({each.operand.of for each in meant.operands} - read) & self._model.makers.keys()
            for name in made:
                beside[name] = beside.get(name, frozenset()) | made
        return beside

    @cached_property
    def _leaves(self) -> Mapping[int, frozenset[_Leaf]]:
        """By value that a call made, the tensors that it was made from: what the call reads, or where this is
        no tensor, what that was made from.
        """
        found: dict[int, frozenset[_Leaf]] = {}
        tensors = {value: frozenset((frozenset(names),)) for value, names in self._meaning.named.items()}
        for meant in self._every:
            read: set[_Leaf] = set()
            for value in (v for each in meant.operands for v in self._values(each.read)):
                read |= tensors.get(value) or found.get(value, frozenset())
            if not meant.call.copies:
                made = (value for each in meant.operands for value in self._values(each.written))
                found |= dict.fromkeys(made, frozenset(read))
        return found

    def _values(self, runs: Runs | None) -> tuple[int, ...]:
        return () if runs is None else self._meaning.numbers.owners(runs)

    def _call(self, meant: MeantCall, functions: Mapping[str, CFunction]) -> Iterator[Fault]:
        """Operands in the order of the operators' rows, and of the types of the function's parameters."""
        names = [
            o.operand.of for o in meant.operands if o.read is not None and o.operand.of in self._model.tensors
        ]
        for operand in meant.operands:
            if operand.written is not None and operand.operand.of in self._model.makers:
                cone = self._cone(self._model.makers[operand.operand.of])
                row = [name for each in cone.operators for name in (*each.inputs, *each.constants)]
                if {*names} <= {*row} and not _in_order(names, row):
                    yield "wrong-operand", f"it reads {_listed(names)} in another order than its operators"
        function = functions.get(meant.call.function)
        if function is not None:
            yield from self._typed(meant, function)

    def _typed(self, meant: MeantCall, function: CFunction) -> Iterator[Fault]:
        if len(function.parameters) != len(meant.operands):
            yield "wrong-operand", f"`{function.name}` has {len(function.parameters)} parameters"
            return
        for number, (parameter, operand) in enumerate(zip(function.parameters, meant.operands, strict=True)):
            tensor = self._meaning.tensor(operand.operand.of)
            constant = "" if operand.operand.access.writes else "const "
            if tensor is not None and parameter != f"{constant}{C_TYPES[tensor.dtype]} *":
                yield (
                    "wrong-operand",
                    f"parameter {number} of `{function.name}` is `{parameter}` for `{tensor}`",
                )
            over = [n for n, under in enumerate(meant.operands) if under.operand.of in operand.operand.over]
            for read in over:
                if (number, read) not in function.in_place:
                    said = f"`{function.name}` may not write parameter {number} over parameter {read}"
                    yield "unsafe-in-place", said


def _in_order(names: list[str], row: list[str]) -> bool:
    """Whether a call reads tensors in the order of its operators. One that a function reads more often than
    its operators name it, as both operands of a product, counts as often as there.
    """
    surplus = Counter(names) - Counter(row)
    left = iter(reversed(row))
    for name in reversed(names):
        if surplus[name] > 0:
            surplus[name] -= 1
        elif name not in left:
            return False
    return True


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
