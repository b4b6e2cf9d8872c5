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
from target_arch.backends.plain_c.kernels.joining import joinable
from target_arch.backends.plain_c.lower import Piece, concat_piece, joint_piece, piece, rows_piece
from target_arch.backends.plain_c.region import region_piece
from target_arch.plan.operators.facts import Lowering


def pieces(request: LoweringRequest) -> Iterator[Piece]:
    """The pieces of a partition's operators, in their order: its regions, two at once where that is possible,
    and into the rows of a concatenation where that pays.
    """
    regions = {region.operators[0]: region for region in request.partition.regions}
    left = deque(request.partition.operators)
    through = written_through(request.partition.operators, request.model)
    while left:
        one = left.popleft()
        if one.id in regions:
            region = regions[one.id]
            others = [left.popleft() for _ in region.operators[1:]]
            yield region_piece(region, (one, *others), request)
        elif one.lowering is Lowering.COPIES:
            yield concat_piece(one, request, through)
        elif one.output in through:
            slot = through[one.output]
            yield fast_piece(one, request, slot) or rows_piece(one, slot, request)
        elif left and joinable(one, left[0], request.model):
            other = left.popleft()
            yield fast_pair(one, other, request) or joint_piece(one, other, request)
        else:
            yield fast_piece(one, request) or piece(one, request)
