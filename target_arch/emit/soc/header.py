"""`include/<soc>_soc.h`: the numbers of a description for C99 and C++.

Every name in it comes from `target_arch.soc.c_names`, every number from `target_arch.soc.numbering`.
"""

from collections.abc import Iterable
from itertools import pairwise

from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment
from target_arch.soc.c_names import pool_name, pools
from target_arch.soc.model import Instance, Memory, SoC
from target_arch.soc.numbering import abi_hash, c_identifier, c_prefix, channels, timelines

_STATIC_ASSERT = """\
/* Fails to compile where the condition is false, in every version of C and C++. */
#define {p}_STATIC_ASSERT_JOIN_(a, b) a##b
#define {p}_STATIC_ASSERT_JOIN(a, b) {p}_STATIC_ASSERT_JOIN_(a, b)
#define {p}_STATIC_ASSERT(condition) \\
    typedef char {p}_STATIC_ASSERT_JOIN({lower}_soc_assert_, __LINE__)[(condition) ? 1 : -1]"""


def soc_header(soc: SoC) -> str:
    """The text of the header. It stands alone and defines nothing but macros and enums."""
    out = Emitter()
    prefix = c_prefix(soc)
    out.line(f"/* Generated from the description of SoC `{comment(soc.name)}`; edits are lost.")
    out.line(" *")
    out.line(" * The numbers are those that Python uses; code for another description has another")
    out.line(f" * {prefix}_ABI_HASH. Addresses are the host's where nothing else is said.")
    out.line(" */")
    out.lines((f"#ifndef {prefix}_SOC_H", f"#define {prefix}_SOC_H", "", "#include <stdint.h>", ""))
    out.line(f"#define {prefix}_ABI_HASH UINT64_C({abi_hash(soc):#018x})")
    _enums(out, soc)
    _target_archs(out, soc)
    _memories(out, soc)
    out.line()
    out.block(_STATIC_ASSERT.format(p=prefix, lower=soc.name.lower()))
    out.line()
    out.lines(f"{prefix}_STATIC_ASSERT({condition});" for condition in _conditions(soc))
    out.lines(("", "#endif"))
    return out.text()


def _enums(out: Emitter, soc: SoC) -> None:
    _enum(out, soc, "target_arch", [arch.name for arch in soc.archs])
    _enum(out, soc, "instance", [instance.name for instance in soc.instances])
    _enum(out, soc, "memory", [memory.name for memory in soc.memories])
    _enum(out, soc, "channel", channels(soc), "one channel of a DMA engine")
    _enum(out, soc, "timeline", timelines(soc), "what completes in order: DMA channels, then instances")
    prefix = c_prefix(soc)
    chosen = pools(soc.mode())
    out.lines(
        (
            "",
            "/* The pools of memory mode `default`, by purpose, best first. */",
            f"enum {_tag(soc, 'pool')} {{",
        )
    )
    with out.indent():
        for number, pool in enumerate(chosen):
            out.line(f"{pool_name(soc, *pool)} = {number},")
        out.line(f"{prefix}_POOL_COUNT = {len(chosen)}")
    out.line("};")


def _enum(out: Emitter, soc: SoC, kind: str, names: Iterable[str], about: str = "") -> None:
    """An enum of names, ending with their number."""
    prefix = f"{c_prefix(soc)}_{kind.upper()}"
    listed = list(names)
    out.line()
    if about:
        out.line(f"/* {about[0].upper()}{about[1:]}. */")
    out.line(f"enum {_tag(soc, kind)} {{")
    with out.indent():
        for number, name in enumerate(listed):
            out.line(f"{prefix}_{c_identifier(name)} = {number},")
        out.line(f"{prefix}_COUNT = {len(listed)}")
    out.line("};")


def _target_archs(out: Emitter, soc: SoC) -> None:
    prefix = c_prefix(soc)
    out.lines(("", "/* How many instances each target_arch has, and the DLDevice of each (dlpack.h). */"))
    for arch in soc.archs:
        out.line(f"#define {prefix}_{arch.name.upper()}_INSTANCES {arch.instances}")
        for instance in soc.instances:
            if instance.arch.name == arch.name:
                out.lines(_device(prefix, instance))


def _device(prefix: str, instance: Instance) -> tuple[str, str]:
    name = f"{prefix}_{c_identifier(instance.name)}"
    device = instance.device
    return (
        f"#define {name}_DEVICE_TYPE {device.code} /* {device.type} */",
        f"#define {name}_DEVICE_ID {device.id}",
    )


def _memories(out: Emitter, soc: SoC) -> None:
    prefix = c_prefix(soc)
    out.lines(("", "/* Size of each memory, and its address for the host and for every other observer. */"))
    for memory in soc.memories:
        out.lines(_memory(f"{prefix}_MEMORY_{c_identifier(memory.name)}", memory))
        if soc.own_line(memory.name) > 1:
            line = f"#define {prefix}_MEMORY_{c_identifier(memory.name)}_CACHE_LINE {memory.cache_line}u"
            out.line(f"{line} /* arenas begin and end at multiples */")


def _memory(name: str, memory: Memory) -> Iterable[str]:
    yield f"#define {name}_BYTES {_unsigned(memory.size)}"
    if memory.base is not None:
        yield f"#define {name}_BASE {_address(memory.base)}"
    for observer in sorted(memory.observers):
        yield f"#define {name}_BASE_AT_{observer.upper()} {_address(memory.observers[observer])}"


def _conditions(soc: SoC) -> Iterable[str]:
    """Conditions that hold with any compiler: numbers are complete, and host addresses are disjoint."""
    prefix = c_prefix(soc)
    yield f"(int){prefix}_TIMELINE_COUNT == (int){prefix}_CHANNEL_COUNT + (int){prefix}_INSTANCE_COUNT"
    counts = " + ".join(f"{prefix}_{arch.name.upper()}_INSTANCES" for arch in soc.archs)
    yield f"(int){prefix}_INSTANCE_COUNT == {counts}"
    placed = sorted((memory.base, memory.name) for memory in soc.memories if memory.base is not None)
    for (_, lower), (_, upper) in pairwise(placed):
        first, second = (f"{prefix}_MEMORY_{c_identifier(name)}" for name in (lower, upper))
        yield f"{first}_BASE + {first}_BYTES <= {second}_BASE"


def _tag(soc: SoC, kind: str) -> str:
    return f"{soc.name.lower()}_{kind}"


def _unsigned(number: int) -> str:
    return f"{number}u" if number < 2**32 else f"UINT64_C({number})"


def _address(number: int) -> str:
    return f"UINT64_C({number:#x})"
