"""The order in which programs run the models of a bundle: in turn, a single model alone.

Where arenas are shared, the inputs of each model are written just before it runs and its outputs are read
just after it; where they are separate all inputs are written first and all outputs read last, so that these
must outlive the runs of others.
"""

from collections.abc import Callable, Sequence

from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.programs import bare_metal
from target_arch.emit.programs.buffers import run_call
from target_arch.emit.text.names import comment
from target_arch.plan.model_pools import Sharing

Phase = Callable[[Member], Sequence[str]]
"""The statements that do something for one model."""


def in_turn(inputs: EmitInputs, members: Sequence[Member], phases: Sequence[Phase]) -> list[str]:
    """The statements of a round: all phases for each model, or, where models keep their bytes, each phase
    for all models.
    """
    if inputs.pools.arenas == Sharing.SHARED:
        return [line for member in members for phase in phases for line in phase(member)]
    return [line for phase in phases for member in members for line in phase(member)]


def run(inputs: EmitInputs, member: Member) -> list[str]:
    """The statements of one run; on a machine they fill the profile."""
    machine = inputs.port.bare_metal is not None
    text = bare_metal.counted_run(inputs, member) if machine else f"status = {run_call(member)};"
    return [*text.split("\n"), "if (status != TA_OK)", '    return failed("run", status);']


def names(members: Sequence[Member]) -> str:
    """The models in a comment."""
    return ", ".join(f"`{comment(member.name)}`" for member in members)
