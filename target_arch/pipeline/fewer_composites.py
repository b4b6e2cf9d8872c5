"""The rung above the ladder of `stages.lowering`: the model without the composites of some target_archs.

A backend may bring composites of its own, such as a rectifier as one operator, which the host need not take.
Where such an operator fits nowhere, no other placement of that model helps; but without the composite, the
operators that it was made of go where they can. These requests leave out the target_archs that bring
composites, first one at a time, at last all.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

from attrs import evolve

from target_arch.backend.contract import Backend
from target_arch.pipeline.request import CompileRequest
from target_arch.plan.lowered import Attempt, AttemptKind
from target_arch.plan.model import Model
from target_arch.stages.errors import DoesNotFitError
from target_arch.stages.placement.rules import EVERY

FEW = 4
"""The most target_archs with composites of their own of which all subsets are left out."""


def without_composites(
    request: CompileRequest, backends: Mapping[str, Backend]
) -> tuple[CompileRequest, ...]:
    """The request on fewer target_archs, so that fewer composites are looked for: the most targets first."""
    soc = request.soc
    host = backends[soc.host.name].patterns
    names = [name for name in soc.partitioning if not request.targets or name in request.targets]
    names = [*request.targets, *(name for name in names if name not in request.targets)]
    bring = [
        name
        for name in names
        if name != soc.host.name and any(pattern not in host for pattern in backends[name].patterns)
    ]
    left = [tuple(name for name in names if name not in gone) for gone in _subsets(bring)]
    return tuple(evolve(request, targets=each or (soc.host.name,)) for each in left)


def _subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    """The target_archs to leave out, the fewest first."""
    for count in range(1, len(names) + 1):
        if len(names) <= FEW or count in (1, len(names)):
            yield from combinations(names, count)


def on_fewer(before: CompileRequest, after: CompileRequest, refusal: DoesNotFitError) -> tuple[Attempt, ...]:
    """The attempts that led to a request, and the one that it is."""
    host = before.soc.host.name
    tried = before.targets or tuple(name for name in before.soc.partitioning if name != host)
    on, then = (
        ", ".join((*(name for name in each if name != host), host)) for each in (tried, after.targets)
    )
    attempt = Attempt(
        kind=AttemptKind.TARGETS,
        operator=EVERY,
        instance=on,
        reason=refusal.reason,
        outcome=f"on {then}, without composites of others",
    )
    return (*refusal.tried, attempt)


def alike(one: Model, other: Model) -> bool:
    """True where two models have the same operators, so that one fits where the other does."""
    return one.operators == other.operators
