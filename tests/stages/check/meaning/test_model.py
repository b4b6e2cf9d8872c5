"""Kernels that do not compute what the model says."""

from collections.abc import Callable

import pytest
from attrs import evolve

from target_arch.plan.division import SliceOf
from target_arch.plan.kernels import Call, CFunction, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.stages.check.meaning.check import check_imported
from target_arch.stages.check.meaning.kernels import Meaning
from target_arch.stages.check.meaning.numbers import one_run
from target_arch.stages.errors import CheckError
from tests.stages import chips
from tests.stages.check.meaning.two import ALONE, EDGE, kernel, said
from tests.stages.lowering.test_ladder import lowered

Actions = Callable[[list[Move | Call]], list[Move | Call]]


def actions(result: Lowered, operator: str, change: Actions) -> Lowered:
    return kernel(result, operator, lambda each: evolve(each, actions=tuple(change(list(each.actions)))))


def at(operator: str, number: int, **facts: object) -> Lowered:
    """The kernel of the host with one operand of an operator's call changed."""

    def change(found: list[Move | Call]) -> list[Move | Call]:
        which = next(
            n for n, each in enumerate(found) if isinstance(each, Call) and each.operator == operator
        )
        call = found[which]
        assert isinstance(call, Call)
        operands = list(call.operands)
        operands[number] = evolve(operands[number], **facts)  # type: ignore[arg-type]
        found[which] = evolve(call, operands=tuple(operands))
        return found

    return actions(ALONE, operator, change)


def less(operator: str) -> Lowered:
    """The kernel of the host without the calls of an operator."""

    def change(found: list[Move | Call]) -> list[Move | Call]:
        return [each for each in found if not (isinstance(each, Call) and each.operator == operator)]

    return actions(ALONE, operator, change)


def partitioned(change: Callable[[tuple[Operator, ...]], tuple[Operator, ...]]) -> Lowered:
    """The only partition of the host with other operators."""
    (partition,) = ALONE.graph.partitions
    parts = (evolve(partition, operators=change(partition.operators)),)
    return evolve(ALONE, graph=evolve(ALONE.graph, partitions=parts))


def functions(
    *parameters: str, over: tuple[str, ...] = (), pairs: tuple[tuple[int, int], ...] = ()
) -> Lowered:
    """The host's kernel with a definition of the function of `y` and `z`."""
    made = CFunction(name="f_other", parameters=parameters, text="", in_place=pairs)
    result = at("y", 2, over=over)
    return kernel(result, "y", lambda each: evolve(each, functions=(made,)))


def also(found: Kernel, operator: str, number: int, of: str) -> Kernel:
    """The kernel with another tensor as an operand of an operator's call."""
    changed = []
    for each in found.actions:
        if isinstance(each, Call) and each.operator == operator:
            operands = [evolve(o, of=of) if n == number else o for n, o in enumerate(each.operands)]
            changed.append(evolve(each, operands=tuple(operands)))
        else:
            changed.append(each)
    return evolve(found, actions=tuple(changed))


IN, OUT = "const int8_t *", "int8_t *"

