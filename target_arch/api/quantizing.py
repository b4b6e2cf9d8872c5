"""A float model that becomes one of integers, as far as a chip has room and accuracy allows."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from target_arch.api.model_file import Model, model_file
from target_arch.api.option_types import require_options, typed_arguments
from target_arch.diagnostics import refusal
from target_arch.explore.bases import base_chip
from target_arch.explore.choose import chip_of
from target_arch.plan.goal import Goal, goal
from target_arch.registry.plug_ins import PlugIns

if TYPE_CHECKING:
    from target_arch.quantize.result import QuantizedToFit


class QuantizeOptions(TypedDict, total=False):
    """The options of `quantize_model`."""

    labels: str | Path | None
    """A file with the class of each frame."""
    within: Sequence[str]
    """Limits to keep, such as `flash=512KiB` and `latency=20ms`."""
    mode: str
    """The memory mode."""
    optimize: str
    """The goal for the generated code."""
    backend_dirs: Sequence[str | Path]
    """Folders with plug-ins."""
    said: Callable[[str], None]
    """Called with a line for each step."""


@typed_arguments
def quantize_model(
    model: Model, soc: str | Path, data: str | Path, **options: Unpack[QuantizeOptions]
) -> "QuantizedToFit":
    """Quantize a float model for a SoC (a file, or the name of a shipped one) with frames in a folder or an
    `.npz` file; `content` of the result is the file of the quantized model.

    DiagnosticError for everything that cannot be used, and where no choice of precisions keeps the limits;
    ToolMissing without the libraries of the extra `quantize`.
    """
    require_options(options, QuantizeOptions)
    base = base_chip(soc)
    labels = options.get("labels")
    from target_arch.quantize.budget import budget
    from target_arch.quantize.search import QuantizeRequest, quantize_to_fit

    with model_file(model) as file:
        return quantize_to_fit(
            QuantizeRequest(
                model=file,
                data=Path(data),
                labels=None if labels is None else Path(labels),
                chip=chip_of(base),
                limits=budget(options.get("within", ()), list(base.document["memory"])),
                mode=options.get("mode", "default"),
                optimize=goal(options.get("optimize", Goal.BALANCED)),
                plug_ins=PlugIns.discover(tuple(map(Path, options.get("backend_dirs", ())))),
                said=options.get("said", lambda text: None),
            )
        )


def require_output(model: str | Path, output: str | Path) -> None:
    """DiagnosticError for a file whose name does not end as that of a model which can be quantized."""
    from target_arch.quantize.formats import FORMATS

    wanted = Path(model).suffix
    if wanted.lower() in FORMATS and Path(output).suffix.lower() != wanted.lower():
        said = f"the quantized model has the format of the model: its name must end with `{wanted}`"
        raise refusal("model-type", output, said, f"`{Path(output).with_suffix(wanted)}`")
