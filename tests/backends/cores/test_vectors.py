"""Calls of forms on vectors."""

import numpy as np

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.cores.vectors import vector_piece
from target_arch.plan.memory import Budget
from target_arch.plan.partitions import Partition
from target_arch.soc import read_soc
from tests.backends.cores.hvx.test_forms import HVX, pair

SOC = read_soc("zynq_edge")


def test_a_sum_may_have_the_place_of_either_operand() -> None:
    model = pair(np.random.default_rng(5), "add", 256)
    (operator,) = model.operators
    request = LoweringRequest(
        partition=Partition(id="p0", instance="dsp_cpu", operators=(operator,), reason="test"),
        model=model,
        soc=SOC,
        instance=SOC.instance("dsp_cpu"),
        budget=Budget(partition="p0", sites={}),
    )
    piece = vector_piece(operator, request, HVX)
    assert piece is not None
    (call,) = piece.calls
    assert [(operand.of, operand.over) for operand in call.operands] == [
        ("x", ()),
        ("y", ()),
        ("z", ("x", "y")),
    ]
