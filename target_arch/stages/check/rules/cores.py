"""Cores on which frames take turns: whatever one of them executes, each other one has to execute alike."""

from collections.abc import Iterator, Sequence

from target_arch.soc.model import Instance, SoC
from target_arch.soc.words import LINKED
from target_arch.stages.check.rules.faults import Fault


def unequal(soc: SoC, cores: Sequence[str]) -> Iterator[Fault]:
    """Faults of cores that do not exist, are one and the same, or are not like the first one, which computes
    runs.
    """
    known = {instance.name: instance for instance in soc.instances}
    for core in cores:
        if core not in known:
            yield "unknown-instance", f"`{core}` is no instance of this chip"
        elif not _alike(known[core], known.get(cores[0], known[core])):
            yield "wrong-core", f"`{core}` is no core that computes what `{cores[0]}` does"
    if len(set(cores)) < len(cores):
        yield "wrong-core", "frames take turns on a core that is the same one"


def _alike(core: Instance, first: Instance) -> bool:
    """Whether both are the same, pieces of one target_arch, or execute functions of one program laid out for
    one instruction set.
    """
    one, other = core.arch, first.arch
    if core is first:
        return one.host or one.cores is not None
    if one is other:
        return one.cores is not None
    linked = one.cores is not None and one.load.process == other.load.process == LINKED
    return linked and other.host and (one.backend, one.isa) == (other.backend, other.isa)
