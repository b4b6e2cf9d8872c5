"""Rows of regions: every plan of random chains and diamonds replays without a fault, and with one row fewer
in any of its lines it does not.
"""

from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from target_arch.backends.plain_c.regions.linewise import FusedOperators
from target_arch.backends.plain_c.regions.schedule import in_place, in_turns
from target_arch.plan.operators.window import Window
from target_arch.plan.regions.cut import Axis, AxisCut
from target_arch.plan.regions.lines import LineWindow, Pass, RegionPlan, TensorLines, Turn
from target_arch.stages.regions import replay

X = TensorLines(name="x", lines=12, line_bytes=6)


def planned(one: Pass) -> RegionPlan:
    first = one.producers[0]
    return RegionPlan(cuts=(AxisCut(axis=Axis.ROWS, size=first.each, of=first.image.lines),), passes=(one,))


def faults(one: Pass) -> list[str]:
    """The faults of a plan with that pass."""
    return [*replay.faults(planned(one))]


def unit(name: str, lines: int, line_bytes: int, *reads: LineWindow) -> FusedOperators:
    return FusedOperators(
        operators=(name,), reads=reads, image=TensorLines(name=name, lines=lines, line_bytes=line_bytes)
    )


@st.composite
def chains(draw: st.DrawFn) -> list[FusedOperators]:
    """Windows over the tensor before, and sums with the one before that where both have as many rows."""
    tensors = [TensorLines(name="x", lines=draw(st.integers(1, 24)), line_bytes=draw(st.integers(1, 9)))]
    units = []
    for number in range(draw(st.integers(1, 5))):
        last, height, stride = tensors[-1], draw(st.integers(1, 4)), draw(st.integers(1, 3))
        before = draw(st.integers(0, height - 1))
        after = draw(st.integers(0, height - 1))
        window = Window.padded(last.lines, height, stride, before=before, after=after)
        assume(window.out > 0)
        rows, reads = window.out, [LineWindow(tensor=last, along=window)]
        if number and draw(st.booleans()) and tensors[-2].lines == rows:
            reads.append(LineWindow.equal(tensors[-2]))
        units.append(unit(f"t{number}", rows, draw(st.integers(1, 9)), *reads))
        tensors.append(units[-1].image)
    return units


@settings(max_examples=30, deadline=None)
@given(chains(), st.integers(1, 4))
def test_every_row_is_there_when_it_is_read(units: list[FusedOperators], size: int) -> None:
    plain = in_turns(units, size)
    assert plain is not None
    for plan in (plain, *(in_place(plain, image) for image in plain.given)):
        if plan is not None:
            assert faults(plan) == []
            assert plan.turns == evolve(plan).turns, "turns that are kept are those that follow"
            for number, producer in enumerate(plan.producers[:-1]):
                if producer.held:
                    assert faults(_with(plan, number, held=producer.held - 1))


def test_a_row_that_is_written_too_early_is_found() -> None:
    """An output that has to wait is written at once instead."""
    first = unit("a", 12, 6, LineWindow(tensor=X, along=Window.same(12, 3)))
    plain = in_turns([first, unit("b", 12, 6, LineWindow.equal(first.image))], 1)
    assert plain is not None
    placed = in_place(plain, X)
    assert placed is not None
    assert placed.producers[-1].held == 2
    assert faults(_with(placed, -1, held=0)) == [
        f"row {row} of `a` reads row {row - 1} of `x`" for row in range(1, 12)
    ]
    assert faults(_with(placed, -1, held=1))[0] == "2 rows of `b` are there, 1 have room"


def test_a_plan_prints() -> None:
    first = unit("a", 12, 4, LineWindow(tensor=X, along=Window.same(12, 3)))
    second = unit("b", 6, 8, LineWindow(tensor=first.image, along=Window.same(12, 3, 2)))
    plan = in_turns([first, second], 1)
    assert plan is not None
    placed = in_place(plan, X)
    assert placed is not None
    assert str(planned(placed)) == (
        "1 rows at a time, 12 B of scratch, output b (6 x 8 B) over x\n"
        "  a makes a (12 x 4 B), 1 a turn, 3 held at 0: 3 of x from 1 y-1 on\n"
        "  b makes b (6 x 8 B), 1 a turn: 3 of a from 2 y+0 on\n"
    )


def diamond() -> Pass:
    """A sum of two that each read the input."""
    units = [unit("a", 12, 4, LineWindow.equal(X)), unit("b", 12, 4, LineWindow.equal(X))]
    units.append(unit("c", 12, 4, LineWindow.equal(units[0].image), LineWindow.equal(units[1].image)))
    plan = in_turns(units, 1)
    assert plan is not None
    return plan


def test_lines_that_share_bytes_are_found() -> None:
    plan = diamond()
    assert faults(plan) == []
    crossed = evolve(
        plan, producers=(plan.producers[0], evolve(plan.producers[1], offset=0), plan.producers[2])
    )
    assert faults(crossed) == [f"row {row} of `c` reads row {row} of `a`" for row in range(12)]
    assert faults(evolve(plan, scratch=7))[0] == "`b` ends at byte 8 of 7"


