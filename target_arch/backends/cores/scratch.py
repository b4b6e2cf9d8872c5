"""The scratch of a partition's calls: a core makes one call after the other, so all have one place.

Where the core's memory is too full for the largest scratch beside some operator, every call keeps its own,
which is there as long as the call alone. Tests: `tests/backends/cores/test_scratch.py`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import evolve

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.lower import Piece
from target_arch.plan.kernels import LocalBuffer


def sharing(pieces: Sequence[Piece], request: LoweringRequest) -> list[Piece]:
    """The pieces with the same buffers for the scratch of all."""
    names: dict[str, LocalBuffer] = {}
    for number, each in ((n, buffer) for piece in pieces for n, buffer in enumerate(piece.buffers)):
        names[each.name] = evolve(each, name=f"{each.memory}.scratch{number}")
    places: dict[str, LocalBuffer] = {}
    for own in names.values():
        known = places.get(own.name, own)
        places[own.name] = evolve(
            own,
            bytes=max(own.bytes, known.bytes),
            alignment=max(own.alignment, known.alignment),
        )
    if len(places) == len(names) or not _have_room(places, request):
        return list(pieces)
    renamed = {name: own.name for name, own in names.items()}
    first, *others = (_renamed(piece, renamed) for piece in pieces)
    return [evolve(first, buffers=tuple(places.values())), *others]


def _have_room(places: Mapping[str, LocalBuffer], request: LoweringRequest) -> bool:
    """Whether every operator of the partition leaves room for all of these buffers."""
    budget, needed = request.budget, Counter[str]()
    for place in places.values():
        needed[place.memory] += place.bytes
    sites = [operator.id for operator in request.partition.operators if operator.id in budget.sites]
    return all(budget.guaranteed(site, memory) >= size for site in sites for memory, size in needed.items())


def _renamed(piece: Piece, names: Mapping[str, str]) -> Piece:
    calls = (
        evolve(call, operands=tuple(each.renamed(names.get(each.of, each.of)) for each in call.operands))
        for call in piece.calls
    )
    return evolve(piece, buffers=(), calls=tuple(calls))
