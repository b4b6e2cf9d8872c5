"""Better schedules for the kernels of a compilation, found by measuring. Tests: `tests/tune`."""

from target_arch.tune.report import Gain, TuningReport
from target_arch.tune.tune import TuneRequest, tune

__all__ = ["Gain", "TuneRequest", "TuningReport", "tune"]
