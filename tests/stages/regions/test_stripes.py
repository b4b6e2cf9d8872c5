"""Rows of regions: every plan of random chains and diamonds replays without a fault, and with one row fewer
in any of its lines it does not.
"""

from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from target_arch.backends.plain_c.stripes.schedule import FusedOperators, in_place, stripes
from target_arch.plan.operators.window import Window
from target_arch.plan.regions.stripes import RowWindow, Stripes, TensorRows
from target_arch.stages.regions.replay_rows import faults

X = TensorRows(name="x", rows=12, row_bytes=6)


def unit(name: str, rows: int, row_bytes: int, *reads: RowWindow) -> FusedOperators:
    return FusedOperators(
        operators=(name,), reads=reads, image=TensorRows(name=name, rows=rows, row_bytes=row_bytes)
    )


@st.composite
def chains(draw: st.DrawFn) -> list[FusedOperators]:
    """Windows over the tensor before, and sums with the one before that where both have as many rows."""
    tensors = [TensorRows(name="x", rows=draw(st.integers(1, 24)), row_bytes=draw(st.integers(1, 9)))]
    units = []
    for number in range(draw(st.integers(1, 5))):
        last, height, stride = tensors[-1], draw(st.integers(1, 4)), draw(st.integers(1, 3))
        before = draw(st.integers(0, height - 1))
        after = draw(st.integers(0, height - 1))
        window = Window.padded(last.rows, height, stride, before=before, after=after)
        assume(window.out > 0)
        rows, reads = window.out, [RowWindow(tensor=last, along=window)]
        if number and draw(st.booleans()) and tensors[-2].rows == rows:
            reads.append(RowWindow.equal(tensors[-2]))
        units.append(unit(f"t{number}", rows, draw(st.integers(1, 9)), *reads))
        tensors.append(units[-1].image)
    return units


@settings(max_examples=30, deadline=None)
@given(chains(), st.integers(1, 4))
def test_every_row_is_there_when_it_is_read(units: list[FusedOperators], size: int) -> None:
    plain = stripes(units, size)
    assert plain is not None
    for plan in (plain, *(in_place(plain, image) for image in plain.given)):
        if plan is not None:
            assert faults(plan) == []
            for number, producer in enumerate(plan.producers[:-1]):
                if producer.held:
                    assert faults(_with(plan, number, held=producer.held - 1))


def test_a_row_that_is_written_too_early_is_found() -> None:
    """An output that has to wait is written at once instead."""
    first = unit("a", 12, 6, RowWindow(tensor=X, along=Window.same(12, 3)))
    plain = stripes([first, unit("b", 12, 6, RowWindow.equal(first.image))], 1)
    assert plain is not None
    placed = in_place(plain, X)
    assert placed is not None
    assert placed.producers[-1].held == 2
    assert faults(_with(placed, -1, held=0))[0] == "row 1 of `a` reads row 0 of `x`"
    assert faults(_with(placed, -1, held=1))[0] == "2 rows of `b` are there, 1 have room"


def _with(plan: Stripes, number: int, *, held: int) -> Stripes:
    producers = list(plan.producers)
    producers[number] = evolve(producers[number], held=held)
    return evolve(plan, producers=tuple(producers))


def test_a_plan_prints() -> None:
    first = unit("a", 12, 4, RowWindow(tensor=X, along=Window.same(12, 3)))
    second = unit("b", 6, 8, RowWindow(tensor=first.image, along=Window.same(12, 3, 2)))
    plan = stripes([first, second], 1)
    assert plan is not None
    assert str(in_place(plan, X)) == (
        "12 B of lines, output b over x\n"
        "  a makes 12 rows, 1 a step, 3 held at 0: 3 rows of x from 1 y-1 on\n"
        "  b makes 6 rows, 1 a step: 3 rows of a from 2 y+0 on\n"
    )


def test_lines_that_share_bytes_are_found() -> None:
    units = [
        unit("a", 12, 4, RowWindow.equal(X)),
        unit("b", 12, 4, RowWindow.equal(X)),
    ]
    units.append(unit("c", 12, 4, RowWindow.equal(units[0].image), RowWindow.equal(units[1].image)))
    plan = stripes(units, 1)
    assert plan is not None
    assert faults(plan) == []
    crossed = evolve(
        plan, producers=(plan.producers[0], evolve(plan.producers[1], offset=0), plan.producers[2])
    )
    assert faults(crossed) == ["the lines of `b` begin below byte 4, where others end"]
    assert faults(evolve(plan, scratch=7)) == ["the lines of `b` end at byte 8 of 7"]
