"""The port `qemu_mps2`: Arm's MPS2 and MPS3 boards with one Cortex-M, as QEMU emulates them.

Sources: Arm application notes AN385, AN386, AN500 and AN547, and QEMU 7.2 (`hw/arm/mps2.c`, `mps2-tz.c`).
"""

from target_arch.backend.port import ADDRESS, FILE, MACHINE, AddressRange, BareMetal, Machine, PortKind
from target_arch.ports.sources import sources

_KIB, _MIB = 2**10, 2**20
_SHIFT = 8
"""Each instruction takes 2^8 ns of the emulated machine, several ticks of its timer: so ticks count
instructions."""


def _mps2(name: str, cpu: str, flags: tuple[str, ...], psram: int) -> Machine:
    regions = (
        AddressRange(start=0x0000_0000, end=0x0000_0000 + 4 * _MIB),
        AddressRange(start=0x2000_0000, end=0x2000_0000 + 4 * _MIB),
        AddressRange(start=psram, end=psram + 16 * _MIB),
    )
    every = (f"-mcpu={cpu}", "-mthumb", *flags)
    return Machine(name=name, cpu=cpu, flags=every, counter_hz=25_000_000, regions=regions)


_MPS3 = Machine(
    name="mps3-an547",
    cpu="cortex-m55",
    flags=("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"),
    counter_hz=32_000_000,
    regions=(
        AddressRange(start=0x0000_0000, end=0x0000_0000 + 512 * _KIB),
        AddressRange(start=0x0100_0000, end=0x0100_0000 + 2 * _MIB),
        AddressRange(start=0x2000_0000, end=0x2000_0000 + 512 * _KIB),
        AddressRange(start=0x2100_0000, end=0x2100_0000 + 4 * _MIB),
        AddressRange(start=0x2800_0000, end=0x2800_0000 + 8 * _MIB, writable=False),
    ),
)

BARE_METAL = BareMetal(
    machines=(
        _mps2("mps2-an385", "cortex-m3", ("-mfloat-abi=soft",), 0x2100_0000),
        _mps2("mps2-an386", "cortex-m4", ("-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"), 0x2100_0000),
        _mps2("mps2-an500", "cortex-m7", ("-mfpu=fpv5-d16", "-mfloat-abi=hard"), 0x6000_0000),
        _MPS3,
    ),
    compiler="arm-none-eabi-gcc",
    archiver="arm-none-eabi-ar",
    emulator=(
        "qemu-system-arm", "-machine", MACHINE, "-icount", f"shift={_SHIFT}", "-display", "none",
        "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native",
        "-kernel",
    ),
    load_file=("-device", f"loader,file={FILE},addr={ADDRESS},force-raw=on"),
    shift=_SHIFT,
    packages={
        "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
        "qemu-system-arm": "qemu-system-arm",
    },
)  # fmt: skip

port = PortKind(
    name="qemu_mps2",
    description="Arm MPS2 and MPS3 boards with a Cortex-M, emulated by QEMU",
    files=sources("ports/qemu_mps2"),
    system=BARE_METAL,
    prefix="ta_mps2",
    header="ports/qemu_mps2/qemu_mps2.h",
)
