"""Kernels that name what is not there, which is said before they are replayed."""

from collections.abc import Callable

import pytest
from attrs import evolve

from target_arch.plan.kernels import Call, Kernel, Move, Operand, Slice
from tests.stages.check.meaning.two import ALONE, EDGE, kernel, said


def _operand(**changes: object) -> Callable[[Kernel], Kernel]:
    def change(found: Kernel) -> Kernel:
        call, *others = found.actions
        assert isinstance(call, Call)
        operands = (evolve(call.operands[0], **changes), *call.operands[1:])  # type: ignore[arg-type]
        return evolve(found, actions=(evolve(call, operands=operands), *others))

    return change


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"of": "nobody"}, "`nobody` is no tensor of the model, and no buffer of the kernel"),
        ({"offset": 1, "bytes": 512}, "`p[1:+512]` is not within the 512 B of `p`"),
        ({"offset": 512, "bytes": 1}, "`p[512:+1]` is not within the 512 B of `p`"),
        ({"offset": -1, "bytes": 4}, "`p[-1:+4]` is not within the 512 B of `p`"),
        ({"bytes": 0}, "`p[0:+0]` is not within the 512 B of `p`"),
    ],
)
def test_an_operand_that_is_not_there(changes: dict[str, object], message: str) -> None:
    expected = f"kernel of `p0`: error: {message} [wrong-kernel]"
    assert said(kernel(ALONE, "a", _operand(**changes))) == [expected]


def test_an_operand_of_one_byte_is_there() -> None:
    assert not any("within" in fault for fault in said(kernel(ALONE, "a", _operand(bytes=1))))


def test_a_move_to_fewer_bytes() -> None:
    """The first 511 bytes of what is moved elsewhere."""

    def change(found: Kernel) -> Kernel:
        number = next(n for n, each in enumerate(found.actions) if isinstance(each, Move))
        move = found.actions[number]
        assert isinstance(move, Move)
        less = evolve(move, target=evolve(move.target, row_bytes=move.target.row_bytes - 1))
        return evolve(found, actions=(*found.actions[:number], less, *found.actions[number + 1 :]))

    (message,) = said(kernel(EDGE, "a", change))
    assert "has other bytes than" in message
    assert "where it is moved to [wrong-kernel]" in message


def test_each_end_of_each_action_is_looked_at() -> None:
    """Both ends of a move, all operands of a call, in every action; a move may have more bytes or fewer."""

    def move(source: str, target: str, read: int = 512, written: int = 512) -> Move:
        ends = (Slice(of=source, offset=0, row_bytes=read), Slice(of=target, offset=0, row_bytes=written))
        return Move(source=ends[0], target=ends[1])

    operands = tuple(Operand(of=name, access="r") for name in ("nobody", "p", "nothing"))
    actions = (
        move("p", "q"),
        move("p", "nowhere"),
        move("gone", "q"),
        Call(function="f", operands=operands),
        move("p", "q", written=511),
        move("p", "q", read=511),
    )
    names = ("nowhere", "gone", "nobody", "nothing")
    messages = [f"`{name}` is no tensor of the model, and no buffer of the kernel" for name in names]
    messages.append("`p[0:+512]` has other bytes than `q[0:+511]`, where it is moved to")
    messages.append("`p[0:+511]` has other bytes than `q[0:+512]`, where it is moved to")
    assert said(kernel(ALONE, "a", lambda each: evolve(each, actions=actions))) == [
        f"kernel of `p0`: error: {message} [wrong-kernel]" for message in messages
    ]
