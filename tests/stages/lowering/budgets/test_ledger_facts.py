"""What a ledger answers and refuses, one fact at a time: engine, tensors and constants share one memory."""

import pytest
from attrs import evolve

from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Operand
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition
from target_arch.soc.model import SoC
from target_arch.stages.lowering.budgets.ledger import Ledger, Overdrawn
from target_arch.stages.memory.pool_ledger import PoolLedger
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.steps.fit import foreseen
from tests.stages import chips
from tests.stages.lowering.budgets.test_exact_budgets import POOLS
from tests.stages.lowering.budgets.test_recomputed_budgets import IN_SRAM, reading

SIZE = 32 * chips.KIB
MODEL = chips.model(
    ("a", "conv", ("x",), 8_000),
    ("b", "other", ("a",), 8_000),
    ("c", "conv", ("b",), 8_000),
    inputs={"x": 8_000},
)


def opened(model: Model, soc: SoC, *memories: str) -> tuple[Ledger, tuple[Partition, ...]]:
    require = {op.id: {"conv": "conv"}.get(op.kind, "host") for op in model.operators}
    graph = chips.placed(model, soc, Rules(require=require))
    work = PartialLowering(setting=chips.setting(soc), graph=graph, kernels={})
    return Ledger.of(work, foreseen(work)).asked_about(memories), graph.partitions


def with_block(kernel: Kernel, size: int, memory: str = "sram") -> Kernel:
    """The kernel with its block so large, in this memory."""
    (block,) = kernel.buffers
    return evolve(kernel, buffers=(evolve(block, bytes=size, memory=memory),))


def packing(partition: Partition, size: int) -> Kernel:
    """A C kernel that reads a constant of its own."""
    plain = chips.c_kernel(partition)
    (call,) = plain.actions
    assert isinstance(call, Call)
    read = Operand(of="packed", access="r")
    return evolve(
        plain,
        constants=(chips.tensor("packed", size, True),),
        actions=(evolve(call, operands=(read, *call.operands)),),
    )


def free(ledger: Ledger, memory: str = "sram") -> int:
    return ledger._pools[memory].available


def test_a_memory_is_opened_once() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram")
    assert ledger.asked_about(("sram",)) is ledger
    further = ledger.asked_about(("tcm", "sram", "tcm"))
    assert further._pools["sram"] is ledger._pools["sram"]
    assert list(further.memories) == ["sram", "tcm"]
    assert ledger.asked_by(a).memories == further.memories


def test_who_is_alive_the_largest_first() -> None:
    model = chips.model(
        ("b", "conv", ("x",), 500), ("a", "other", ("y",), 500), ("c", "other", ("a", "b"), 900),
        inputs={"x": 400, "y": 400},
    )  # fmt: skip
    ledger, partitions = opened(model, IN_SRAM, "sram", "tcm")
    last = next(p for p in partitions if p.operators[-1].id == "c")
    assert ledger.alive(last, "c", "sram") == (("c@sram", 900), ("a@sram", 500), ("b@sram", 500))
    assert ledger.alive(last, "c", "tcm") == ()


