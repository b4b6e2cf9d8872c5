"""Cover a Relax program with composites.

From the outputs backwards, every value that is needed becomes the root of the largest composite that fits
there; a value that no composite fits becomes an operator by itself. Only needed values are computed: a
`dequantize` inside the composites of all its users disappears; it is kept for a single call that reads
it.
"""

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from attrs import evolve
from tvm import relax

from target_arch.backend.contract import Pattern
from target_arch.plan.model import Attribute
from target_arch.plan.operators.facts import LOOP_OPERATIONS, MACS_PER_OUTPUT, RELAX_OP
from target_arch.relax.ir.graph import Graph, called_function, shape_of
from target_arch.relax.ir.loop_work import loop_work
from target_arch.relax.ir.macs import macs_per_output
from target_arch.relax.ir.variables import variables_of
from target_arch.relax.operators.rows import axes_of_call, kind_of_call
from target_arch.relax.patterns.matcher import Draft, Matcher, operators_between

_REPEATABLE = "dequantize"
_CONVERSIONS = ("quantize", _REPEATABLE)


def cover(graph: Graph, patterns: Iterable[Pattern]) -> tuple[Draft, ...]:
    """Drafts of operators in program order that together compute the outputs of `graph`."""
    candidates = _Candidates(each for pattern in patterns for each in _loaded(pattern))
    needed = dict.fromkeys(graph.outputs)
    drafts: list[Draft] = []
    for var in reversed(graph.variables):
        if var not in needed:
            continue
        draft = _largest(graph, var, candidates) or _single(graph, var)
        drafts.append(draft)
        needed.update(dict.fromkeys(draft.inputs))
    return tuple(reversed(drafts))


def _loaded(pattern: Pattern) -> tuple[Matcher, ...]:
    matchers = pattern.load()
    return (matchers,) if isinstance(matchers, Matcher) else tuple(matchers)


class _Candidates:
    """The matchers that may match a call, found once for all calls of an operator on the same operators."""

    def __init__(self, matchers: Iterable[Matcher]) -> None:
        self._matchers = tuple(matchers)
        self._known: dict[tuple[str, ...], tuple[Matcher, ...]] = {}

    def of(self, graph: Graph, var: Any, call: Any) -> tuple[Matcher, ...]:
        operands = tuple(graph.called.get(operand, "") for operand in call.args[:])
        root, operator = graph.operators[var], graph.called[var]
        key = (root, operator, *operands)
        if key not in self._known:
            self._known[key] = tuple(
                each for each in self._matchers if root in each.roots and each.may_match(operator, operands)
            )
        return self._known[key]


def _largest(graph: Graph, var: Any, candidates: _Candidates) -> Draft | None:
    call = graph.call(var)
    if call is None or graph.is_activation(var) is False:
        return None
    best, size = None, 0
    for matcher in candidates.of(graph, var, call):
        draft = matcher.match(graph, var)
        if draft is None:
            continue
        inside = tuple(operators_between(graph, var, draft.inputs))
        if len(inside) > size and _is_closed(graph, inside) and _is_on_one_device(graph, inside):
            best, size = _described(graph, draft, inside), len(inside)
    return best


def _described(graph: Graph, draft: Draft, inside: tuple[Any, ...]) -> Draft:
    """With its Relax operators, the author's name of the operator nearest to its end that is no conversion,
    and the device that one of them is put on.
    """
    named = [var for var in inside if var in graph.names]
    proper = [var for var in named if graph.operators[var] not in _CONVERSIONS]
    location = next((graph.names[var] for var in (*proper, *named)), "")
    device = next((graph.devices[var] for var in inside if var in graph.devices), None)
    return evolve(draft, relax_ops=_names(graph, inside), location=location, device=device)


def _is_on_one_device(graph: Graph, inside: tuple[Any, ...]) -> bool:
    """Whether no two operators of a composite are put on different devices."""
    return len({graph.devices[var].device for var in inside if var in graph.devices}) < 2


def _is_closed(graph: Graph, inside: tuple[Any, ...]) -> bool:
    """No value inside, root apart, is read outside or is an input or output of the program."""
    members = frozenset(inside)
    for var in inside[1:]:
        if graph.is_parameter(var):
            return False
        if graph.operators[var] == _REPEATABLE:
            continue
        if var in graph.outputs or any(user not in members for user in graph.users.get(var, ())):
            return False
    return True


def _names(graph: Graph, inside: tuple[Any, ...]) -> tuple[str, ...]:
    """The Relax operators of a composite in program order."""
    ordered = sorted(inside, key=graph.positions.__getitem__)
    return tuple(graph.operators[var] for var in ordered)


def _single(graph: Graph, var: Any) -> Draft:
    """One Relax call on its own; a tuple it takes apart, and constants it reads, belong to it."""
    inputs = tuple(dict.fromkeys(_read_activations(graph, var)))
    inside = tuple(operators_between(graph, var, inputs))
    names = tuple(name for name in _names(graph, inside) if name)
    attributes: dict[str, Attribute] = {RELAX_OP: names[0] if names else "constant"}
    axes = axes_of_call(graph.bound[var]) if len(names) == 1 else ()
    if axes:
        attributes["axes"] = axes
    attributes |= _work(graph, var, inside)
    draft = Draft(kind=kind_of_call(names), inputs=inputs, output=var, attributes=attributes)
    return evolve(_described(graph, draft, inside), relax_ops=names)


def _work(graph: Graph, var: Any, inside: tuple[Any, ...]) -> Mapping[str, Attribute]:
    """The attributes that say what calls cost, where it does not follow from shapes."""
    macs = max((macs_per_output(graph.bound[each]) for each in inside), default=0)
    called = [found for each in inside if (found := called_function(graph.bound[each])) is not None]
    if not called:
        return {MACS_PER_OUTPUT: macs} if macs else {}
    works = [loop_work(graph.module[function]) for function in called]
    products, outputs = sum(work.products for work in works), prod(shape_of(var))
    macs = max(macs, -(-products // max(outputs, 1)))
    operations = sum(work.operations for work in works)
    return {LOOP_OPERATIONS: operations} | ({MACS_PER_OUTPUT: macs} if macs else {})


def _read_activations(graph: Graph, var: Any) -> list[Any]:
    """The tensor variables an expression depends on, seen through variables that hold tuples."""
    found = []
    for read in variables_of(graph.bound[var]):
        if not graph.is_activation(read):
            continue
        if isinstance(read.ty, relax.TupleType) and not graph.is_parameter(read):
            found += _read_activations(graph, read)
        else:
            found.append(read)
    return found
