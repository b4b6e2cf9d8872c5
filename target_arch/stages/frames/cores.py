"""Equal cores: instances that execute the same functions over the same bytes in the same time."""

from collections.abc import Iterator, Mapping, Sequence

from target_arch.plan.kernels import Access, Operand
from target_arch.plan.steps import Dispatch, Load, StepOrder
from target_arch.soc.model import Instance, SoC, TargetArch
from target_arch.soc.words import LINKED, OperandRule

Pool = tuple[str, ...]
"""The names of equal cores; that which computes a run is the first one."""


def core_pools(soc: SoC) -> tuple[Pool, ...]:
    """The pools of a chip: the host's, then those of clusters."""
    alike = [each.name for each in soc.instances if _serves_for_host(soc, each.arch)]
    found = [(soc.host.name, *alike)]
    for arch in soc.archs:
        own = [each for each in soc.instances if each.arch is arch]
        shares = len({each.memory for each in own}) == 1 and not arch.buffers
        if arch.cores is not None and shares and not _serves_for_host(soc, arch):
            found.append(tuple(each.name for each in own))
    return tuple(pool for pool in found if len(pool) > 1)


def spare_cores(soc: SoC) -> Iterator[str]:
    """The cores that have no work of their own where frames take turns on all of a pool."""
    for pool in core_pools(soc):
        yield from pool[1:]


def rotating(soc: SoC, run: StepOrder, most: int) -> Iterator[Pool]:
    """The pools on which frames of a run may take turns, of at most so many cores: all were started, the
    first one alone computes the run, and the others reach its operands.
    """
    loaded = {step.instance for step in run.at_init if isinstance(step, Load)}
    calls = [step for step in run.steps if isinstance(step, Dispatch)]
    memories = {buffer.name: buffer.memory for buffer in run.buffers}
    used = {call.instance for call in calls}
    for pool in core_pools(soc):
        spare = [name for name in pool[1:] if name in loaded - used]
        own = [call for call in calls if call.instance == pool[0]]
        able = [name for name in spare if _reaches(soc, soc.instance(name), own, memories)]
        cores = (pool[0], *able[: most - 1])
        if own and len(cores) > 1:
            yield cores


def _serves_for_host(soc: SoC, arch: TargetArch) -> bool:
    """Whether instances are cores that execute functions of the host's program as the host does."""
    host = soc.host
    alike = (arch.backend, arch.isa, arch.clock) == (host.backend, host.isa, host.clock)
    linked = arch.cores is not None and arch.load.process == LINKED
    return alike and arch.options == host.options and linked


def _reaches(soc: SoC, core: Instance, calls: Sequence[Dispatch], memories: Mapping[str, str]) -> bool:
    """Whether a core can take all operands of calls where they are."""
    return all(
        _takes(soc, core, operand, memories[operand.of]) for call in calls for operand in call.operands
    )


def _takes(soc: SoC, core: Instance, operand: Operand, memory: str) -> bool:
    if core.arch.operands is OperandRule.OUTPUTS and operand.access is Access.READ:
        return soc.sees(core, memory)
    return memory in core.memory
