"""Faults of the second of two: partitions, regions, calls, tensors, windows, buffers and passes."""

import pytest
from attrs import evolve

from target_arch.backends.plain_c.regions.schedule import in_place
from target_arch.plan.kernels import Call, Kernel, LocalBuffer
from target_arch.plan.operators.window import Window
from target_arch.plan.regions.cut import AxisPart
from target_arch.plan.regions.lines import LineWindow, Pass, TensorLines, Turn
from target_arch.stages.errors import CheckError
from target_arch.stages.regions import replay
from target_arch.stages.regions.replay import check_stripes
from tests.stages.regions import test_channels as channels
from tests.stages.regions import test_patches as patches
from tests.stages.regions.test_calls import GRAPH, PARTITION, ROWS, kernel
from tests.stages.regions.test_rows import diamond, faults, in_turns, planted, unit


def said(*kernels: Kernel) -> list[str]:
    """What is said of the kernels of a partition each."""
    partitions = tuple(evolve(PARTITION, id=f"p{number}") for number in range(len(kernels)))
    named = {f"p{number}": evolve(each, partition=f"p{number}") for number, each in enumerate(kernels)}
    try:
        check_stripes(evolve(GRAPH, partitions=partitions), named)
    except CheckError as error:
        return [f"{each.place}: {each.message}" for each in error.diagnostics]
    return []


def call_of(made: Kernel) -> Call:
    (call,) = made.actions
    assert isinstance(call, Call)
    return call


def test_the_second_partition() -> None:
    assert said(kernel(ROWS), kernel(ROWS, function="g")) == ["function f of partition p1: no call runs it"]


def test_the_second_region() -> None:
    two = evolve(kernel(ROWS), stripes={"f": ROWS, "g": ROWS})
    assert said(two) == ["function g of partition p0: no call runs it"]


def test_the_second_call() -> None:
    short = call_of(kernel(ROWS, reads="y", over=()))
    two = evolve(kernel(ROWS), actions=(call_of(kernel(ROWS)), short))
    wrong = "function f of partition p0: its call for `b` has tensors of [60, 72] B, its lines [72, 72] B"
    assert said(two) == [wrong]


@pytest.mark.parametrize("name", ["e", "g"])
def test_a_call_of_another_function(name: str) -> None:
    other = call_of(kernel(ROWS, reads="y", over=(), function=name))
    assert said(evolve(kernel(ROWS), actions=(call_of(kernel(ROWS)), other))) == []


def test_the_second_buffer() -> None:
    made = kernel(ROWS)
    first = LocalBuffer(name="first", bytes=4, memory="sram")
    assert said(evolve(made, buffers=(first, *made.buffers))) == []


def test_a_tensor_that_is_larger_than_its_lines() -> None:
    small = TensorLines(name="x", lines=12, line_bytes=5)
    out = in_turns([unit("b", 12, 6, LineWindow.equal(small))], 1)
    assert out is not None
    plan = evolve(ROWS, passes=(out,))
    wrong = "function f of partition p0: its call for `b` has tensors of [72, 72] B, its lines [60, 72] B"
    assert said(kernel(plan, over=())) == [wrong]


def sum_of(*names: str) -> Pass:
    """The sum of tensors that are given."""
    given = [TensorLines(name=name, lines=12, line_bytes=6) for name in names]
    made = in_turns([unit("s", 12, 6, *(LineWindow.equal(each) for each in given))], 1)
    assert made is not None
    return made


def test_the_second_tensor_that_is_given() -> None:
    plan = evolve(ROWS, passes=(sum_of("x", "a"),))
    call = call_of(kernel(ROWS, over=()))
    reads, weights, writes, lines = call.operands
    two = evolve(call, operands=(reads, evolve(reads, of="a"), weights, writes, lines))
    assert said(evolve(kernel(plan, over=()), actions=(two,))) == []
    other = evolve(call, operands=(reads, evolve(reads, of="y"), weights, writes, lines))
    assert said(evolve(kernel(plan, over=()), actions=(other,))) == [
        "function f of partition p0: its call for `b` has tensors of [72, 60, 72] B, its lines [72, 72, 72] B"
    ]
    half = AxisPart(start=0, end=3, of=6)
    one = plan.passes[0]
    given = (one.given[0], evolve(one.given[1], part=half))
    assert [*replay._part_faults(evolve(one, given=given))] == ["only 0 to 3 of 6 of `a` are known"]


def test_an_input_whose_name_comes_before_the_overwritten_one() -> None:
    """Its lines are there to the end."""
    around = LineWindow(tensor=TensorLines(name="w", lines=12, line_bytes=6), along=Window.same(12, 3))
    over = TensorLines(name="x", lines=12, line_bytes=6)
    first = unit("a", 12, 6, LineWindow.equal(over))
    made = in_turns([first, unit("s", 12, 6, LineWindow.equal(first.image), around)], 1)
    assert made is not None
    placed = in_place(made, over)
    assert placed is not None
    assert faults(placed) == []


