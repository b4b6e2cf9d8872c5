"""The port `qemu_sse200`: Arm's MPS2 board with two Cortex-M33 (SSE-200), as QEMU emulates it.

The program is the secure one: addresses are the secure aliases. The first core has no floating-point unit and
no DSP instructions, and code for it runs on both. Sources: Arm application note AN521, and QEMU 7.2
(`hw/arm/mps2-tz.c`, `armsse.c`, `iotkit-sysctl.c`).
"""

from attrs import evolve

from target_arch.backend.port import AddressRange, Machine, PortKind
from target_arch.ports import qemu_mps2
from target_arch.ports.sources import sources

_KIB, _MIB = 2**10, 2**20

_AN521 = Machine(
    name="mps2-an521",
    cpu="cortex-m33",
    flags=("-mcpu=cortex-m33+nodsp+nofp", "-mthumb", "-mfloat-abi=soft"),
    counter_hz=25_000_000,
    regions=(
        AddressRange(start=0x1000_0000, end=0x1000_0000 + 4 * _MIB),
        AddressRange(start=0x3000_0000, end=0x3000_0000 + 128 * _KIB),
        AddressRange(start=0x3800_0000, end=0x3800_0000 + 4 * _MIB),
    ),
    cores=2,
)

BARE_METAL = evolve(qemu_mps2.BARE_METAL, machines=(_AN521,))

port = PortKind(
    name="qemu_sse200",
    description="an Arm MPS2 board with two Cortex-M33, emulated by QEMU",
    files=sources("ports/qemu_sse200", "ports/qemu_mps2", "workers"),
    system=BARE_METAL,
    prefix=qemu_mps2.port.prefix,
    header="ports/qemu_sse200/qemu_sse200.h",
)
