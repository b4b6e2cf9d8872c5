"""The cycles of each unit of work, by instruction set; `docs/kernels.md` compares them with measurements.

Cortex-M and `generic`: instructions counted on emulated boards at `-O2`, one cycle each, `generic` being the
portable form on a Cortex-M7 without its DSP extension. x86-64: cycles of an AMD EPYC of 2.4 GHz, the least of
200 runs. AArch64 and RISC-V: the portable form's, in proportion to instructions counted under emulation.
`python -m benchmarks.estimates --fit` measures on steps of the models in `../shared` and fits.
"""

from collections.abc import Mapping

from target_arch.backends.plain_c.kernels.forms import Part, Work
from target_arch.soc.words import InstructionSet

Rates = Mapping[Part, float]

_DEFINITIONS = {Part.ELEMENT: 1.0, Part.REAL_ELEMENT: 2.0}

_PORTABLE = {
    Part.PRODUCT: 5.63,
    Part.LONE_PRODUCT: 5.68,
    Part.GATHERED: 7.46,
    Part.RUN: 93.3,
    Part.BLOCK: 76.6,
    Part.OUTPUT: 54.0,
    Part.TAP: 6.9,
    Part.EDGE: 10.6,
    Part.GROUP: 356.0,
    Part.SUM: 92.2,
    Part.REAL_PRODUCT: 3.67,
    Part.REAL_GATHERED: 66.6,
    Part.REAL_OUTPUT: 34.2,
    Part.CALL: 200.0,
}


_REAL = (Part.REAL_PRODUCT, Part.REAL_GATHERED, Part.REAL_OUTPUT)


def _scaled(share: float, real: float) -> Rates:
    return {part: (real if part in _REAL else share) * rate for part, rate in _PORTABLE.items()}


_RATES: Mapping[InstructionSet, Rates] = {
    InstructionSet.GENERIC: {**_DEFINITIONS, **_PORTABLE, Part.DEFINED: 7.5, Part.REAL_DEFINED: 6.0},
    InstructionSet.ARMV7E_M: {
        **_DEFINITIONS,
        Part.PRODUCT: 0.866,
        Part.LONE_PRODUCT: 1.23,
        Part.GATHERED: 6.67,
        Part.RUN: 77.4,
        Part.BLOCK: 72.0,
        Part.OUTPUT: 20.8,
        Part.TAP: 12.2,
        Part.EDGE: 12.2,
        Part.STRIP: 27.8,
        Part.LINE: 5.77,
        Part.GROUP: 996.0,
        Part.SUM: 98.2,
        Part.CALL: 200.0,
        Part.DEFINED: 7.5,
        Part.REAL_DEFINED: 6.0,
    },
    InstructionSet.ARMV8_1_M: {
        **_DEFINITIONS,
        Part.PRODUCT: 0.0745,
        Part.LONE_PRODUCT: 0.165,
        Part.GATHERED: 2.46,
        Part.RUN: 121.0,
        Part.BLOCK: 16.2,
        Part.OUTPUT: 14.7,
        Part.TAP: 8.97,
        Part.EDGE: 8.97,
        Part.STRIP: 10.7,
        Part.LINE: 2.37,
        Part.GROUP: 1920.0,
        Part.SUM: 93.9,
        Part.REAL_PRODUCT: 0.954,
        Part.REAL_GATHERED: 23.3,
        Part.REAL_OUTPUT: 32.6,
        Part.CALL: 200.0,
        Part.DEFINED: 6.4,
        Part.REAL_DEFINED: 4.4,
    },
    InstructionSet.X86_64: {
        **_DEFINITIONS,
        Part.PRODUCT: 0.0298,
        Part.LONE_PRODUCT: 0.0738,
        Part.GATHERED: 0.249,
        Part.RUN: 8.55,
        Part.BLOCK: 70.3,
        Part.TAP: 0.191,
        Part.EDGE: 0.861,
        Part.GROUP: 148.0,
        Part.SUM: 4.25,
        Part.REAL_PRODUCT: 0.0502,
        Part.REAL_OUTPUT: 3.55,
        Part.REAL_SUM: 0.901,
        Part.CALL: 500.0,
        Part.DEFINED: 0.6,
        Part.REAL_DEFINED: 1.7,
    },
    InstructionSet.AARCH64: {
        **_DEFINITIONS,
        **_scaled(0.08, 0.37),
        Part.DEFINED: 1.9,
        Part.REAL_DEFINED: 3.6,
    },
    InstructionSet.RV64GCV: {
        **_DEFINITIONS,
        **_scaled(0.12, 0.39),
        Part.DEFINED: 7.0,
        Part.REAL_DEFINED: 4.5,
    },
}
"""A unit that is missing takes too little to be seen, or has no form there."""


def cycles(work: Work, isa: InstructionSet) -> float:
    """The cycles of so much work."""
    rates = _RATES[isa]
    return sum(count * rates.get(part, 0.0) for part, count in work.items())
