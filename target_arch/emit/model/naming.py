"""Names in tables: the macros of the SoC header, and a step in words for its comment."""

from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.plan.steps import Copy, Dispatch, Event, Fill, Load, Step
from target_arch.soc import numbering


def macro(inputs: EmitInputs, kind: str, name: str) -> str:
    """The macro or enumerator of the SoC header: of the kind `INSTANCE`, `MEMORY` or `TIMELINE`."""
    return f"{numbering.c_prefix(inputs.soc)}_{kind}_{numbering.c_identifier(name)}"


def bundle_symbol(member: Member) -> str:
    """The C name of the `ta_bundle` of a model."""
    return f"{member.stem}_bundle"


def seals_symbol(member: Member) -> str:
    """The C name of the `ta_seals` of a model."""
    return f"{member.stem}_seals"


def frames_seals_symbol(member: Member) -> str:
    """The C name of the `ta_seals` of a model's tables for frames in flight."""
    return f"{member.stem}_frames_seals"


def resident_seals_symbol(member: Member) -> str:
    """The C name of the `ta_seals` of what a model has resident."""
    return f"{member.stem}_resident_seals"


def pipeline_symbol(member: Member) -> str:
    """The C name of the `ta_pipeline` of a model with frames in flight."""
    return f"{member.stem}_frames"


def soc_symbol(inputs: EmitInputs) -> str:
    """The C name of the `ta_soc`."""
    return f"{inputs.stem}_soc_table"


def simulation_symbol(inputs: EmitInputs) -> str:
    """The C name of the `ta_simulation`, for a port that simulates."""
    return f"{inputs.stem}_simulation"


def describe(step: Step) -> str:
    """A step in a few words: `copy a@sram[0:+64] -> a@tcm[0:+64] by dma, event dma.0#3`."""
    match step:
        case Load():
            return f"load {step.instance} ({step.process})"
        case Fill():
            copy = step.copy
            return f"fill {copy.target} from {copy.source} by {copy.engine}{_signals(copy.event)}"
        case Copy():
            return f"copy {step.source} -> {step.target} by {step.engine}{_signals(step.event)}"
        case Dispatch():
            return f"dispatch {step.operator or step.function} on {step.instance}{_signals(step.event)}"
        case _:
            return f"wait {step.event}"


def _signals(event: Event | None) -> str:
    return f", event {event}" if event else ""
