"""Tensors of a subprogram share buffers, as far as their times allow."""

from hypothesis import given
from hypothesis import strategies as st

from target_arch.relax.repeated.slots import Slots
from target_arch.relax.repeated.straight import Placed, Straight


def chain(reads: list[int], sizes: list[tuple[int, str]], outputs: set[int]) -> Straight:
    """Tensors `t0`, an input, to `tn`; each is computed from the one before it and from one of `reads`."""
    names = [f"t{number}" for number in range(len(sizes))]
    calls = [
        Placed(function=None, tensors=(names[number], names[reads[number] % (number + 1)], names[number + 1]))
        for number in range(len(names) - 1)
    ]
    return Straight(
        inputs=("t0",),
        outputs=tuple(names[number] for number in sorted(outputs)),
        calls=tuple(calls),
        constants={},
        sizes=dict(zip(names, sizes, strict=True)),
    )


def test_a_buffer_is_taken_again_after_the_last_reader() -> None:
    slots = Slots()
    found = slots.of(
        chain([0, 0, 0, 0], [(4, "int8"), (8, "int8"), (6, "int8"), (9, "int8"), (1, "int8")], {4})
    )
    assert found == {"t1": 0, "t2": 1, "t3": 0, "t4": 2}
    assert slots.forms == [(9, "int8"), (6, "int8"), (1, "int8")]


FORMS = st.tuples(st.integers(1, 9), st.sampled_from(["int8", "float32"]))


@given(st.lists(st.tuples(st.integers(0, 99), FORMS), min_size=2, max_size=12), st.data())
def test_what_is_needed_keeps_its_buffer(
    drawn: list[tuple[int, tuple[int, str]]], data: st.DataObject
) -> None:
    count = len(drawn)
    outputs = data.draw(st.sets(st.integers(1, count - 1), min_size=1))
    program = chain([read for read, _ in drawn], [form for _, form in drawn], outputs)
    slots = Slots()
    slots.of(chain([0, 0], [(3, "int8"), (5, "int8"), (2, "float32")], {2}))
    found = slots.of(program)
    held: dict[int, str] = {}
    for call in program.calls:
        for name in call.tensors[:-1]:
            assert name == "t0" or held[found[name]] == name
        assert not {found[name] for name in call.tensors[:-1] if name in found} & {found[call.tensors[-1]]}
        held[found[call.tensors[-1]]] = call.tensors[-1]
    assert all(held[found[name]] == name for name in program.outputs)
    assert all(
        slots.forms[found[name]][0] >= size and slots.forms[found[name]][1] == dtype
        for name, (size, dtype) in program.sizes.items()
        if name in found
    )
