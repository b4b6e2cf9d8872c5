"""A product sum and the elementwise operator after it as one function, such as the last convolution of a
residual block and its add.

The value between them needs no bytes, and the result may take the place of the other operand. So a residual
block needs two tensors at its peak, not three.
"""

from collections import deque
from collections.abc import Iterator

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.concat import written_through
from target_arch.backends.plain_c.fast import fast_pair, fast_piece
from target_arch.backends.plain_c.lower import Piece, concat_piece, joint_piece, piece, rows_piece
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import Lowering, Structure


def pieces(request: LoweringRequest) -> Iterator[Piece]:
    """The pieces of a partition's operators, in their order, two at once where that is possible, and into the
    rows of a concatenation where that pays.
    """
    used = _uses(request.model)
    left = deque(request.partition.operators)
    through = written_through(request.partition.operators, request.model, used)
    while left:
        one = left.popleft()
        if one.facts.lowering is Lowering.COPIES:
            yield concat_piece(one, request, through)
        elif one.output in through:
            slot = through[one.output]
            yield fast_piece(one, request, slot) or rows_piece(one, slot, request)
        elif left and used[one.output] == 1 and joinable(one, left[0], request.model):
            other = left.popleft()
            yield fast_pair(one, other, request) or joint_piece(one, other, request)
        else:
            yield fast_piece(one, request) or piece(one, request)


def joinable(one: Operator, other: Operator, model: Model) -> bool:
    """True where the second reads the first's output once, and another activation of that shape and type."""
    if not one.facts.weighted or other.facts.structure is not Structure.BROADCAST:
        return False
    if one.arithmetic != other.arithmetic:
        return False
    if other.constants or len(other.inputs) != 2 or other.inputs.count(one.output) != 1:
        return False
    shapes = {model.tensors[name].shape for name in (*other.inputs, other.output)}
    return len(shapes) == 1


def _uses(model: Model) -> dict[str, int]:
    """How often each tensor is read, by operators or by the caller."""
    found = dict.fromkeys(model.tensors, 0)
    for names in (model.outputs, *(operator.inputs for operator in model.operators)):
        for name in names:
            found[name] += 1
    return found
