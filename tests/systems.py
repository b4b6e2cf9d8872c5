"""The shipped ports and load processes, for tests that need one without a table of plug-ins."""

from target_arch.backend.port import BareMetal
from target_arch.ports import cuda, host, load_processes, null, qemu_mps2, qemu_sse200

HOST, NULL, CUDA, QEMU_MPS2 = host.port, null.port, cuda.port, qemu_mps2.port
assert isinstance(QEMU_MPS2.system, BareMetal)
BARE_METAL: BareMetal = QEMU_MPS2.system
COMPILER = BARE_METAL.compiler
EMULATOR = BARE_METAL.emulator[0]
MACHINES = {machine.name: machine for machine in BARE_METAL.machines}
(DUAL,) = qemu_sse200.BARE_METAL.machines
"""The board of two cores."""
PROCESSES = {
    each.name: each
    for each in (
        load_processes.linked,
        load_processes.firmware,
        load_processes.bitstream,
        load_processes.module,
        load_processes.command_stream,
    )
}
