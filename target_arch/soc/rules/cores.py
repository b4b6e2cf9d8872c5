"""Rules about cores: they are CPUs beside the host, and have their stacks in memories that hold them."""

from collections.abc import Iterator

from target_arch.soc.c_names import declared
from target_arch.soc.faults import Fault, Path
from target_arch.soc.model import SoC, TargetArch
from target_arch.soc.rules.memory import named
from target_arch.soc.stacks import core_stacks
from target_arch.soc.words import LINKED, DLDeviceType


def _beside_the_host(soc: SoC) -> Iterator[Fault]:
    for arch in soc.archs:
        if arch.cores is not None and arch.host:
            message = f"the host `{arch.name}` has `cores`, and is one itself"
            hint = "describe further cores as a target_arch of their own"
            yield Fault(rule="host-cores", path=_at(arch), message=message, hint=hint, at_key=True)


def _device(soc: SoC) -> Iterator[Fault]:
    for arch in soc.archs:
        if arch.cores is not None and not arch.host and arch.device.type != DLDeviceType.CPU:
            path: Path = ("target_arch", arch.name, "device", "type")
            message = f"`{arch.name}` has cores and is a `{arch.device.type}`"
            hint = f"cores are `{DLDeviceType.CPU}`"
            uses = (("target_arch", arch.name, "device"), _at(arch))
            yield Fault(rule="core-device", path=path, message=message, hint=hint, uses=uses)


def _stack_memory(soc: SoC) -> Iterator[Fault]:
    for arch in soc.archs:
        for memory in named(soc, arch.stack_memory):
            uses = (_at(arch), declared(memory), (*declared(memory), "observers"))
            message = f"the stacks of `{arch.name}` are in memory `{arch.stack_memory}`"
            if arch.name not in memory.observers and not arch.host and arch.stack_memory not in arch.memory:
                said = f"{message}, which it cannot see"
            elif not memory.writable:
                said = f"{message}, which is not writable"
            else:
                continue
            hint = "name another one as `stack_memory`"
            yield Fault(rule="stack-memory", path=_stack_path(arch), message=said, hint=hint, uses=uses)
            break


def _stack_size(soc: SoC) -> Iterator[Fault]:
    stacks = core_stacks(soc)
    for memory in soc.memories:
        there = [stack for stack in stacks if stack.memory == memory.name]
        needed = sum(stack.bytes for stack in there)
        if needed > memory.size:
            arch = soc.instance(there[0].instance).arch
            message = (
                f"stacks of cores take {needed:,} B of memory `{memory.name}`, which has {memory.size:,} B"
            )
            uses = (_stack_path(arch), (*declared(memory), "size"), _at(arch))
            path: Path = (*_at(arch), "stack")
            yield Fault(rule="stack-size", path=path, message=message, uses=uses)


def _addresses(soc: SoC) -> Iterator[Fault]:
    """A linked core executes the host's program: it gets the host's pointers."""
    for arch in soc.archs:
        if arch.cores is None or arch.load.process != LINKED:
            continue
        for memory in soc.memories:
            seen = memory.observers.get(arch.name)
            if memory.base is None or seen in (None, memory.base):
                continue
            path: Path = (*declared(memory), "observers", arch.name)
            message = f"the linked cores of `{arch.name}` see memory `{memory.name}` at {seen:#x}"
            message += f", the host at {memory.base:#x}"
            hint = "they execute the host's program, with its addresses"
            uses = (path, (*declared(memory), "base"), ("target_arch", arch.name, "load"), _at(arch))
            yield Fault(rule="core-address", path=path, message=message, hint=hint, uses=uses)


def _at(arch: TargetArch) -> Path:
    return ("target_arch", arch.name, "cores")


def _stack_path(arch: TargetArch) -> Path:
    if arch.cores is not None and arch.cores.stack_memory:
        return (*_at(arch), "stack_memory")
    return _at(arch)


CORES = (_beside_the_host, _device, _stack_memory, _stack_size, _addresses)
