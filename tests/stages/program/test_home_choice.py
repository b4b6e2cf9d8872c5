"""What a home costs and who can be served from it, on a table of ways; what kernels and operators ask for;
and homes of states, outputs and constants on a chip.
"""

from collections.abc import Iterable, Mapping

import pytest
from attrs import evolve, frozen

from target_arch.plan.kernels import Access, Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.model import Tensor
from target_arch.relax.operators.states import StatePair, with_states
from target_arch.soc.model import Memory, MemoryMode
from target_arch.stages.errors import StepError
from target_arch.stages.paths.routes import PICO
from target_arch.stages.placement.rules import Rules
from target_arch.stages.program.homes import (
    Demand,
    End,
    MemoryDemands,
    TensorHomes,
    _Chooser,
    _common,
    _constants,
    _home,
    _preferred,
    choose_homes,
)
from target_arch.stages.program.partial import PartialLowering
from tests.stages import chips

X = chips.tensor("x", 8)


@frozen
class Ways:
    """Seconds from one memory to another; no way where none are said."""

    seconds: Mapping[tuple[str, str], int]

    def route_seconds(self, source: str, target: str, bytes: int) -> float | None:
        assert bytes == X.bytes
        return 0.0 if source == target else self.seconds.get((source, target))

    def leads(self, source: str, targets: Iterable[str]) -> bool:
        return any(source == target or (source, target) in self.seconds for target in targets)

    def nearest(self, sources: Iterable[str], targets: Iterable[str], bytes: int) -> tuple[str, int] | None:
        assert bytes == X.bytes
        ways = (self.seconds.get((one, other)) for one in sources for other in targets)
        return min((("", way * PICO) for way in ways if way is not None), default=None)

    def missing(self, sources: tuple[str, ...], targets: tuple[str, ...]) -> str:
        return f"{','.join(sources)} to {','.join(targets)}"


def chooser(seconds: Mapping[str, int], reads: Iterable[End], writes: Iterable[End] = ()) -> _Chooser:
    """Ways by the letters of both memories."""
    ways = Ways({(pair[0], pair[1]): time for pair, time in seconds.items()})
    return _Chooser(ways, {"x": dict.fromkeys(reads)}, {"x": dict.fromkeys(writes)})  # type: ignore[arg-type]


def end(memories: str, tiles: str = "") -> End:
    return End(memories=tuple(memories), tiles=tuple(tiles))


def test_a_home_serves_every_consumer_in_one_of_its_memories() -> None:
    ways = {"ac": 5, "bd": 1, "be": 1}
    assert chooser(ways, [end("de")]).ordered(X, ("a", "b")) == ("b",)
    assert chooser(ways, [end("xe"), end("b")]).ordered(X, ("a", "b")) == ("b",)
    with pytest.raises(StepError, match=r"tensor x: error: a,b to d \[no-copy-path\]"):
        chooser({"ac": 5}, [end("c"), end("d"), end("e")]).ordered(X, ("a", "b"))
    with pytest.raises(StepError, match="a,b to a,b"):
        chooser({"ac": 5, "bd": 1}, [end("c"), end("d")]).ordered(X, ("a", "b"))


def test_the_cheapest_home_is_first_and_among_equals_the_first() -> None:
    assert chooser({"ac": 5, "bc": 4}, [end("c")]).ordered(X, ("a", "b")) == ("b", "a")
    assert chooser({"ac": 4, "bc": 4}, [end("c")]).ordered(X, ("a", "b", "c")) == ("c", "a", "b")
    assert chooser({}, []).ordered(X, ("b", "a")) == ("b", "a")
    two = chooser({"ac": 1, "ad": 9, "bc": 6, "bd": 2}, [end("c"), end("d")])
    assert two.ordered(X, ("a", "b")) == ("b", "a")


