"""Every kind of operator that is divided, each with every fault of one of its slices: what is said of it."""

import re
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from attrs import frozen

from target_arch.plan.division import Cut, Share
from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.check.meaning.check import check_imported
from target_arch.stages.errors import CheckError
from tests.conftest import GoldenCheck
from tests.stages.check.meaning.division_faults import faults
from tests.stages.division.random_divisions import divided_at

_GRID = Quantization(scale=(0.5,), zero_point=(3,))


Shape = tuple[int, ...]
K = OperatorKind


@frozen(kw_only=True)
class Case:
    """One operator: shapes of its inputs and of constants along whose first axis scales go, and of its
    result.
    """

    name: str
    kind: OperatorKind
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    constants: tuple[tuple[int, ...], ...] = ()
    attributes: Mapping[str, object] = {}

    @property
    def model(self) -> Model:
        """The operator, whose result another one that is not divided adds to an input."""
        given = [_tensor(f"x{n}", shape) for n, shape in enumerate(self.inputs)]
        stored = [_constant(f"w{n}", shape) for n, shape in enumerate(self.constants)]
        results = [_tensor(name, self.output) for name in ("y", "k", "z")]
        operator = Operator(
            id="it",
            kind=self.kind,
            arithmetic=Arithmetic.TFLITE,
            inputs=tuple(each.name for each in given),
            constants=tuple(each.name for each in stored),
            output="y",
            attributes=self.attributes,
        )
        after = Operator(
            id="after", kind=K.ADD, arithmetic=Arithmetic.TFLITE, inputs=("y", "k"), constants=(), output="z"
        )
        return Model(
            name=self.name,
            source="made",
            inputs=(*operator.inputs, "k"),
            outputs=("z", "y"),
            tensors={each.name: each for each in (*given, *stored, *results)},
            operators=(operator, after),
        )


def _tensor(name: str, shape: Shape) -> Tensor:
    return Tensor(name=name, shape=shape, dtype="int8", quantization=_GRID)


def _constant(name: str, shape: tuple[int, ...]) -> Tensor:
    values = (
        np.random.default_rng(len(shape)).integers(-9, 9, shape).astype("int8" if len(shape) > 1 else "int32")
    )
    scales = tuple(0.25 + n / 64 for n in range(shape[0]))
    zeros = (0,) if len(shape) > 1 else tuple(range(shape[0]))
    grid = Quantization(scale=scales, zero_point=zeros, axis=0)
    return Tensor(name=name, shape=shape, dtype=str(values.dtype), quantization=grid, data=values.tobytes())


def _window(
    *padding: int, strides: tuple[int, int] = (1, 1), dilation: tuple[int, int] = (1, 1)
) -> dict[str, object]:
    return {"padding": padding, "strides": strides, "dilation": dilation, "groups": 1}


