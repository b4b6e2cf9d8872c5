"""Frames in flight for a lowered model, if they were asked for."""

from collections.abc import Sequence

from attrs import evolve

from target_arch.diagnostics import Diagnostic, DiagnosticError, refusal
from target_arch.pipeline.request import CompileRequest
from target_arch.plan.division import Divide
from target_arch.plan.lowered import Lowered
from target_arch.plan.objective import Objective
from target_arch.stages.lowering.ladder import sizes
from target_arch.stages.program.partial import PartialLowering
from target_arch.stages.setting import Setting
from target_arch.stages.steps.simulation.times import Times

AUTO = "auto"


def require_frames(requests: Sequence[CompileRequest]) -> None:
    """DiagnosticError for a number of frames that there cannot be, or that the other options rule out."""
    for request in requests:
        frames = wanted_frames(request)
        if frames is None and request.divide is Divide.HOST:
            said = "the host is divided for frames in flight, and none are asked for"
            hint = '`frames = "auto"`, or `auto` for a run'
            raise refusal("no-frames", "divide", said, hint)
        if frames is None:
            continue
        from target_arch.stages.frames.pipelined import MOST

        if frames != AUTO and not (isinstance(frames, int) and 1 <= frames <= MOST):
            said = f"there can be 1 to {MOST} frames in flight, or `{AUTO}`, not `{frames}`"
            raise refusal("bad-frames", "frames", said)
        if len(requests) > 1:
            raise refusal("no-frames", "frames", "frames in flight are those of one model, several are given")


def wanted_frames(request: CompileRequest) -> int | str | None:
    """The frames in flight that a request wants; results come as often as possible with them alone, so for
    throughput they are `auto` without a word.
    """
    if request.frames is None and request.objective is Objective.THROUGHPUT:
        return AUTO
    return request.frames


def with_frames(setting: Setting, lowered: Lowered, wanted: int | str | None) -> Lowered:
    """The model with a pipeline for the wanted frames, checked. DiagnosticError where even one frame after
    the other does not fit, and for a model without inputs.
    """
    if wanted is None:
        return lowered
    from target_arch.stages.check.frames import check_frames
    from target_arch.stages.frames.pipelined import pipelined

    if not lowered.steps.inputs:
        raise refusal("no-frames", f"model {lowered.model.name}", "it has no inputs to be frames")
    work = PartialLowering(setting=setting, graph=lowered.graph, kernels=lowered.kernels)
    alone = 0.0 if lowered.execution is None else lowered.execution.makespan
    most = wanted if isinstance(wanted, int) else None
    found = pipelined(work.soc, lowered.steps, lowered.plan, Times(work), most, alone, setting.within)
    if found is None:
        said = "the inputs and outputs of a second frame do not fit beside those of the first"
        raise DiagnosticError(
            [Diagnostic(rule="no-frames", place=f"model {lowered.model.name}", message=said)]
        )
    known = sizes(lowered.graph, lowered.kernels)
    check_frames(work.soc, found, lowered.graph, lowered.kernels, known, (lowered.steps, lowered.plan))
    return evolve(lowered, frames=found)
