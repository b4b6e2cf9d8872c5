"""Whether what kernels name is there: without that nothing can be replayed."""

from collections.abc import Iterator, Mapping

from target_arch.diagnostics import Diagnostic
from target_arch.plan.kernels import Call, Kernel, Move, Slice
from target_arch.plan.model import Model


def ends_faults(model: Model, kernels: Mapping[str, Kernel]) -> Iterator[Diagnostic]:
    """Faults of what kernels move and call functions on: no tensor of the model and no buffer of the kernel,
    bytes outside of it, or a move to more or fewer bytes.
    """
    packed = {tensor.name: tensor.bytes for kernel in kernels.values() for tensor in kernel.constants}
    sizes = {name: tensor.bytes for name, tensor in model.tensors.items()} | packed
    for partition, kernel in kernels.items():
        known = sizes | {buffer.name: buffer.bytes for buffer in kernel.buffers}
        for action in kernel.actions:
            for said in _said(action, known):
                yield Diagnostic(rule="wrong-kernel", place=f"kernel of `{partition}`", message=said)


def _said(action: Move | Call, known: Mapping[str, int]) -> Iterator[str]:
    ends = (action.source, action.target) if isinstance(action, Move) else action.operands
    for end in ends:
        if end.of not in known:
            yield f"`{end.of}` is no tensor of the model, and no buffer of the kernel"
            continue
        part = end if isinstance(end, Slice) else end.touched(known[end.of])
        if part.offset < 0 or part.bytes <= 0 or part.end > known[end.of]:
            yield f"`{part}` is not within the {known[end.of]:,} B of `{end.of}`"
    if isinstance(action, Move) and action.source.bytes != action.target.bytes:
        yield f"`{action.source}` has other bytes than `{action.target}`, where it is moved to"
