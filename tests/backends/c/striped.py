"""Regions of models as compiled C, beside the same operators one by one."""

import ctypes
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from attrs import frozen

from target_arch.backends.plain_c.kernels import depthwise, products, reals
from target_arch.backends.plain_c.kernels.layout import layout_of
from target_arch.backends.plain_c.kernels.text import Made
from target_arch.backends.plain_c.stripes.channels_text import channels_function
from target_arch.backends.plain_c.stripes.convolution import StripedConvolution
from target_arch.backends.plain_c.stripes.real_convolution import RealConvolution
from target_arch.backends.plain_c.stripes.regions import Regions
from target_arch.backends.plain_c.stripes.rows_text import RowsText
from target_arch.backends.plain_c.stripes.rowwise import Rowwise
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model
from target_arch.plan.regions.region import Region
from target_arch.plan.regions.stripes import Channels, Stripes
from target_arch.relax.lower.operators import lower_operator
from target_arch.resources import runtime_c
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Array, array_of, call

ROOM = 10**6
FLAGS = (
    "-std=c99",
    "-pedantic",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O1",
    "-fPIC",
    "-shared",
    "-Wno-missing-prototypes",
)
SANITIZE = ("-fsanitize=undefined", "-fno-sanitize-recover=all")


@frozen(kw_only=True)
class Case:
    """A region of a model, and the calls that do the same."""

    model: Model
    region: Region
    units: tuple[Rowwise, ...]
    plan: Stripes | Channels
    function: CFunction
    alone: tuple[Made, ...]

    @property
    def functions(self) -> Iterator[CFunction]:
        for unit in self.units:
            yield from unit.functions
        yield self.function
        yield from (made.function for made in self.alone)

    def __str__(self) -> str:
        return f"{len(self.units)}: {self.region}"[:70]


def cases_of(model: Model, isa: InstructionSet, most: int) -> Iterator[Case]:
    """At most so many regions of all operators of a model."""
    regions = Regions(model=model, isa=isa)
    units = regions.units(model.operators)
    if units is None:
        return
    alone = tuple(_alone(unit, model, isa) for unit in units)
    for region in islice(regions(model.operators, ROOM), most):
        if not region.usual:
            plan = regions.plan(region, units)
            function = _function(plan, units, model)
            yield Case(
                model=model, region=region, units=tuple(units), plan=plan, function=function, alone=alone
            )


def _function(plan: Stripes | Channels, units: Sequence[Rowwise], model: Model) -> CFunction:
    if isinstance(plan, Stripes):
        return RowsText(plan=plan, units=units, model=model).function()
    (unit,) = units
    assert isinstance(unit, StripedConvolution)
    return channels_function(plan, unit, model)


def _alone(unit: Rowwise, model: Model, isa: InstructionSet) -> Made:
    operator = next(each for each in model.operators if each.id == unit.unit.operators[0])
    if isinstance(unit, RealConvolution):
        return reals.made(operator, model, 0, unit.after)
    if not isinstance(unit, StripedConvolution):
        lowered = lower_operator(operator, model)
        packed = (
            *(model.tensors[name] for name in operator.constants),
            *(each.tensor(operator) for each in lowered.packed),
        )
        return Made(function=lowered.function, packed=packed)
    if unit.depthwise:
        return depthwise.made(operator, model, 0, unit.after)
    return products.made(operator, model, layout_of(isa), 0, unit.after)


def compiled(cases: Iterable[Case], folder: Path, gcc: str, others: Sequence[CFunction] = ()) -> ctypes.CDLL:
    """All functions of all cases, and others, with UBSan."""
    functions = {each.name: each for case in cases for each in case.functions}
    functions |= {each.name: each for each in others}
    headers = dict.fromkeys(header for each in functions.values() for header in each.headers)
    text = ["#include <math.h>", "#include <stdint.h>", *(f'#include "{header}"' for header in headers)]
    text += [each.text.replace("static void", "void", 1) for each in functions.values()]
    source = folder / "stripes.c"
    source.write_text("\n".join(text))
    library = source.with_suffix(".so")
    subprocess.run(
        [gcc, *FLAGS, *SANITIZE, f"-I{runtime_c()}", str(source), "-o", str(library), "-lm"], check=True
    )
    return ctypes.CDLL(str(library))


def one_by_one(case: Case, library: ctypes.CDLL, inputs: dict[str, Array]) -> Array:
    """The output of the calls without a region."""
    values = dict(inputs)
    for unit, made in zip(case.units, case.alone, strict=True):
        names = [window.tensor.name for window in unit.unit.reads]
        out = _empty(case.model, unit.unit.image.name)
        # The operand of an addition in the same call comes after the constants.
        first, after = (names[:1], names[1:]) if len(unit.unit.operators) == 2 else (names, [])
        given = [
            *(values[name] for name in first),
            *map(array_of, made.packed),
            *(values[name] for name in after),
        ]
        call(library, made.function.name, *given, out)
        values[unit.unit.image.name] = out
    return values[case.model.outputs[0]]


def as_region(case: Case, library: ctypes.CDLL, inputs: dict[str, Array]) -> Array:
    """The output of the region: as bytes, in the place of an input where the region wants that."""
    output = case.model.tensors[case.model.outputs[0]]
    names = [case.plan.tensor] if isinstance(case.plan, Channels) else [each.name for each in case.plan.given]
    places = {name: np.zeros(max(inputs[name].nbytes, output.bytes), np.uint8) for name in names}
    for name, place in places.items():
        place[: inputs[name].nbytes] = inputs[name].view(np.uint8).ravel()
    over = case.region.over
    out = np.zeros(output.bytes, np.uint8) if over is None else places[over]
    packed = {tensor.name: tensor for unit in case.units for tensor in unit.packed}
    constants = [
        array_of(packed[name] if name in packed else case.model.tensors[name])
        for unit in case.units
        for name in unit.constants
    ]
    lines = [np.zeros(case.plan.scratch, np.uint8)] if case.plan.scratch else []
    call(library, case.function.name, *places.values(), *constants, out, *lines)
    return out[: output.bytes]


def _empty(model: Model, name: str) -> Array:
    tensor = model.tensors[name]
    return np.zeros(tensor.shape, tensor.dtype)
