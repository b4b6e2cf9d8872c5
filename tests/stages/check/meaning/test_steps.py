"""Steps that memory and time allow, and that compute something else than the kernels say."""

from collections.abc import Mapping

import pytest
from attrs import evolve

from target_arch.plan.kernels import Call, Kernel, Move, Operand, Slice
from target_arch.plan.lowered import Lowered
from target_arch.plan.memory import BufferKind
from target_arch.plan.model import DTYPE_BYTES
from target_arch.plan.steps import Copy, Dispatch, Fill
from target_arch.soc.model import SoC
from target_arch.stages.check.meaning.check import check_meaning
from target_arch.stages.errors import CheckError
from tests.stages import chips
from tests.stages.check.meaning.two import ALONE, EDGE, buffer, call, copy, kernel, operands, said
from tests.stages.lowering.test_ladder import lowered

NOTHING: Mapping[str, object] = {}


def other(which: int, **facts: object) -> object:
    """Changes one operand of a call."""

    def change(found: list[Operand]) -> list[Operand]:
        found[which] = evolve(found[which], **facts)  # type: ignore[arg-type]
        return found

    return change


def swapped(one: int, another: int) -> object:
    """Two operands of a call in each other's place, each with its own access."""

    def change(found: list[Operand]) -> list[Operand]:
        found[one], found[another] = found[another], found[one]
        return found

    return change


def ends(result: Lowered, **ends: object) -> Lowered:
    return evolve(result, steps=evolve(result.steps, **ends))  # type: ignore[arg-type]


def without(result: Lowered, operator: str) -> Lowered:
    kept = tuple(s for s in result.steps.steps if not (isinstance(s, Dispatch) and s.operator == operator))
    return ends(result, steps=kept)


def ordered(result: Lowered, *operators: str) -> Lowered:
    """The steps in the order of their operators."""
    calls = {s.operator: s for s in result.steps.steps if isinstance(s, Dispatch)}
    return ends(result, steps=tuple(calls[name] for name in operators))


def resident(weights: str) -> Lowered:
    """The host's plan with a resident that is filled with weights, from which `b` is computed."""
    (found,) = (each for each in ALONE.steps.buffers if each.name == weights)
    held = evolve(found, name="r", kind=BufferKind.RESIDENT, tensor=None)
    source, target = (Slice(of=each.name, offset=0, row_bytes=64) for each in (found, held))
    fill = Fill(copy=Copy(engine="cpu", source=source, target=target))
    result = operands(ALONE, "b", other(1, of="r"))
    buffers = (*ALONE.steps.buffers, held)
    plan = evolve(ALONE.plan, buffers=buffers, offsets={**ALONE.plan.offsets, "r": 4096})
    steps = evolve(result.steps, buffers=buffers, steps=(fill, *result.steps.steps))
    return evolve(result, steps=steps, plan=plan)


def aligned(alignment: int) -> Lowered:
    """The plan for accelerators where the kernel of `b` wants its local buffers aligned like that."""
    changed = (evolve(each, alignment=alignment) for each in EDGE.kernels["p0"].buffers)
    return kernel(EDGE, "b", lambda each: evolve(each, buffers=tuple(changed)))


def meant(result: Lowered, which: int, in_call: Mapping[str, object] = NOTHING, **facts: object) -> Lowered:
    """The host's plan where the kernel has other facts of an operand of `y`, and of the call."""

    def change(found: Kernel) -> Kernel:
        def changed(each: Move | Call) -> Move | Call:
            if not isinstance(each, Call) or each.operator != "y":
                return each
            operand = evolve(each.operands[which], **facts)  # type: ignore[arg-type]
            made = (*each.operands[:which], operand, *each.operands[which + 1 :])
            return evolve(each, operands=made, **dict(in_call))  # type: ignore[arg-type]

        return evolve(found, actions=tuple(map(changed, found.actions)))

    return kernel(result, "y", change)


def rows(stride: int) -> Lowered:
    """A plan with `y` as a result of two rows, and a step in which they are so far apart."""
    two = meant(ALONE, 2, bytes=256, rows=2, stride=256)
    return operands(two, "y", other(2, bytes=256, rows=2, stride=stride))  # type: ignore[arg-type]


