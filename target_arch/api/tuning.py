"""Better schedules for the C kernels of a compilation."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from target_arch.api.model_file import Model, model_file
from target_arch.api.option_types import require_options, typed_arguments
from target_arch.api.options import CompileOptions, requested
from target_arch.soc import SoC

if TYPE_CHECKING:
    from target_arch.tune import TuningReport


class TuneOptions(CompileOptions, total=False):
    """The options of `tune_kernels`: those of `compile`, and how to measure. `tune.TuneRequest` has the
    defaults.
    """

    target_arch: str | None
    """The target_arch whose kernels are tuned; all kernels in C without one."""
    trials: int
    """How many schedules are tried for each kernel."""
    seed: int
    """Another number, other schedules."""
    compiler: str | None
    """The C compiler of the programs that are measured."""
    flags: Sequence[str]
    """Its flags."""
    scratch: int
    """The most bytes of scratch that a tuned kernel may take."""
    tracker: tuple[str, int] | None
    """Host and port of a tracker of servers that run the programs; this computer without one."""
    key: str
    """The servers' key at the tracker."""
    said: Callable[[str], None]
    """Called with a line for each kernel."""


@typed_arguments
def tune_kernels(model: Model, soc: str | Path | SoC, **options: Unpack[TuneOptions]) -> "TuningReport":
    """Search schedules by measuring. `plan.tuning.tuning_text` of the report's `tuning` is the file that the
    option `tuning` takes.

    Raises as `compile`, where there is no task or server; ToolMissing without a compiler.
    """
    require_options(options, TuneOptions)
    own = TuneOptions.__annotations__.keys() - CompileOptions.__annotations__.keys()
    settings: dict[str, Any] = {name: value for name, value in options.items() if name in own}
    others = {name: value for name, value in options.items() if name not in own}
    with model_file(model) as file:
        request = requested(file, soc, cast(CompileOptions, others))
        from target_arch.tune import TuneRequest, tune

        return tune(TuneRequest(compilation=request, **settings))
