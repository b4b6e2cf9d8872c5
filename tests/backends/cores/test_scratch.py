"""One place for the scratch of a core's calls, where there is room for the largest."""

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.cores.scratch import sharing
from target_arch.backends.plain_c.lower import Piece
from target_arch.plan.kernels import Access, Call, LocalBuffer, Operand
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.plan.model import Model, Operator
from target_arch.plan.partitions import Partition
from target_arch.soc import read_soc

SOC = read_soc("zynq_edge")
OPERATORS = tuple(
    Operator(id=name, kind="relu", arithmetic="float", inputs=("x",), constants=(), output=name)
    for name in "abc"
)


def request(room: dict[str, int]) -> LoweringRequest:
    """What is asked for with so many bytes beside each operator."""
    sites = {
        name: (PoolBudget(memory="tcm", live=0, remaining=size, guaranteed=size),)
        for name, size in room.items()
    }
    return LoweringRequest(
        partition=Partition(id="p0", instance="dsp_cpu", operators=OPERATORS, reason="test"),
        model=Model(name="m", source="test", inputs=("x",), outputs=("c",), tensors={}, operators=OPERATORS),
        soc=SOC,
        instance=SOC.instance("dsp_cpu"),
        budget=Budget(partition="p0", sites=sites),
    )


def piece(operator: str, *scratch: tuple[str, int]) -> Piece:
    """A call with scratch in these memories, of so many bytes."""
    buffers = tuple(
        LocalBuffer(name=f"{operator}.scratch{n}", bytes=size, memory=memory)
        for n, (memory, size) in enumerate(scratch)
    )
    named = (("x", Access.READ), (operator, Access.WRITE), *((each.name, Access.WRITE) for each in buffers))
    call = Call(
        function="f", operands=tuple(Operand(of=name, access=how) for name, how in named), operator=operator
    )
    return Piece(functions=(), constants=(), buffers=buffers, calls=(call,))


def buffers(pieces: list[Piece]) -> list[tuple[str, int, str]]:
    return [(each.name, each.bytes, each.memory) for piece in pieces for each in piece.buffers]


def touched(pieces: list[Piece]) -> list[list[str]]:
    return [[operand.of for operand in call.operands] for piece in pieces for call in piece.calls]


def test_calls_have_one_scratch() -> None:
    made = sharing([piece("a", ("tcm", 100)), piece("b"), piece("c", ("tcm", 300))], request({}))
    assert buffers(made) == [("tcm.scratch0", 300, "tcm")]
    assert touched(made) == [["x", "a", "tcm.scratch0"], ["x", "b"], ["x", "c", "tcm.scratch0"]]


def test_the_buffers_of_one_call_stay_apart() -> None:
    made = sharing([piece("a", ("tcm", 100), ("tcm", 50)), piece("c", ("tcm", 10), ("ddr", 70))], request({}))
    names = ["tcm.scratch0", "tcm.scratch1", "ddr.scratch1"]
    assert buffers(made) == list(zip(names, (100, 50, 70), ("tcm", "tcm", "ddr"), strict=True))
    assert touched(made) == [["x", "a", *names[:2]], ["x", "c", names[0], names[2]]]


def test_a_full_memory_has_the_scratch_of_one_call_at_a_time() -> None:
    """Beside `b` the scratch of `c` has no room."""
    pieces = [piece("a", ("tcm", 100)), piece("b"), piece("c", ("tcm", 300))]
    assert sharing(pieces, request({"a": 400, "b": 299, "c": 300})) == pieces
    assert sharing(pieces, request({"a": 400, "b": 300, "c": 300})) != pieces


def test_the_scratch_of_one_call_keeps_its_name() -> None:
    pieces = [piece("a"), piece("b", ("tcm", 100))]
    assert sharing(pieces, request({})) == pieces
    assert sharing([], request({})) == []
