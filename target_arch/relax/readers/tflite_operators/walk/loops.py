"""A WHILE whose trips are known only at run time: one function of C with its condition and its body inside
(`relax.repeated`).
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from attrs import evolve, field, frozen
from tvm import relax

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.tflite_operators.site import Unreadable
from target_arch.relax.readers.tflite_operators.walk.variables import Variables
from target_arch.relax.repeated.loop import MOST_OPERANDS, Loop
from target_arch.relax.repeated.straight import Straight
from target_arch.relax.repeated.words import KNOWN, WORD, from_words, words_of
from target_arch.relax.te.loops import written


@frozen(kw_only=True, eq=False)
class Subprogram:
    """A subgraph as functions, with so many results. Its variables, by name, are further inputs, and their
    values further outputs.
    """

    functions: Straight
    results: int
    variables: Mapping[str, Any] = field(repr=False)


def repeated(
    builder: Any, active: Any, condition: Subprogram, body: Subprogram, values: list[Any], known: Variables
) -> list[Any]:
    """The values after the last trip; there is none where `active` is false. Variables have the values that
    it leaves. Unreadable for values without a form.
    """
    variables = {**condition.variables, **body.variables}
    names = tuple(variables)
    test, trip = _with(names, condition, len(values)), _with(names, body, len(values))
    if any(one != other for one, other in zip(test.inputs[len(values) :], test.outputs[1:], strict=True)):
        raise Unreadable("its condition assigns a variable")
    now = [
        known.value(name, shape_of(each), dtype_of(each), str(each.name)) for name, each in variables.items()
    ]
    loop = Loop(condition=evolve(test, outputs=test.outputs[:1]), body=trip)
    found = _run(builder, active, loop, [*values, *now])
    for name, value in zip(names, found[len(values) :], strict=True):
        known.assign(name, value, shape_of(value), dtype_of(value))
    return found[: len(values)]


def _run(builder: Any, active: Any, loop: Loop, values: list[Any]) -> list[Any]:
    _check(loop, values)
    if not loop.words:
        return values
    flat = [builder.emit(relax.op.reshape(value, (prod(shape_of(value)),))) for value in values]
    constants = [relax.const(each) for each in loop.constants.joined]
    definition = written((loop.words,), WORD, loop.write)
    whole = builder.emit_te(definition, active, *flat, *constants, primfunc_name_hint="while")
    return list(_results(builder, whole, values, loop.moving))


def _with(names: tuple[str, ...], program: Subprogram, values: int) -> Straight:
    """A subprogram as functions; after its own inputs and results it has those of all these variables."""
    found = program.functions
    given = dict(zip(program.variables, found.inputs[values:], strict=True))
    left = dict(zip(program.variables, found.outputs[program.results :], strict=True))
    others = {name: f"variable {name}" for name in names if name not in given}
    return evolve(
        found,
        inputs=(*found.inputs[:values], *(given.get(name) or others[name] for name in names)),
        outputs=(*found.outputs[: program.results], *(left.get(name) or others[name] for name in names)),
    )


def _check(loop: Loop, values: list[Any]) -> None:
    """Unreadable where the values before a trip and after it are of different forms."""
    forms = [(prod(shape_of(value)), dtype_of(value)) for value in values]
    for program, names in (
        (loop.condition, loop.condition.inputs),
        (loop.body, loop.body.inputs),
        (loop.body, loop.body.outputs),
    ):
        found = [program.sizes.get(name, form) for name, form in zip(names, forms, strict=True)]
        if found != forms:
            raise Unreadable("its subgraphs have values of other shapes or types")
    if loop.condition.sizes[loop.condition.outputs[0]] != (1, "bool"):
        raise Unreadable("its condition is not one truth value")
    if unknown := [dtype for _, dtype in loop.carried if dtype not in KNOWN]:
        raise Unreadable(f"its values are {unknown[0]}")
    if loop.operands > MOST_OPERANDS:
        raise Unreadable("its subgraphs have too many values, or operators with memory of their own")


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
