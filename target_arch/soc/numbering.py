"""The numbers that Python, the generated header and the runtime must agree on.

Everything that numbers something takes the number from here: instances and memories count in the order of the
description; timelines are all DMA channels, engine by engine, then all instances.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum

import attrs

from target_arch.soc.model import SoC


def instance_number(soc: SoC, name: str) -> int:
    """The number of the instance of that name (`fpga_conv2d[1]`). KeyError where this SoC has none."""
    return _index(tuple(instance.name for instance in soc.instances), name)


def memory_number(soc: SoC, name: str) -> int:
    """The number of the memory of that name. KeyError where this SoC has none."""
    return _index(tuple(memory.name for memory in soc.memories), name)


def channels(soc: SoC) -> tuple[str, ...]:
    """Every DMA channel (`axi_dma.0`), in the order of its number."""
    return tuple(f"{dma.name}.{channel}" for dma in soc.dmas for channel in range(dma.channels))


def channel_number(soc: SoC, name: str) -> int:
    """The number of the DMA channel of that name. KeyError where this SoC has none."""
    return _index(channels(soc), name)


def timelines(soc: SoC) -> tuple[str, ...]:
    """Every timeline, in the order of its number: DMA channels, then instances."""
    return channels(soc) + tuple(instance.name for instance in soc.instances)


def timeline_number(soc: SoC, name: str) -> int:
    """The number of the timeline of that name. KeyError where this SoC has none."""
    return _index(timelines(soc), name)


def c_prefix(soc: SoC) -> str:
    """The prefix of every macro of this SoC, without the underscore."""
    return soc.name.upper()


def c_identifier(name: str) -> str:
    """The C form of the name of an instance, memory or timeline: `fpga_conv2d[1]` → `FPGA_CONV2D_1`."""
    return name.replace("[", "_").replace("]", "").replace(".", "_").upper()


def abi_hash(soc: SoC) -> int:
    """64 bits that change with anything in the description: the start of SHA-256 over `canonical(soc)`."""
    return int.from_bytes(hashlib.sha256(canonical(soc).encode()).digest()[:8], "big")


def canonical(soc: SoC) -> str:
    """The whole description, one `path = value` per line, independent of how it was written down, and of the
    folder of a file with its costs: costs count in placement alone, as does what is known of the part.
    """
    return "\n".join(_lines("soc", attrs.evolve(soc, cost_file=""))) + "\n"


def _lines(path: str, value: object) -> list[str]:
    kind = type(value)
    if attrs.has(kind):
        return [
            line
            for field in attrs.fields(kind)
            if field.name != "chip"
            for line in _lines(f"{path}.{field.name}", getattr(value, field.name))
        ]
    if isinstance(value, Mapping):
        return [line for key in sorted(value) for line in _lines(f"{path}.{key}", value[key])]
    if isinstance(value, tuple):
        return [line for index, item in enumerate(value) for line in _lines(f"{path}.{index}", item)]
    return [f"{path} = {_scalar(value)}"]


def _scalar(value: object) -> str:
    """`1`, `1.0` and `1e0` are one number and print as one; a word of a fixed choice prints as its text."""
    if isinstance(value, StrEnum):
        return repr(value.value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)


def _index(names: tuple[str, ...], name: str) -> int:
    if name not in names:
        raise KeyError(name)
    return names.index(name)
