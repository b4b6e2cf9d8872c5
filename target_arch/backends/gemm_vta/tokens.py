"""Dependency tokens, by which the load, compute and store modules wait for each other, and for nothing else.

The modules run their instructions in order, each on its own. Where an instruction touches an entry after one
of a neighbouring module did, and one of the two writes, the earlier one pushes a token when it is done and
the later one pops it before it begins. Tokens between two modules are a queue, so the pairs are taken in
order, and an order that an earlier pair implies gets none.

Tests: `tests/backends/gemm_vta/test_tokens.py`.
"""

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from target_arch.backends.gemm_vta.description import ENUMS, Instruction
from target_arch.backends.gemm_vta.unroll import touched

MODULES = ("load", "compute", "store")


def module(instruction: Instruction) -> int:
    """The module that runs an instruction, as an index into MODULES."""
    if instruction.opcode == "STORE":
        return 2
    accumulators = ENUMS["BUFFER"]["ACC"]
    return 0 if instruction.opcode == "LOAD" and instruction["BUFFER"] != accumulators else 1


def with_tokens(instructions: Iterable[Instruction]) -> list[Instruction]:
    """The instructions with their flags, and FINISH at the end, which waits for the last STORE."""
    found = [*instructions, Instruction(opcode="FINISH", fields={})]
    last = _Last()
    flags: list[dict[str, int]] = [{} for _ in found]
    ordered = {(0, 1): -1, (1, 0): -1, (1, 2): -1, (2, 1): -1}
    stored = -1
    for now, instruction in enumerate(found):
        here = module(instruction)
        for before in (here - 1, here + 1):
            need = last.conflict(instruction, before)
            if instruction.opcode == "FINISH" and before == 2:
                need = stored
            if (before, here) in ordered and need > ordered[before, here]:
                ordered[before, here] = need
                flags[need]["PUSH_NEXT" if before < here else "PUSH_PREV"] = 1
                flags[now]["POP_PREV" if before < here else "POP_NEXT"] = 1
        last.note(instruction, here, now)
        stored = now if here == 2 else stored
    return [evolve(each, fields={**each.fields, **more}) for each, more in zip(found, flags, strict=True)]


class _Last:
    """For every entry, the last instruction of each module that read and that wrote it."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int, int, bool], int] = {}

    def conflict(self, instruction: Instruction, other: int) -> int:
        """The last instruction of another module that this one must come after; -1 for none."""
        need = -1
        for buffer, writes, entries in touched(instruction):
            for kind in (True, False) if writes else (True,):
                need = max([need, *(self._last.get((buffer, entry, other, kind), -1) for entry in entries)])
        return need

    def note(self, instruction: Instruction, here: int, now: int) -> None:
        """Record the entries that an instruction touches."""
        for buffer, writes, entries in touched(instruction):
            self._last.update(dict.fromkeys(((buffer, entry, here, writes) for entry in entries), now))


def as_text(instructions: Iterable[Instruction]) -> str:
    """One line per instruction, with its module."""
    lines: list[Any] = [f"{MODULES[module(each)]:8}{each}" for each in instructions]
    return "\n".join(lines) + "\n"
