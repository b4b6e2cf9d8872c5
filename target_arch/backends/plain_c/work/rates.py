"""The cycles of each unit of work, by instruction set; `docs/kernels.md` compares them with measurements.

Cortex-M and `generic`: instructions counted on emulated boards at `-O2`, one cycle each, `generic` being the
portable form on a Cortex-M7 without its DSP extension. x86-64: cycles of a Xeon at 2.5 GHz that uses AVX-512
VNNI and AMX, the least of 200 runs; products of two activations are those of a transformer block; other work
of definitions and moves, which compilers make vectors of, is that of nets of `benchmarks.networks` with
`-O3 -march=native` on a Xeon of 2.1 GHz. AArch64 and RISC-V: the portable form's, in proportion to
instructions counted under emulation.
What ONNX's rounding takes more on Cortex-M is fitted to the probes of `target-arch calibrate` and the int8
models in `../shared`.
`python -m benchmarks.estimates --fit` measures on steps of the models in `../shared` and fits.
"""

from collections.abc import Mapping

from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.soc.words import InstructionSet

Rates = Mapping[WorkUnit, float]

_DEFINITIONS = {
    WorkUnit.ELEMENT: 1.0,
    WorkUnit.REAL_ELEMENT: 2.0,
    WorkUnit.REAL_MOVED: 2.0,
    WorkUnit.REAL_FUNCTION: 53.0,
}

_PORTABLE = {
    WorkUnit.PRODUCT: 5.78,
    WorkUnit.LONE_PRODUCT: 5.8,
    WorkUnit.MATRIX_PRODUCT: 5.78,
    WorkUnit.GATHERED: 5.33,
    WorkUnit.RUN: 72.2,
    WorkUnit.BLOCK: 129.0,
    WorkUnit.OUTPUT: 54.3,
    WorkUnit.TAP: 8.12,
    WorkUnit.EDGE: 10.5,
    WorkUnit.SUM: 85.4,
    WorkUnit.REAL_PRODUCT: 3.67,
    WorkUnit.REAL_GATHERED: 66.6,
    WorkUnit.REAL_OUTPUT: 34.2,
    WorkUnit.REAL_TAP: 13.0,
    WorkUnit.WIDENED: 1.9,
    WorkUnit.CALL: 200.0,
}


_REAL = (WorkUnit.REAL_PRODUCT, WorkUnit.REAL_GATHERED, WorkUnit.REAL_OUTPUT, WorkUnit.REAL_TAP)


_GENERIC = {**_DEFINITIONS, **_PORTABLE, WorkUnit.DEFINED: 7.5, WorkUnit.REAL_DEFINED: 6.0}


def _scaled(share: float, real: float) -> Rates:
    return {part: (real if part in _REAL else share) * rate for part, rate in _PORTABLE.items()}


_RATES: Mapping[InstructionSet, Rates] = {
    InstructionSet.GENERIC: _GENERIC,
    InstructionSet.HVXV67: _GENERIC,
    InstructionSet.ARMV7E_M: {
        **_DEFINITIONS,
        WorkUnit.PRODUCT: 0.814,
        WorkUnit.LONE_PRODUCT: 0.711,
        WorkUnit.GATHERED: 5.8,
        WorkUnit.RUN: 79.7,
        WorkUnit.BLOCK: 122.0,
        WorkUnit.OUTPUT: 2.68,
        WorkUnit.TAP: 12.2,
        WorkUnit.EDGE: 12.2,
        WorkUnit.STRIP: 23.0,
        WorkUnit.LINE: 5.0,
        WorkUnit.GROUP: 1980.0,
        WorkUnit.ROUNDED: 1.98,
        WorkUnit.SUM: 5.37,
        WorkUnit.ROUNDED_SUM: 5.91,
        WorkUnit.WIDENED: 1.9,
        WorkUnit.CALL: 200.0,
        WorkUnit.DEFINED: 7.5,
        WorkUnit.REAL_DEFINED: 6.0,
    },
    InstructionSet.ARMV8_1_M: {
        **_DEFINITIONS,
        WorkUnit.PRODUCT: 0.121,
        WorkUnit.LONE_PRODUCT: 0.169,
        WorkUnit.GATHERED: 0.62,
        WorkUnit.RUN: 66.2,
        WorkUnit.BLOCK: 47.4,
        WorkUnit.OUTPUT: 3.86,
        WorkUnit.TAP: 8.97,
        WorkUnit.EDGE: 8.97,
        WorkUnit.STRIP: 12.4,
        WorkUnit.LINE: 0.435,
        WorkUnit.GROUP: 1680.0,
        WorkUnit.ROUNDED: 5.08,
        WorkUnit.SUM: 10.2,
        WorkUnit.ROUNDED_SUM: 30.6,
        WorkUnit.REAL_PRODUCT: 0.954,
        WorkUnit.REAL_GATHERED: 23.3,
        WorkUnit.REAL_OUTPUT: 32.6,
        WorkUnit.WIDENED: 1.75,
        WorkUnit.CALL: 200.0,
        WorkUnit.DEFINED: 6.4,
        WorkUnit.REAL_DEFINED: 4.4,
    },
    InstructionSet.X86_64: {
        WorkUnit.ELEMENT: 0.1,
        WorkUnit.REAL_ELEMENT: 0.03,
        WorkUnit.REAL_MOVED: 0.4,
        WorkUnit.PRODUCT: 0.00456,
        WorkUnit.LONE_PRODUCT: 0.0383,
        WorkUnit.MATRIX_PRODUCT: 0.11,
        WorkUnit.RUN: 9.85,
        WorkUnit.BLOCK: 28.8,
        WorkUnit.TAP: 0.148,
        WorkUnit.EDGE: 0.329,
        WorkUnit.GROUP: 691.0,
        WorkUnit.SUM: 1.66,
        WorkUnit.REAL_PRODUCT: 0.0252,
        WorkUnit.REAL_OUTPUT: 2.06,
        WorkUnit.REAL_TAP: 0.2,
        WorkUnit.REAL_FUNCTION: 1.2,
        WorkUnit.REAL_SUM: 1.15,
        WorkUnit.WIDENED: 0.5,
        WorkUnit.CALL: 500.0,
        WorkUnit.DEFINED: 0.6,
        WorkUnit.REAL_DEFINED: 1.7,
    },
    InstructionSet.AARCH64: {
        **_DEFINITIONS,
        **_scaled(0.07, 0.37),
        WorkUnit.WIDENED: 0.5,
        WorkUnit.DEFINED: 1.9,
        WorkUnit.REAL_DEFINED: 3.6,
    },
    InstructionSet.RV64GCV: {
        **_DEFINITIONS,
        **_scaled(0.09, 0.39),
        WorkUnit.WIDENED: 4.0,
        WorkUnit.DEFINED: 7.0,
        WorkUnit.REAL_DEFINED: 4.5,
    },
}
"""A unit that is missing takes too little to be seen, or has no form there."""


def cycles(work: Work, isa: InstructionSet) -> float:
    """The cycles of so much work."""
    rates = _RATES[isa]
    return sum(count * rates.get(part, 0.0) for part, count in work.items())
