"""The run to expect of a placement, with stand-ins for kernels, and that of the steps that came of it."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from target_arch.pipeline import CompiledModel, CompileRequest, partition_model
from target_arch.plan.execution import Activity, Execution
from tests.e2e.conftest import DIGITS

Compile = Callable[[Path, str], tuple[CompiledModel, Path]]


def busy(spans: Iterable[Activity]) -> float:
    return sum(span.end - span.start for span in spans)


def runs(compiled: Compile, soc: str) -> tuple[Execution, Execution, CompiledModel]:
    """The run of the stand-ins, and of the steps that were emitted."""
    made, _ = compiled(DIGITS, soc)
    expected = partition_model(CompileRequest(model_path=DIGITS, soc=made.request.soc)).run
    assert expected is not None
    assert made.execution is not None
    return expected, made.execution, made


@pytest.mark.parametrize("soc", ["zynq_edge", "quad_conv"])
def test_stand_ins_take_what_kernels_take(compiled: Compile, soc: str) -> None:
    """All work together, set-up of every tile included, within 5 %; the run is up to 10 % faster, as kernels
    move tile by tile.
    """
    expected, emitted, _ = runs(compiled, soc)
    assert busy(emitted.spans) == pytest.approx(busy(expected.spans), rel=0.05)
    assert 0.9 * expected.makespan < emitted.makespan <= expected.makespan
    assert emitted.bound <= emitted.makespan


def test_tables_that_lowering_adds_are_not_foreseen(compiled: Compile) -> None:
    """Each convolution on CUDA reads two tables more, which the copy engine brings beside other work."""
    expected, emitted, made = runs(compiled, "orin_like")
    copies = [span for span in emitted.spans if span.kind == "copy"]
    added = {name for kernel in made.kernels.values() for name in (t.name for t in kernel.constants)}
    late = [span for span in copies if span.what.split("@")[0] in added]
    assert {span.what for span in late} == {
        f"conv2d_{n}.{table}@vram" for n in (1, 2, 4, 5) for table in ("multiplier", "shift")
    }
    known = [span for span in emitted.spans if span not in late]
    assert busy(known) == pytest.approx(busy(expected.spans), rel=0.05)
