"""The words of a SoC description with a fixed choice, as types whose text is the word in the file.

A field of the model takes the plain word too. A word that is none of the choice stays as it is: the rules
report it together with everything else that is wrong (`soc.rules.check`).
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar, cast

LINKED = "linked"
"""The load process of the host, and of a target_arch that names no other. Load processes are plug-ins."""


class DLDeviceType(StrEnum):
    """The device types of DLPack by their names in `dlpack.h`; `code` is the number there."""

    code: int

    CPU = "kDLCPU", 1
    CUDA = "kDLCUDA", 2
    CUDA_HOST = "kDLCUDAHost", 3
    OPENCL = "kDLOpenCL", 4
    VULKAN = "kDLVulkan", 7
    METAL = "kDLMetal", 8
    EXT_DEV = "kDLExtDev", 12
    HEXAGON = "kDLHexagon", 16

    def __new__(cls, text: str, code: int) -> "DLDeviceType":
        member = str.__new__(cls, text)
        member._value_, member.code = text, code
        return member


class OperandRule(StrEnum):
    """Which operands of a target_arch must be in one of its own memories."""

    IN_AND_OUT = "inputs and outputs"
    OUTPUTS = "outputs"


class CacheDuty(StrEnum):
    """The cache duty of the code that starts a copy by DMA: `cleans` the bytes of the source before,
    `invalidates` those of the destination after.
    """

    cleans: bool
    invalidates: bool

    NONE = "none", False, False
    CLEAN_SOURCE = "clean source", True, False
    INVALIDATE_DESTINATION = "invalidate destination", False, True
    CLEAN_AND_INVALIDATE = "clean and invalidate", True, True

    def __new__(cls, text: str, cleans: bool, invalidates: bool) -> "CacheDuty":
        member = str.__new__(cls, text)
        member._value_, member.cleans, member.invalidates = text, cleans, invalidates
        return member

    def at(self, *, source: bool, target: bool) -> "CacheDuty":
        """The part of the duty that is left where only these ends of a copy are cached."""
        return _BY_ENDS[self.cleans and source, self.invalidates and target]


class InstructionSet(StrEnum):
    """The instruction set that kernels in C are laid out for. C for one runs on every other."""

    GENERIC = "generic"
    X86_64 = "x86_64"
    ARMV7E_M = "armv7e-m"
    ARMV8_1_M = "armv8.1-m"
    AARCH64 = "aarch64"
    RV64GCV = "rv64gcv"
    HVXV67 = "hvxv67"

    @property
    def vector_bits(self) -> int:
        """The bits of a vector register that every processor with these instructions has; 0 without any."""
        return _VECTOR_BITS[self]


_VECTOR_BITS = {
    InstructionSet.GENERIC: 0,
    InstructionSet.X86_64: 128,
    InstructionSet.ARMV7E_M: 32,
    InstructionSet.ARMV8_1_M: 128,
    InstructionSet.AARCH64: 128,
    InstructionSet.RV64GCV: 128,
    InstructionSet.HVXV67: 1024,
}


def by_ends(duties: Iterable[CacheDuty]) -> Mapping[tuple[bool, bool], CacheDuty]:
    """The duties by (cleans, invalidates). ValueError where two are about the same ends: `CacheDuty.at` could
    not say which of them is left.
    """
    found: dict[tuple[bool, bool], CacheDuty] = {}
    for duty in duties:
        other = found.setdefault((duty.cleans, duty.invalidates), duty)
        if other is not duty:
            raise ValueError(f"cache duties `{other}` and `{duty}` are about the same ends")
    return found


_BY_ENDS = by_ends(CacheDuty)


def device_type(word: str) -> DLDeviceType:
    """Converter: the DLPack type of that name."""
    return member_or_text(DLDeviceType, word)


def operand_rule(word: str) -> OperandRule:
    """Converter: the operand rule of that text."""
    return member_or_text(OperandRule, word)


def instruction_set(word: str) -> InstructionSet:
    """Converter: the instruction set of that text."""
    return member_or_text(InstructionSet, word)


def cache_duty(word: str) -> CacheDuty:
    """Converter: the cache duty of that text."""
    return member_or_text(CacheDuty, word)


_W = TypeVar("_W", bound=StrEnum)


def member_or_text(kind: type[_W], word: str) -> _W:
    """The member of that text, or the text itself where there is none: for fields whose values come from
    outside and are checked together later.
    """
    if isinstance(word, kind):
        return word
    try:
        return kind(word)
    except ValueError:
        return cast(_W, word)
