"""Texts of the checker where one rule has several, or faults have an order; the checker of several models."""

import pytest
from attrs import evolve

from target_arch.plan.memory import Alias, Arena, Buffer, MemoryPlan
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.model_pools import ModelPool, ModelPools, Sharing
from target_arch.plan.steps import Step, StepOrder
from target_arch.stages.check.models import check_models
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import EqualBytes, parts
from target_arch.stages.errors import CheckError
from tests.stages.check.tiny import CHIP, LOADS, Held, call, copy, fill, given, held, reads, wait, writes


def said(
    buffers: list[Held], *steps: Step, in_place: tuple[tuple[str, str], ...] = (), outputs: str = ""
) -> str:
    """The whole text of all faults."""
    known = tuple(each.buffer for each in buffers)
    order = StepOrder(
        steps=steps,
        buffers=known,
        inputs=tuple((b.name, b.name) for b in known if b.kind == "input"),
        outputs=((outputs, outputs),) if outputs else (),
    )
    offsets = {each.buffer.name: each.offset or 0 for each in buffers}
    with pytest.raises(CheckError) as caught:
        check(CHIP, order, MemoryPlan(buffers=known, offsets=offsets, in_place=in_place))
    return str(caught.value)


X = given("x", 0)
W = held("w", 8, aliases=(Alias(tensor="w", offset=0, bytes=8),), tensor="w")


def test_every_kind_of_step_is_a_place() -> None:
    text = said(
        [X], evolve(LOADS[0], process="linked"), wait("bus.0#1"), call(reads("q")), copy("x", "q"), LOADS[1]
    )
    assert [line.partition(": error")[0] for line in text.splitlines() if line] == [
        "step 0 (load core[0])",
        "step 1 (wait bus.0#1)",
        "step 2 (dispatch op on host)",
        "step 3 (copy x to q)",
        "step 4 (load npu)",
    ]


def test_what_is_wrong_with_residents() -> None:
    constant, resident = held("c", 0, kind="constant"), held("r", 0, kind="resident")
    buffers = [X, constant, resident, held("y", 8)]
    text = said(
        buffers, fill("c", "r"), fill("c", "r"), fill("x", "y"), copy("x", "r"), fill("c", "r"), outputs="y"
    )
    assert text.split("\n\n") == [
        "step 1 (fill r from c): error: `r[0:+8]` is filled where it was before [wrong-fill]",
        "step 2 (fill y from x): error: `y[0:+8]` is no resident, and filled before the run [wrong-fill]",
        "step 2 (fill y from x): error: `x[0:+8]` is no constant, and a resident is filled with it"
        " [wrong-fill]",
        "step 3 (copy x to r): error: `r[0:+8]` is a resident and written by a run [resident-written]",
        "step 4 (fill r from c): error: `r[0:+8]` is filled after a step of the run [late-fill]",
        "step 4 (fill r from c): error: `r[0:+8]` is filled where it was before [wrong-fill]",
    ]


def test_why_a_place_may_not_be_taken() -> None:
    on = held("y", 0)
    safe = call(reads("x"), writes("y", over=("x",)))
    start = "memory plan: error: buffer `y` is written over `x`: "
    later = said([X, on], safe, call(reads("x")), in_place=(("y", "x"),))
    assert later == f"{start}`x` is needed until step 1 [unsafe-in-place]"
    kept = said([X, on], safe, in_place=(("y", "x"),), outputs="x")
    assert kept == f"{start}`x` is needed until the end of the run [unsafe-in-place]"


def test_a_smaller_result_that_no_call_allows_is_not_the_same_bytes() -> None:
    text = said([given("x", 0, 16), held("y", 0)], call(reads("x"), writes("y")), in_place=(("y", "x"),))
    assert "buffer `y` is written over `x`: they are not the same bytes [unsafe-in-place]" in text


def test_the_one_whose_bytes_are_written_over_is_named() -> None:
    def over(*steps: Step) -> str:
        return said([X, W], *steps).partition("`w[0:+8]` is written over what ")[2]

    one, two = call(writes("w"), operator="one"), call(writes("w"), operator="two")
    first, second = copy("x", "w", partition="p0"), copy("x", "w", partition="p1")
    assert over(one, two) == "`one` wrote there [written-twice]"
    assert over(first, second) == "`p0` wrote there [written-twice]"
    low, high = (
        call(writes("w", offset=at, bytes=4), operator=name) for at, name in ((0, "low"), (4, "high"))
    )
    assert over(high, low, two).startswith("`low` wrote")


def test_what_is_in_flight_is_named_in_the_order_of_its_steps() -> None:
    buffers = [given("x", 0, 8, alignment=8), *(held(f"b{n}", 8 * n + 8) for n in range(8))]
    copies = [copy("x", f"b{n}", f"bus.0#{n + 1}") for n in range(8)]
    text = said(buffers, *copies, call(*(writes(f"b{n}") for n in range(8))), wait("bus.0#8"))
    assert [line.partition("while step ")[2][0] for line in text.splitlines() if line] == list("01234567")
    core = held("t", 0, memory="tcm_0", alignment=8), held("u", 8, memory="tcm_0", alignment=8)
    turns = (copy("x", "t", "dma.0#1"), copy("x", "u", "dma.1#1"), copy("x", "t", "dma.0#2"))
    text = said([buffers[0], *core], *turns)
    assert [line.partition("error: step ")[2][0] for line in text.splitlines() if line] == list("012")


