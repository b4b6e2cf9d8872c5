"""The options that a bundle was compiled with, from its manifest."""

from collections.abc import Mapping
from typing import Any, cast

from attrs import asdict

from target_arch.api.options import CompileOptions, Wish
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import OptionsEntry


def recorded_options(manifest: Manifest) -> CompileOptions:
    """The options with which its first model is compiled to the same bundle, for the SoC file in the bundle;
    those that are files (costs, tuning, programs, plug-ins) are not among them.
    """
    model = manifest.models[0]
    form = ConstantsForm.TEXT if manifest.weights is None else manifest.weights.constants
    options: dict[str, Any] = {
        "memory": manifest.mode,
        "optimize": manifest.optimize,
        "port": manifest.port,
        "constants": form,
        "io": model.io,
        "keep_dead": model.simplification is None,
        "input_ranges": {
            each.name: (each.range.low, each.range.high) for each in model.inputs if each.range is not None
        },
    }
    if model.input_shapes is not None:
        asked = asdict(model.input_shapes)
        options |= {"input_shapes": asked["shapes"], "batch": asked["batch"], "input_values": asked["values"]}
        options |= {"begin": asked["inputs"], "end": asked["outputs"]}
    return cast(CompileOptions, options | _planned(model.options or OptionsEntry()))


def _planned(entry: OptionsEntry) -> dict[str, Any]:
    options = {name: value for name, value in asdict(entry).items() if value is not None}
    if entry.lowering_order is not None:
        options["lowering_order"] = _orders(entry.lowering_order)
    if entry.frames is not None and entry.frames.isdigit():
        options["frames"] = int(entry.frames)
    return options


def _orders(phases: Mapping[str, str]) -> Wish | Mapping[str, Wish]:
    orders = {phase: text.split(",") if "," in text else text for phase, text in phases.items()}
    return orders.get("", orders)
