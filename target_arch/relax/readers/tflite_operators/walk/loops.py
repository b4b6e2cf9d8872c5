"""A WHILE whose trips are known only at run time: one function of C with its condition and its body inside
(`relax.repeated`).
"""

from typing import Any

from attrs import evolve, field, frozen

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.readers.tflite_operators.walk.variables import Variables
from target_arch.relax.repeated.call import NotRepeated, called
from target_arch.relax.repeated.loop import Loop
from target_arch.relax.repeated.straight import Straight
from target_arch.relax.site import NotConverted


@frozen(kw_only=True, eq=False)
class Subprogram:
    """A subgraph as functions, with so many results. Its variables, by name, are further inputs, and their
    values further outputs.
    """

    functions: Straight
    results: int
    variables: Variables = field(repr=False)


def repeated(
    builder: Any, active: Any, condition: Subprogram, body: Subprogram, values: list[Any], known: Variables
) -> list[Any]:
    """The values after the last trip; there is none where `active` is false. Variables have the values that
    it leaves. NotConverted for values without a form.
    """
    names = tuple(condition.variables.named | body.variables.named)
    test, trip = _with(names, condition, len(values)), _with(names, body, len(values))
    if any(one != other for one, other in zip(test.inputs[len(values) :], test.outputs[1:], strict=True)):
        raise NotConverted("its condition assigns a variable")
    for program in (condition, body):
        known.join(program.variables)
    now = [known.now()[name] for name in names]
    loop = Loop(condition=evolve(test, outputs=test.outputs[:1]), body=trip)
    try:
        found = called(builder, active, loop, [*values, *now])
    except NotRepeated as error:
        raise NotConverted(str(error)) from None
    for name, value in zip(names, found[len(values) :], strict=True):
        known.assign(name, value, shape_of(value), dtype_of(value))
    return found[: len(values)]


def _with(names: tuple[str, ...], program: Subprogram, values: int) -> Straight:
    """A subprogram as functions; after its own inputs and results it has those of all these variables."""
    found = program.functions
    given = dict(zip(program.variables.named, found.inputs[values:], strict=True))
    left = dict(zip(program.variables.named, found.outputs[program.results :], strict=True))
    others = {name: f"variable {name}" for name in names if name not in given}
    return evolve(
        found,
        inputs=(*found.inputs[:values], *(given.get(name) or others[name] for name in names)),
        outputs=(*found.outputs[: program.results], *(left.get(name) or others[name] for name in names)),
    )
