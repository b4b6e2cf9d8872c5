"""The cores that firmware is made for: how LLVM, the linker and the emulator call them.

Sources: LLVM's target documentation; QEMU 7.2, linux-user; the ELF supplements for `e_machine`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen

from target_arch.soc.words import InstructionSet


@frozen(kw_only=True)
class Core:
    """A kind of core with an instruction set that is not the host's.

    `name` is that of its backend. `machine` is the `e_machine` of its ELF files; `features` are LLVM's,
    `flags` the compiler's, for the same instructions; `vectors` are further features of LLVM, by the `isa` of
    a target_arch whose core has them; `rom` is where its boot ROM is under emulation, which
    no memory of a SoC may cover. Where `counts`, the emulator counts instructions, and the firmware says how
    many each call took.
    """

    name: str
    machine: int
    triple: str
    cpu: str
    features: tuple[str, ...]
    flags: tuple[str, ...]
    emulator: str
    rom: int = 0x1000_0000
    counts: bool = False
    vectors: Mapping[InstructionSet, tuple[str, ...]] = field(factory=dict)


_ALL = (
    Core(
        name="hexagon",
        machine=164,
        triple="hexagon-unknown-linux-musl",
        cpu="hexagonv67",
        features=(),
        flags=("-mcpu=hexagonv67", "-G0"),
        emulator="qemu-hexagon",
        counts=True,
        vectors={InstructionSet.HVXV67: ("+hvxv67", "+hvx-length128b")},
    ),
    Core(
        name="riscv64",
        machine=243,
        triple="riscv64-unknown-linux-gnu",
        cpu="generic-rv64",
        features=("+m", "+a", "+c"),
        flags=("-march=rv64imac", "-mabi=lp64", "-mcmodel=medany"),
        emulator="qemu-riscv64",
    ),
    Core(
        name="aarch64",
        machine=183,
        triple="aarch64-unknown-linux-gnu",
        cpu="cortex-a53",
        features=(),
        flags=("-mcpu=cortex-a53",),
        emulator="qemu-aarch64",
    ),
)

CORES: Mapping[str, Core] = MappingProxyType({core.name: core for core in _ALL})
"""Every core by the name of its backend."""
