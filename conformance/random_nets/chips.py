"""Random chips: the shipped ones with other memories, copy paths, caches and rules, where that is valid."""

from random import Random

from attrs import evolve

from target_arch.soc import check_soc, read_soc
from target_arch.soc.model import CopyPath, Memory, SoC, TargetArch
from target_arch.soc.words import OperandRule

_BASES = ("mcu_m7", "zynq_edge", "quad_conv", "vta_edge")
_TRIES = 40


def chip(seed: int) -> SoC:
    """The chip of that number."""
    draw = Random(seed)
    for _ in range(_TRIES):
        base = read_soc(draw.choice(_BASES))
        made = evolve(
            base,
            name=f"chip_{seed}",
            memories=tuple(_memory(draw, each) for each in base.memories),
            copies=tuple(_path(draw, each) for each in base.copies),
            dmas=tuple(evolve(dma, channels=draw.randint(1, 3)) for dma in base.dmas),
            archs=tuple(_arch(draw, each) for each in base.archs),
            lowering=draw.choice(("c-first", "program", "accelerators-first")),
        )
        if not check_soc(made):
            return made
    raise LookupError(f"no valid chip for seed {seed} in {_TRIES} tries")


def _memory(draw: Random, memory: Memory) -> Memory:
    """Sizes keep to what the addresses leave, and to whole lines."""
    size = max(memory.size >> draw.choice((0, 0, 0, 1, 2)), 256)
    cached = draw.random() < 0.5 if memory.base is not None and memory.writable else memory.cached
    return evolve(memory, size=size, cached=cached, cache_line=draw.choice((32, 64, 128)))


def _path(draw: Random, path: CopyPath) -> CopyPath:
    if not path.is_async:
        return path
    alignment = draw.choice((1, 4, 8, 16, 64))
    return evolve(
        path,
        alignment=alignment,
        max_bytes=draw.choice((None, 64 * draw.randint(1, 64))),
        dimensions=draw.choice((1, 2)),
        setup=path.setup * draw.choice((0.1, 1, 10)),
    )


def _arch(draw: Random, arch: TargetArch) -> TargetArch:
    if arch.host:
        return arch
    rule = draw.choice((arch.operands, arch.operands, OperandRule.IN_AND_OUT))
    return evolve(arch, operands=rule, clock=arch.clock * draw.choice((0.1, 1, 10)))