def test_a_home_costs_what_leaves_tiles_and_what_goes_to_each_consumer() -> None:
    ways = {"ta": 100, "ua": 1000, "ab": 20, "ac": 10, "cv": 5, "av": 3, "bv": 1}
    full = chooser(
        ways, [end("bc", "v"), end("a", "v"), end("a")], [end("a", "t"), end("a", "tu"), end("a", "u")]
    )
    assert full.seconds("a", X) == (100 + 100 + 1000 + (10 + 5) + 3) * PICO
    assert chooser(ways, [], [end("a", "x"), end("a")]).seconds("a", X) == 0
    assert chooser(ways, [end("ac", "v")]).seconds("a", X) == 3 * PICO
    assert chooser({"ab": 10, "ac": 10, "bv": 7}, [end("cb", "v")]).seconds("a", X) == 10 * PICO
    assert chooser({"ac": 10, "cv": 7}, [end("bc", "v")]).seconds("a", X) == 17 * PICO


def test_constants_go_to_the_cheapest_memory_with_room() -> None:
    sizes = {"big": 60, "fits": 40, "second": 30, "third": 41, "none": 200}
    soc = evolve(chips.EDGE, memories=tuple(evolve(m, size=100) for m in chips.MEMORIES))
    mode = MemoryMode(name="m", constants=("sram", "ddr"), workspace=("sram",), io=("sram",))

    class Cheapest:
        def ordered(self, tensor: Tensor, homes: tuple[str, ...]) -> tuple[str, ...]:
            assert homes == mode.constants
            return homes[::-1] if tensor.name == "second" else homes

    found = _constants(soc, mode, Cheapest(), [chips.tensor(n, size, True) for n, size in sizes.items()])  # type: ignore[arg-type]
    assert found == {"big": "sram", "fits": "sram", "second": "ddr", "third": "ddr", "none": "sram"}


def test_candidates() -> None:
    """What all ends have in common, what the caller reads first, what is left of them where some are full."""
    assert _common([end("abc"), end("cb"), end("bxc")]) == ("b", "c")
    mode = MemoryMode(name="m", constants=("d",), workspace=("a",), io=("x", "c", "b"))
    assert _preferred(mode, ("a", "b", "c")) == ("c", "b", "a")
    assert [_home(("a", "b"), skipped, None) for skipped in (0, 1, 2)] == ["a", "b", "b"]
    assert _home(("a",), 1, None) == "a"
    assert (_home(("a", "b", "c"), 0, "c"), _home(("a", "b"), 0, "c")) == ("c", "a")
    assert _home(("a", "b", "c"), 2, None) == "c"


ROWS = (
    ("a", "conv", ("p",), 64),
    ("b", "add", ("a", "h"), 64),
    ("c", "conv", ("b", "k"), 64),
    ("d", "other", ("c", "a"), 64),
)
MODEL = chips.model(*ROWS, inputs={"p": 64, "h": 64, "k": 64}, weights=16)
REQUIRE = {"a": "conv", "b": "dsp", "c": "conv", "d": "host"}


def work(kernels: Mapping[str, Kernel], chains: tuple[str, ...] = ()) -> PartialLowering:
    model = evolve(MODEL, outputs=("d", "b", "a"))
    pairs = [
        StatePair(input=1, output=1, initial=bytes(range(1, 65))),
        StatePair(input=2, output=2, initial=bytes(range(64))),
    ]
    graph = chips.placed(with_states(model, pairs, model.outputs), chips.EDGE, Rules(require=REQUIRE))
    setting = evolve(chips.setting(), chains=frozenset(chains))
    return PartialLowering(setting=setting, graph=graph, kernels=kernels)


def demands(found: Iterable[Demand]) -> list[tuple[str, str, str, str]]:
    return [
        (each.tensor, each.access.value, ",".join(each.memories), ",".join(each.end.tiles)) for each in found
    ]


