"""What a kernel makes of an operator: values of its own, so that files of operator classes know no other."""

from attrs import frozen

from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Tensor


@frozen(kw_only=True)
class Made:
    """A C function and the constants that replace the operator's own: its parameters are the inputs,
    `packed`, and the output.
    """

    function: CFunction
    packed: tuple[Tensor, ...]
