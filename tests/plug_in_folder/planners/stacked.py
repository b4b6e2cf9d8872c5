"""The planner `stacked`: no byte is used twice."""

from collections.abc import Mapping, Sequence

from target_arch.backend.planner import Algorithm
from target_arch.plan.memory import Buffer


def _pack(buffers: Sequence[Buffer]) -> Mapping[str, int]:
    offsets, end = {}, 0
    for buffer in buffers:
        offsets[buffer.name] = -(-end // buffer.alignment) * buffer.alignment
        end = offsets[buffer.name] + buffer.bytes
    return offsets


planner = Algorithm(name="stacked", description="no byte is used twice", pack=_pack)
