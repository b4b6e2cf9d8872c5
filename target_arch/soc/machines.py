"""The machines that ports of the C runtime run on: their processor and where they have memory.

Sources: Arm application notes AN385, AN386, AN500 and AN547, and QEMU 7.2 (`hw/arm/mps2.c`, `mps2-tz.c`),
which emulates the boards.
"""

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

KIB, MIB = 2**10, 2**20


@frozen(kw_only=True)
class Region:
    """Bytes of a machine from `start` up to, not including, `end`."""

    start: int
    end: int
    writable: bool = True


@frozen(kw_only=True)
class Machine:
    """A board with one Cortex-M. `name` is what the emulator calls it, `port` the port of the runtime that
    knows it.

    `flags` make a compiler produce code for it; `counter_hz` is the frequency of the timer that the port
    reads.
    """

    name: str
    port: str
    cpu: str
    flags: tuple[str, ...]
    counter_hz: int
    regions: tuple[Region, ...]


def _mps2(name: str, cpu: str, flags: tuple[str, ...], psram: int) -> Machine:
    regions = (
        Region(start=0x0000_0000, end=0x0000_0000 + 4 * MIB),
        Region(start=0x2000_0000, end=0x2000_0000 + 4 * MIB),
        Region(start=psram, end=psram + 16 * MIB),
    )
    return Machine(
        name=name,
        port="qemu_mps2",
        cpu=cpu,
        flags=(f"-mcpu={cpu}", "-mthumb", *flags),
        counter_hz=25_000_000,
        regions=regions,
    )


_ALL = (
    _mps2("mps2-an385", "cortex-m3", ("-mfloat-abi=soft",), 0x2100_0000),
    _mps2("mps2-an386", "cortex-m4", ("-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"), 0x2100_0000),
    _mps2("mps2-an500", "cortex-m7", ("-mfpu=fpv5-d16", "-mfloat-abi=hard"), 0x6000_0000),
    Machine(
        name="mps3-an547",
        port="qemu_mps2",
        cpu="cortex-m55",
        flags=("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"),
        counter_hz=32_000_000,
        regions=(
            Region(start=0x0000_0000, end=0x0000_0000 + 512 * KIB),
            Region(start=0x0100_0000, end=0x0100_0000 + 2 * MIB),
            Region(start=0x2000_0000, end=0x2000_0000 + 512 * KIB),
            Region(start=0x2100_0000, end=0x2100_0000 + 4 * MIB),
            Region(start=0x2800_0000, end=0x2800_0000 + 8 * MIB, writable=False),
        ),
    ),
)

MACHINES: Mapping[str, Machine] = MappingProxyType({machine.name: machine for machine in _ALL})
"""Every machine by its name."""

MACHINE_PORTS = tuple(sorted({machine.port for machine in _ALL}))
"""The ports that run on one of them."""
