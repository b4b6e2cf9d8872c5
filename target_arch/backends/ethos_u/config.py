"""The configuration that Vela is given: speeds and sizes of the memories of the SoC file, and the arena.

Vela knows two ports: port 0 with the memory of the arena, port 1 with that of the constants. Format: the file
`vela.ini` that comes with Vela, and `OPTIONS.md` in its documentation.
"""

from attrs import frozen

from target_arch.backend.contract import Backend
from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint
from target_arch.soc.model import Instance, Memory, SoC

SYSTEM, MODE = "soc", "plan"
"""The names of the one system configuration and the one memory mode."""

ACCELERATORS = tuple(
    f"ethos-{unit}-{macs}"
    for unit, all_macs in (("u55", (32, 64, 128, 256)), ("u65", (256, 512)))
    for macs in all_macs
)
DEFAULT_CLOCK = 500e6
"""Hertz, where the description gives no clock."""
_PORT_BYTES = {"u55": 8, "u65": 16}
"""Bytes per cycle of a port."""


@frozen(kw_only=True)
class EthosU:
    """An instance as Vela sees it. `constants` is the arena's own memory where one memory holds all. `burst`
    is the bytes of the arena's memory that one access fetches, however few of them are wanted.
    """

    accelerator: str
    clock: float
    arena: Memory
    constants: Memory
    burst: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates of 8 bits per cycle."""
        return int(self.accelerator.rsplit("-", 1)[1])

    @property
    def port_bytes(self) -> int:
        """Bytes per cycle of a port."""
        return _PORT_BYTES[self.accelerator.split("-")[1]]

    def bandwidth(self, memory: Memory) -> float:
        """Bytes per second that the unit reads from a memory, limited by its port."""
        most = self.clock * self.port_bytes
        given = [
            each
            for each in (memory.read_bandwidth, memory.write_bandwidth if memory.writable else None)
            if each
        ]
        return min(most, *given)


def unit_of(soc: SoC, instance: Instance, backend: Backend) -> EthosU:
    """The unit of an instance. DiagnosticError for an option with an unknown name as its value."""
    accelerator = str(backend.option(instance, "accelerator"))
    if accelerator not in ACCELERATORS:
        raise _wrong(instance, "accelerator", accelerator, ACCELERATORS, "there are")
    arena = soc.memory(instance.memory[0])
    seen = [memory.name for memory in soc.memories if soc.sees(instance, memory.name)]
    other = next((name for name in seen if name not in instance.memory), arena.name)
    constants = str(backend.option(instance, "constants")) or other
    if constants not in seen:
        raise _wrong(instance, "constants", constants, tuple(seen), "it sees")
    return EthosU(
        accelerator=accelerator,
        clock=instance.arch.clock or DEFAULT_CLOCK,
        arena=arena,
        constants=soc.memory(constants),
        burst=int(backend.option(instance, "burst")),
    )


def config_text(unit: EthosU, arena_bytes: int) -> str:
    """The configuration file for an arena of so many bytes. Same unit, same text."""
    shared = unit.constants.name == unit.arena.name
    other = "OffChipFlash" if not unit.constants.writable else "Dram"
    lines = [f"[System_Config.{SYSTEM}]", f"core_clock={unit.clock!r}", "axi0_port=Sram"]
    if not shared:
        lines.append(f"axi1_port={other}")
    lines += _memory(unit, unit.arena, "Sram", burst=unit.burst, queue=8)
    if not shared:
        lines += _memory(unit, unit.constants, other, burst=128, queue=2)
    lines += [f"[Memory_Mode.{MODE}]", f"const_mem_area={'Axi0' if shared else 'Axi1'}"]
    lines += ["arena_mem_area=Axi0", "cache_mem_area=Axi0", f"arena_cache_size={arena_bytes}", ""]
    return "\n".join(lines)


def _memory(unit: EthosU, memory: Memory, area: str, *, burst: int, queue: int) -> list[str]:
    """Speed and latency of a memory, in cycles of the unit. Queues, and bursts of constants, are those of
    Arm's examples.
    """
    latency = round((memory.latency or 0.0) * unit.clock)
    scale = unit.bandwidth(memory) / (unit.clock * unit.port_bytes)
    return [
        f"{area}_clock_scale={scale:.6g}",
        f"{area}_burst_length={burst}",
        f"{area}_read_latency={latency}",
        f"{area}_write_latency={latency if memory.writable else 0}",
        f"{area}_max_reads={queue}",
        f"{area}_max_writes={queue if memory.writable else 0}",
    ]


def _wrong(instance: Instance, option: str, value: str, known: tuple[str, ...], lead: str) -> DiagnosticError:
    return DiagnosticError(
        [
            Diagnostic(
                rule="bad-option",
                place=f"target_arch {instance.arch.name}",
                message=f"option `{option}` is `{value}`, which the backend `ethos_u` does not know",
                hint=name_hint(value, known, lead),
            )
        ]
    )
