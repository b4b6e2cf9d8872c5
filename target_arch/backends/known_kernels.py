"""Kernels of engines that are written again only where the tilings changed, or what they are cut for: on
chips that differ in speed alone, most are equal. The last one of each partition is kept, so that a long
search takes no more memory.
"""

from collections.abc import Callable

from target_arch.backend.lowering import LoweringRequest
from target_arch.plan.kernels import Kernel


def known_kernel(request: LoweringRequest, facts: object, write: Callable[[], Kernel]) -> Kernel:
    """The kernel of a partition that follows from these facts and the model: the last one where they are
    equal.
    """
    key = ("kernel", request.instance.name, request.partition.id)
    operators = tuple(operator.id for operator in request.partition.operators)
    known: tuple[object, Kernel] | None = request.shared.get(key)
    if known is not None and known[0] == (operators, facts):
        return known[1]
    kernel = write()
    request.shared[key] = ((operators, facts), kernel)
    return kernel
