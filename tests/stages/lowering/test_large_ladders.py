"""What is tried when something does not fit, in which order, and what is said of it."""

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.backend.contract import DoesNotFit
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.plan.printed import text
from target_arch.stages.lowering.ladder import Lower, Lowered, lower_in_order
from target_arch.stages.lowering.one_pass import Kept
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.lowering.split import cut, middle
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from tests.stages import chips
from tests.stages.simulator import Simulator, random_inputs, reference

CHAIN = chips.model(
    ("a", "conv", ("x",), 512),
    ("b", "conv", ("a",), 512),
    ("c", "conv", ("b",), 512),
    ("d", "soft", ("c",), 512),
    inputs={"x": 512},
)


def joined(rules: Rules) -> PartitionGraph:
    """Neighbours on one engine as one partition."""
    graph = place(CHAIN, chips.setting(chips.EDGE), chips.BACKENDS, rules)
    parts: list[Partition] = []
    for part in graph.partitions:
        if parts and parts[-1].instance == part.instance:
            parts[-1] = evolve(parts[-1], operators=(*parts[-1].operators, *part.operators))
        else:
            parts.append(part)
    return evolve(graph, partitions=tuple(parts))


def one_by_one(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
    """An engine that knows only single operators, each on a call site of its own."""
    if partition.instance != "conv":
        return chips.c_kernel(partition)
    kernels = [
        chips.tiled_kernel(graph, evolve(partition, operators=(op,)), chips.EDGE, given)
        for op in partition.operators
    ]
    return evolve(
        kernels[0],
        buffers=tuple({b.name: b for kernel in kernels for b in kernel.buffers}.values()),
        actions=tuple(action for kernel in kernels for action in kernel.actions),
    )


def compiled(lower: Lower, rules: Rules | None = None) -> Lowered:
    names = chips.codegens(chips.EDGE)
    return lower_in_order(
        setting=chips.setting(chips.EDGE),
        place=joined,
        order=lambda graph: lowering_order(graph, chips.EDGE, names),
        lower=lower,
        rules=rules or Rules(require={"a": "conv", "b": "conv", "c": "conv"}),
    )


def test_several_operators_of_an_engine_may_be_one_partition() -> None:
    result = compiled(one_by_one)
    assert [p.operators[0].id for p in result.graph.partitions] == ["a", "d"]
    assert result.attempts == ()
    assert list(result.budgets[0].sites) == ["a", "b", "c"]
    inputs = random_inputs(CHAIN, 1)
    for late in (True, False):
        run = Simulator(result.steps, result.plan, CHAIN, lambda late=late: late)  # type: ignore[misc]
        assert run.run(inputs) == reference(CHAIN, inputs)


def test_what_takes_too_much_is_lowered_again_with_less() -> None:
    offered: list[int] = []

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        kernel = one_by_one(graph, partition, given)
        if partition.instance != "conv":
            return kernel
        offered.append(given.guaranteed("a", "bram"))
        too_much = offered[-1] + 1024 if len(offered) == 1 else offered[-1] - 4096
        sizes = {"l_a_0": too_much}
        return evolve(
            kernel, buffers=tuple(evolve(b, bytes=sizes.get(b.name, b.bytes)) for b in kernel.buffers)
        )

    result = compiled(lower)
    assert [(a.kind, a.operator, a.instance, a.outcome) for a in result.attempts] == [
        ("re-tile", "a", "conv", "with 14,592 B of `bram`")
    ]
    assert offered == [16384, 14592]


def test_a_partition_that_fits_only_in_pieces_is_split() -> None:
    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        if partition.instance == "conv" and len(partition.operators) > 1:
            raise DoesNotFit(partition.operators[0].id, "bram", 20_000, 16_384)
        return one_by_one(graph, partition, given)

    result = compiled(lower)
    assert text.attempts(result.attempts) == (
        "attempts: 2\n"
        "tried  operator  instance  outcome     as it did not fit\n"
        "split  a         conv      before `b`  a needs 20,000 B of `bram`, 16,384 B are available\n"
        "split  b         conv      before `c`  b needs 20,000 B of `bram`, 16,384 B are available\n"
    )
    assert [p.id for p in result.graph.partitions] == ["p0_0", "p0_1", "p0_2", "p3"]


def test_only_what_does_not_fit_in_pieces_goes_elsewhere() -> None:
    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        if partition.instance == "conv" and any(op.id == "b" for op in partition.operators):
            raise DoesNotFit("b", "bram", 20_000, 16_384)
        return one_by_one(graph, partition, given)

    result = compiled(lower, Rules(require={"a": "conv", "c": "conv"}))
    assert [(a.kind, a.outcome) for a in result.attempts] == [
        ("split", "before `b`"),
        ("split", "before `c`"),
        ("re-place", "on `host`"),
    ]
    assert [(p.instance, [op.id for op in p.operators]) for p in result.graph.partitions][:3] == [
        ("conv", ["a"]),
        ("host", ["b"]),
        ("conv", ["c"]),
    ]


def test_partitions_reach_earlier_phases_once_where_orders_differ() -> None:
    names, reached = chips.codegens(chips.EDGE), list[tuple[str, str]]()
    order = {"graph": "program", "s-tir": "program", "ns-tir": "accelerators-first"}
    result = lower_in_order(
        setting=chips.setting(chips.EDGE),
        place=lambda rules: place(chips.RESIDUAL, chips.setting(chips.EDGE), chips.BACKENDS, rules),
        order=lambda graph: lowering_order(graph, chips.EDGE, names, order),
        lower=chips.lowerer(chips.EDGE),
        kept=Kept(advance=lambda graph, partition, phase: reached.append((partition.id, phase))),
    )
    assert reached == [
        *((id, "s-tir") for id in ("p0", "p1", "p2", "p3", "p4")),
        *((id, "ns-tir") for id in ("p0", "p1", "p2", "p4", "p3")),
    ]
    assert sorted(result.kernels) == ["p0", "p1", "p2", "p3", "p4"]


@settings(max_examples=50)
@given(st.sets(st.sampled_from(("a", "b", "c", "d"))))
def test_pieces_are_the_partition(before: set[str]) -> None:
    graph = joined(Rules(require={"a": "conv", "b": "conv", "c": "conv"}))
    pieces = cut(graph, frozenset((id, "conv") for id in before))
    operators = [op for part in pieces.partitions for op in part.operators]
    assert operators == [op for part in graph.partitions for op in part.operators]
    assert len(pieces.partitions) == len(graph.partitions) + len(before & {"b", "c"})
    assert len({part.id for part in pieces.partitions}) == len(pieces.partitions)
    assert [middle(part, graph.model) for part in graph.partitions] == [("b", "conv"), None]


def test_the_host_is_the_last_to_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it is the cheapest: the dsp is another kind, and kinds go before the host."""
    monkeypatch.setitem(chips.SPEED, "host", 40e-6)
    monkeypatch.setitem(chips.KINDS, "dsp", ("conv",))

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        if partition.instance == "conv" and partition.operators[0].id == "a":
            raise DoesNotFit("a", "bram", 20_000, 16_384)
        return chips.lowerer(chips.EDGE)(graph, partition, given)

    names = chips.codegens(chips.EDGE)
    model = chips.model(("a", "conv", ("x",), 512), inputs={"x": 512})
    result = lower_in_order(
        setting=chips.setting(chips.EDGE),
        place=lambda rules: place(model, chips.setting(chips.EDGE), chips.BACKENDS, rules),
        order=lambda graph: lowering_order(graph, chips.EDGE, names),
        lower=lower,
    )
    assert [(a.kind, a.outcome) for a in result.attempts] == [("re-place", "on `dsp`")]
    assert result.graph.choice("a").reason == "the next that can take it; does not fit on `conv`"
    host = next(c for c in result.graph.choice("a").candidates if c.instance == "host")
    assert host.refusal == "it goes to `dsp` first"


def test_all_that_does_not_fit_in_a_pass_goes_to_the_next_kind_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Placed again once for all of them, however many; each goes where it would go alone."""
    monkeypatch.setitem(chips.SPEED, "host", 40e-6)
    monkeypatch.setitem(chips.KINDS, "dsp", ("conv",))
    placed: list[Rules] = []
    names = chips.codegens(chips.EDGE)
    before = ("x", *(f"n{number}" for number in range(29)))
    rows = [(f"n{number}", "conv", (name,), 512) for number, name in enumerate(before)]
    model = chips.model(*rows, inputs={"x": 512})

    def placing(rules: Rules) -> PartitionGraph:
        placed.append(rules)
        return place(model, chips.setting(chips.EDGE), chips.BACKENDS, rules)

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        id = partition.operators[0].id
        if partition.instance == "conv" and int(id[1:]) % 10 == 0:
            raise DoesNotFit(id, "bram", 20_000, 16_384)
        return chips.lowerer(chips.EDGE)(graph, partition, given)

    result = lower_in_order(
        setting=chips.setting(chips.EDGE),
        place=placing,
        order=lambda graph: lowering_order(graph, chips.EDGE, names),
        lower=lower,
    )
    assert [(a.kind, a.operator, a.outcome) for a in result.attempts] == [
        ("re-place", id, "on `dsp`") for id in ("n0", "n10", "n20")
    ]
    assert [rules.sent for rules in placed] == [{}, dict.fromkeys(("n0", "n10", "n20"), "dsp")]
