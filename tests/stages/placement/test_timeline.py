"""The simulated run of a placement."""

from itertools import pairwise

import pytest
from attrs import evolve

from target_arch.plan import text
from target_arch.plan.timeline import Timeline
from target_arch.stages.placement.place import place
from tests.stages import chips


def simulated(name: str = "edge") -> Timeline:
    soc = chips.EDGE if name == "edge" else chips.quad()
    found = place(chips.RESIDUAL, chips.setting(soc), chips.BACKENDS).timeline
    assert found is not None
    return found


def test_nothing_is_at_two_things_at_a_time() -> None:
    spans = simulated().spans
    for where in {span.where for span in spans} - {"dma"}:
        mine = [span for span in spans if span.where == where]
        assert all(one.end <= two.start + 1e-15 for one, two in pairwise(mine))


def test_the_makespan_is_the_end_of_the_last_and_not_below_the_bound() -> None:
    for found in (simulated(), simulated("quad")):
        assert found.makespan == pytest.approx(max(span.end for span in found.spans))
        assert 0 < found.bound <= found.makespan
        assert found.gap >= 0


def test_the_makespan_says_how_good_it_is() -> None:
    timeline = Timeline(makespan=2e-3, bound=1e-3, method="HEFT", load=0.5, spans=())
    assert text.makespan(timeline) == (
        "simulated run: 2 ms, 100.0% above the lower bound of 1 ms; found by HEFT; "
        "before the first run 500 ms to load\n"
    )
    assert text.makespan(evolve(timeline, load_bytes=2048)).endswith("run 500 ms to load 2,048 B\n")
    assert text.makespan(evolve(timeline, load=0.0, load_bytes=2048)).endswith("run 2,048 B to load\n")
    assert text.makespan(Timeline(makespan=1e-3, bound=1e-3, method="m", spans=())) == (
        "simulated run: 1 ms, at the lower bound of 1 ms; found by m\n"
    )


def test_branches_overlap() -> None:
    rows = [(f"b{n}", "conv", ("x",), 1024) for n in range(3)]
    model = chips.model(*rows, ("s", "add", ("b0", "b1", "b2"), 1024), inputs={"x": 1024}, weights=64)
    graph = place(model, chips.setting(chips.quad()), chips.BACKENDS)
    assert len({graph.choice(f"b{n}").instance for n in range(3)}) == 3
    assert graph.timeline is not None
    convs = [span for span in graph.timeline.spans if span.what.startswith("b")]
    assert len(convs) == 3
    assert max(span.start for span in convs) < min(span.end for span in convs)
