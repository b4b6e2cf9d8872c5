"""The checker of the stacks of cores. It takes no number from their planner: each is compared with the
description of its core, with the other stacks, and with the bytes that models may take.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from target_arch.diagnostics import Diagnostic
from target_arch.soc.model import Instance, SoC
from target_arch.soc.stacks import CoreStack
from target_arch.stages.errors import CheckError


def check_stacks(soc: SoC, stacks: tuple[CoreStack, ...], left: SoC) -> None:
    """Raises CheckError with every fault of the stacks of a described chip; `left` is the chip with the
    memory that models may take, from the start of each on.

    A core without a stack or with two, the stack of something that is no core, one that is too small or in
    another memory than described, outside it, over another one or over bytes of models.
    """
    faults = [*_owners(soc, stacks), *_places(soc, stacks, left), *_overlaps(stacks)]
    if faults:
        raise CheckError(tuple(faults))


def _owners(soc: SoC, stacks: tuple[CoreStack, ...]) -> Iterator[Diagnostic]:
    counts = Counter(stack.instance for stack in stacks)
    cores = {instance.name for instance in soc.instances if instance.arch.cores is not None}
    for name in sorted(cores | counts.keys()):
        if name not in cores:
            yield _fault(name, "wrong-stack", "it is no core, and has a stack")
        elif counts[name] != 1:
            yield _fault(name, "wrong-stack", f"it has {counts[name]} stacks")


def _places(soc: SoC, stacks: tuple[CoreStack, ...], left: SoC) -> Iterator[Diagnostic]:
    cores = {
        each.name: (each, each.arch.cores.stack) for each in soc.instances if each.arch.cores is not None
    }
    sizes = {memory.name: memory.size for memory in soc.memories}
    for stack in stacks:
        if stack.instance not in cores:
            continue
        core, described = cores[stack.instance]
        if stack.bytes < described:
            said = f"its stack has {stack.bytes:,} B, described are {described:,} B"
            yield _fault(stack.instance, "wrong-stack", said)
        if stack.memory not in sizes or not _described(soc, core, stack.memory):
            said = f"its stack is in `{stack.memory}`, where its description does not have it"
            yield _fault(stack.instance, "wrong-stack", said)
        elif stack.offset + stack.bytes > sizes[stack.memory]:
            yield _fault(stack.instance, "out-of-bounds", f"its stack ends outside `{stack.memory}`")
        elif stack.offset < left.memory(stack.memory).size:
            said = f"its stack begins at {stack.offset:,} of `{stack.memory}`, within the bytes of models"
            yield _fault(stack.instance, "overlap", said)


def _described(soc: SoC, core: Instance, memory: str) -> bool:
    """Whether a core has its stack in that memory: the one named, or its own replica of it."""
    held = soc.memory(memory)
    return soc.sees(core, memory) and core.arch.stack_memory in (held.name, held.replica_of)


def _overlaps(stacks: tuple[CoreStack, ...]) -> Iterator[Diagnostic]:
    for one, other in combinations(stacks, 2):
        apart = one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
        if one.memory == other.memory and not apart:
            yield _fault(other.instance, "overlap", f"its stack overlaps that of `{one.instance}`")


def _fault(core: str, rule: str, message: str) -> Diagnostic:
    return Diagnostic(rule=rule, place=f"core {core}", message=message)
