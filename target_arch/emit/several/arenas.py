"""The arenas of a bundle of several models: one table for all, in which each model finds its own."""

from collections.abc import Sequence

from attrs import evolve

from target_arch.emit.model.arenas import Arena, Arenas, Place, arenas
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.steps import abi_guard, arena_table
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment, identifier
from target_arch.plan.model_pools import ModelPools
from target_arch.soc.rounding import round_up


def table(members: Sequence[EmitInputs], pools: ModelPools) -> tuple[Arena, ...]:
    """The arenas of the bundle in the order of their numbers, by pool: one where models lie over each other,
    else one for each model.
    """
    found: dict[tuple[str, int], Arena] = {}
    for number, member in enumerate(members):
        for arena in arenas(member).all:
            pool = pools.pool(arena.name)
            if pool.overlaid:
                found.setdefault((arena.name, 0), evolve(arena, bytes=pool.bytes, alignment=pool.alignment))
                continue
            size = pool.peaks[number]
            found[arena.name, number] = evolve(
                arena,
                name=f"{arena.name} of {member.model.name}",
                bytes=size if arena.constant else round_up(size, pool.alignment),
                alignment=pool.alignment,
                symbol=_key(member, arena),
            )
    return tuple(found[key] for key in sorted(found))


def own(member: EmitInputs, every: Sequence[Arena], pools: ModelPools) -> Arenas:
    """The whole table, and where in it the buffers of one model lie."""
    numbers = {arena.symbol or arena.name: number for number, arena in enumerate(every)}
    places: dict[str, Place] = {}
    for arena in arenas(member).all:
        number = numbers[arena.name if pools.pool(arena.name).overlaid else _key(member, arena)]
        places |= {buffer.name: Place(arena=number, offset=offset) for offset, buffer in arena.buffers}
    return Arenas(all=tuple(every), places=places)


def constants(member: EmitInputs, pools: ModelPools) -> Arenas:
    """The constants of one model, aligned as those of all."""
    found = arenas(member)
    aligned = (
        evolve(arena, alignment=pools.pool(arena.name).alignment, symbol=_key(member, arena))
        for arena in found.all
        if arena.constant
    )
    return Arenas(all=tuple(aligned), places=found.places)


def arenas_source(whole: EmitInputs, placed: Arenas) -> str:
    """`src/<bundle>_arenas.c`: the bytes and the table."""
    out = Emitter()
    out.line(f"/* The arenas of `{comment(whole.model.name)}`, all models'. */")
    out.line(f"#include <{whole.soc.name}_soc.h>")
    out.line()
    out.line(f'#include "{whole.stem}_internal.h"')
    out.line()
    abi_guard(out, whole)
    arena_table(out, whole, placed, f"const ta_arena {whole.stem}_arenas")
    return out.text()


def _key(member: EmitInputs, arena: Arena) -> str:
    return f"{identifier(member.model.name)}_{identifier(arena.name)}"
