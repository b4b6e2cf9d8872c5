"""The costs of a chip from measurements."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack, cast

from target_arch.api.model_file import Model, model_file
from target_arch.api.option_types import require_options, typed_arguments
from target_arch.api.options import CompileOptions, requested
from target_arch.diagnostics import refusal
from target_arch.soc import SoC
from target_arch.soc.files.cost_file import read_costs

if TYPE_CHECKING:
    from target_arch.calibrate import CalibrationReport
    from target_arch.pipeline import CompileRequest

_OF_THE_CHIP = ("memory", "optimize", "images", "backend_dirs", "plug_ins")
"""The options that also concern models that the user did not name."""


class CalibrateOptions(CompileOptions, total=False):
    """The options of `calibrate_costs`: those of `compile`, and where and what to measure. `port` is where it
    is measured: also `rtl`.
    """

    update: str | Path | None
    """A file that an earlier calibration wrote: only models with code that it did not measure are run."""
    said: Callable[[str], None]
    """Called with a line for each run."""
    probes: bool
    """Whether nets of our own, with layers in many shapes, are measured, too: then no model is needed."""


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
    if not models and not options.get("probes"):
        hint = "name one, or ask for probes"
        raise refusal("no-models", "models", "there is no model to measure", hint)
    own = ("update", "said", "port", "costs", "probes")
    others: dict[str, Any] = {name: value for name, value in options.items() if name not in own}
    with ExitStack() as files:
        there = [files.enter_context(model_file(model)) for model in models]
        compilations = tuple(requested(file, soc, cast(CompileOptions, others)) for file in there)
        from target_arch.calibrate import CalibrateRequest, calibrate

        made = _probes(files, soc, others) if options.get("probes") else ()
        before = options.get("update")
        request = CalibrateRequest(
            compilations=compilations,
            probes=made,
            port=options.get("port", "host"),
            before=None if before is None else read_costs(Path(before), (*compilations, *made)[0].soc),
            said=options.get("said", lambda text: None),
        )
        return calibrate(request)


def _probes(files: ExitStack, soc: str | Path | SoC, options: dict[str, Any]) -> "tuple[CompileRequest, ...]":
    """The probes as requests; their files are there as long as those of the models. What is said of a model's
    inputs, states and operators is not meant for them.
    """
    from target_arch.calibrate.probes import probes

    folder = Path(files.enter_context(TemporaryDirectory()))
    general = {name: value for name, value in options.items() if name in _OF_THE_CHIP}
    requests = []
    for probe in probes():
        file = folder / f"{probe.graph.name}.onnx"
        file.write_bytes(probe.SerializeToString())
        requests.append(requested(file, soc, cast(CompileOptions, general)))
    return tuple(requests)
