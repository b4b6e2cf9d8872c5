"""TVM's virtual machine: the reference of Relax modules."""

from pathlib import Path

import numpy as np

from target_arch.plan.inputs.shapes import InputShapes
from target_arch.relax.quiet import quiet
from target_arch.relax.readers.relax_module import VERSION, executable, inputs_of, load_module, with_shapes
from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_RULE,
    FLOAT_TOLERANCE,
    Frame,
    Input,
    Reference,
    Shapes,
    cannot_run,
    limits,
)


def relax_vm(model: Path, shapes: Shapes = ()) -> Reference:
    """The module as its author gave it, compiled by TVM alone for this computer. DiagnosticError for a file
    that it cannot read or compile.
    """
    module = load_module(model, model.read_bytes())
    names = [each.name for each in inputs_of(module)]
    fixed = InputShapes(shapes=dict(zip(names, map(tuple, shapes), strict=False)))
    module = with_shapes(model, module, fixed) if shapes else module
    try:
        with quiet():
            run = executable(model, module)
    except Exception as error:
        # TVM refuses modules with exceptions of every kind.
        raise cannot_run(model, "TVM", error) from error

    def answer(frame: Frame) -> tuple[Frame, ...]:
        return (run(*frame),)

    inputs = tuple(
        _input(each.name, tuple(extent or 1 for extent in each.shape), np.dtype(each.dtype))
        for each in inputs_of(module)
    )
    zeros = run(*(np.zeros(each.shape, each.dtype) for each in inputs))
    return Reference(
        name=f"TVM {VERSION}",
        rule=FLOAT_RULE,
        inputs=inputs,
        units=(1.0,) * len(zeros),
        allowed=FLOAT_TOLERANCE,
        relative=FLOAT_RELATIVE,
        answer=answer,
        rounds=True,
    )


def _input(name: str, shape: tuple[int, ...], dtype: "np.dtype[np.generic]") -> Input:
    low, high = limits(dtype)
    return Input(name=name, shape=shape, dtype=dtype, low=low, high=high)
