"""What is kept from other points changes no outcome."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.explore.evaluate import Evaluator
from target_arch.explore.search import point_task
from target_arch.registry.plug_ins import PlugIns
from tests.explore.spaces import ZYNQ, space

PLUG_INS = PlugIns.discover(())
SPACE = space(
    ZYNQ.replace('where = ["tcm <= sram"]', "")
    .replace('"1 KiB", "64 KiB"', '"256 B", "1 KiB", "4 KiB", "64 KiB"')
    .replace(
        "[ties]", '[vary.bram]\nkey = "memory.conv_bram.size"\nvalues = ["512 B", "2 KiB", "64 KiB"]\n[ties]'
    )
    .replace('"100 MB/s", "400 MB/s"', '"10 MB/s", "100 MB/s", "4 GB/s"')
)
KEEPING = Evaluator(PLUG_INS)
"""Has seen all points of earlier examples, in any order."""


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(st.integers(0, SPACE.size - 1))
def test_an_outcome_is_that_of_a_fresh_evaluator(number: int) -> None:
    point = SPACE.point(number)
    assert point is not None
    task = point_task(SPACE, point)
    assert KEEPING(task) == Evaluator(PLUG_INS)(task)
