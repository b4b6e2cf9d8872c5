"""Results that may reuse the place of operands, as far as kernels allow it; callers check the lives."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from attrs import evolve

from target_arch.plan.kernels import Access, Call, Kernel, Operand
from target_arch.plan.partitions import Partition
from target_arch.stages.program.items import Item, Run, Slot


def reusable_operands(buffers: Mapping[str, Slot], kept: Collection[str], item: Item) -> dict[str, list[str]]:
    """By result of an item, the operands whose place it could reuse if nothing reads them afterwards."""
    found: dict[str, list[str]] = {}
    for operand in item.operands if isinstance(item, Run) else ():
        result = buffers[operand.of]
        if result.caller:
            continue
        places = [
            name
            for name in operand.over
            if buffers[name].memory == result.memory
            and has_room(operand, buffers[name].bytes, result.bytes)
            and not buffers[name].settled
            and name not in kept
        ]
        if places:
            found[operand.of] = places
    return found


def has_room(operand: Operand, there: int, needed: int) -> bool:
    """Whether a written operand of so many bytes may take a place of so many."""
    return there >= needed if operand.smaller else there == needed


def other_reads(operand: Operand, operands: Iterable[Operand], place: Callable[[str], str]) -> set[str]:
    """Where a call reads operands whose place its result may not reuse: no other operand may be there, too,
    for the result to reuse that.
    """
    return {place(each.of) for each in operands if each.access.reads and each.of not in operand.over}


def reusable_places(
    operand: Operand, operands: Iterable[Operand], place: Callable[[str], str], able: Callable[[str], bool]
) -> tuple[str, ...]:
    """The places of operands of a call that its result may reuse, of those operands that are able to leave
    theirs.
    """
    found = dict.fromkeys(place(name) for name in operand.over if able(name))
    if not found:
        return ()
    others = other_reads(operand, operands, place)
    return tuple(name for name in found if name not in others)


def in_place_calls(partition: Partition, kernel: Kernel, places: Mapping[str, str]) -> Iterator[Run]:
    """Calls whose results may overwrite operands, with operands resolved to the buffers of a program (several
    tensors may be in one); operands that are read again later are excluded.
    """

    def place(name: str) -> str:
        return places.get(name, name)

    calls = [action for action in kernel.actions if isinstance(action, Call)]
    last = {place(o.of): number for number, call in enumerate(calls) for o in call.operands}
    for number, call in enumerate(calls):
        if not any(operand.over for operand in call.operands):
            continue
        reads = {o.of for o in call.operands if o.access == Access.READ and not o.offset and o.of in places}
        able = {name for name in reads if last[places[name]] == number}
        operands = tuple(
            evolve(o, of=places[o.of], over=reusable_places(o, call.operands, place, able.__contains__))
            for o in call.operands
            if o.of in places and not o.offset
        )
        yield Run(
            partition=partition.id,
            operator=call.operator,
            instance=partition.instance,
            function=call.function,
            operands=operands,
        )
