"""The multiply-accumulates of Relax calls that sum products."""

from typing import Any

import pytest
from tvm import relax

from target_arch.relax.ir.macs import macs_per_output


def tensor(*shape: int) -> Any:
    return relax.Var("x", relax.TensorType(shape, "float32"))


@pytest.mark.parametrize(
    ("call", "macs"),
    [
        (relax.op.matmul(tensor(2, 3, 7), tensor(7, 5)), 7),
        (relax.op.nn.conv2d(tensor(1, 4, 6, 6), tensor(8, 2, 3, 3), groups=2), 18),
        (relax.op.nn.conv3d(tensor(1, 4, 6, 6, 6), tensor(8, 4, 3, 3, 3)), 108),
        (relax.op.nn.conv2d_transpose(tensor(1, 4, 6, 6), tensor(4, 8, 2, 2), strides=(2, 2)), 4),
        (relax.op.exp(tensor(3)), 0),
    ],
    ids=["matmul", "groups", "volumes", "transposed", "a function"],
)
def test_of_each_output(call: Any, macs: int) -> None:
    assert macs_per_output(relax.BlockBuilder().normalize(call)) == macs