def test_what_a_kernel_asks_for() -> None:
    """Its calls whole tensors in place, its moves those that are moved out of and into its own buffers."""
    plain = work({})
    needs = MemoryDemands(plain)
    engine = next(p for p in plain.graph.partitions if p.operators[0].id == "a")
    core = next(p for p in plain.graph.partitions if "d" in [each.id for each in p.operators])
    piece = {name: Slice(of=name, offset=0, row_bytes=8) for name in ("p", "a", "t", "u")}
    local = tuple(
        LocalBuffer(name=name, bytes=8, memory=memory) for name, memory in (("t", "bram"), ("u", "tcm"))
    )
    actions = (
        Move(source=piece["p"], target=piece["t"]),
        Move(source=piece["t"], target=piece["u"]),
        Call(
            function="f",
            operands=(Operand(of="t", access=Access.READ), Operand(of="u", access=Access.WRITE)),
            operator="a",
        ),
        Move(source=piece["u"], target=piece["a"]),
    )
    moving = Kernel(partition=engine.id, instance=engine.instance, buffers=local, actions=actions)
    assert demands(needs.of(engine, moving)) == [("p", "r", "sram,ddr", "bram"), ("a", "w", "sram", "tcm")]
    sizes = {name: each.bytes for name, each in plain.graph.model.tensors.items()}
    assert demands(needs.of(core, chips.c_kernel(core, sizes))) == demands(needs.of(core, None))
    assert demands(needs.of(engine, None)) == [
        ("p", "r", "sram,ddr", "bram"),
        ("a.w", "r", "sram,ddr", "bram"),
        ("a", "w", "sram", "bram"),
    ]


def test_a_chain_asks_for_what_crosses_its_border() -> None:
    rows = (("a", "dense", ("p",), 64), ("b", "dense", ("a",), 64), ("c", "add", ("b", "q", "p"), 64))
    model = evolve(chips.model(*rows, inputs={"p": 64, "q": 64}, weights=16), outputs=("b", "c"))
    graph = chips.placed(model, chips.ALONE)
    setting = evolve(chips.setting(chips.ALONE), chains=frozenset(("host",)))
    chained = MemoryDemands(PartialLowering(setting=setting, graph=graph, kernels={}))
    (partition,) = graph.partitions
    ((first, asked),) = chained.expected(partition)
    assert first == "a"
    assert [each.tensor for each in asked if not each.write] == ["p", "q", "a.w", "b.w"]
    assert [each.tensor for each in asked if each.write] == ["b", "c"]
    single = MemoryDemands(PartialLowering(setting=chips.setting(chips.ALONE), graph=graph, kernels={}))
    found = {name: [each.tensor for each in asked] for name, asked in single.expected(partition)}
    assert found == {"a": ["p", "a.w", "a"], "b": ["a", "b.w", "b"], "c": ["b", "q", "p", "c"]}


def homes(spilled: Mapping[str, int] | None = None, pinned: Mapping[str, str] | None = None) -> TensorHomes:
    return choose_homes(work({}), spilled=spilled or {}, pinned=pinned or {})


HOMES = {"a": "sram", "b": "tcm", "c": "sram", "d": "sram", "p": "sram"}
STATES = dict.fromkeys(("h", "h_next", "k", "k_next"), "sram")
OTHERS = {"a": (), "b": (), "c": (), "d": ("ddr",), "p": ()}
OTHER_STATES = dict.fromkeys(STATES, ("ddr",))


def test_homes_of_a_chip() -> None:
    """A state is where its next value is; what it starts with is among the constants."""
    found = homes()
    assert found.homes == HOMES | STATES
    assert found.others == OTHERS | OTHER_STATES
    assert found.constants == {"a.w": "ddr", "c.w": "ddr", "h_initial": "ddr", "k_initial": "ddr"}


def test_tensors_that_are_spilled_or_pinned() -> None:
    spilled = homes(spilled={"d": 1, "k": 1, "a": 3})
    assert spilled.homes == HOMES | STATES | {"d": "ddr", "k": "ddr", "k_next": "ddr"}
    assert spilled.others == OTHERS | OTHER_STATES | {"d": (), "k": ()}
    pinned = homes(pinned={"d": "ddr", "a": "ddr", "h": "ddr"})
    assert pinned.homes == HOMES | STATES | {"d": "ddr", "h": "ddr", "h_next": "ddr"}