def test_a_crowded_memory_has_no_plan() -> None:
    """Two tensors of 8,000 B meet, so 16,000 of 32,768 B are needed: 16,768 is what constants may take."""
    ledger, (a, b, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    full, refused = ledger.with_kernel(b, packing(b, 16_768))
    assert refused is None
    assert (full.has_plan(("sram", "tcm")), full.crowded(a), full.constants_missing) == (True, False, False)
    over, refused = ledger.with_kernel(b, packing(b, 16_769))
    assert refused is None
    assert (over.has_plan(("tcm", "sram")), over.crowded(a), over.constants_missing) == (False, True, True)
    assert over.has_plan(("tcm",))


def test_who_took_more_than_later_constants_leave() -> None:
    ledger, (a, b, _) = opened(MODEL, IN_SRAM, "sram")
    ledger, refused = ledger.with_kernel(a, with_block(reading(a), 16_000))
    assert refused is None
    assert ledger.over_budget("sram") == {}
    ledger, refused = ledger.with_kernel(b, packing(b, 1_000))
    assert refused is None
    assert ledger.over_budget("sram") == {a.id: 16_000 + 16_000 + 1_024 - SIZE}
    assert ledger.over_budget("ddr") == {}
    assert not opened(MODEL, IN_SRAM)[0].over_budget("sram")


def test_an_accelerator_whose_weights_leave_too_little_is_refused() -> None:
    """They grow by whole lines; the block is needed, too. The ledger is then as it was."""
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    ledger, before = ledger.budget(a)
    after, refused = ledger.with_kernel(a, reading(a, "p", own=[("p", 17_000)]))
    needed = 17_024 + 64
    assert refused == Overdrawn(site="a", memory="sram", needed=needed, available=needed - 256)
    assert after.constants_missing
    assert after.budget(a)[1] == before
    fits, refused = ledger.with_kernel(a, reading(a, "p", own=[("p", 16_640)]))
    assert refused is None
    assert (fits.constants_missing, free(fits)) == (False, SIZE - 16_640)


def test_nothing_is_available_where_more_is_missing_than_needed() -> None:
    """The C before took all; what little the engine adds is refused with 0 B available."""
    ledger, (a, b, _) = opened(MODEL, IN_SRAM, "sram")
    ledger, refused = ledger.with_kernel(b, packing(b, 20_000))
    assert refused is None
    _, refused = ledger.with_kernel(a, reading(a, "p", own=[("p", 64)]))
    assert refused == Overdrawn(site="a", memory="sram", needed=128, available=0)


def test_weights_are_not_refused_while_others_are_over_budget() -> None:
    """Residents alone are too many beside them; the block of 64 B is what is then refused."""
    ledger, (a, _, c) = opened(MODEL, IN_SRAM, "sram")
    ledger, refused = ledger.with_kernel(a, with_block(reading(a), 16_000))
    assert refused is None
    grown, refused = ledger.with_kernel(c, reading(c, "p", own=[("p", 16_640)]))
    assert refused is None
    assert grown.over_budget("sram") == {a.id: 16_000 + 16_000 + 16_640 - SIZE}
    refused = ledger.with_kernel(c, reading(c, "p", own=[("p", 17_024)]))[1]
    assert refused == Overdrawn(site="c", memory="sram", needed=64, available=0)


def test_one_missing_byte_is_missed_also_when_it_is_back() -> None:
    """The plan behind the promises is gone, although the constants of the next kernel are smaller."""
    sizes = {"x": 8_001}
    model = chips.model(("a", "conv", ("x",), 8_001), ("b", "other", ("a",), 8_001), inputs=sizes, weights=64)
    ledger, (a, b) = opened(model, IN_SRAM, "sram")
    enough, refused = ledger.with_kernel(b, packing(b, 16_640 - 64))
    assert (refused, enough.constants_missing) == (None, False)
    missing, refused = ledger.with_kernel(b, packing(b, 16_704 - 64))
    assert (refused, missing.constants_missing) == (None, True)
    assert missing._pools["sram"].missing == 1
    back, refused = missing.with_kernel(a, evolve(reading(a), buffers=(), actions=()))
    assert (refused, back.constants_missing) == (None, True)
    assert back.has_plan(("sram",))


def test_weights_pass_where_only_the_known_plan_has_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram")
    monkeypatch.setattr(PoolLedger, "missing", property(lambda pool: 5))
    after, refused = ledger.with_kernel(a, reading(a, "p", own=[("p", 64)]))
    assert refused is None
    assert (after.constants_missing, free(after)) == (True, SIZE - 64)


def test_constants_grow_in_memories_nobody_asked_about() -> None:
    """They are known when the memory is asked about; shrinking and growing add up."""
    ledger, (a, b, _) = opened(MODEL, IN_SRAM)
    ledger, refused = ledger.with_kernel(a, reading(a, "p", own=[("p", 100)]))
    assert refused is None
    ledger, refused = ledger.with_kernel(b, packing(b, 1_000))
    assert (refused, ledger.constants_missing) == (None, False)
    assert free(ledger.asked_about(("sram",))) == SIZE - 128 - 1_024


def test_a_refusal_for_one_memory_gives_back_the_bytes_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights in two memories, of which the second has too little."""
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    growth = {"sram": 640, "tcm": 9_000}
    monkeypatch.setattr(PoolLedger, "overfull", property(lambda pool: pool.available < 0))
    monkeypatch.setattr(PoolLedger, "missing", property(lambda pool: max(-pool.available, 0)))
    after, refused = ledger._with_constants(a, reading(a), growth)
    assert refused == Overdrawn(site="a", memory="tcm", needed=9_000, available=9_000 - (9_000 - 8_192))
    assert (free(after), free(after, "tcm")) == (SIZE, 8_192)
    assert dict(after._growth) == {"sram": 0, "tcm": 0}


def test_a_refused_kernel_gives_back_the_bytes_of_its_constants() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram", "tcm")
    ledger, before = ledger.budget(a)
    kernel = with_block(reading(a, "p", own=[("p", 1_000)]), 16_000)
    after, refused = ledger.with_kernel(a, kernel)
    assert refused == Overdrawn(site="a", memory="sram", needed=16_000, available=SIZE - 16_000 - 1_024)
    assert after.budget(a)[1] == before
    assert not after.constants_missing


def test_what_nothing_is_left_for_has_nothing_available() -> None:
    ledger, (a, b, _) = opened(MODEL, IN_SRAM, "sram")
    ledger, refused = ledger.with_kernel(b, packing(b, 20_000))
    assert refused is None
    assert ledger.with_kernel(a, reading(a))[1] == Overdrawn(site="a", memory="sram", needed=64, available=0)


def test_buffers_in_memories_nobody_asked_about_are_known_later() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM)
    taken, refused = ledger.with_kernel(a, with_block(reading(a), 4_096, "tcm"))
    assert refused is None
    assert set(taken.asked_about(("tcm",)).offsets) == {f"{a.id}.block"}
    assert set(ledger.asked_about(("tcm",)).offsets) == set()
    sram = taken.asked_about(("sram",))
    assert f"{a.id}.block" not in sram.offsets


@pytest.mark.parametrize("promised", [True, False])
def test_a_block_without_room_is_refused_with_what_was_promised(
    promised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No offset is found although bytes are left: search effort is used up, and nothing else."""
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram")
    given: Budget | None = None
    if promised:
        ledger, given = ledger.budget(a)
    monkeypatch.setattr(PoolLedger, "take", lambda pool, *_: (evolve(pool, work=7), False))
    after, refused = ledger.with_kernel(a, with_block(reading(a), 640))
    available = 0 if given is None else given.guaranteed("a", "sram")
    assert refused == Overdrawn(site="a", memory="sram", needed=640, available=available)
    assert after._pools["sram"]._work == 7
    assert not after._taken


def test_what_is_promised_is_where_the_kernel_goes() -> None:
    ledger, (a, _, _) = opened(MODEL, IN_SRAM, "sram")
    ledger, _ = ledger.budget(a)
    block = ledger._promised[a.id, "sram"]
    ledger, refused = ledger.with_kernel(a, with_block(reading(a), block.bytes // 64 * 64))
    assert refused is None
    assert ledger.offsets[f"{a.id}.block"] == block.offset


def test_one_call_that_copies_is_counted() -> None:
    ledger, (_, b, _) = opened(MODEL, IN_SRAM)
    plain = chips.c_kernel(b)
    (call,) = plain.actions
    assert isinstance(call, Call)
    copy = evolve(call, copies=True)
    for actions, expected in (((call,), 0), ((copy,), 1), ((call, copy), 1), ((copy, copy), 1)):
        after, refused = ledger.with_kernel(b, evolve(plain, actions=actions))
        assert (refused, after.aliasing, after.unforeseen) == (None, expected, 0)
        twice, _ = after.with_kernel(b, evolve(plain, actions=actions))
        assert twice.aliasing == 2 * expected


def test_kernels_that_find_their_tensors_elsewhere_are_counted() -> None:
    """An engine that reads a tensor whole, which is not in its memory."""
    ledger, (a, _, _) = opened(MODEL, chips.EDGE)
    whole = Call(function="f", operands=(Operand(of="x", access="r"),), operator="a")
    plain = with_block(reading(a), 64, "bram")
    for kernel, expected in (
        (plain, 0),
        (evolve(plain, actions=(*plain.actions, whole)), 1),
        (evolve(plain, actions=(whole, *plain.actions)), 1),
    ):
        after, refused = ledger.with_kernel(a, kernel)
        assert (refused, after.unforeseen) == (None, expected)
        again, _ = after.with_kernel(a, kernel)
        assert again.unforeseen == 2 * expected


def test_a_sum_counts_once_in_a_memory_that_is_asked_about_later() -> None:
    model = chips.model(
        ("a", "conv", ("x",), 6_000), ("b", "add", ("a", "x"), 6_000), ("c", "conv", ("b",), 64),
        inputs={"x": 6_000},
    )  # fmt: skip
    ledger, (_, b, _) = opened(model, POOLS)
    shared, refused = ledger.with_kernel(b, chips.c_kernel(b))
    assert refused is None
    assert ledger.budget(b)[1].sites["b"][0].live == 18_000
    assert shared.budget(b)[1].sites["b"][0].live == 12_000
    both, refused = ledger.asked_about(("ddr",)).with_kernel(b, chips.c_kernel(b))
    assert refused is None
    assert both.budget(b)[1].sites["b"][0].live == 12_000


def test_scratch_of_c_is_known_by_its_memory() -> None:
    ledger, (_, b, _) = opened(MODEL, IN_SRAM, "sram")
    plain = chips.c_kernel(b)
    (call,) = plain.actions
    assert isinstance(call, Call)
    scratch = LocalBuffer(name="s", bytes=100, memory="sram", alignment=4)
    unused = LocalBuffer(name="u", bytes=100, memory="sram", alignment=4)
    touched = evolve(call, operands=(*call.operands, Operand(of="s", access="w")))
    ledger, refused = ledger.with_kernel(b, evolve(plain, buffers=(scratch, unused), actions=(touched,)))
    assert refused is None
    assert f"{b.id}.s" in ledger.offsets
    assert f"{b.id}.u" not in ledger.offsets
    assert ledger.offsets[f"{b.id}.s"] % 64 == 0
