"""The printed form of frames in flight."""

from collections.abc import Sequence

from target_arch.diagnostics import listed
from target_arch.plan.frames import FramePipeline
from target_arch.plan.printed.reasoning import duration
from target_arch.plan.printed.text import step_list, table


def frames_in_flight(pipeline: FramePipeline) -> str:
    """A line: how many, the period and its bound, how much faster that is than a run, and the latency."""
    said = f"frames in flight: {pipeline.frames}; a result every {duration(pipeline.period)}"
    if pipeline.bound:
        busy = "waits for the states of the frame before" if pipeline.busiest == "states" else "is busy"
        where = "a frame" if pipeline.busiest == "states" else f"`{pipeline.busiest}`"
        said += f", {pipeline.gap:.1%} above the time in which {where} {busy} for one frame"
    if pipeline.cores:
        said += f"; frames take turns on {listed(pipeline.cores)}"
    if pipeline.alone and pipeline.period:
        said += f"; {pipeline.alone / pipeline.period:.2f} times as many as runs in turn"
    return f"{said}; {duration(pipeline.latency)} from the start of a frame to its result\n"


def frames_on_cores(cores: Sequence[str]) -> str:
    """A line about an operator on one of equal cores on which frames take turns."""
    return f"frames in flight take turns on {listed(cores)}: each computes whole frames\n"


def frame_curve(pipeline: FramePipeline) -> str:
    """Frames in flight against bytes: a line for each number of frames, with the period and all arenas."""
    arenas = sorted(arena for arena in pipeline.plan.peaks if arena.shareable)
    rows = [
        (
            str(point.frames),
            duration(point.period),
            *(f"{point.bytes.get(arena, 0):,}" for arena in arenas),
        )
        for point in pipeline.curve
    ]
    head = ("frames", "period", *(str(arena) for arena in arenas))
    return table(head, rows, right=range(len(head)))


def frame_steps(pipeline: FramePipeline) -> str:
    """The line, the curve, the stage of every step of a round, and the steps of all rounds."""
    stages = ", ".join(map(str, pipeline.stages))
    rounds = f"rounds: {pipeline.rounds} of {pipeline.round_steps} steps, after {pipeline.loads} loads"
    rounds += f"; a frame is over after step {pipeline.done} of its last round\nstages: {stages}\n"
    return frames_in_flight(pipeline) + frame_curve(pipeline) + rounds + step_list(pipeline.order)
