"""The costs of a chip from measurements."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from target_arch.api.model_file import Model, model_file
from target_arch.api.option_types import require_options, typed_arguments
from target_arch.api.options import CompileOptions, requested
from target_arch.diagnostics import refusal
from target_arch.soc import SoC
from target_arch.soc.files.cost_file import read_costs

if TYPE_CHECKING:
    from target_arch.calibrate import CalibrationReport


class CalibrateOptions(CompileOptions, total=False):
    """The options of `calibrate_costs`: those of `compile`, and where and what to measure. `port` is where it
    is measured: also `rtl`.
    """

    update: str | Path | None
    """A file that an earlier calibration wrote: only models with code that it did not measure are run."""
    said: Callable[[str], None]
    """Called with a line for each run."""


@typed_arguments
def calibrate_costs(
    models: Sequence[Model], soc: str | Path | SoC, **options: Unpack[CalibrateOptions]
) -> "CalibrationReport":
    """Measure models on a port, and fit costs to what was counted; `cost_file` of the report is the text of a
    file that the option `costs` takes.

    Raises as `compile` and running bundles do; DiagnosticError for a port that cannot count, and a file to
    update of another chip or port; ToolMissing without SciPy, or the port's compiler.
    """
    require_options(options, CalibrateOptions)
    if not models:
        raise refusal("no-models", "models", "there is no model to measure")
    own = ("update", "said", "port", "costs")
    others: dict[str, Any] = {name: value for name, value in options.items() if name not in own}
    with ExitStack() as files:
        there = [files.enter_context(model_file(model)) for model in models]
        compilations = tuple(requested(file, soc, cast(CompileOptions, others)) for file in there)
        from target_arch.calibrate import CalibrateRequest, calibrate

        before = options.get("update")
        request = CalibrateRequest(
            compilations=compilations,
            port=options.get("port", "host"),
            before=None if before is None else read_costs(Path(before), compilations[0].soc),
            said=options.get("said", lambda text: None),
        )
        return calibrate(request)