def test_lines_over_those_that_they_are_made_from_are_found() -> None:
    units = [unit("a", 12, 4, LineWindow.equal(X))]
    units.append(unit("b", 12, 4, LineWindow.equal(units[0].image)))
    units.append(unit("c", 12, 4, LineWindow.equal(units[1].image)))
    plan = in_turns(units, 1)
    assert plan is not None
    found = faults(_with(plan, 1, offset=0))
    assert found[0] == "`b` is written over `a`, which it is made from"


def test_what_is_no_plan_is_found() -> None:
    plan = diamond()
    a, b, c = plan.producers
    assert faults(_with(plan, 0, held=0))[0] == "`a` has no place"
    assert faults(_with(plan, -1, held=1))[0] == "`c` stays in the scratch"
    other = evolve(a, reads=(LineWindow.equal(evolve(X, line_bytes=7)),))
    assert faults(evolve(plan, producers=(other, b, c)))[0] == "`a` reads `x (12 x 7 B)`, which is not there"
    fewer = evolve(a, image=evolve(a.image, lines=11))
    assert faults(evolve(plan, producers=(fewer, b, c)))[:2] == [
        "12 windows over 12 lines make 11 of `a (11 x 4 B)` from `x (12 x 6 B)`",
        "`c` reads `a (12 x 4 B)`, which is not there",
    ]
    waiting = evolve(c, reads=(LineWindow.equal(c.image),))
    assert faults(evolve(plan, producers=(a, b, waiting))) == ["0 of 12 rows of `c` are made"]


def test_an_operator_between_writes_nothing_over_the_input() -> None:
    found = faults(evolve(_with(diamond(), 0, held=0), over=X))
    assert found[0] == "`a` has no place"
    assert not [fault for fault in found if "of `x`" in fault]


def test_an_output_over_an_input_that_two_read_is_found() -> None:
    around = LineWindow(tensor=X, along=Window.same(12, 3))
    a, b = unit("a", 12, 6, LineWindow.equal(X)), unit("b", 12, 6, around)
    plan = in_turns([a, b, unit("c", 12, 6, LineWindow.equal(a.image), LineWindow.equal(b.image))], 1)
    assert plan is not None
    found = faults(evolve(plan, over=X))
    assert found == [f"row {row} of `b` reads row {row - 1} of `x`" for row in range(1, 12)]


def test_rows_of_padding_alone_need_none() -> None:
    """The first row of `b` is made before there is any of `a`."""
    a = unit("a", 12, 4, LineWindow.equal(X))
    behind = Window(extent=12, out=13, before=1)
    b = unit("b", 13, 4, LineWindow(tensor=a.image, along=behind))
    c = unit("c", 13, 4, LineWindow.equal(b.image))
    plan = in_turns([b, a, c], 1)
    assert plan is not None
    assert [turn.end for turn in plan.turns][:3] == [1, 1, 1]
    assert faults(plan) == []


def test_another_input_is_not_overwritten() -> None:
    """The output is over `x`; rows of `y` before those that are made are read still."""
    y = TensorLines(name="y", lines=12, line_bytes=6)
    a = unit("a", 12, 6, LineWindow.equal(X))
    b = unit("b", 12, 6, LineWindow.equal(a.image), LineWindow(tensor=y, along=Window.same(12, 3)))
    plan = in_turns([a, b], 1)
    assert plan is not None
    placed = in_place(plan, X)
    assert placed is not None
    assert faults(placed) == []
    assert faults(evolve(placed, over=y))[0] == "row 0 of `b` reads row 0 of `y`"


def planted(plan: Pass, *turns: Turn) -> Pass:
    """The pass with other turns than follow from it."""
    other = evolve(plan)
    vars(other)["turns"] = turns
    return other


def test_turns_that_do_not_follow_are_found() -> None:
    plan = diamond()
    first, *rest = plan.turns
    assert faults(planted(plan, *rest))[0] == "row 0 of `c` reads row 0 of `a`"
    assert "rows 1 to 2 of `a` follow row 0" in faults(planted(plan, *rest))
    back = evolve(first, start=0, end=-1)
    assert faults(planted(plan, back, *plan.turns))[0] == "rows 0 to -1 of `a` follow row 0"
    a, b, c, *others = plan.turns
    assert faults(planted(plan, a, c, b, *others))[0] == "row 0 of `c` reads row 0 of `b`"


def test_rows_that_are_given_up_too_early_or_made_too_late_are_found() -> None:
    first = unit("a", 12, 4, LineWindow.equal(X))
    plan = in_turns([first, unit("b", 12, 4, LineWindow(tensor=first.image, along=Window.same(12, 3)))], 1)
    assert plan is not None
    early = [evolve(turn, kept=turn.start) for turn in plan.turns]
    assert faults(planted(plan, *early))[0] == "row 0 of `b` reads row 0 of `a`"
    (late,) = [number for number, turn in enumerate(plan.turns) if turn.number == 0][5:6]
    turns = [*plan.turns]
    turns[late], turns[late + 1] = turns[late + 1], turns[late]
    assert faults(planted(plan, *turns))[0] == "row 4 of `b` reads row 5 of `a`"


def _with(plan: Pass, number: int, **facts: int) -> Pass:
    producers = list(plan.producers)
    producers[number] = evolve(producers[number], **facts)
    return evolve(plan, producers=tuple(producers))
