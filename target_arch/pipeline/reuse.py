"""Results that several compilations share, each under a key of everything that it depends on.

A chip that differs in a size or a bandwidth changes neither the imported model nor the packed weights of a
kernel. Compilations for many chips are given the same `Reuse`; without one, each has its own. Results are
equal with and without: `tests/explore/test_reuse.py`.
"""

import hashlib
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from target_arch.backend.contract import Pattern
from target_arch.pipeline.request import CompileRequest
from target_arch.plan.goal import Goal
from target_arch.plan.input_range import Ends
from target_arch.plan.memory import IoOwner, MemoryPlan
from target_arch.plan.model import Model
from target_arch.plan.tuning import Tuning
from target_arch.relax.operators.program import RelaxProgram

_SEARCHES = 200
"""How many results of searches are kept: a problem is some ten kilobytes."""
_PLANS = 1_000
"""How many plans of arenas are kept: those of a small model have some kilobytes."""

Imported = tuple[Model, RelaxProgram]


@frozen(kw_only=True)
class ModelKey:
    """Everything that an imported model depends on beside the plug-ins: `content` is the digest of the file,
    `shapes` are the fixed shapes and values of its inputs, and its cut, as text, `ranges` what is promised of
    them.
    """

    path: Path
    content: str
    name: str | None
    patterns: tuple[Pattern, ...]
    shapes: str
    ranges: tuple[tuple[str, Ends], ...]
    states: tuple[tuple[str, str], ...]
    keep_dead: bool
    for_size: bool
    io: IoOwner

    @classmethod
    def of(cls, request: CompileRequest, patterns: tuple[Pattern, ...]) -> "ModelKey":
        """The key of a request's model with these composites; a file that cannot be read has no content."""
        path, given = request.model_path, request.input_shapes
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        return cls(
            path=path,
            content=content,
            name=request.name,
            patterns=patterns,
            shapes=repr((sorted(given.shapes.items()), given.batch, sorted(given.values.items()), given.cut)),
            ranges=tuple(sorted(request.input_ranges.items())),
            states=tuple(sorted(request.states.items())),
            keep_dead=request.keep_dead,
            for_size=request.optimize is Goal.SIZE,
            io=request.io,
        )


class Recent(MutableMapping[object, Any]):
    """A table that forgets the oldest entries when there are more than so many."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, dict[object, Any]()

    def __getitem__(self, key: object) -> Any:
        return self._held[key]

    def __setitem__(self, key: object, value: Any) -> None:
        self._held[key] = value
        while len(self._held) > self._most:
            del self._held[next(iter(self._held))]

    def __delitem__(self, key: object) -> None:
        del self._held[key]

    def __iter__(self) -> Iterator[object]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


@define(eq=False)
class Reuse:
    """The values that compilations with the same plug-ins share: imported models, and what backends keep for
    a model whatever the chip (`LoweringRequest.shared`).
    """

    models: dict[ModelKey, Imported] = field(factory=dict)
    stores: dict[ModelKey, list[tuple[Goal, Tuning, MutableMapping[object, Any]]]] = field(factory=dict)

    searches: MutableMapping[object, Any] = field(factory=lambda: Recent(_SEARCHES))
    """Results of searches for a placement, by the whole of their problem."""

    plans: MutableMapping[object, MemoryPlan] = field(factory=lambda: Recent(_PLANS))
    """Memory plans of arenas, by their buffers and how they were planned."""

    def model(self, key: ModelKey, read: Callable[[], Imported]) -> Imported:
        """The imported model of that key, read now if it was not before."""
        if key not in self.models:
            self.models[key] = read()
        return self.models[key]

    def store(self, key: ModelKey, goal: Goal, tuning: Tuning) -> MutableMapping[object, Any]:
        """The store of backends for that model, goal and tuning."""
        known = self.stores.setdefault(key, [])
        for other_goal, other_tuning, store in known:
            if (other_goal, other_tuning) == (goal, tuning):
                return store
        known.append((goal, tuning, {}))
        return known[-1][2]
