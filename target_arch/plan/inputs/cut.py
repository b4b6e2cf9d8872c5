"""A part of a model, between tensors that the user names.

Readers and references cut the model of a file by `TensorGraph.part`; the command line makes a `ModelCut` of
`--from` and `--to`. Tests: `tests/plan/inputs/test_cut.py`.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, listed, name_hint, nearest
from target_arch.plan.model import identifier


@frozen(kw_only=True)
class ModelCut:
    """The tensors at which a part of a model begins, and those that are its outputs. Without `inputs` it
    begins at those of the file, without `outputs` it ends at those.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)


WHOLE = ModelCut()
"""The model as it is in the file."""


_MANY = 10
"""Names in a hint."""


@frozen(kw_only=True)
class OperatorTensors:
    """An operator, by the names of the tensors that it reads and writes."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


@frozen(kw_only=True)
class ModelPart:
    """A part of a model: its inputs and outputs by their names in the file, and the numbers of its operators,
    in order.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[int, ...]


@frozen(kw_only=True)
class TensorGraph:
    """The operators of a model file, in order. `hidden` are names that are no tensors."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: Sequence[OperatorTensors]
    hidden: frozenset[str] = frozenset()

    def part(self, place: str, cut: ModelCut) -> ModelPart:
        """The part that a cut names, with the inputs of the file that it reads, too. Names may be as in C; of
        those that a converter joined with semicolons the first is enough.

        DiagnosticError for every name that the file does not have, and where nothing reads an input.
        """
        computed = self._computed()
        starts = self._resolved(cut.inputs, tuple(dict.fromkeys((*self.inputs, *computed))))
        ends = self._resolved(cut.outputs, computed)
        faults = [*_faults(place, cut.inputs, starts, "tensor", (*self.inputs, *computed))]
        faults += _faults(place, cut.outputs, ends, "computed tensor", computed)
        if faults:
            raise DiagnosticError(faults)
        begin = tuple(name for name in starts if name is not None)
        outputs = tuple(name for name in ends if name is not None) or self.outputs
        steps, read = self._needed(outputs, begin)
        useless = [name for name in begin if name not in read or name in outputs]
        torn = [name for name in begin if name in self._written(steps) and name not in useless]
        faults = [*(_unread(place, name) for name in useless), *(_torn(place, name) for name in torn)]
        if faults:
            raise DiagnosticError(faults)
        own = tuple(name for name in self.inputs if name in {*read, *outputs} and name not in begin)
        return ModelPart(inputs=(*own, *begin), outputs=outputs, steps=steps)

    def _computed(self) -> tuple[str, ...]:
        return tuple(name for step in self.steps for name in step.writes if name not in self.hidden)

    def _written(self, steps: Iterable[int]) -> set[str]:
        return {name for number in steps for name in self.steps[number].writes}

    def _resolved(self, names: Sequence[str], known: Sequence[str]) -> list[str | None]:
        """The names in the file; None for those that it does not have."""
        others = {form: name for name in reversed(known) for form in (identifier(name, ""), _first(name))}
        own = set(known)
        return [name if name in own else others.get(name) for name in names]

    def _needed(self, outputs: Sequence[str], begin: Sequence[str]) -> tuple[tuple[int, ...], set[str]]:
        """The operators that outputs depend on from there on, and every name that they read."""
        writers: dict[str, list[int]] = {}
        for number, step in enumerate(self.steps):
            for name in step.writes:
                writers.setdefault(name, []).append(number)
        kept: set[int] = set()
        read: set[str] = set()
        rest = list(outputs)
        while rest:
            for number in writers.get(rest.pop(), ()):
                if number in kept:
                    continue
                kept.add(number)
                rest += [name for name in self.steps[number].reads if name not in begin]
                read.update(self.steps[number].reads)
        return tuple(sorted(kept)), read


def _faults(
    place: str, names: Sequence[str], resolved: Sequence[str | None], what: str, known: Iterable[str]
) -> Iterator[Diagnostic]:
    for name, found in zip(names, resolved, strict=True):
        if found is None:
            text = f"the model has no {what} `{name}`"
            yield _refused(place, text, _hint(name, tuple(map(_first, known))))


def _hint(name: str, known: Sequence[str]) -> str:
    """The nearest name, else the names; of many the last ones."""
    if nearest(name, known) is None and len(known) > _MANY:
        return f"the last of {len(known)} are: {listed(known[-_MANY:])}"
    return name_hint(name, set(known), "it has")


def _first(name: str) -> str:
    return name.partition(";")[0]


def _unread(place: str, name: str) -> Diagnostic:
    return _refused(
        place, f"no output that is left follows from `{name}`", "name a tensor before the outputs"
    )


def _torn(place: str, name: str) -> Diagnostic:
    text = f"`{name}` cannot be an input: its operator has other results, which are needed"
    return _refused(place, text, "begin at these, too, or later")


def _refused(place: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(rule="wrong-cut", place=place, message=message, hint=hint)
