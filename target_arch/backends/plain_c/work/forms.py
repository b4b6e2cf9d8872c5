"""The forms of the kernels that a target_arch runs, by its instruction set, and the units of work.

A form is the code that the preprocessor or the processor chooses from `runtime_c/kernels`; the numbers here
are those of the headers.
"""

from collections.abc import Mapping
from enum import StrEnum
from math import ceil

from attrs import frozen

from target_arch.plan.operators.facts import Arithmetic
from target_arch.soc.words import InstructionSet


class WorkUnit(StrEnum):
    """A unit of work, of kernels and of definitions in TE."""

    PRODUCT = "product in a tile"
    LONE_PRODUCT = "product in a row that fills no tile"
    MATRIX_PRODUCT = "product of two activations"
    GATHERED = "gathered value of a window"
    RUN = "run of values in a window"
    BLOCK = "block of weights at a tile"
    OUTPUT = "output"
    TAP = "product, depthwise"
    EDGE = "product at the border, depthwise"
    STRIP = "output, depthwise 3x3 in strips"
    LINE = "value of the image, depthwise 3x3 in strips"
    GROUP = "group of channels, depthwise"
    ROUNDED = "rounding of an output, once"
    SUM = "output of a sum after"
    ROUNDED_SUM = "rounding of a sum after, once"
    REAL_PRODUCT = "product, float32"
    REAL_GATHERED = "gathered value of a window, float32"
    REAL_OUTPUT = "output, float32"
    REAL_TAP = "product, depthwise in float32"
    REAL_FUNCTION = "output of a function, float32"
    REAL_SUM = "output of a sum after, float32"
    WIDENED = "weight of 4 bits that becomes a byte"
    CALL = "call"
    DEFINED = "product of a definition"
    REAL_DEFINED = "product of a definition, float32"
    ELEMENT = "other work of a definition"
    REAL_ELEMENT = "other work of a definition, float32"
    REAL_MOVED = "moved value, float32"


Work = Mapping[WorkUnit, float]
"""How often each unit is done."""


_ONCE = {WorkUnit.OUTPUT: WorkUnit.ROUNDED, WorkUnit.SUM: WorkUnit.ROUNDED_SUM}


def rounded(work: Work, arithmetic: Arithmetic) -> Work:
    """The work, and what rounding takes more with ONNX, which rounds a product once. TFLite's rounds it to 32
    bits first, which some processors have an instruction for; an output and a sum after are counted with it.
    """
    if arithmetic is not Arithmetic.ONNX:
        return work
    return {**work, **{once: work[unit] for unit, once in _ONCE.items() if unit in work}}


@frozen(kw_only=True)
class KernelTile:
    """`rows` windows are multiplied at once, gathered into a panel of so many values each; as many weights as
    are `resident` are used for all windows before the next ones. A panel serves `outputs` outputs. With
    `in_place`, windows that are pixels of the image, one after the other, are read there.
    """

    rows: int
    panel: int
    resident: int
    outputs: int = 16
    in_place: bool = False

    def turns(self, outputs: int, depth: int) -> int:
        """How often each window is gathered for that many outputs of `depth` products."""
        if depth > self.panel:
            return ceil(outputs / self.outputs)
        step = max(self.resident // depth // self.outputs, 1) * self.outputs
        return ceil(outputs / step)


@frozen(kw_only=True)
class Strips:
    """A depthwise kernel of 3x3 in strips: `lanes` channels at once, with strides of `stride` and shifts of
    `shift` to the right at most; rounding `tflite_single` has shifts from `single` on, and as many of them.
    With `narrow` two products are added in 16 bits.
    """

    lanes: int
    stride: int
    shift: int
    single: int
    narrow: bool


@frozen(kw_only=True)
class KernelForm:
    """The tiles for 8-bit values and for float32, and the strips where there are any."""

    name: str
    tile: KernelTile
    real: KernelTile
    strips: Strips | None = None


_REAL = KernelTile(rows=2, panel=48, resident=4096)
PORTABLE = KernelForm(name="portable", tile=KernelTile(rows=2, panel=128, resident=16384), real=_REAL)
AVX2 = KernelForm(
    name="AVX2",
    tile=KernelTile(rows=4, panel=2048, resident=131072),
    real=KernelTile(rows=6, panel=1024, resident=65536),
)
NEON = KernelForm(
    name="NEON", tile=KernelTile(rows=2, panel=2048, resident=131072, in_place=True), real=_REAL
)
RVV = KernelForm(name="RISC-V V", tile=KernelTile(rows=4, panel=2048, resident=131072), real=_REAL)
DSP = KernelForm(
    name="DSP",
    tile=KernelTile(rows=3, panel=72, resident=16384),
    real=_REAL,
    strips=Strips(lanes=4, stride=2, shift=22, single=32, narrow=False),
)
MVE = KernelForm(
    name="MVE",
    tile=KernelTile(rows=3, panel=144, resident=16384, in_place=True),
    real=_REAL,
    strips=Strips(lanes=8, stride=3, shift=31, single=33, narrow=True),
)

_FORMS: Mapping[InstructionSet, KernelForm] = {
    InstructionSet.X86_64: AVX2,
    InstructionSet.AARCH64: NEON,
    InstructionSet.RV64GCV: RVV,
    InstructionSet.ARMV7E_M: DSP,
    InstructionSet.ARMV8_1_M: MVE,
}


def form_of(isa: InstructionSet) -> KernelForm:
    """The form of the kernels on an instruction set."""
    return _FORMS.get(isa, PORTABLE)
