"""Kernels that name what is not there, which is said before they are replayed."""

from collections.abc import Callable

import pytest
from attrs import evolve

from target_arch.plan.kernels import Call, Kernel, Move
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
