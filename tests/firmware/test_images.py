"""Images of firmware: their sizes, what the host's load process refuses, and what building one refuses."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from target_arch.cli import main
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.report import report_page
from target_arch.resources import runtime_c
from target_arch.run import build
from target_arch.run.bundles.shown import read_report
from target_arch.run.executables.firmware import FirmwareImage, build_firmware
from target_arch.soc import SoC
from target_arch.soc.cores import CORES
from tests.firmware.conftest import DIGITS, Compile
from tests.firmware.test_bundles import copied
from tests.slow import slow_except

Tools = Callable[[str], None]
Images = Callable[[str], FirmwareImage]

DEFAULT = ("hexagon", "riscv64")
EACH = [pytest.param(name, marks=() if name in DEFAULT else pytest.mark.slow) for name in sorted(CORES)]

SAID = """\
whole: 0
cut short: 1
another machine: 8
addresses that disagree: 8 1
no room: 8
flipped: 1
"""
"""8 is TA_ERROR_IMAGE."""


@pytest.fixture(scope="session")
def images(compiled: Compile, core_tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Images:
    """`images(core)`: the firmware of the digits model."""

    def one(core: str) -> FirmwareImage:
        core_tools(core)
        _, folder = compiled(DIGITS, core)
        (image,) = build_firmware(folder, tmp_path_factory.mktemp(core))
        return image

    return one


@pytest.mark.parametrize("core", slow_except(["hexagon"], sorted(CORES)))
def test_the_loader_takes_the_image_and_refuses_everything_wrong_with_it(
    images: Images, needs_tool: Callable[[str], str], tmp_path: Path, core: str
) -> None:
    image = images(core)
    program = tmp_path / "elf_loader"
    flags = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-g")
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    root = runtime_c()
    sources = (str(Path(__file__).with_name("elf_loader.c")), str(root / "load" / "elf.c"))
    include = (f"-I{root}", f"-I{root / 'include'}")
    subprocess.run(
        (needs_tool("gcc"), *flags, *sanitizers, *include, *sources, "-o", str(program)), check=True
    )
    place = image.description["memory"]
    words = (image.core.machine, place["physical"], place["device"], place["bytes"])
    command = (str(program), str(image.path), *(str(word) for word in words))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr == ""
    assert done.stdout == SAID


@pytest.mark.parametrize("core", EACH)
def test_sizes_are_as_predicted(images: Images, core: str) -> None:
    image = images(core)
    assert image.entry.differences == ()
    sizes = {part.section: part.predicted for part in image.parts}
    assert sizes[".text"] > 500
    assert sizes[".stack"] == 4096
    assert sum(sizes.values()) <= image.fill.predicted <= image.fill.capacity


def test_report_prints_the_sizes(
    compiled: Compile, core_tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    core_tools("hexagon")
    bundle = copied(compiled(DIGITS, "hexagon")[1], tmp_path)
    assert main(["report", str(bundle), "--image"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("firmware of dsp_cpu (hexagon), dsp.elf: ")
    assert "memory firmware of 262,144 B, at 0xc0000000 for the core, 0x4000000 for the host\n" in text
    assert text.endswith("linked as predicted\n")
    assert main(["report", str(bundle), "--image", "--format=json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["core"] == "hexagon"
    assert found["differences"] == []
    (shown,) = read_report(bundle).images
    assert shown.name == "firmware of dsp_cpu (hexagon)"
    assert shown.memories == (("firmware", 262_144, found["memory"]["linked"]),)
    page = report_page(read_report(bundle))
    assert all(f"<td>{each['section']}</td>" in page for each in found["sections"])


def said(error: DiagnosticError, folder: Path) -> str:
    return str(error).replace(str(folder), "FOLDER")


def refusal(bundle: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """What is said of a bundle whose first firmware is described otherwise."""
    path = bundle / "firmware" / "firmware.json"
    described = json.loads(path.read_text())
    change(described[0])
    path.write_text(json.dumps(described))
    with pytest.raises(DiagnosticError) as raised:
        build_firmware(bundle, bundle.parent / "build")
    return said(raised.value, bundle)


def test_an_image_that_does_not_fit_is_refused_before_it_is_linked(
    compiled: Compile, core_tools: Tools, tmp_path: Path
) -> None:
    core_tools("hexagon")
    bundle = copied(compiled(DIGITS, "hexagon")[1], tmp_path)
    text = refusal(bundle, lambda firmware: firmware["memory"].update(bytes=1024))
    assert text.startswith("FOLDER: error: memory `firmware` has 1,024 B, the firmware of `dsp_cpu` takes ")
    assert "code " in text
    assert text.endswith("[image-too-large]")


def test_a_memory_that_the_emulator_has_no_room_for_is_refused(
    compiled: Compile, core_tools: Tools, tmp_path: Path
) -> None:
    """Where its boot ROM is, and beyond the addresses of the core."""
    core_tools("hexagon")
    for address in (CORES["hexagon"].rom, 1 << 32):
        folder = tmp_path / f"{address:x}"
        folder.mkdir()
        bundle = copied(compiled(DIGITS, "hexagon")[1], folder)
        change = {"name": "dsp_tcm", "bytes": 65_536, "device": address}
        text = refusal(bundle, lambda firmware, to=change: firmware["seen"].__setitem__(1, to))
        assert text.startswith(
            f"FOLDER: error: `qemu-hexagon` cannot put memory `dsp_tcm`, 65,536 B at {address:#x}, where "
            "`dsp_cpu` sees it [not-in-emulator]\nhint: its boot ROM is at 0x10000000, "
        )


def test_a_stack_that_is_too_small_is_refused_before_it_is_linked(
    compiled: Compile, core_tools: Tools, tmp_path: Path
) -> None:
    core_tools("hexagon")
    bundle = copied(compiled(DIGITS, "hexagon")[1], tmp_path)
    first, hint = refusal(bundle, lambda firmware: firmware.update(stack=64)).splitlines()
    needs = r"it needs up to \d+ B: ta_firmware_main -> \w+ \[stack-too-small\]"
    assert re.fullmatch(f"FOLDER: error: the stack of the firmware of `dsp_cpu` has 64 B, {needs}", first), (
        first
    )
    assert hint == "hint: give `dsp_cpu` a larger `firmware_stack` in the SoC file; nothing was linked"


@pytest.mark.parametrize("core", EACH)
def test_the_stack_is_bounded(images: Images, core: str) -> None:
    image = images(core)
    assert image.stack.unknown == ()
    assert image.stack.path[0] == "ta_firmware_main"
    assert image.stack.path[1] in image.description["functions"]
    assert 0 < image.stack.bytes <= image.reserved == 4096


def test_a_bundle_without_firmware_is_refused(tmp_path: Path) -> None:
    made = compile_model(CompileRequest(model_path=DIGITS, soc=_shipped("mcu_m55")))
    for path, content in made.bundle.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    with pytest.raises(DiagnosticError) as raised:
        build(tmp_path, firmware=True)
    assert said(raised.value, tmp_path) == (
        "FOLDER: error: no core of this bundle takes firmware [no-firmware]\n"
        "hint: it needs a target_arch with a backend such as `hexagon` and the load process `firmware`"
    )


def _shipped(name: str) -> SoC:
    from target_arch.soc import read_soc

    return read_soc(name)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"firmware_memory": "carve_out"},
            "the firmware of `dsp_cpu` goes into memory `carve_out`, which is not declared "
            "[no-firmware-memory]\nhint: declare it, or name another in `firmware_memory`; the host must see "
            "it, `dsp_cpu` too, and no memory mode may use it",
        ),
        (
            {"firmware_memory": "ddr"},
            "the firmware of `dsp_cpu` cannot go into memory `ddr` [no-firmware-memory]\n"
            "hint: the host must see it, `dsp_cpu` too, and no memory mode may use it; its size must be a "
            "multiple of 65536 B",
        ),
    ],
)
def test_a_description_without_a_place_for_firmware_is_refused(
    soc_with: Callable[[str], SoC], change: dict[str, str], text: str
) -> None:
    soc = soc_with("hexagon")
    archs = tuple(
        evolve(arch, options={**arch.options, **change}) if arch.name == "dsp_cpu" else arch
        for arch in soc.archs
    )
    with pytest.raises(DiagnosticError) as raised:
        compile_model(CompileRequest(model_path=DIGITS, soc=evolve(soc, archs=archs)))
    assert str(raised.value) == f"target_arch dsp_cpu: error: {text}"


@pytest.mark.parametrize(
    ("program", "package"), [("clang", "clang"), ("llvm-objdump", "llvm"), ("qemu-hexagon", "qemu-user")]
)
def test_a_missing_tool_exits_with_3(
    compiled: Compile,
    core_tools: Tools,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    program: str,
    package: str,
) -> None:
    core_tools("hexagon")
    bundle = copied(compiled(DIGITS, "hexagon")[1], tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("cc", "gcc", "clang", "ld.lld", "llvm-objdump", "qemu-hexagon"):
        path = shutil.which(name)
        if path is not None and name != program:
            (programs / name).symlink_to(path)
    monkeypatch.setenv("PATH", str(programs))
    assert main(["run", str(bundle), "--firmware"]) == 3
    text = capsys.readouterr().err
    assert f"{program}: error: `{program}` not found; firmware needs it [tool-missing]" in text
    assert f"hint: install it (`apt-get install {package}`), or run `make simulators` in a checkout" in text
