"""A loop whose trips are known only at run time, as one function: `while` the condition holds, the body.

The values that go from trip to trip have a place each, which the body's results are copied to after each
trip. All tensors of the condition and the body are scratch of the function (`slots.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import tvm_ffi
from attrs import define, field, frozen
from tvm import ir, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.c.printer import is_scratch
from target_arch.relax.repeated.shared_runs import Constants, Form, SharedRun, allocated
from target_arch.relax.repeated.slots import Slots
from target_arch.relax.repeated.straight import Placed, Straight
from target_arch.relax.repeated.words import to_words, words_of
from target_arch.relax.site import local


@frozen(kw_only=True, eq=False, slots=False)
class Loop:
    """The condition and the body, functions of the same values; the condition has one output, the body one
    for each value.
    """

    condition: Straight
    body: Straight

    @cached_property
    def constants(self) -> Constants:
        """The constants of both."""
        return Constants.of((self.condition, self.body))

    @property
    def moving(self) -> list[int]:
        """The numbers of the values that go from trip to trip; the body leaves the others as they are."""
        pairs = zip(self.body.inputs, self.body.outputs, strict=True)
        return [number for number, (before, after) in enumerate(pairs) if before != after]

    @property
    def carried(self) -> list[Form]:
        """The forms of these values."""
        return [self.body.sizes[self.body.inputs[number]] for number in self.moving]

    @property
    def words(self) -> int:
        """The length of the result."""
        return sum(size * words_of(dtype) for size, dtype in self.carried)

    @property
    def operands(self) -> int:
        """The most operands that the function may have in C, with its scratch."""
        programs = (self.condition, self.body)
        own = sum(len(_scratch(call)) + _repeats(call) for program in programs for call in program.calls)
        types = {dtype for program in programs for _, dtype in program.sizes.values()}
        return 2 + len(self.body.inputs) + len(self.constants.arrays) + len(types) + len(self.moving) + own

    def write(self, out: Any, active: Any, *operands: Any) -> None:
        """The function: the values that go from trip to trip after the last one, as words. `operands` are all
        values before the first one, then the joined constants; there is no trip where `active` is false.
        """
        count = len(self.body.inputs)
        given = [SharedRun(buffer=each, size=int(each.shape[0])) for each in operands[:count]]
        moving, programs, slots = self.moving, (self.condition, self.body), Slots()
        placed = [slots.of(program) for program in programs]
        further, *found = allocated([(1, "bool"), *self.carried, *slots.forms])
        values = given.copy()
        for number, own in zip(moving, found[: len(moving)], strict=True):
            values[number] = own
            own.copy(given[number])
        test, trip = (
            _Room(
                program=program,
                places={
                    **self.constants.places(number, operands[count:]),
                    **dict(zip(program.inputs, values, strict=True)),
                    **{name: found[len(moving) + slot] for name, slot in placed[number].items()},
                },
            )
            for number, program in enumerate(programs)
        )
        self._repeat(active, further, test, trip, values)
        _leave(out, [values[number] for number in moving])

    def _repeat(
        self, active: Any, further: SharedRun, test: "_Room", trip: "_Room", values: Sequence[SharedRun]
    ) -> None:
        further.store(active[0], 0)
        with ib.While(further.load(0)):
            test.run()
            further.store(test.outputs[0].load(0), 0)
            with ib.If(further.load(0)), ib.Then():
                trip.run()
                self._pass_on(trip.outputs, values)

    def _pass_on(self, results: Sequence[SharedRun], values: Sequence[SharedRun]) -> None:
        """The results of a trip as the values of the next one. A result that is a value itself is copied away
        first, since another result may take its place.
        """
        left = {number: results[number] for number in self.moving}
        for number, result in left.items():
            if any(result is value for value in values):
                left[number] = _another("held", result)
        for number, result in left.items():
            values[number].copy(_part(result, values[number].size))


def _part(place: SharedRun, size: int) -> SharedRun:
    return SharedRun(buffer=place.buffer, size=size, first=place.first)


def _another(name: str, place: SharedRun) -> SharedRun:
    """A copy of a place."""
    made = SharedRun(buffer=local(name, (place.size,), str(place.buffer.dtype)), size=place.size)
    made.copy(place)
    return made


def _leave(out: Any, values: list[SharedRun]) -> None:
    """The words of all values, one after the other."""
    start = 0
    for place in values:
        dtype = str(place.buffer.dtype)
        count = words_of(dtype)
        with ib.serial(0, place.size) as i:
            for number, word in enumerate(to_words(place.load(i), dtype)):
                ib.buffer_store(out, word, [start + count * i + number])
        start += count * place.size


@define(eq=False)
class _Room:
    """A subprogram with a place for each of its tensors."""

    program: Straight
    places: Mapping[str, SharedRun] = field(repr=False)

    @property
    def outputs(self) -> list[SharedRun]:
        return [self.places[name] for name in self.program.outputs]

    def run(self) -> None:
        """All functions, as statements. Compilers warn of an element that is compared with itself, so an
        operand that a function has twice is copied.
        """
        for call in self.program.calls:
            places = list(self._operands(call))
            ib.add_to_parent(_inlined(call, places))

    def _operands(self, call: Placed) -> Iterator[SharedRun]:
        for number, name in enumerate(call.tensors):
            place = _part(self.places[name], self.program.sizes[name][0])
            yield _another("again", place) if name in call.tensors[:number] else place


def _repeats(call: Placed) -> int:
    """How many operands a function has once more."""
    return len(call.tensors) - len(set(call.tensors))


def _scratch(call: Placed) -> list[Any]:
    """The buffers of a function itself that are too large for the stack."""
    found: list[Any] = []
    tvm_ffi.structural_walk(call.function.body, (tirx.AllocBuffer, lambda node: found.append(node.buffer)))
    return [each for each in found if is_scratch(each)]


def _inlined(call: Placed, given: list[SharedRun]) -> Any:
    """The statements of a function with those places as its parameters."""
    places = dict(zip(call.function.params, given, strict=True))

    def view(node: Any) -> None:
        source = next((each for each in getattr(node.data, "args", ()) if each in places), None)
        if source is not None:
            places[node.buffer] = places[source]

    def replaced(node: Any) -> Any:
        if isinstance(node, tirx.DeclBuffer):
            return tirx.Evaluate(0) if node.buffer in places else node
        if isinstance(node, tirx.BufferStore):
            known = places.get(node.buffer)
            if known is None:
                return node
            return tirx.BufferStore(known.buffer, node.value, [known.first + node.indices[0]])
        known = places.get(node.source)
        return node if known is None else known.load(node.indices[0])

    tvm_ffi.structural_walk(call.function.body, (tirx.DeclBuffer, view))
    return tvm_ffi.structural_map(
        call.function.body, ((tirx.DeclBuffer, tirx.BufferStore, ir.TensorLoad), replaced)
    )