FAULTS: dict[str, tuple[Lowered, list[str]]] = {
    "nothing": (ALONE, []),
    "another input": (
        at("b", 0, of="p"),
        [
            "operator b in partition p0: error: `b` is made from `p` [wrong-operand]",
            "operator b in partition p0: error: `b` is made without `q` [wrong-operand]",
        ],
    ),
    "the weights of another operator": (
        at("b", 1, of="a.w"),
        [
            "operator b in partition p0: error: `b` is made from `a.w` [wrong-operand]",
        ],
    ),
    "an operand twice instead of two": (
        at("y", 1, of="s"),
        ["operator y in partition p0: error: `y` is made without `t` [wrong-operand]"],
    ),
    "operands in another order": (
        kernel(at("y", 0, of="t"), "y", lambda each: also(each, "y", 1, "s")),
        [
            "call 4 of partition p0: error: it reads `t`, `s` in another order than its operators "
            "[wrong-operand]"
        ],
    ),
    "half of a result": (
        at("z", 2, bytes=511),
        ["operator z in partition p0: error: `z` is not written entirely [incomplete-tensor]"],
    ),
    "a tensor read before it is written": (
        actions(ALONE, "y", lambda found: [found[4], *found[:4], *found[5:]]),
        [
            "operator y in partition p0: error: `y` is made without `s` [wrong-operand]",
            "operator y in partition p0: error: `y` is made without `t` [wrong-operand]",
        ],
    ),
    "an output that is never computed": (
        less("z"),
        ["the kernels: error: `z` is never computed [missing-tensor]"],
    ),
    "a next value that is never stored": (
        less("store_d_next"),
        ["the kernels: error: `d_next` is never computed [missing-tensor]"],
    ),
    "a copy of another tensor": (
        at("store_d_next", 0, of="s"),
        ["operator store_d_next in partition p0: error: `d_next` is no copy of `t` [wrong-operand]"],
    ),
    "an operator left out": (
        partitioned(lambda found: found[:-1]),
        [
            "the partitions: error: operator `store_d_next` is in 0 partitions [wrong-operator]",
        ],
    ),
    "an operator twice": (
        partitioned(lambda found: (*found, found[0])),
        ["the partitions: error: operator `a` is in 2 partitions [wrong-operator]"],
    ),
    "another operator": (
        partitioned(lambda found: (*found[:-1], evolve(found[-1], inputs=("s",)))),
        [
            "the partitions: error: operator `store_d_next` is not that of the model [wrong-operator]",
        ],
    ),
    "an operator of no model": (
        partitioned(lambda found: (*found, evolve(found[0], id="new"))),
        ["the partitions: error: operator `new` is not that of the model [wrong-operator]"],
    ),
    "no kernel": (
        evolve(ALONE, kernels={}),
        [
            f"the kernels: error: `{name}` is never computed [missing-tensor]"
            for name in ("y", "z", "c_next", "d_next")
        ],
    ),
    "the parameters of a function": (functions(IN, IN, OUT), []),
    "one too few": (
        functions(IN, OUT),
        [f"call {n} of partition p0: error: `f_other` has 2 parameters [wrong-operand]" for n in (4, 5)],
    ),
    "one of another type": (
        functions(IN, "const int32_t *", OUT),
        [
            "call 4 of partition p0: error: parameter 1 of `f_other` is `const int32_t *` for "
            "`t: int8[512]` [wrong-operand]",
            "call 5 of partition p0: error: parameter 1 of `f_other` is `const int32_t *` for "
            "`s: int8[512]` [wrong-operand]",
        ],
    ),
    "one that may be written": (
        functions(IN, OUT, OUT),
        [
            "call 4 of partition p0: error: parameter 1 of `f_other` is `int8_t *` for `t: int8[512]` "
            "[wrong-operand]",
            "call 5 of partition p0: error: parameter 1 of `f_other` is `int8_t *` for `s: int8[512]` "
            "[wrong-operand]",
        ],
    ),
    "a place that the function may take": (functions(IN, IN, OUT, over=("t",), pairs=((2, 1),)), []),
    "a place that it may not take": (
        functions(IN, IN, OUT, over=("s", "t"), pairs=((2, 1),)),
        [
            "call 4 of partition p0: error: `f_other` may not write parameter 2 over parameter 0 "
            "[unsafe-in-place]"
        ],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_kernels_compute_is_what_the_model_says(name: str) -> None:
    result, wanted = FAULTS[name]
    found = said(result)
    if wanted:
        assert found == wanted
    else:
        assert not [each for each in found if not each.startswith("step ")]


def tiles(change: Actions) -> list[str]:
    return [each.rpartition("error: ")[2] for each in said(actions(EDGE, "b", change)) if "step " not in each]


def test_tiles_are_made_from_what_was_moved_into_local_buffers() -> None:
    moves = [each for each in EDGE.kernels["p0"].actions if isinstance(each, Move)]
    first = next(n for n, each in enumerate(EDGE.kernels["p0"].actions) if each.source.of == "q")  # type: ignore[union-attr]
    assert moves
    assert tiles(lambda found: found) == []

    def from_another(found: list[Move | Call]) -> list[Move | Call]:
        move = found[first]
        assert isinstance(move, Move)
        found[first] = evolve(move, source=move.source.renamed("p"))
        return found

    assert tiles(from_another) == ["`b` is made from `p` [wrong-operand]"]


def joint(model: Model, first: str, *operands: Operand) -> list[str]:
    """What is said of one call that does the work of the whole model, in the place of the calls of its first
    operator.
    """
    made = Call(function="f", operands=operands, operator=first)
    faults = said(actions(lowered(model, chips.ALONE), first, lambda _: [made]))
    return [each.rpartition("error: ")[2] for each in faults if not each.startswith("step ")]


def test_a_tensor_between_two_operators_of_one_call_exists_nowhere() -> None:
    """`m` is between them, and no call writes it: one call makes `y` of what both read."""
    rows = (("m", "conv", ("x",), 64), ("y", "add", ("m", "z"), 64))
    model = chips.model(*rows, inputs={"x": 64, "z": 64}, weights=16)

    def reading(*names: str) -> list[str]:
        operands = (Operand(of=name, access="r") for name in names)
        return joint(model, "m", *operands, Operand(of="y", access="w"))

    assert reading("x", "m.w", "z") == []
    assert reading("x", "m.w") == ["`y` is made without `z` [wrong-operand]"]
    assert reading("z", "m.w") == [
        "`y` is made without `x` [wrong-operand]",
        "it reads `z`, `m.w` in another order than its operators [wrong-operand]",
    ]
    assert reading("x", "z", "m.w") == [
        "it reads `x`, `z`, `m.w` in another order than its operators [wrong-operand]"
    ]


def test_a_call_that_writes_two_tensors_makes_one_from_the_other_inside() -> None:
    """A command stream leaves `m`, which somebody else reads, too, and never reads it again for `y`."""
    rows = (("m", "conv", ("x",), 64), ("y", "add", ("m", "z"), 64))
    model = evolve(chips.model(*rows, inputs={"x": 64, "z": 64}, weights=16), outputs=("m", "y"))
    x, w, z = (Operand(of=name, access="r") for name in ("x", "m.w", "z"))
    m, y = (Operand(of=name, access="w") for name in ("m", "y"))
    assert joint(model, "m", x, w, z, m, y) == []
    assert "`y` is made without `z` [wrong-operand]" in joint(model, "m", x, w, m, y)


def test_a_call_may_leave_two_tensors_beside_its_own() -> None:
    rows = (("m", "conv", ("x",), 64), ("y", "add", ("m", "z"), 64), ("v", "add", ("m", "u"), 64))
    inputs = {"x": 64, "z": 64, "u": 64}
    model = evolve(chips.model(*rows, inputs=inputs, weights=16), outputs=("m", "y", "v"))
    read = (Operand(of=name, access="r") for name in ("x", "m.w", "z", "u"))
    written = (Operand(of=name, access="w") for name in ("m", "y", "v"))
    assert joint(model, "m", *read, *written) == []


def test_what_one_call_leaves_beside_a_part_of_a_tensor_is_beside_all_of_it() -> None:
    """The first call leaves `m` and half of `y`, the second one the other half."""
    rows = (("m", "conv", ("x",), 64), ("y", "add", ("m", "z"), 64))
    model = evolve(chips.model(*rows, inputs={"x": 64, "z": 64}, weights=16), outputs=("m", "y"))
    read = tuple(Operand(of=name, access="r") for name in ("x", "m.w", "z"))
    low, high = (Operand(of="y", access="w", offset=offset, bytes=32) for offset in (0, 32))
    calls = [
        Call(function="f", operands=(*read, *written), operator="m")
        for written in ((Operand(of="m", access="w"), low), (high,))
    ]
    faults = said(actions(lowered(model, chips.ALONE), "m", lambda _: [*calls]))
    assert not [each for each in faults if not each.startswith("step ")]


def test_tensors_that_a_call_writes_are_not_made_from_what_it_writes_beside_and_reads() -> None:
    """`m` is written and read, `y` made from its old bytes: a call for one is no call for both."""
    rows = (("m", "conv", ("x",), 64), ("y", "add", ("m", "z"), 64))
    model = evolve(chips.model(*rows, inputs={"x": 64, "z": 64}, weights=16), outputs=("m", "y"))
    x, w, z = (Operand(of=name, access="r") for name in ("x", "m.w", "z"))
    found = joint(model, "m", x, w, z, Operand(of="m", access="rw"), Operand(of="y", access="w"))
    assert [each for each in found if each.startswith("`")] == [
        "`m` is made from `z` [wrong-operand]",
        "`y` is made from `m.w` [wrong-operand]",
        "`y` is made from `x` [wrong-operand]",
        "`y` is made without `m` [wrong-operand]",
    ]


def scratched(operands: str, *functions: CFunction) -> list[str]:
    """What is said of one call for `y`, which is made of `x` and `y.w`, that has scratch among its operands:
    `s`, which it reads and writes, or `o`, which it writes.
    """
    model = chips.model(("y", "conv", ("x",), 64), inputs={"x": 64}, weights=64)
    names = {
        "x": ("x", "r"),
        "w": ("y.w", "r"),
        "s": ("scratch", "rw"),
        "o": ("scratch", "w"),
        "y": ("y", "w"),
    }
    made = (Operand(of=of, access=how) for of, how in map(names.__getitem__, operands))
    call = Call(function="f", operands=tuple(made), operator="y")
    held = LocalBuffer(name="scratch", bytes=64, memory="sram")

    def changed(found: Kernel) -> Kernel:
        return evolve(found, buffers=(held,), actions=(call,), functions=functions)

    found = said(kernel(lowered(model, chips.ALONE), "y", changed))
    return [each.rpartition("error: ")[2] for each in found if not each.startswith("step ")]


def test_scratch_is_no_tensor() -> None:
    assert scratched("xwoy") == []
    assert scratched("xwsy", CFunction(name="f", parameters=(IN, IN, "int32_t *", OUT), text="")) == []
    assert scratched("wxsy") == ["it reads `y.w`, `x` in another order than its operators [wrong-operand]"]


def test_operands_are_in_the_order_of_one_of_two_results_that_need_them_all() -> None:
    rows = (("u", "other", ("a", "b"), 64), ("v", "other", ("b", "a", "c"), 64))
    a, b, c = (Operand(of=name, access="r") for name in "abc")
    u, v = (Operand(of=name, access="w") for name in "uv")
    assert joint(chips.model(*rows, inputs=dict.fromkeys("abc", 64)), "u", b, a, c, u, v) == []


def test_an_operator_without_a_row_may_ignore_what_it_is_given() -> None:
    def made(kind: str) -> list[str]:
        model = chips.model(("y", kind, ("x",), 64), inputs={"x": 64})
        return joint(model, "y", Operand(of="y", access="w"))

    assert made("relax") == []
    assert made("other") == ["`y` is made without `x` [wrong-operand]"]


def test_what_a_tensor_is_made_from_is_said_in_the_order_of_names() -> None:
    names = "abcdefgh"
    model = chips.model(
        ("y", "other", tuple(names), 8), ("z", "other", ("y",), 8), inputs=dict.fromkeys(names, 8)
    )
    y, z = (Operand(of=name, access="w") for name in "yz")
    assert joint(model, "y", y)[:8] == [f"`y` is made without `{name}` [wrong-operand]" for name in names]
    others = chips.model(("z", "other", ("x",), 8), inputs=dict.fromkeys((*names, "x"), 8))
    every = (Operand(of=name, access="r") for name in names)
    assert joint(others, "z", *every, z)[:8] == [
        f"`z` is made from `{name}` [wrong-operand]" for name in names
    ]


def test_a_tensor_between_two_operators_of_one_call_is_not_of_another_partition() -> None:
    model = chips.model(("m", "other", ("x",), 64), ("y", "other", ("m",), 64), inputs={"x": 64})
    result = lowered(model, chips.ALONE)
    (partition,), (found,) = result.graph.partitions, result.kernels.values()
    both = Call(function="f", operands=(Operand(of="y", access="w"),), operator="y")
    first, second = (
        evolve(partition, id=f"p{n}", operators=(each,)) for n, each in enumerate(partition.operators)
    )
    kernels = {"p0": evolve(found, actions=()), "p1": evolve(found, actions=(both,))}
    graph = evolve(result.graph, partitions=(first, second))
    assert said(evolve(result, graph=graph, kernels=kernels)) == [
        "operator y in partition p1: error: `y` is made without `m`, elsewhere [wrong-operand]"
    ]


def test_a_tensor_may_be_two_operands_of_a_function_whose_operator_names_it_once() -> None:
    model = chips.model(("y", "conv", ("x",), 64), inputs={"x": 64}, weights=16)
    x, w = (Operand(of=name, access="r") for name in ("x", "y.w"))
    y = Operand(of="y", access="w")
    assert joint(model, "y", x, x, w, y) == []
    assert joint(model, "y", x, x, x, w, y) == []
    assert joint(model, "y", w, x, y) == [
        "it reads `y.w`, `x` in another order than its operators [wrong-operand]"
    ]
    assert joint(model, "y", w, x, x, y) == [
        "it reads `y.w`, `x`, `x` in another order than its operators [wrong-operand]"
    ]


def test_sums_in_a_local_buffer_are_made_from_all_that_was_added() -> None:
    """Two calls add to a buffer, the second one's result is the output."""
    model = chips.model(("y", "add", ("x", "z"), 64), inputs={"x": 64, "z": 64})
    result = lowered(model, chips.ALONE)

    def summed(*names: str) -> list[str]:
        calls: list[Move | Call] = [
            Call(
                function="f",
                operator="y",
                operands=(
                    Operand(of=name, access="r"),
                    Operand(of="sums", access="rw" if number else "w"),
                ),
            )
            for number, name in enumerate(names)
        ]
        part = {"offset": 0, "row_bytes": 64}
        calls.append(Move(source=Slice(of="sums", **part), target=Slice(of="y", **part)))  # type: ignore[arg-type]
        held = LocalBuffer(name="sums", bytes=64, memory="sram")
        changed = kernel(result, "y", lambda each: evolve(each, buffers=(held,), actions=tuple(calls)))
        return [each.rpartition("error: ")[2] for each in said(changed) if not each.startswith("step ")]

    assert summed("x", "z") == []
    assert summed("x", "x") == ["`y` is made without `z` [wrong-operand]"]


def test_a_constant_that_the_backend_packed() -> None:
    packed = Tensor(name="packed", shape=(64,), dtype="int8", data=bytes(64))
    result = at("b", 1, of="packed")
    assert not [
        each
        for each in said(kernel(result, "b", lambda each: evolve(each, constants=(packed,))))
        if not each.startswith("step ")
    ]


def test_two_constants_of_one_name() -> None:
    first, second = (
        Tensor(name="packed", shape=(64,), dtype="int8", data=bytes([number]) * 64) for number in (1, 2)
    )
    alike = kernel(ALONE, "b", lambda each: evolve(each, constants=(first, first)))
    assert said(alike) == []
    other = kernel(ALONE, "b", lambda each: evolve(each, constants=(first, second)))
    assert said(other) == [
        "the kernels: error: `packed` is the name of two constants [wrong-content]",
    ]
    taken = kernel(ALONE, "b", lambda each: evolve(each, constants=(evolve(first, name="a.w"),)))
    assert said(taken)[0] == "the kernels: error: `a.w` is the name of two constants [wrong-content]"


def test_partitions_of_another_model() -> None:
    model = ALONE.graph.model
    check_imported(model, ALONE.graph)
    with pytest.raises(CheckError) as caught:
        check_imported(evolve(model, name="n"), ALONE.graph)
    assert str(caught.value) == (
        "the partitions: error: `m` is not the model that was imported [wrong-model]"
    )


def test_partitions_of_a_divided_model_that_computes_the_same() -> None:
    """That slices are those of the model is proved in `test_division.py`."""
    model = evolve(ALONE.graph.model, slices={"c": SliceOf(operator="a", axis=0, start=0, stop=1)})
    check_imported(ALONE.graph.model, evolve(ALONE.graph, model=model))
    with pytest.raises(CheckError, match="its inputs, outputs or states are not those of the model"):
        check_imported(ALONE.graph.model, evolve(ALONE.graph, model=evolve(model, outputs=())))


def test_the_concatenation_of_copies() -> None:
    rows = (("u", "other", ("x",), 64), ("v", "other", ("z",), 32), ("y", "concat", ("u", "v"), 96))
    model: Model = chips.model(*rows, inputs={"x": 64, "z": 32})
    result = lowered(model, chips.ALONE)
    assert said(result) == []
    backwards = (*rows[:2], ("y", "concat", ("v", "u"), 96))
    assert said(lowered(chips.model(*backwards, inputs={"x": 64, "z": 32}), chips.ALONE)) == []
    swapped = tuple(evolve(o, inputs=("v", "u")) if o.id == "y" else o for o in model.operators)
    other = evolve(model, operators=swapped)
    parts = tuple(
        evolve(each, operators=tuple(other.operator(operator.id) for operator in each.operators))
        for each in result.graph.partitions
    )
    changed = evolve(result, graph=evolve(result.graph, model=other, partitions=parts))
    assert said(changed) == ["operator y in partition p0: error: `y` is no copy of `v`, `u` [wrong-operand]"]


def copied(*ends: tuple[int, int, int, int], swap: bool = False) -> list[str]:
    """What is said where the places from 2 to 5 of `x` are wanted in `y`, and copies have these ends: the
    first byte and the bytes of both, read in `x` and written in `y`; with `swap` in the other order.
    """
    made = chips.model(("y", "slice", ("x",), 3), inputs={"x": 8})
    (operator,) = made.operators
    cut = evolve(operator, attributes={"begin": (2,), "end": (5,), "step": (1,)})
    calls: list[Move | Call] = []
    for first, count, to, written in ends:
        operands = (
            Operand(of="x", access="r", offset=first, bytes=count),
            Operand(of="y", access="w", offset=to, bytes=written),
        )
        shown = operands[::-1] if swap else operands
        calls.append(Call(function="copy", operands=shown, operator="y", copies=True))
    result = lowered(evolve(made, operators=(cut,)), chips.ALONE)
    found = said(actions(result, "y", lambda _: calls))
    return [each.rpartition("error: ")[2] for each in found if not each.startswith("step ")]


def test_a_slice_that_is_copied_has_the_places_of_its_operator() -> None:
    wrong = ["`y` is no copy of `x` [wrong-operand]"]
    assert copied((2, 3, 0, 3)) == copied((2, 3, 0, 3), swap=True) == copied((2, 2, 0, 2), (4, 1, 2, 1)) == []
    assert copied((3, 3, 0, 3)) == wrong
    assert copied((2, 3, 0, 2), (4, 1, 2, 1)) == wrong, "three bytes are read and two of them written"


def test_before_anything_is_computed_bytes_are_of_inputs_and_constants_alone() -> None:
    meaning, model = Meaning(ALONE.graph, {}), ALONE.model
    told = {name: meaning.numbers.told(one_run(meaning.at_first(name), 1)) for name in model.tensors}
    constants = {name for name, tensor in model.tensors.items() if tensor.data is not None}
    assert {name for names in meaning.named.values() for name in names} == {*model.given, *constants}
    assert {name for name, text in told.items() if "nothing in" in text} == set(model.makers)
