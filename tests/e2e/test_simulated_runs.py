"""The two simulated runs of a model: that of its placement, and that of the steps that came of it."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from target_arch.pipeline import Compilation
from target_arch.plan.timeline import Span
from tests.e2e.conftest import DIGITS

Compile = Callable[[Path, str], tuple[Compilation, Path]]


def busy(spans: Iterable[Span]) -> float:
    return sum(span.end - span.start for span in spans)


@pytest.mark.parametrize("soc", ["zynq_edge", "quad_conv"])
def test_tiles_move_what_placement_counted(compiled: Compile, soc: str) -> None:
    """All work together, set-up of every tile included: within 5 %. What overlaps makes the steps faster, by
    up to a third: placement lets an instance stand still while its tiles are moved.
    """
    made, _ = compiled(DIGITS, soc)
    assert made.graph.timeline is not None
    assert made.execution is not None
    foreseen, emitted = made.graph.timeline, made.execution
    assert busy(emitted.spans) == pytest.approx(busy(foreseen.spans), rel=0.05)
    assert 0.65 * foreseen.makespan < emitted.makespan <= foreseen.makespan


def test_tables_that_lowering_adds_are_not_foreseen(compiled: Compile) -> None:
    """Each convolution on CUDA reads two tables more, which the copy engine brings beside other work."""
    made, _ = compiled(DIGITS, "orin_like")
    assert made.graph.timeline is not None
    assert made.execution is not None
    copies = [span for span in made.execution.spans if span.kind == "copy"]
    added = {name for kernel in made.kernels.values() for name in (t.name for t in kernel.constants)}
    late = [span for span in copies if span.what.split("@")[0] in added]
    assert {span.what for span in late} == {
        f"conv2d_{n}.{table}@vram" for n in (2, 4, 5) for table in ("multiplier", "shift")
    }
    known = [span for span in made.execution.spans if span not in late]
    assert busy(known) == pytest.approx(busy(made.graph.timeline.spans), rel=0.05)
