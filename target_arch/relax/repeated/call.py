"""The call of a loop in a Relax function."""

from collections.abc import Iterator
from math import prod
from typing import Any

from tvm import relax

from target_arch.plan.kernels import MOST_OPERANDS
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.repeated.loop import Loop
from target_arch.relax.repeated.words import KNOWN, WORD, from_words, words_of
from target_arch.relax.te.loops import written


class NotRepeated(ValueError):
    """A loop has no function; the text says why."""


def called(builder: Any, active: Any, loop: Loop, values: list[Any]) -> list[Any]:
    """The values after the last trip, of those before the first one; there is no trip where `active` is
    false. Raises NotRepeated for values without a form.
    """
    _check(loop, values)
    if not loop.words:
        return values
    flat = [builder.emit(relax.op.reshape(value, (prod(shape_of(value)),))) for value in values]
    constants = [relax.const(each) for each in loop.constants.joined]
    definition = written((loop.words,), WORD, loop.write)
    whole = builder.emit_te(definition, active, *flat, *constants, primfunc_name_hint="while")
    return list(_results(builder, whole, values, loop.moving))


def _check(loop: Loop, values: list[Any]) -> None:
    """NotRepeated where the values before a trip and after it are of different forms."""
    forms = [(prod(shape_of(value)), dtype_of(value)) for value in values]
    for program, names in (
        (loop.condition, loop.condition.inputs),
        (loop.body, loop.body.inputs),
        (loop.body, loop.body.outputs),
    ):
        found = [program.sizes.get(name, form) for name, form in zip(names, forms, strict=True)]
        if found != forms:
            raise NotRepeated("its subgraphs have values of other shapes or types")
    if loop.condition.sizes[loop.condition.outputs[0]] != (1, "bool"):
        raise NotRepeated("its condition is not one truth value")
    if unknown := [dtype for _, dtype in loop.carried if dtype not in KNOWN]:
        raise NotRepeated(f"its values are {unknown[0]}")
    if loop.operands > MOST_OPERANDS:
        raise NotRepeated("its subgraphs have too many values, or operators with memory of their own")


def _results(builder: Any, whole: Any, values: list[Any], moving: list[int]) -> Iterator[Any]:
    first = 0
    for number, value in enumerate(values):
        if number not in moving:
            yield value
            continue
        shape, dtype = shape_of(value), dtype_of(value)
        part = builder.emit_te(from_words(first, shape, dtype), whole, primfunc_name_hint="values")
        yield builder.emit(relax.op.reshape(part, shape))
        first += prod(shape) * words_of(dtype)