def reversed_copy(result: Lowered) -> Lowered:
    """The plan with a copy whose result is its first operand, in the kernel and in the step."""
    ((name, found),) = result.kernels.items()
    actions = tuple(
        evolve(each, operands=each.operands[::-1]) if each.copies else each for each in found.actions
    )
    changed = evolve(result, kernels={name: evolve(found, actions=tuple(actions))})
    return operands(changed, "r", lambda given: given[::-1])


def unaligned(result: Lowered, memory: str) -> Lowered:
    """The same plan with buffers of a memory that may be anywhere."""
    for name in (each.name for each in result.steps.buffers if each.memory == memory):
        result = buffer(result, name, alignment=1)
    return result


X, Y = ALONE.steps.inputs
P, Q = (("p", "p@sram"), ("q", "q@sram"))
C, D = ALONE.steps.states
FIRST = next(s for s in EDGE.steps.steps if isinstance(s, Copy))
INPUT_OF_WEIGHTS = tuple(
    evolve(each, kind=BufferKind.INPUT) if each.name == "b.w@ddr" else each for each in ALONE.steps.buffers
)
COPIED = (("a", "conv", ("x",), 512), ("r", "reshape", ("x",), 512))
TARGET = Slice(of="p0.l_q_0", offset=0, row_bytes=256)

