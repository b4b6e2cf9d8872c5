"""Which step reads what which step wrote, byte by byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.plan.kernels import Slice
from target_arch.plan.steps import Copy
from target_arch.stages.steps.simulation.flow import flow

SIZE = 24


@st.composite
def parts(draw: st.DrawFn, of: str, size: int) -> Slice:
    """So many bytes of a buffer, in one row or in several."""
    rows = draw(st.sampled_from([rows for rows in (1, 2, 3) if size % rows == 0]))
    row = size // rows
    stride = draw(st.integers(row, row + 3)) if rows > 1 else 0
    offset = draw(st.integers(0, SIZE - (rows - 1) * stride - row))
    return Slice(of=of, offset=offset, row_bytes=row, rows=rows, stride=stride)


@st.composite
def copies(draw: st.DrawFn) -> Copy:
    size = draw(st.sampled_from((1, 2, 3, 4, 6)))
    source, target = (draw(parts(draw(st.sampled_from("ab")), size)) for _ in range(2))
    return Copy(source=source, target=target, engine="cpu")


def places(part: Slice) -> list[tuple[str, int]]:
    starts = range(part.offset, part.end, part.stride or part.row_bytes)
    return [(part.of, start + byte) for start in starts for byte in range(part.row_bytes)]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(copies(), max_size=12))
def test_data_flows_from_the_last_writer_of_each_byte(steps: list[Copy]) -> None:
    writer: dict[tuple[str, int], int] = {}
    expected: list[tuple[int, ...]] = []
    for number, step in enumerate(steps):
        expected.append(tuple(sorted({writer[at] for at in places(step.source) if at in writer})))
        writer |= dict.fromkeys(places(step.target), number)
    assert flow(steps, {"a": SIZE, "b": SIZE}) == expected
