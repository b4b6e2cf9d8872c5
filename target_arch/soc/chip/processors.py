"""Processors: cycles of each class of instructions, and of a mix of them.

The numbers are in `processors.toml`, each with its source, or marked as assumed. They hold where operands are
at hand: caches that miss and wait states of flash are in a chip's factor (`chip.Chip.slowdown`).
"""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path

from attrs import frozen

from target_arch.soc.words import InstructionSet

_FILE = Path(__file__).with_name("processors.toml")


class InstructionClass(StrEnum):
    """A class of instructions that cost the same."""

    ALU = "alu"
    MULTIPLY = "multiply"
    LOAD = "load"
    STORE = "store"
    BRANCH = "branch"
    DIVIDE = "divide"
    VECTOR = "vector"
    VECTOR_LOAD = "vector_load"
    VECTOR_STORE = "vector_store"


InstructionMix = Mapping[InstructionClass, float]
"""The share of each class, or a count."""


@frozen(kw_only=True)
class Processor:
    """A processor: instructions that it issues at once, bits of its bus to memory, and the cycles of an
    instruction of each class. `assumed` are numbers without a source, with what is assumed.
    """

    name: str
    description: str
    issue: int
    bus_bits: int
    source: str
    cycles: Mapping[InstructionClass, float]
    assumed: tuple[str, ...]

    def total(self, counts: InstructionMix) -> float:
        """Cycles of so many instructions; of a class that it does not have they are those of ALU."""
        alu = self.cycles[InstructionClass.ALU]
        return sum(count * self.cycles.get(kind, alu) for kind, count in counts.items())

    def per_instruction(self, isa: InstructionSet) -> float:
        """Cycles of an instruction of the kernels for an instruction set, on average."""
        mix = MIXES.get(isa, MIXES[InstructionSet.GENERIC])
        return self.total(mix) / sum(mix.values())


@cache
def processors() -> Mapping[str, Processor]:
    """All processors by name."""
    tables = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {name: _processor(name, tables[name]) for name in sorted(tables)}


def _processor(name: str, table: Mapping[str, object]) -> Processor:
    cycles, assumed = table["cycles"], table["assumed"]
    assert isinstance(cycles, dict)
    assert isinstance(assumed, list)
    return Processor(
        name=name,
        description=str(table["description"]),
        issue=int(str(table["issue"])),
        bus_bits=int(str(table["bus_bits"])),
        source=str(table["source"]),
        cycles={InstructionClass(kind): float(count) for kind, count in cycles.items()},
        assumed=tuple(assumed),
    )


def _mix(**shares: float) -> InstructionMix:
    return {InstructionClass(kind): share for kind, share in shares.items()}


def _mixes() -> Mapping[InstructionSet, InstructionMix]:
    defined = _mix(alu=0.41, multiply=0.148, load=0.293, store=0.001, branch=0.148)
    pairs = _mix(alu=0.333, multiply=0.25, load=0.302, store=0.063, branch=0.052)
    vectors = _mix(
        alu=0.243,
        multiply=0.021,
        load=0.17,
        store=0.09,
        branch=0.096,
        vector=0.225,
        vector_load=0.144,
        vector_store=0.011,
    )
    own = {InstructionSet.GENERIC: defined, InstructionSet.HVXV67: defined, InstructionSet.ARMV7E_M: pairs}
    return {isa: own.get(isa, vectors) for isa in InstructionSet}


MIXES = _mixes()
"""The classes of the instructions that kernels execute, on average over the four int8 models of MLPerf Tiny:
counted under QEMU for `armv7e-m` and `armv8.1-m` (`python -m benchmarks.machine_code --classes`); `generic`
of dense layers in C from their definitions. Those of other vectors are assumed to be as `armv8.1-m`'s.
"""