FAULTS: dict[str, tuple[Lowered, list[str]]] = {
    "nothing": (ALONE, []),
    "nothing on accelerators": (EDGE, []),
    "inputs in each other's buffers": (
        ends(ALONE, inputs=(("p", "q@sram"), ("q", "p@sram"))),
        ["step 0: wrong-operand"],
    ),
    "inputs in another order": (ends(ALONE, inputs=(Q, P)), ["start of run: wrong-input"]),
    "an input left out": (
        ends(ALONE, inputs=(P,)),
        ["start of run: wrong-input"],
    ),
    "outputs in each other's buffers": (
        ends(ALONE, outputs=(("y", "z@sram"), ("z", "y@sram"))),
        ["end of run: wrong-output"] * 2,
    ),
    "outputs in another order": (
        ends(ALONE, outputs=ALONE.steps.outputs[::-1]),
        ["end of run: wrong-output"],
    ),
    "the last output in the first one's buffer": (
        ends(ALONE, outputs=(("y", "y@sram"), ("z", "y@sram"))),
        ["end of run: wrong-output"],
    ),
    "an output left out": (ends(ALONE, outputs=ALONE.steps.outputs[:1]), ["end of run: wrong-output"]),
    "an output in no buffer": (
        ends(ALONE, outputs=(("y", "y@sram"), ("z", "nowhere"))),
        ["end of run: wrong-output"],
    ),
    "states in each other's buffers": (
        ends(ALONE, states=(evolve(C, now=D.now, next=D.next), evolve(D, now=C.now, next=C.next))),
        ["step 2: wrong-operand"],
    ),
    "next values in each other's buffers": (
        ends(ALONE, states=(evolve(C, next=D.next), evolve(D, next=C.next))),
        ["end of run: wrong-state"] * 2,
    ),
    "a constant in the place of a state": (
        ends(ALONE, states=(evolve(C, tensor="b.w", now="b.w@ddr"), D), buffers=INPUT_OF_WEIGHTS),
        ["start of run: wrong-content"],
    ),
    "the second state left out": (
        ends(ALONE, states=(C,)),
        ["step 3: wrong-operand"],
    ),
    "a constant of another name": (buffer(ALONE, "a.w@ddr", tensor="b.w"), ["step 0: wrong-operand"]),
    "the second constant of another name": (
        buffer(ALONE, "b.w@ddr", tensor="a.w"),
        ["step 1: wrong-operand"],
    ),
    "a constant that is none": (
        buffer(ALONE, "a.w@ddr", tensor="a"),
        ["start of run: wrong-content"],
    ),
    "a constant of no name": (
        buffer(ALONE, "b.w@ddr", tensor=None),
        ["start of run: wrong-content"],
    ),
    "a constant of another size": (
        buffer(ALONE, "b.w@ddr", bytes=63),
        ["start of run: wrong-content"],
    ),
    "operands in each other's place": (
        operands(ALONE, "y", swapped(0, 1)),
        ["step 4: wrong-operand"] * 2,
    ),
    "the other input": (operands(ALONE, "b", other(0, of="p@sram")), ["step 1: wrong-operand"]),
    "the other weights": (operands(ALONE, "a", other(1, of="b.w@ddr")), ["step 0: wrong-operand"]),
    "the other result": (operands(ALONE, "b", other(2, of="a@sram")), ["step 2: wrong-operand"]),
    "an operand left out": (operands(ALONE, "y", lambda found: found[1:]), ["step 4: wrong-call"]),
    "an operand that is shorter": (operands(ALONE, "y", other(1, bytes=511)), ["step 4: wrong-operand"]),
    "an operand from its second byte": (
        operands(ALONE, "y", other(1, offset=1, bytes=511)),
        ["step 4: wrong-operand", "step 4: misaligned"],
    ),
    "a result that is shorter": (
        operands(ALONE, "z", other(2, bytes=511)),
        ["step 5: wrong-operand"],
    ),
    "an operand in rows": (
        operands(ALONE, "y", other(0, bytes=256, rows=2, stride=256)),
        ["step 4: wrong-operand"],
    ),
    "an operand that is written, too": (
        operands(ALONE, "y", other(0, access="rw")),
        ["step 4: wrong-operand"],
    ),
    "a place that may not be taken over": (
        operands(ALONE, "y", other(2, over=("c_next@sram",))),
        ["step 4: unsafe-in-place"],
    ),
    "two places that may not be taken over": (
        operands(ALONE, "y", other(2, over=("c_next@sram", "d_next@sram"))),
        ["step 4: unsafe-in-place"] * 2,
    ),
    "a place that may be taken over": (operands(ALONE, "s", other(2, over=("a@sram",))), []),
    "a smaller result that may not be": (
        operands(ALONE, "s", other(2, over=("a@sram",), smaller=True)),
        ["step 2: unsafe-in-place"],
    ),
    "another function": (
        call(ALONE, "y", lambda each: evolve(each, function="f_add")),
        ["step 4: wrong-call"],
    ),
    "other words": (
        call(ALONE, "z", lambda each: evolve(each, words=(1,))),
        ["step 5: wrong-call"],
    ),
    "another operator": (
        call(ALONE, "z", lambda each: evolve(each, operator="y")),
        ["step 5: wrong-call"],
    ),
    "another instance": (
        call(EDGE, "s", lambda each: evolve(each, instance="conv")),
        ["step 33: wrong-call"],
    ),
    "another instance, of a name that is behind": (
        call(EDGE, "s", lambda each: evolve(each, instance="zynq")),
        ["step 33: wrong-call"],
    ),
    "a partition that is none": (
        call(ALONE, "z", lambda each: evolve(each, partition="p9")),
        ["step 5: wrong-call"],
    ),
    "the last call left out": (without(ALONE, "z"), ["end of run: missing-call", "end of run: wrong-output"]),
    "a call made twice": (
        ends(ALONE, steps=(*ALONE.steps.steps, ALONE.steps.steps[-1])),
        ["step 6: wrong-call"],
    ),
    "calls in another order": (
        ordered(ALONE, "b", "a", "s", "t", "y", "z"),
        ["step 0: wrong-call"],
    ),
    "a copy from another buffer": (
        copy(EDGE, "q@sram", "p0.l_q_0", lambda each: evolve(each, source=each.source.renamed("p@sram"))),
        ["step 7: wrong-operand"],
    ),
    "a copy of other bytes of it": (
        copy(EDGE, "q@sram", "p0.l_q_0", lambda each: evolve(each, source=evolve(each.source, offset=64))),
        ["step 7: wrong-operand"],
    ),
    "a copy to the other tile": (
        copy(EDGE, "q@sram", "p0.l_q_0", lambda each: evolve(each, target=each.target.renamed("p0.l_q_1"))),
        ["step 7: wrong-operand"],
    ),
    "a copy that is shorter": (
        copy(
            EDGE,
            "q@sram",
            "p0.l_q_0",
            lambda each: evolve(
                each, source=evolve(each.source, row_bytes=240), target=evolve(each.target, row_bytes=240)
            ),
        ),
        ["step 7: wrong-operand"],
    ),
    "rows in another order": (
        copy(
            EDGE,
            "q@sram",
            "p0.l_q_0",
            lambda each: evolve(
                each,
                source=evolve(each.source, row_bytes=64, rows=4, stride=32),
                target=evolve(each.target, row_bytes=64, rows=4, stride=64),
            ),
        ),
        ["step 7: wrong-operand"],
    ),
    "rows in their order": (
        copy(
            EDGE,
            "q@sram",
            "p0.l_q_0",
            lambda each: evolve(
                each,
                source=evolve(each.source, row_bytes=64, rows=4, stride=64),
                target=evolve(each.target, row_bytes=64, rows=4, stride=64),
            ),
        ),
        [],
    ),
    "a result in the other half": (
        copy(EDGE, "p0.l_b_0", "b@sram", lambda each: evolve(each, target=evolve(each.target, offset=256))),
        ["step 27: wrong-operand"],
    ),
    "a tensor where it is not aligned": (
        evolve(ALONE, plan=evolve(ALONE.plan, offsets={**ALONE.plan.offsets, "q@sram": 8200})),
        ["step 1: misaligned"],
    ),
    "a local buffer where it is not aligned": (aligned(32), ["step 7: misaligned"] * 3),
    "a local buffer in an arena that is not aligned": (
        unaligned(aligned(2), "bram"),
        ["step 7: misaligned"] * 3,
    ),
    "an operand of one row, whatever is between rows": (
        operands(ALONE, "y", other(1, bytes=512, stride=5)),
        [],
    ),
    "rows of a result": (rows(256), []),
    "a row more than a result has": (
        operands(
            meant(ALONE, 2, bytes=256, rows=2, stride=256), "y", other(2, bytes=256, rows=3, stride=256)
        ),
        ["step 4: wrong-operand"],
    ),
    "rows of a result that are nearer": (rows(255), ["step 4: wrong-operand"]),
    "an operand that begins between two units": (
        operands(meant(ALONE, 1, offset=4), "y", other(1, offset=4)),
        [],
    ),
    "a call of a kernel for any operator": (meant(ALONE, 0, {"operator": ""}), []),
    "a result that may be smaller than nothing": (operands(ALONE, "y", other(2, smaller=True)), []),
    "a result that may be over an operand and smaller, as in the kernel": (
        operands(
            meant(ALONE, 2, over=("s",), smaller=True), "y", other(2, over=("c_next@sram",), smaller=True)
        ),
        [],
    ),
    "a result that may be smaller than in the kernel": (
        operands(meant(ALONE, 2, over=("s",)), "y", other(2, over=("c_next@sram",), smaller=True)),
        ["step 4: unsafe-in-place"],
    ),
    "an input that is called a constant": (
        buffer(ALONE, "p@sram", kind=BufferKind.CONSTANT, tensor="p"),
        ["start of run: wrong-content"],
    ),
    "an output that the model does not have": (
        ends(ALONE, outputs=(("y", "y@sram"), ("nobody", "z@sram"))),
        ["end of run: wrong-output"] * 2,
    ),
    "weights that stay": (resident("b.w@ddr"), []),
    "weights that stay and are others": (resident("a.w@ddr"), ["step 2: wrong-operand"]),
    "constants in an arena that is not aligned": (
        buffer(buffer(ALONE, "a.w@ddr", alignment=8), "b.w@ddr", alignment=8),
        ["step 0: misaligned"],
    ),
    "one of two constants that is not aligned by itself": (buffer(ALONE, "b.w@ddr", alignment=8), []),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_computed_is_what_the_kernels_say(name: str) -> None:
    result, wanted = FAULTS[name]
    found = [
        (text.partition(" (")[0].partition(": error")[0], text.rpartition("[")[2][:-1])
        for text in said(result)
    ]
    assert [f"{place}: {rule}" for place, rule in found] == wanted


@pytest.mark.parametrize("number", [n for n, s in enumerate(EDGE.steps.steps) if isinstance(s, Copy)])
def test_no_copy_may_be_left_out(number: int) -> None:
    steps = EDGE.steps.steps
    assert said(ends(EDGE, steps=(*steps[:number], *steps[number + 1 :])))


def test_constants_of_equal_bytes_are_equal() -> None:
    tensors = ALONE.graph.model.tensors
    alike = evolve(tensors["b.w"], data=tensors["a.w"].data)
    model = evolve(ALONE.graph.model, tensors={**tensors, "b.w": alike})
    result = evolve(ALONE, graph=evolve(ALONE.graph, model=model))
    assert said(buffer(result, "a.w@ddr", tensor="b.w")) == []
    assert len(said(buffer(ALONE, "a.w@ddr", tensor="b.w"))) == 1


def test_a_plain_copy_is_written_over_its_operand_only_where_its_kernel_says_so() -> None:
    copied = lowered(chips.model(*COPIED, inputs={"x": 512}, weights=64), chips.ALONE)
    assert said(copied) == []
    assert said(reversed_copy(copied)) == []
    assert said(operands(copied, "r", other(1, over=("x@sram",)))) == [
        "step 1 (dispatch r on host): error: `r@sram` may not be written over `x@sram` in the kernel "
        "[unsafe-in-place]"
    ]


def test_what_is_said() -> None:
    place = "step 4 (dispatch y on host): error: "
    assert said(operands(ALONE, "y", other(0, of="d_next@sram"))) == [
        f"{place}operand 0, `d_next@sram[0:+512]`, holds `t by t[0:+512]`, not `s by s[0:+512]` "
        "[wrong-operand]"
    ]
    assert said(operands(ALONE, "y", other(1, bytes=511))) == [
        f"{place}operand 1, `d_next@sram[0:+511]`; the kernel has `t[0:+512]` there [wrong-operand]"
    ]
    assert said(operands(ALONE, "y", other(1, access="w"))) == [
        f"{place}operand 1, `d_next@sram[0:+512]`, is `w`, in the kernel `r` [wrong-operand]"
    ]
    assert said(operands(ALONE, "y", other(2, over=("c_next@sram",)))) == [
        f"{place}`y@sram` may not be written over `c_next@sram` in the kernel [unsafe-in-place]"
    ]
    assert said(call(ALONE, "y", lambda each: evolve(each, instance="dsp"))) == [
        "step 4 (dispatch y on dsp): error: partition `p0` is for `host` [wrong-call]"
    ]
    end = "end of run: error: "
    assert said(without(ALONE, "z")) == [
        f"{end}`f_other` of `p0` for `z` is never called [missing-call]",
        f"{end}output `z` is `z by z[0:+512]`, `z@sram` holds `nothing in z@sram[0:+512]` [wrong-output]",
    ]
    assert said(ends(ALONE, outputs=ALONE.steps.outputs[::-1])) == [
        f"{end}the outputs are not those of the model, in its order: `y`, `z` [wrong-output]"
    ]
    assert said(ends(ALONE, inputs=ALONE.steps.inputs[::-1])) == [
        "start of run: error: the inputs are not those of the model, in its order: `p`, `q` [wrong-input]"
    ]
    lost = evolve(D, next="nowhere")
    assert said(ends(ALONE, states=(C, lost))) == [
        f"{end}the next value of `d` is in no buffer [wrong-state]"
    ]
    assert said(buffer(ALONE, "b.w@ddr", bytes=63)) == [
        "start of run: error: `b.w@ddr` holds no tensor of its size: `b.w` [wrong-content]"
    ]
    assert said(call(ALONE, "z", lambda each: evolve(each, words=(1,)))) == [
        "step 5 (dispatch z on host): error: the kernel of `p0` does not call `f_other` here [wrong-call]"
    ]
    moved = evolve(ALONE.plan, offsets={**ALONE.plan.offsets, "q@sram": 8200})
    assert said(evolve(ALONE, plan=moved)) == [
        "step 1 (dispatch b on host): error: operand 0, `q@sram[0:+512]`, is not aligned to 16 B [misaligned]"
    ]


@pytest.mark.parametrize(
    ("dtype", "offset", "wrong"), [("int8", 1, ""), ("float32", 4, ""), ("float32", 2, "4 B")]
)
def test_where_cores_compute_a_tensor_begins_at_any_element(dtype: str, offset: int, wrong: str) -> None:
    tensor, graph = ALONE.graph.model.tensors["b"], ALONE.graph
    elements = evolve(tensor, dtype=dtype, shape=(tensor.bytes // DTYPE_BYTES[dtype],))
    model = evolve(graph.model, tensors={**graph.model.tensors, "b": elements})
    (name,) = (each.name for each in ALONE.steps.buffers if each.tensor == "b")
    plan = evolve(ALONE.plan, offsets={**ALONE.plan.offsets, name: ALONE.plan.offsets[name] + offset})

    def rules(soc: SoC) -> str:
        try:
            check_meaning(soc, evolve(graph, model=model), ALONE.kernels, ALONE.steps, plan)
        except CheckError as error:
            return str(error)
        return ""

    assert "is not aligned to 16 B [misaligned]" in rules(chips.ALONE)
    found = rules(chips.cores())
    assert (f"is not aligned to {wrong} [misaligned]" in found) if wrong else not found
