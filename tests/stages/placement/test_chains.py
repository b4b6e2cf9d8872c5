"""Chains: a backend that lowers runs of operators as one partition, such as a vendor's compiler.

The values that such a chain passes on inside have no place in the plan, and count in no budget.
"""

from attrs import evolve

from target_arch.backend.contract import DoesNotFit, Question
from target_arch.plan.kernels import Call, Codegen, Kernel, LocalBuffer, Operand
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition, PartitionGraph, border
from target_arch.plan.steps import Copy, Dispatch
from target_arch.soc.model import DLDevice, LoadProcess, MemoryMode, SoC, TargetArch
from target_arch.soc.words import OperandRule
from target_arch.stages.lowering.ladder import Lower, Lowered, lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.lowering.split import middle
from target_arch.stages.placement.place import place
from target_arch.stages.setting import Setting
from tests.stages import chips

KIB = 1024
SHARED = SoC(
    name="shared",
    memories=(
        evolve(chips.MEMORIES[0], observers={"unit": 0x100000}),
        evolve(chips.MEMORIES[1], size=16 * KIB, observers={"unit": 0x20000000}),
    ),
    dmas=(),
    copies=chips.COPIES[:2],
    archs=(
        chips.HOST,
        TargetArch(
            name="unit",
            backend="unit",
            device=DLDevice(type="kDLExtDev", id=0),
            memory=("sram",),
            operands=OperandRule.OUTPUTS,
            load=LoadProcess(process="command_stream"),
        ),
    ),
    modes=(MemoryMode(name="default", workspace=("sram",), constants=("ddr",), io=("sram",)),),
    partitioning=("unit", "host"),
)
DEEP = chips.model(
    ("a", "conv", ("x",), 4096),
    ("b", "conv", ("a",), 4096),
    ("c", "conv", ("b",), 4096),
    ("s", "soft", ("c",), 1024),
    inputs={"x": 4096},
    weights=512,
)


def at_most(count: int):  # type: ignore[no-untyped-def] # noqa: ANN201
    def joins(chain: tuple[Question, ...]) -> str | None:
        return None if len(chain) <= count else f"{len(chain)} operators, it takes {count}"

    return joins


def chain_kernel(graph: PartitionGraph, partition: Partition, given: Budget, scratch: int) -> Kernel:
    """One command for the whole partition, over the tensors of its border and so much scratch."""
    site = partition.operators[0].id
    if scratch > given.guaranteed(site, "sram"):
        raise DoesNotFit(site, "sram", scratch, given.guaranteed(site, "sram"))
    reads, writes = border(graph.model, partition.operators)
    fixed = tuple(name for operator in partition.operators for name in operator.constants)
    operands = (
        *(Operand(of=name, access="r") for name in (*reads, *fixed)),
        *(Operand(of=name, access="w") for name in writes),
        Operand(of="scratch", access="w"),
    )
    return Kernel(
        partition=partition.id,
        instance=partition.instance,
        buffers=(LocalBuffer(name="scratch", bytes=scratch, memory="sram"),),
        actions=(Call(function="stream", operands=operands, operator=site),),
    )


def lowered(
    model: Model, scratch: int, most: int = 9, seconds: float | None = None
) -> tuple[Lowered, list[Budget]]:
    """`scratch` bytes for every operator of a chain but its last."""
    unit = evolve(chips.backend("unit", "command_stream"), joins=at_most(most))
    unit = evolve(unit, supports=lambda q: None if q.operator.kind == "conv" else "conv only")
    unit = evolve(unit, cost=lambda _: 1e-6)
    backends = {"host": evolve(chips.BACKENDS["host"], supports=lambda _: None), "unit": unit}
    names = {"host": Codegen.C, "unit": Codegen.COMMAND_STREAM}
    asked: list[Budget] = []

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        if names[partition.instance] == "c":
            return chips.c_kernel(partition)
        asked.append(given)
        kernel = chain_kernel(graph, partition, given, scratch * max(len(partition.operators) - 1, 1))
        return evolve(kernel, seconds=seconds)

    hook: Lower = lower
    setting = Setting.of(SHARED, backends)
    result = lower_in_order(
        setting=setting,
        place=lambda rules: place(model, setting, backends, rules),
        order=lambda graph: lowering_order(graph, SHARED, names),
        lower=hook,
    )
    return result, asked


def partitions(result: Lowered) -> list[tuple[str, str]]:
    return [("".join(op.id for op in p.operators), p.instance) for p in result.graph.partitions]


def test_a_run_of_operators_is_one_partition_and_one_command() -> None:
    result, _ = lowered(DEEP, scratch=1024)
    assert partitions(result) == [("abc", "unit"), ("s", "host")]
    assert [step.operator for step in result.steps.steps if isinstance(step, Dispatch)] == ["a", "s"]
    assert not any(isinstance(step, Copy) for step in result.steps.steps)


def test_what_is_passed_on_inside_has_no_buffer_and_counts_in_no_budget() -> None:
    result, asked = lowered(DEEP, scratch=1024)
    assert {buffer.tensor for buffer in result.plan.buffers if buffer.kind == "activation"} == {"c"}
    site = asked[0].sites["b"][0]
    assert (site.live, site.guaranteed) == (8 * KIB, 8 * KIB), "only `x` and `c` are alive"
    assert len({asked[0].sites[name] for name in "abc"}) == 1, "one budget for all operators"


def test_the_backend_says_how_long_a_chain_may_be() -> None:
    result, _ = lowered(DEEP, scratch=1024, most=2)
    assert partitions(result) == [("ab", "unit"), ("c", "unit"), ("s", "host")]


def test_a_chain_that_does_not_fit_is_split_and_its_halves_meet_in_the_plan() -> None:
    result, _ = lowered(DEEP, scratch=5 * KIB)
    assert partitions(result) == [("a", "unit"), ("bc", "unit"), ("s", "host")]
    assert [str(attempt.kind) for attempt in result.attempts] == ["split"]
    assert result.attempts[0].reason == "a needs 10,240 B of `sram`, 8,192 B are available"


def test_a_chain_is_cut_where_little_is_passed_on() -> None:
    rows = (("a", 4096), ("b", 4096), ("c", 64), ("d", 4096), ("e", 4096), ("f", 4096), ("g", 64), ("h", 64))
    before = ("x", *(name for name, _ in rows))
    made = chips.model(
        *((name, "conv", (source,), size) for (name, size), source in zip(rows, before, strict=False)),
        inputs={"x": 64},
    )
    part = Partition(id="p0", instance="unit", operators=made.operators, reason="")
    assert middle(part, made) == ("d", "unit"), "`c` is small, and near enough to the middle; `g` is not"


def test_a_chain_that_fits_nowhere_goes_to_the_host() -> None:
    result, _ = lowered(DEEP, scratch=12 * KIB)
    assert {instance for _, instance in partitions(result)} == {"host"}


def test_what_a_kernel_says_it_takes_counts_instead_of_the_estimates() -> None:
    estimated, _ = lowered(DEEP, scratch=1024)
    told, _ = lowered(DEEP, scratch=1024, seconds=7e-3)
    spans = [[span for span in made.execution.spans if span.what == "a"] for made in (estimated, told)]
    assert [round(span.end - span.start, 9) for (span,) in spans] == [3e-6, 7e-3]


def test_the_border_of_a_chain() -> None:
    operators = chips.RESIDUAL.operators
    assert border(chips.RESIDUAL, operators[1:3]) == (("a",), ("c",))
    assert border(chips.RESIDUAL, operators[:2]) == (("x",), ("a", "b"))
    assert border(chips.RESIDUAL, operators) == (("x",), ("e",))