def test_the_second_window() -> None:
    plan = diamond()
    a, b, c = plan.producers
    other = LineWindow.equal(evolve(b.image, line_bytes=5))
    wrong = evolve(plan, producers=(a, b, evolve(c, reads=(c.reads[0], other))))
    assert faults(wrong)[0] == "`c` reads `b (12 x 5 B)`, which is not there"
    over = evolve(c, offset=b.offset, held=1)
    assert "`c` is written over `b`, which it is made from" in faults(evolve(plan, producers=(a, b, over)))


def test_a_window_over_fewer_lines_that_makes_as_many() -> None:
    plan = diamond()
    a, b, c = plan.producers
    short = evolve(a.reads[0], along=Window(extent=11, out=12))
    assert faults(evolve(plan, producers=(evolve(a, reads=(short,)), b, c)))[0] == (
        "12 windows over 11 lines make 12 of `a (12 x 4 B)` from `x (12 x 6 B)`"
    )


def test_a_turn_again_and_one_too_many() -> None:
    plan = diamond()
    turns = plan.turns
    assert "rows 0 to 1 of `a` follow row 1" in faults(planted(plan, turns[0], *turns))
    more = evolve(turns[-1], start=12, end=13, placed=13)
    assert "13 of 12 rows of `c` are made" in faults(planted(plan, *turns, more))


def test_the_second_line_of_a_turn() -> None:
    plan = diamond()
    first, second, last = plan.producers
    apart = (evolve(first, held=2), evolve(second, offset=100), last)
    a, b, c, *_ = plan.turns
    both: list[Turn] = [evolve(turn, end=turn.start + 2) for turn in (a, c)]
    roomy = evolve(plan, producers=apart, scratch=200)
    assert faults(planted(roomy, both[0], b, both[1]))[0] == "row 1 of `c` reads row 1 of `b`"


def test_more_channels_than_are_summed_up() -> None:
    one = channels.SUMMED
    last = one.turns[-1]
    more = evolve(last, start=40, end=41)
    found = [*replay.faults(channels.planned(planted(one, *one.turns, more)))]
    assert "41 of 40 channels of `deep` are in `out`" in found


def test_the_second_tensor_that_is_added_to_sums() -> None:
    given = [evolve(channels.OUT, name=name) for name in ("one", "other")]
    reads = (*channels.SUMS.reads, *map(LineWindow.equal, given))
    sums = evolve(channels.SUMS, reads=reads)
    one = evolve(
        channels.SUMMED, given=(channels.X, *given), producers=(*channels.SUMMED.producers[:2], sums)
    )
    assert "has other elements" not in " ".join(channels.faults(one))
    wide = evolve(given[1], line_bytes=5)
    longer = evolve(given[1], lines=7)
    for other in (wide, longer):
        wrong = evolve(sums, reads=(*reads[:2], LineWindow.equal(other)))
        found = channels.faults(evolve(one, producers=(*one.producers[:2], wrong)))
        assert f"`{other}` has other elements than `out (6 x 4 B)`, to which it is added" in found


def of_patches(*passes: Pass) -> list[str]:
    return [*replay.faults(patches.planned(*passes))]


def test_patches_that_overlap() -> None:
    assert of_patches(patches.LEFT, patches.patch(2, 6, 1, 6)) == [
        "columns 2 to 6 of 6 of `b` follow column 3"
    ]


def test_patches_beyond_the_last_column() -> None:
    assert "7 columns of `b` are made" in of_patches(patches.LEFT, patches.patch(3, 7, 2, 6))


def whole() -> Pass:
    """The left patch without its columns."""
    first, last = patches.LEFT.producers
    x, a = (evolve(each, part=None) for each in (patches.LEFT.given[0], first.image))
    b = patches.LEFT.output.whole
    reads = [evolve(each.reads[0], tensor=of, across=None) for each, of in ((first, x), (last, a))]
    producers = (
        evolve(first, reads=(reads[0],), image=a),
        evolve(last, reads=(reads[1],), image=b),
    )
    return evolve(patches.LEFT, given=(x,), producers=producers)


def test_a_pass_of_all_columns_before_one_of_some() -> None:
    found = of_patches(whole(), patches.RIGHT)
    assert f"a pass makes `{patches.RIGHT.output}`, which is no part of `{whole().output}`" in found


def test_the_second_window_over_columns() -> None:
    first, last = patches.LEFT.producers
    x = patches.LEFT.given[0]
    equal = LineWindow(tensor=x, along=Window.equal(2), across=Window.equal(patches.COLUMNS))
    both = evolve(last, reads=(*last.reads, equal))
    one = evolve(patches.LEFT, producers=(first, both))
    assert [*replay._part_faults(one)] == []
    unsaid = evolve(one, producers=(first, evolve(last, reads=(*last.reads, evolve(equal, across=None)))))
    wrong = ["`b` reads `x`, and nothing says which part"]
    assert [*replay._part_faults(unsaid)] == wrong
    for extent in (5, 7):
        across = Window(extent=extent, out=patches.COLUMNS)
        other = evolve(last, reads=(*last.reads, evolve(equal, across=across)))
        assert [*replay._part_faults(evolve(one, producers=(first, other)))] == wrong
