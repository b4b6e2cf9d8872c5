"""The conformance suite where the second core is a process under an emulator that takes an ELF image."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.emit.build.firmware import linker_script
from target_arch.resources import runtime_c
from target_arch.run.executables.firmware import FirmwareImage, build_firmware, compile_command
from target_arch.soc.cores import CORES
from target_arch.soc.model import Memory
from tests.runtime_c.test_conformance import ROOT, SANITIZERS, build_and_run, compile_c

HASH = "0x7461636f6e666f72"
"""CONFORMANCE_HASH of `conformance.h`."""
CARVE_OUT = Memory(name="firmware", size=65536, base=0x400_0000, observers={"dsp": 0xC000_0000})

ADD = """\
#include <stdint.h>
void add_bytes(const uint8_t *a, const uint8_t *b, uint8_t *out);
void add_bytes(const uint8_t *a, const uint8_t *b, uint8_t *out)
{
    for (int i = 0; i < 64; i++)
        out[i] = (uint8_t)(a[i] + b[i]);
}
"""
TABLE = """\
#include "firmware/firmware.h"
void add_bytes(const uint8_t *a, const uint8_t *b, uint8_t *out);
static ta_status call(void *const *p)
{
    add_bytes(p[0], p[1], p[2]);
    return TA_OK;
}
const ta_function ta_firmware_functions[TA_FIRMWARE_FUNCTIONS] = {call};
"""


def firmware_of(core: str, folder: Path) -> FirmwareImage:
    """The suite's firmware for a core, built as a bundle's is."""
    root = runtime_c()
    shutil.copytree(root / "include", folder / "include")
    shutil.copytree(root / "firmware", folder / "firmware" / "runtime" / "firmware")
    (folder / "firmware" / "dsp").mkdir()
    (folder / "firmware" / "dsp.c").write_text(TABLE)
    (folder / "firmware" / "dsp.ld").write_text(linker_script("dsp", CARVE_OUT, 4096))
    (folder / "add.c").write_text(ADD)
    made = folder / "firmware" / "dsp" / "add_bytes.o"
    compile_c(*compile_command(CORES[core]), "-c", str(folder / "add.c"), "-o", str(made))
    place = {"name": "firmware", "bytes": CARVE_OUT.size, "device": 0xC000_0000, "physical": CARVE_OUT.base}
    about = {"target_arch": "dsp", "core": core, "image": "dsp.elf", "macro": "DSP", "prefix": "SUITE"}
    about |= {"abi_hash": HASH, "functions": ["add_bytes"], "memory": place, "stack": 4096, "not_shared": ""}
    about |= {"seen": [place]}
    (folder / "firmware" / "firmware.json").write_text(json.dumps([about]))
    (image,) = build_firmware(folder, folder / "build")
    return image


@pytest.mark.slow
@pytest.mark.parametrize(
    ("core", "sanitizer"),
    [
        ("hexagon", "plain"),
        *(pytest.param("hexagon", name, marks=pytest.mark.long) for name in ("asan+ubsan", "tsan")),
        *(pytest.param(name, "plain", marks=pytest.mark.long) for name in ("riscv64", "aarch64")),
    ],
)
def test_port_conforms(
    core_tools: Callable[[str], None],
    needs_tool: Callable[[str], str],
    tmp_path: Path,
    core: str,
    sanitizer: str,
) -> None:
    """Every test of the suite, its faults among them, in every mode of the host port.

    A core runs the program of its image, so the suite skips the start of one without an image.
    """
    core_tools(core)
    image = firmware_of(core, tmp_path / "firmware_bundle")
    source = tmp_path / "image.c"
    source.write_text(image.source().replace("ta_image_dsp", "conformance_image"))
    macros = (
        "-DCONFORMANCE_ALIGNMENT=65536u",
        f'-DCONFORMANCE_EMULATOR="{image.core.emulator}"',
        f'-DCONFORMANCE_BOOT="{image.boot.absolute()}"',
        f"-DCONFORMANCE_MACHINE={image.core.machine}",
        f"-DCONFORMANCE_IMAGE_BYTES={image.path.stat().st_size}u",
    )
    sources = (source, ROOT / "cores" / "process.c", ROOT / "load" / "elf.c")
    lines = build_and_run(needs_tool("gcc"), "host", (*SANITIZERS[sanitizer], *macros), tmp_path, *sources)
    skipped = [line for line in lines if line.startswith("skip ")]
    reasons = ("linked cores are only started", "the system gives it a stack")
    assert all(any(reason in line for reason in reasons) for line in skipped)
    ran = [line for line in lines if line not in skipped]
    assert [line for line in ran if not line.startswith("ok ")] == [f"1..{len(lines) - 1}"]
    assert {line.rpartition("(")[2].rstrip(")") for line in ran[:-1]} == {"eager", "jitter", "lazy", "wrap"}
    assert any("every fault is named, and survived" in line for line in lines)
