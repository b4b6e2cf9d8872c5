"""Costs from measurements: bundles are run where something counts, and what it counts is fitted. Tests:
`tests/calibrate`.
"""

from target_arch.calibrate.calibrate import CalibrateRequest, calibrate
from target_arch.calibrate.report import CalibrationReport

__all__ = ["CalibrateRequest", "CalibrationReport", "calibrate"]