WEIGHTS, MATRIX, TABLE = ((4, 3, 3, 3), (4,)), ((6, 8), (6,)), ((256, 1),)
NARROW, SINGLE = (1, 1, 9, 3), (1, 1, 1, 3)
POOL = {"kernel": (3, 2), "strides": (2, 1), "padding": (1, 0, 1, 1)}
COLUMNS = {"kernel": (1, 3), "strides": (1, 2), "padding": (0, 0, 0, 0)}
FAR = _window(1, 0, 1, 0, strides=(2, 1), dilation=(2, 1))
WIDE = _window(0, 1, 0, 1, strides=(1, 2), dilation=(1, 2))
AROUND, GROUPS, ROW = _window(1, 1, 1, 1), {**_window(1, 1, 1, 1), "groups": 2}, {"in_features": 8}
ROWS: tuple[
    tuple[str, OperatorKind, tuple[Shape, ...], Shape, tuple[Shape, ...], Mapping[str, object]], ...
] = (
    ("conv", K.CONV2D, ((1, 8, 6, 3),), (1, 8, 6, 4), WEIGHTS, AROUND),
    ("conv far", K.CONV2D, ((1, 9, 6, 3),), (1, 4, 5, 4), ((4, 3, 2, 3), (4,)), FAR),
    ("conv of columns", K.CONV2D, (NARROW,), (1, 1, 4, 4), ((4, 1, 3, 3), (4,)), WIDE),
    ("conv of channels", K.CONV2D, (SINGLE,), (1, 1, 1, 4), ((4, 1, 1, 3), (4,)), _window(0, 0, 0, 0)),
    ("conv of padded channels", K.CONV2D, (SINGLE,), (1, 1, 1, 4), WEIGHTS, AROUND),
    ("conv in groups", K.CONV2D, ((1, 8, 6, 4),), (1, 8, 6, 4), ((4, 3, 3, 2), (4,)), GROUPS),
    ("depthwise", K.DEPTHWISE_CONV2D, ((1, 8, 6, 4),), (1, 8, 6, 4), ((3, 3, 4, 1), (4,)), AROUND),
    ("conv of defaults", K.CONV2D, ((1, 7, 6, 3),), (1, 5, 4, 4), WEIGHTS, {"groups": 1}),
    ("conv of default columns", K.CONV2D, (NARROW,), (1, 1, 7, 4), ((4, 1, 3, 3), (4,)), {"groups": 1}),
    ("pool of defaults", K.MAX_POOL2D, ((1, 7, 6, 4),), (1, 5, 4, 4), (), {"kernel": (3, 3)}),
    ("pool", K.MAX_POOL2D, ((1, 8, 6, 4),), (1, 4, 6, 4), (), POOL),
    ("mean of columns", K.AVG_POOL2D, ((1, 1, 9, 4),), (1, 1, 4, 4), (), COLUMNS),
    ("dense", K.DENSE, ((1, 8),), (1, 6), MATRIX, ROW),
    ("dense of rows", K.DENSE, ((5, 8),), (5, 6), MATRIX, ROW),
    ("matrices", K.MATMUL, ((4, 5, 3), (4, 3, 6)), (4, 5, 6), (), {}),
    ("rows of matrices", K.MATMUL, ((1, 5, 3), (1, 3, 6)), (1, 5, 6), (), {}),
    ("matrices by one", K.MATMUL, ((4, 5, 3), (3, 6)), (4, 5, 6), (), {}),
    ("one by matrices", K.MATMUL, ((1, 5, 3), (4, 3, 6)), (4, 5, 6), (), {}),
    ("sum", K.ADD, ((4, 5), (4, 5)), (4, 5), (), {}),
    ("sum with a row", K.ADD, ((4, 5), (5,)), (4, 5), (), {}),
    ("sum with one", K.ADD, ((4, 5), (1, 5)), (4, 5), (), {}),
    ("exponentials", K.SOFTMAX, ((4, 5),), (4, 5), (), {"axis": -1}),
    ("looked up", K.LOOKUP, ((4, 5),), (4, 5), TABLE, {}),
    ("joined", K.CONCAT, ((4, 5), (4, 3)), (4, 8), (), {"axis": 1}),
    ("nearest", K.RESIZE, ((1, 3, 4, 2),), (1, 5, 6, 2), ((5,), (6,)), {"operator": "nearest"}),
    ("positive", K.RELU, ((1, 4, 5),), (1, 4, 5), (), {}),
)
CASES = tuple(
    Case(name=name, kind=kind, inputs=inputs, output=output, constants=constants, attributes=attributes)
    for name, kind, inputs, output, constants, attributes in ROWS
)


def _cut(case: Case) -> Model:
    """The model in two slices, at its third place of the first axis that has more than one."""
    axis, extent = next((n, extent) for n, extent in enumerate(case.output) if extent > 1)
    shares = tuple(Share(instance="host_cpu", start=a, stop=b) for a, b in ((0, 3), (3, extent)))
    return divided_at(case.model, {"it": Cut(operator="it", axis=axis, shares=shares)}).model


def said(case: Case, divided: Model) -> list[str]:
    """What is said of a divided model in the place of the operator."""
    try:
        check_imported(case.model, PartitionGraph(model=divided, partitions=(), choices=()))
    except CheckError as error:
        return str(error).split("\n\n")
    return []


def _form(message: str) -> str:
    """A message without its names and numbers."""
    return re.sub(r"-?\d+", "N", re.sub(r"`[^`]*`", "_", message.partition(": error: ")[2]))


def text(case: Case) -> str:
    """The faults of a case that are accepted, and how often what else is said first."""
    whole, counts = _cut(case), Counter[str]()
    assert said(case, whole) == []
    lines = [", ".join(f"{each.id} {each.kind}" for each in whole.operators)]
    for name, changed in faults(whole):
        if changed == whole:
            continue
        found = said(case, changed)
        if found:
            counts[_form(found[0])] += 1
        else:
            lines.append(f"accepted: {name}")
    lines += [f"{count:4} {form}" for form, count in sorted(counts.items())]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_of_a_slice(case: Case, golden: GoldenCheck) -> None:
    """What is accepted computes the same: a padding that no place reads, and rows that none needs."""
    golden(f"division_{case.name.replace(' ', '_')}", text(case))
