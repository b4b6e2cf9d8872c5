"""Copies out of a full memory right after their bytes are there, so that these are free for others: by itself
a copy is right before the item that reads its target.
"""

from collections.abc import Collection

from attrs import evolve

from target_arch.stages.program.dependences import dependences
from target_arch.stages.program.items import Item, Transfer
from target_arch.stages.program.program import Program


def leaving_early(program: Program, memories: Collection[str]) -> Program:
    """The program with each transfer out of one of these memories behind the last item that it follows."""
    if not memories:
        return program
    anchors: list[int] = []
    for number, (item, before) in enumerate(zip(program.items, dependences(program), strict=True)):
        early = before and _leaves(item, program, memories)
        anchors.append(max(anchors[other] for other in before) if early else number)
    order = sorted(range(len(anchors)), key=lambda number: (anchors[number], number))
    return evolve(program, items=tuple(program.items[number] for number in order))


def _leaves(item: Item, program: Program, memories: Collection[str]) -> bool:
    """Whether the item copies out of one of the memories into another one."""
    if not isinstance(item, Transfer):
        return False
    there, elsewhere = (program.buffers[name].memory for name in item.names())
    return there in memories and elsewhere != there
