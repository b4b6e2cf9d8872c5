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
from target_arch.backends.plain_c.kernels.pick import Driver, pick
from target_arch.backends.plain_c.kernels.sums import sum_after
from target_arch.backends.plain_c.kernels.text import Made
from target_arch.backends.plain_c.regions.linewise import Rowwise
from target_arch.backends.plain_c.regions.real_convolution import RealConvolution
from target_arch.backends.plain_c.regions.ways import RegionCode, Regions
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.cut import Axis
from target_arch.plan.regions.lines import RegionPlan
from target_arch.plan.regions.region import Region
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
class Alone:
    """A call of an operator, or of it and the addition after it: `others` are read after the constants."""

    made: Made
    reads: tuple[str, ...]
    others: tuple[str, ...]
    output: str


@frozen(kw_only=True)
class Case:
    """A region of a model, its units where it is one of rows, and the calls that do the same."""

    model: Model
    region: Region
    code: RegionCode
    units: Sequence[Rowwise]
    alone: tuple[Alone, ...]

    @property
    def plan(self) -> RegionPlan:
        return self.code.plan

    @property
    def functions(self) -> Iterator[CFunction]:
        yield from self.code.callees
        yield self.code.function
        yield from (each.made.function for each in self.alone)

    def __str__(self) -> str:
        return f"{len(self.alone)}: {self.region}"[:70]


def cases_of(model: Model, isa: InstructionSet, most: int) -> Iterator[Case]:
    """At most so many regions of all operators of a model that compute nothing twice."""
    regions = Regions(model=model, isa=isa)
    for region in islice(regions(model.operators, ROOM, False), most):
        if not region.usual:
            yield _case(region, regions)


def patches_of(model: Model, isa: InstructionSet) -> Iterator[Case]:
    """The regions of all operators of a model that run in patches."""
    regions = Regions(model=model, isa=isa)
    for region in regions(model.operators, 0, True):
        if region.patches > 1:
            yield _case(region, regions)


def _case(region: Region, regions: Regions) -> Case:
    model = regions.model
    code = regions.code(region, model.operators)
    alone = tuple(_alone(ids, model, regions.isa) for ids in _calls(code.plan))
    units = None if region.axis is Axis.CHANNELS else regions.rows.units(model.operators)
    return Case(model=model, region=region, code=code, units=units or (), alone=alone)


def _calls(plan: RegionPlan) -> Iterator[tuple[str, ...]]:
    """The operators of each call without the region."""
    yield from (producer.operators for producer in plan.passes[0].producers if producer.operators)


def _alone(ids: tuple[str, ...], model: Model, isa: InstructionSet) -> Alone:
    first, *rest = (model.operator(name) for name in ids)
    after = rest[0] if rest else None
    return Alone(
        made=_made(first, after, model, isa),
        reads=first.inputs,
        others=tuple(name for name in after.inputs if name != first.output) if after else (),
        output=(after or first).output,
    )


def _made(operator: Operator, after: Operator | None, model: Model, isa: InstructionSet) -> Made:
    added = None if after is None else sum_after(after, operator.output, model)
    match pick(operator, after, model, isa).kernel:
        case Driver.PRODUCTS:
            return products.made(operator, model, layout_of(isa), 0, added)
        case Driver.DEPTHWISE:
            return depthwise.made(operator, model, 0, added)
        case Driver.REALS:
            real = None if after is None else reals.sum_after(after, operator.output, model)
            return reals.made(operator, model, 0, real)
    lowered = lower_operator(operator, model)
    constants = (model.tensors[name] for name in operator.constants)
    return Made(
        function=lowered.function, packed=(*constants, *(each.tensor(operator) for each in lowered.packed))
    )


def compiled(
    cases: Iterable[Case],
    folder: Path,
    gcc: str,
    others: Sequence[CFunction] = (),
    flags: Sequence[str] = SANITIZE,
) -> ctypes.CDLL:
    """All functions of all cases, and others, with UBSan unless there are other flags."""
    functions = {each.name: each for case in cases for each in case.functions}
    functions |= {each.name: each for each in others}
    headers = dict.fromkeys(header for each in functions.values() for header in each.headers)
    text = ["#include <math.h>", "#include <stdint.h>", *(f'#include "{header}"' for header in headers)]
    text += [each.text.replace("static void", "void", 1) for each in functions.values()]
    source = folder / "stripes.c"
    source.write_text("\n".join(text))
    library = source.with_suffix(".so")
    subprocess.run(
        [gcc, *FLAGS, *flags, f"-I{runtime_c()}", str(source), "-o", str(library), "-lm"], check=True
    )
    return ctypes.CDLL(str(library))


def one_by_one(case: Case, library: ctypes.CDLL, inputs: dict[str, Array]) -> Array:
    """The output of the calls without a region."""
    values = dict(inputs)
    for each in case.alone:
        tensor = case.model.tensors[each.output]
        values[each.output] = out = np.zeros(tensor.shape, tensor.dtype)
        given = [
            *(values[name] for name in each.reads),
            *map(array_of, each.made.packed),
            *(values[name] for name in each.others),
        ]
        call(library, each.made.function.name, *given, out)
    return values[case.model.outputs[0]]


def inputs_of(case: Case) -> dict[str, Array]:
    """Random values for the inputs of a model."""
    rng = np.random.default_rng(3)
    tensors = [case.model.tensors[name] for name in case.model.inputs]
    return {
        tensor.name: rng.normal(0, 1, tensor.shape).astype(np.float32)
        if tensor.dtype == "float32"
        else rng.integers(0, 256, tensor.shape).astype(np.uint8).view(tensor.dtype)
        for tensor in tensors
    }


def assert_computes_the_same(case: Case, library: ctypes.CDLL) -> None:
    """The region and its operators, one by one, are equal in every bit. The kernel for float32 adds up in an
    order that depends on the number of pixels.
    """
    inputs = inputs_of(case)
    expected, found = one_by_one(case, library, inputs), as_region(case, library, inputs)
    if any(isinstance(unit, RealConvolution) for unit in case.units):
        np.testing.assert_allclose(
            found.view("<f4"), expected.ravel(), rtol=1e-5, atol=1e-5, err_msg=str(case)
        )
    else:
        np.testing.assert_array_equal(found, expected.view(np.uint8).ravel(), str(case))


def as_region(case: Case, library: ctypes.CDLL, inputs: dict[str, Array]) -> Array:
    """The output of the region: as bytes, in the place of an input where the region wants that."""
    output = case.model.tensors[case.model.outputs[0]]
    names = [image.name for image in case.plan.given]
    places = {name: np.zeros(max(inputs[name].nbytes, output.bytes), np.uint8) for name in names}
    for name, place in places.items():
        place[: inputs[name].nbytes] = inputs[name].view(np.uint8).ravel()
    over = case.region.over
    out = np.zeros(output.bytes, np.uint8) if over is None else places[over]
    packed = {tensor.name: tensor for tensor in case.code.packed}
    constants = [
        array_of(packed[name] if name in packed else case.model.tensors[name]) for name in case.code.constants
    ]
    lines = [np.zeros(case.plan.scratch, np.uint8)] if case.plan.scratch else []
    call(library, case.code.function.name, *places.values(), *constants, out, *lines)
    return out[: output.bytes]
