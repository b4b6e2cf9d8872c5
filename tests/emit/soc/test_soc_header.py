"""The generated SoC header: its text, that it compiles, and that C and Python agree on every number."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.emit.soc.header import soc_header
from target_arch.soc import SoC, read_soc, shipped_socs
from target_arch.soc.c_names import c_names, pool_name, pools
from target_arch.soc.numbering import (
    abi_hash,
    c_identifier,
    c_prefix,
    channel_number,
    channels,
    instance_number,
    memory_number,
    timeline_number,
    timelines,
)

STRICT = ("-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion")
LANGUAGES = (
    ("gcc", "-std=c99", "c"),
    ("clang", "-std=c11", "c"),
    ("g++", "-std=c++11", "c++"),
    ("clang++", "-std=c++17", "c++"),
)


@pytest.mark.parametrize("name", shipped_socs())
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}_soc.h", soc_header(read_soc(name)))


@pytest.mark.parametrize("how", LANGUAGES)
@pytest.mark.parametrize("name", shipped_socs())
def test_compiles(
    name: str, how: tuple[str, str, str], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    compiler, standard, language = how
    (tmp_path / "soc.h").write_text(soc_header(read_soc(name)))
    source = tmp_path / "unit"
    source.write_text('#include "soc.h"\n#include "soc.h"\nint main(void) { return 0; }\n')
    command = [needs_tool(compiler), standard, *STRICT, "-x", language, "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", shipped_socs())
def test_numbers_are_those_of_python(name: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    soc = read_soc(name)
    numbers = _numbers(soc)
    (tmp_path / "soc.h").write_text(soc_header(soc))
    prints = "".join(f'    printf("%llu\\n", (unsigned long long){macro});\n' for macro in numbers)
    source = tmp_path / "print.c"
    source.write_text(
        f'#include <stdio.h>\n#include "soc.h"\nint main(void)\n{{\n{prints}    return 0;\n}}\n'
    )
    program = tmp_path / "print"
    subprocess.run([needs_tool("cc"), "-std=c99", str(source), "-o", str(program)], check=True)
    said = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()
    assert dict(zip(numbers, map(int, said), strict=True)) == numbers


def _numbers(soc: SoC) -> dict[str, int]:
    """What Python holds for every macro and enumerator of the header."""
    prefix = c_prefix(soc)
    numbers = {f"{prefix}_ABI_HASH": abi_hash(soc)}
    for instance in soc.instances:
        name = c_identifier(instance.name)
        numbers[f"{prefix}_INSTANCE_{name}"] = instance_number(soc, instance.name)
        numbers[f"{prefix}_{name}_DEVICE_TYPE"] = instance.device.code
        numbers[f"{prefix}_{name}_DEVICE_ID"] = instance.device.id
    for number, arch in enumerate(soc.archs):
        numbers[f"{prefix}_TARGET_ARCH_{arch.name.upper()}"] = number
        numbers[f"{prefix}_{arch.name.upper()}_INSTANCES"] = arch.instances
    for memory in soc.memories:
        name = f"{prefix}_MEMORY_{memory.name.upper()}"
        numbers[name] = memory_number(soc, memory.name)
        numbers[f"{name}_BYTES"] = memory.size
        if memory.base is not None:
            numbers[f"{name}_BASE"] = memory.base
        for observer, address in memory.observers.items():
            numbers[f"{name}_BASE_AT_{observer.upper()}"] = address
    for channel in channels(soc):
        numbers[f"{prefix}_CHANNEL_{c_identifier(channel)}"] = channel_number(soc, channel)
    for timeline in timelines(soc):
        numbers[f"{prefix}_TIMELINE_{c_identifier(timeline)}"] = timeline_number(soc, timeline)
    for number, pool in enumerate(pools(soc.mode())):
        numbers[pool_name(soc, *pool)] = number
    counted = {
        "TARGET_ARCH": len(soc.archs),
        "INSTANCE": len(soc.instances),
        "MEMORY": len(soc.memories),
        "CHANNEL": len(channels(soc)),
        "TIMELINE": len(timelines(soc)),
        "POOL": len(pools(soc.mode())),
    }
    return numbers | {f"{prefix}_{name}_COUNT": count for name, count in counted.items()}


@pytest.mark.parametrize("name", shipped_socs())
def test_every_name_is_known_to_the_clash_rule(name: str) -> None:
    soc = read_soc(name)
    helpers = {f"{c_prefix(soc)}_{each}" for each in ("SOC_H", "STATIC_ASSERT")}
    helpers |= {f"{c_prefix(soc)}_STATIC_ASSERT_JOIN", f"{c_prefix(soc)}_STATIC_ASSERT_JOIN_"}
    assert {macro for macro, _ in c_names(soc)} == set(_numbers(soc)) | helpers


def test_an_edited_address_does_not_compile(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    text = soc_header(read_soc("zynq_edge")).replace(
        "SRAM_BASE UINT64_C(0x20000000)", "SRAM_BASE UINT64_C(0x200000)"
    )
    header = tmp_path / "soc.h"
    header.write_text(text)
    command = [needs_tool("cc"), "-std=c99", "-fsyntax-only", "-x", "c", str(header)]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0