def test_a_model_says_which_bytes_are_equal() -> None:
    shapes = {
        "a": (1, 4),
        "b": (1, 6),
        "ab": (1, 10),
        "r": (10,),
        "c": (2, 4),
        "d": (2, 6),
        "cd": (2, 10),
        "s": (10,),
    }

    def operator(kind: str, output: str, *inputs: str, axis: int = 1) -> Operator:
        return Operator(
            id=output, kind=kind, arithmetic="tflite", inputs=inputs, constants=(), output=output,
            attributes={"axis": axis} if kind == "concat" else {},
        )  # fmt: skip

    model = Model(
        name="m",
        source="m",
        inputs=("a", "b", "c", "d"),
        outputs=("s", "cd"),
        tensors={name: Tensor(name=name, shape=shape, dtype="int8") for name, shape in shapes.items()},
        operators=(
            operator("concat", "ab", "a", "b"),
            operator("reshape", "r", "ab"),
            operator("add", "s", "r", "r"),
            operator("concat", "cd", "c", "d"),
        ),
    )
    assert parts(model) == (
        EqualBytes(tensor="a", whole="ab", offset=0),
        EqualBytes(tensor="b", whole="ab", offset=4),
        EqualBytes(tensor="ab", whole="r", offset=0),
    )


def test_a_model_says_where_slices_are() -> None:
    """A slice is a run of bytes where its places follow each other."""

    def slices(out: tuple[int, ...], begin: tuple[int, ...], step: tuple[int, ...]) -> list[int]:
        shape = (4, 6) if begin else ()
        cut = Operator(
            id="s", kind="slice", arithmetic="tflite", inputs=("x",), constants=(), output="y",
            attributes={"begin": begin, "step": step},
        )  # fmt: skip
        tensors = {
            name: Tensor(name=name, shape=each, dtype="int16") for name, each in (("x", shape), ("y", out))
        }
        model = Model(name="m", source="m", inputs=("x",), outputs=("y",), tensors=tensors, operators=(cut,))
        found = parts(model)
        assert all((each.tensor, each.whole) == ("y", "x") for each in found)
        return [each.offset for each in found]

    assert slices((2, 6), (1, 0), (1, 1)) == [12]
    assert slices((1, 3), (2, 3), (1, 1)) == [30]
    assert slices((1, 1), (3, 5), (1, 1)) == [46]
    assert slices((2, 3), (1, 0), (1, 1)) == [], "with gaps between rows"
    assert slices((1, 3), (0, 0), (1, 2)) == [], "every second element"
    assert slices((2, 6), (0, 0), (2, 1)) == [], "every second row"
    assert slices((), (), ()) == [0]


def pools(*offsets: int, memory: str = "ram", sharing: str = "separate", **facts: object) -> list[str]:
    """What is said of two models, each with 16 bytes of one pool in the middle of its part of 32."""
    buffer = Buffer(name="b", kind="activation", memory=memory, bytes=16, alignment=8, first=0, last=0)
    plan = MemoryPlan(buffers=(buffer,), offsets={"b": 8})
    given = {"peaks": (32, 32), "bytes": 64, "apart": 64, "overlaid": False, **facts}
    pool = ModelPool(pool=Arena(memory), capacity=256, alignment=8, offsets=offsets, **given)  # type: ignore[arg-type]
    together = ModelPools(models=("one", "two"), arenas=Sharing(sharing), pools=(pool,))
    try:
        check_models(CHIP, together, {"one": plan, "two": plan})
    except CheckError as error:
        return [fault.rule for fault in error.diagnostics]
    return []


def test_models_are_side_by_side_to_the_byte() -> None:
    assert pools(0, 32) == pools(32, 0) == []
    assert pools(0, 31) == ["misaligned", "overlap"]
    assert pools(32, 24) == ["overlap"]
    assert pools(0, 16, peaks=(0, 0)) == ["overlap"], "whatever peaks are stated, its last byte is the 24th"
    assert pools(16, 0, peaks=(0, 0)) == ["overlap"]
    assert pools(0, 24, peaks=(12, 24)) == pools(24, 0, peaks=(24, 12)) == []
    assert pools(0, 24, peaks=(25, 24)) == ["overlap"], "a peak that is stated counts where it is more"
    assert pools(-16, 32) == ["out-of-bounds"]
    assert pools(0, 0, sharing="shared") == []
    assert pools(0, 0, memory="out") == [], "only a device sees it: nothing outlives a run"
    assert pools(0, 40, bytes=64) == [], "its last byte is the last one of the pool"
    assert pools(0, 48, bytes=64) == ["out-of-bounds"]
    assert pools(0, 32, bytes=256) == []
    assert pools(0, 32, bytes=257) == ["over-capacity"]


def test_every_pool_is_there_once() -> None:
    pool = ModelPool(
        pool=Arena("ram"), capacity=256, alignment=8, offsets=(), peaks=(), bytes=0, apart=0, overlaid=True
    )
    other = evolve(pool, pool=Arena("out"))
    with pytest.raises(CheckError) as caught:
        check_models(CHIP, ModelPools(models=(), arenas=Sharing.SHARED, pools=(other, pool, pool)), {})
    said = "memory of all models: error: pool `ram` is there twice [duplicate-pool]"
    assert str(caught.value) == said
