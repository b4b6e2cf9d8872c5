"""Replays regions: a second opinion, which shares nothing with the backend that made them
but the order of their turns. And their calls: they have the tensors, the scratch and the place for the output
that the rows need.
"""

from collections.abc import Iterator, Mapping

from target_arch.diagnostics import Diagnostic
from target_arch.plan.kernels import Access, Call, Kernel
from target_arch.plan.model import Model
from target_arch.plan.partitions import PartitionGraph
from target_arch.plan.regions.channels import Channels
from target_arch.plan.regions.patches import Patches
from target_arch.plan.regions.region_plan import RegionPlan
from target_arch.plan.regions.stripes import Stripes
from target_arch.stages.errors import CheckError
from target_arch.stages.regions import replay_channels, replay_patches, replay_rows


def check_stripes(graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> None:
    """Raise CheckError for rows that are read where they are not, and outputs that are not complete."""
    found = [
        Diagnostic(
            rule="wrong-stripe", place=f"function {function} of partition {partition.id}", message=fault
        )
        for partition in graph.partitions
        if partition.id in kernels
        for function, plan in kernels[partition.id].stripes.items()
        for fault in _region_faults(kernels[partition.id], function, plan, graph.model)
    ]
    if found:
        raise CheckError(tuple(found))


def _region_faults(kernel: Kernel, function: str, plan: RegionPlan, model: Model) -> Iterator[str]:
    match plan:
        case Stripes():
            yield from replay_rows.faults(plan)
        case Patches():
            yield from replay_patches.faults(plan)
        case Channels():
            yield from replay_channels.faults(plan)
    calls = [action for action in kernel.actions if isinstance(action, Call) and action.function == function]
    if not calls:
        yield "no call runs it"
    for call in calls:
        yield from _call_faults(kernel, call, plan, model)


def _call_faults(kernel: Kernel, call: Call, plan: RegionPlan, model: Model) -> Iterator[str]:
    """Tensors of other sizes than the images, too little scratch, and an output over what is still read. One
    function may serve several regions, so tensors are known by their order, not by name.
    """
    own = {buffer.name: buffer.bytes for buffer in kernel.buffers}
    given, output, over = _images(plan)
    reads = [operand for operand in call.operands if operand.access == Access.READ][: len(given)]
    writes = [operand for operand in call.operands if operand.access.writes and operand.of not in own]
    sizes = [model.tensors[each.of].bytes for each in (*reads, *writes) if each.of in model.tensors]
    if sizes != [*given, output]:
        yield f"its call for `{call.operator}` has tensors of {sizes} B, its rows {[*given, output]} B"
        return
    scratch = sum(own[operand.of] for operand in call.operands if operand.of in own)
    if scratch < plan.scratch:
        yield f"its call for `{call.operator}` has {scratch:,} B of scratch, it needs {plan.scratch:,} B"
    allowed = set() if over is None else {reads[over].of}
    for name in sorted({*writes[0].over} - allowed):
        yield f"its call for `{call.operator}` may write over `{name}`, which is still read"


def _images(plan: RegionPlan) -> tuple[list[int], int, int | None]:
    """The bytes of the tensors that are given, and of the output; and the one it may be written over."""
    over = None if plan.over is None else plan.given.index(plan.over)
    return [image.bytes for image in plan.given], plan.output.bytes, over