def test_an_output_is_where_the_caller_reads_first() -> None:
    """Another tensor where the core writes first."""
    mode = evolve(chips.MODE, io=("sram", "ddr"))
    core = evolve(chips.HOST, memory=("ddr", "sram"))
    soc = evolve(chips.ALONE, archs=(core,), modes=(mode,))
    names = "abcde"
    rows = [(one, "other", (before,), 64) for before, one in zip("xabcd", names, strict=True)]
    model = evolve(chips.model(*rows, inputs={"x": 64}), outputs=("b", "d", "e"))
    made = PartialLowering(setting=chips.setting(soc), graph=chips.placed(model, soc), kernels={})
    assert choose_homes(made).homes == dict(
        zip("abcdex", ("ddr", "sram", "ddr", "sram", "sram", "sram"), strict=True)
    )


def test_constants_that_kernels_packed_are_tensors() -> None:
    plain = work({})
    packed = [
        Kernel(
            partition=name,
            instance="host",
            constants=tuple(chips.tensor(f"{name}{n}", 8, True) for n in (0, 1)),
        )
        for name in ("one", "two")
    ]
    known = evolve(plain, kernels={kernel.partition: kernel for kernel in packed}).tensors
    assert list(known)[-4:] == ["one0", "one1", "two0", "two1"]
    assert known["a.w"] == plain.graph.model.tensors["a.w"]


def test_instances_of_one_memory_have_demands_of_their_own() -> None:
    """The host reads what it sees, and writes where the mode lets tensors live; the core has its memory."""
    rom = Memory(name="rom", size=64, base=0x9000000, writable=False)
    core = evolve(chips.DSP, memory=chips.HOST.memory)
    memories = tuple(evolve(each, observers={"dsp": each.base}) for each in chips.MEMORIES[:2])
    soc = evolve(
        chips.ALONE,
        memories=(*memories, rom),
        archs=(chips.HOST, core),
        modes=(evolve(chips.MODE, workspace=("sram",)),),
    )
    model = chips.model(("a", "add", ("x",), 8), ("b", "other", ("a",), 8), inputs={"x": 8})
    graph = chips.placed(model, soc, Rules(require={"a": "dsp", "b": "host"}))
    needs = MemoryDemands(PartialLowering(setting=chips.setting(soc), graph=graph, kernels={}))
    for kernels in (lambda part: None, chips.c_kernel):
        found = [demands(needs.of(part, kernels(part))) for part in graph.partitions]
        assert found == [
            [("x", "r", "sram,ddr", ""), ("a", "w", "sram,ddr", "")],
            [("a", "r", "sram,ddr,rom", ""), ("b", "w", "sram", "")],
        ]


def test_an_output_has_a_way_to_the_caller() -> None:
    soc = evolve(chips.EDGE, copies=tuple(path for path in chips.COPIES if path.source != "tcm"))
    model = chips.model(("a", "other", ("x",), 8), ("b", "add", ("a",), 8), inputs={"x": 8})
    model = evolve(model, outputs=("a", "b"))
    graph = chips.placed(evolve(model, outputs=("a",)), chips.EDGE, Rules(require={"a": "host", "b": "dsp"}))
    made = PartialLowering(setting=chips.setting(soc), graph=evolve(graph, model=model), kernels={})
    with pytest.raises(StepError, match="tensor b: error: no copy path leads from `tcm` to `sram`"):
        choose_homes(made)


def test_tensors_of_no_model_have_no_home() -> None:
    """What a backend's kernel names and nothing makes is refused later, by name."""
    plain = work({})
    core = next(p for p in plain.graph.partitions if "d" in [each.id for each in p.operators])
    sizes = {name: each.bytes for name, each in plain.graph.model.tensors.items()}
    right = chips.c_kernel(core, sizes)
    strange = Call(
        function="f",
        operands=(Operand(of="unread", access=Access.READ), Operand(of="unmade", access=Access.WRITE)),
        operator="d",
    )
    found = choose_homes(work({core.id: evolve(right, actions=(*right.actions, strange))}))
    assert found.homes == HOMES | STATES
