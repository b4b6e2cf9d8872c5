"""Bytes of constants by memory, as kernels say which they read and where they need them."""

from collections.abc import Iterator, Mapping
from typing import cast

from attrs import evolve, frozen

from target_arch.plan.kernels import Kernel
from target_arch.plan.partitions import Partition
from target_arch.stages.lowering.budgets.constant_bytes import ConstantUse
from target_arch.stages.program.homes import Demand, End, MemoryDemands, TensorHomes
from target_arch.stages.program.partial import PartialLowering
from tests.stages import chips

MODEL = chips.model(
    ("a", "conv", ("x",), 64), ("b", "conv", ("a",), 64), ("c", "conv", ("b",), 64),
    inputs={"x": 64}, weights=100,
)  # fmt: skip
SOC = evolve(chips.EDGE, modes=(evolve(chips.MODE, constants=("sram", "ddr")),))
"""A constant takes whole lines of 64 B in `ddr`, which is cached, and 16 in `sram`."""
EVERYWHERE = ("ddr", "sram")
GRAPH = chips.placed(MODEL, SOC)
A, B, C = GRAPH.partitions


@frozen(kw_only=True)
class Stated:
    """Demands as stated, by the name of the kernel; without one, those of the model."""

    by_kernel: Mapping[str, Mapping[str, tuple[str, ...]]]

    def of(self, partition: Partition, kernel: Kernel | None) -> Iterator[Demand]:
        (operator,) = partition.operators
        own = dict.fromkeys(operator.constants, EVERYWHERE)
        found = own if kernel is None else self.by_kernel[kernel.instance]
        yield Demand(tensor=operator.inputs[0], write=False, end=End(memories=EVERYWHERE))
        for name, memories in found.items():
            yield Demand(tensor=name, write=False, end=End(memories=memories))


def use(homes: Mapping[str, str], **by_kernel: Mapping[str, tuple[str, ...]]) -> ConstantUse:
    work = PartialLowering(setting=chips.setting(SOC), graph=GRAPH, kernels={})
    demands = cast(MemoryDemands, Stated(by_kernel=by_kernel))
    return ConstantUse.of(work, demands, TensorHomes(homes={}, constants=homes))


def kernel(name: str, **own: int) -> Kernel:
    packed = tuple(chips.tensor(each, size, True) for each, size in own.items())
    return Kernel(partition="", instance=name, constants=packed)


IN_DDR = {"a.w": "ddr", "b.w": "ddr", "c.w": "sram"}


def test_the_same_constants_change_nothing() -> None:
    known = use(IN_DDR, same={"a.w": EVERYWHERE})
    assert known.with_kernel(A, kernel("same")) == (known, {})
    assert known.with_kernel(A, kernel("same"))[0] is known


def test_a_constant_of_ones_own_lies_in_the_first_memory_that_serves() -> None:
    known = use(
        IN_DDR,
        here={"a.w": EVERYWHERE, "p": EVERYWHERE},
        there={"a.w": EVERYWHERE, "p": ("ddr",)},
        nowhere={"a.w": EVERYWHERE, "p": ("bram",)},
    )
    assert known.with_kernel(A, kernel("here", p=65))[1] == {"sram": 80}
    assert known.with_kernel(A, kernel("there", p=65))[1] == {"ddr": 128}
    assert known.with_kernel(A, kernel("nowhere", p=65))[1] == {"sram": 80}


def test_what_is_shared_counts_once_and_goes_with_its_last_reader() -> None:
    known = use(
        IN_DDR, own={"p": EVERYWHERE}, other={"b.w": EVERYWHERE, "p": EVERYWHERE}, a_w={"a.w": EVERYWHERE}
    )
    first, growth = known.with_kernel(A, kernel("own", p=65))
    assert growth == {"ddr": -128, "sram": 80}
    assert list(growth) == ["ddr", "sram"]
    second, growth = first.with_kernel(B, kernel("other", p=65))
    assert growth == {}
    assert second.with_kernel(C, kernel("own", p=65))[1] == {"sram": -112}


def test_a_constant_of_the_model_counts_again_when_somebody_reads_it_again() -> None:
    known = use(IN_DDR, nothing={}, a_w={"a.w": ("ddr",)})
    without, growth = known.with_kernel(A, kernel("nothing"))
    assert growth == {"ddr": -128}
    assert without.with_kernel(B, kernel("a_w"))[1] == {}
    assert without.with_kernel(C, kernel("a_w"))[1] == {"ddr": 128, "sram": -112}


def test_bytes_that_come_and_go_are_no_growth() -> None:
    known = use(dict.fromkeys(IN_DDR, "sram"), own={"p": EVERYWHERE})
    after, growth = known.with_kernel(A, kernel("own", p=100))
    assert growth == {}
    assert after is not known


def test_memories_come_in_the_order_of_their_names() -> None:
    known = use(IN_DDR, own={"p": ("ddr",)})
    assert list(known.with_kernel(C, kernel("own", p=65))[1].items()) == [("ddr", 128), ("sram", -112)]


def test_an_operator_of_constants_alone_reads_constants() -> None:
    (operator,) = A.operators
    alone = evolve(A, operators=(evolve(operator, inputs=("b.w",)),))
    assert use(IN_DDR, nothing={}).with_kernel(alone, kernel("nothing"))[1] == {"ddr": -128}
