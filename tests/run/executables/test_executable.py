"""Golden, compile, run: what is emitted builds without a warning, runs, and fails where it must."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.backends import conv2d_engine, gemm_npu
from target_arch.diagnostics import DiagnosticError
from target_arch.emit import EmitInputs
from target_arch.run import Executable, build, find_compiler, run_frames, run_self_test, write_bundle
from target_arch.soc.model import DLDevice, Memory, TargetArch
from tests import tiny_plans
from tests.slow import slow_except
from tests.step_deletion import delete_step, restore, step_numbers, unsealed
from tests.systems import NULL

FRAMES = tuple(bytes((frame * 29 + index * 7) & 0xFF for index in range(8)) for frame in range(6))
ANSWERS = tuple(tiny_plans.expected(frame) for frame in FRAMES)
SANITIZERS = [(), ("address", "undefined"), ("thread",)]
PLANS = {"host": tiny_plans.on_host, "dsp": tiny_plans.on_dsp}

Tool = Callable[[str], str]


def written(inputs: EmitInputs, directory: Path) -> Path:
    write_bundle(tiny_plans.bundle(inputs), directory)
    return directory


@pytest.fixture
def dsp(tmp_path: Path) -> Path:
    return written(tiny_plans.on_dsp(), tmp_path / "dsp")


@pytest.mark.parametrize("plan", sorted(PLANS))
@pytest.mark.parametrize("cc", slow_except(["gcc"], ["gcc", "clang"]))
@pytest.mark.parametrize(
    "sanitize", slow_except([()], [(), ("address", "undefined"), ("thread",)]), ids="-".join
)
def test_builds_and_runs(
    tmp_path: Path, needs_tool: Tool, plan: str, cc: str, sanitize: tuple[str, ...]
) -> None:
    compiler = find_compiler(needs_tool(cc))
    executable = build(written(PLANS[plan](), tmp_path / plan), sanitize=sanitize, compiler=compiler)
    assert run_frames(executable, FRAMES) == ANSWERS
    assert run_frames(executable, FRAMES, lazy=True) == ANSWERS
    assert run_frames(executable, FRAMES, jitter=7) == ANSWERS
    assert run_self_test(executable) is True


def test_a_second_build_compiles_only_what_changed(dsp: Path) -> None:
    def objects() -> set[str]:
        return {path.name for path in (dsp / "build" / "objects").iterdir()}

    build(dsp)
    before = objects()
    build(dsp)
    assert objects() == before
    text = delete_step(dsp, 1)
    build(dsp)
    assert [re.sub(r"-[0-9a-f]+\.o", "", name) for name in objects() - before] == ["tiny_add_steps"]
    restore(dsp, text)


def test_without_any_one_copy_the_answer_is_wrong(dsp: Path) -> None:
    copies = step_numbers(dsp, "COPY")
    assert copies == (1, 2, 6)
    for number in copies:
        text = delete_step(dsp, number)
        assert run_frames(build(dsp), FRAMES) != ANSWERS
        restore(dsp, text)
    assert run_frames(build(dsp), FRAMES) == ANSWERS


def test_without_a_needed_wait_a_lazy_device_shows_it(dsp: Path) -> None:
    assert step_numbers(dsp, "WAIT") == (3, 5, 7)
    delete_step(dsp, 3)
    assert run_frames(build(dsp), FRAMES, lazy=True) != ANSWERS


def test_the_header_of_another_description_does_not_compile(dsp: Path, tmp_path: Path) -> None:
    chip = tiny_plans.soc()
    other = tiny_plans.bundle(tiny_plans.on_dsp(soc=evolve(chip, lowering="program")))
    (dsp / "include" / "tiny_soc.h").write_bytes(other.files["include/tiny_soc.h"])
    with pytest.raises(
        DiagnosticError, match=r"tiny_soc.h is the header of another description of the SoC"
    ) as failure:
        build(dsp)
    assert failure.value.diagnostics[0].rule == "build-failed"


def test_a_compiled_mismatch_is_refused_at_init(dsp: Path) -> None:
    source = dsp / "src" / "tiny_soc.c"
    source.write_text(source.read_text().replace("    TINY_ABI_HASH,", "    TINY_ABI_HASH ^ 1,"))
    with pytest.raises(DiagnosticError) as failure:
        run_frames(build(dsp), FRAMES)
    assert str(failure.value) == "bundle: error: init failed with TA_ERROR_ABI_MISMATCH [run-failed]"


def test_a_tampered_table_is_refused_at_init(dsp: Path) -> None:
    source = dsp / "src" / "tiny_add_steps.c"
    text = source.read_text().replace("{{1, 0}, {2, 48}, 4, 2, 4, 4,", "{{1, 0}, {2, 48}, 4, 2, 999, 4,")
    source.write_text(text)
    with pytest.raises(DiagnosticError) as failure:
        run_frames(build(dsp), FRAMES)
    assert str(failure.value) == "bundle: error: init failed with TA_ERROR_CORRUPT [run-failed]"
    source.write_text(unsealed(text))
    with pytest.raises(DiagnosticError) as failure:
        run_frames(build(dsp), FRAMES)
    what = "copy x:0@sram[0:+2x4/4] -> x:0@tcm[0:+8] by dma, event dma.0#1"
    assert str(failure.value) == f"step 1 ({what}): error: init failed with TA_ERROR_ARGUMENT [run-failed]"


def test_a_tampered_image_is_refused_at_init(dsp: Path) -> None:
    source = dsp / "src" / "tiny_add_steps.c"
    source.write_text(source.read_text().replace("    115, 116,", "    115, 117,"))
    with pytest.raises(DiagnosticError) as failure:
        run_frames(build(dsp), FRAMES)
    assert (
        str(failure.value)
        == "step 0 (load dsp (firmware)): error: init failed with TA_ERROR_IMAGE [run-failed]"
    )


def test_a_wrong_vector_fails_the_self_test(tmp_path: Path) -> None:
    inputs = tiny_plans.on_host(self_test=tiny_plans.self_test(outputs=bytes(8)))
    executable = build(written(inputs, tmp_path / "wrong"))
    assert run_self_test(executable) is False


def test_a_bundle_without_a_vector_has_no_self_test(tmp_path: Path) -> None:
    executable = build(written(tiny_plans.on_host(self_test=None), tmp_path / "none"))
    assert executable.self_test is None
    assert run_self_test(executable) is None


def test_a_program_that_hangs_is_ended(dsp: Path) -> None:
    kernel = dsp / "src" / "tiny_add_dsp_kernels.c"
    kernel.write_text(kernel.read_text().replace("    int i;\n", "    int i;\n    for (;;)\n        ;\n", 1))
    with pytest.raises(DiagnosticError, match=r"the bundle did not end within 1 s \[run-timeout\]"):
        run_frames(build(dsp, optimize="-O0"), FRAMES, timeout=1.0)


def test_a_program_that_crashes_is_reported(tmp_path: Path) -> None:
    directory = written(tiny_plans.on_host(), tmp_path / "crash")
    source = directory / "src" / "tiny_add.c"
    text = source.read_text().replace(
        '#include "tiny_add_internal.h"', '#include "tiny_add_internal.h"\n#include <stdlib.h>'
    )
    source.write_text(text.replace("return ta_run(&runtime);", "abort();"))
    with pytest.raises(DiagnosticError, match=r"the bundle ended with signal 6 \[run-failed\]"):
        run_frames(build(directory), FRAMES)


def test_frames_have_one_size(dsp: Path) -> None:
    with pytest.raises(ValueError, match="a frame of tiny-add has 8 B"):
        run_frames(build(dsp), [bytes(7)])


def test_make(dsp: Path, needs_tool: Tool) -> None:
    make = needs_tool("make")
    answer = subprocess.run(
        [make, "-C", str(dsp), "all", "selftest"], capture_output=True, text=True, check=True
    )
    assert "pass y: 8 of 8 bit-equal, largest difference 0, allowed 0\n" in answer.stdout
    run = [make, "--silent", "-C", str(dsp), "run"]
    assert subprocess.run(run, input=b"".join(FRAMES), capture_output=True, check=True).stdout == b"".join(
        ANSWERS
    )


def test_cmake(dsp: Path, tmp_path: Path, needs_tool: Tool) -> None:
    cmake, built = needs_tool("cmake"), tmp_path / "built"
    for command in ([cmake, "-S", str(dsp), "-B", str(built)], [cmake, "--build", str(built)]):
        subprocess.run(command, capture_output=True, check=True)
    answer = subprocess.run(
        [str(built / "tiny_add_runner")], input=FRAMES[0], capture_output=True, check=True
    )
    assert answer.stdout == ANSWERS[0]


def test_the_null_port_runs_what_is_all_on_the_host(tmp_path: Path) -> None:
    executable = build(written(tiny_plans.on_host(port=NULL), tmp_path / "null"))
    assert run_frames(executable, FRAMES) == ANSWERS


def test_the_null_port_says_what_it_lacks(tmp_path: Path) -> None:
    executable = build(written(tiny_plans.on_dsp(port=NULL), tmp_path / "null"))
    with pytest.raises(DiagnosticError, match=r"init failed with TA_ERROR_UNSUPPORTED \[run-failed\]"):
        run_frames(executable, FRAMES)


def test_the_linker_fragment_places_the_arenas(tmp_path: Path, needs_tool: Tool) -> None:
    directory = written(tiny_plans.on_host(), tmp_path / "linked")
    gcc, nm = needs_tool("gcc"), shutil.which("nm")
    if nm is None:
        pytest.skip("needs `nm`: apt-get install binutils")
    objects = [str(path) for path in (directory / "src").glob("*.c") if path.stem not in {"runner"}]
    objects += [str(path) for path in (directory / "runtime").rglob("*.c")]
    program = tmp_path / "program"
    flags = [
        "-std=c99",
        "-DTA_SECTIONS",
        "-no-pie",
        f"-I{directory}/include",
        f"-I{directory}/runtime",
        "-pthread",
    ]
    fragment = f"-Wl,-T,{directory}/tiny.ld"
    subprocess.run(
        [gcc, *flags, fragment, "-o", str(program), *objects, "-lm"], check=True, capture_output=True
    )
    symbols = subprocess.run([nm, str(program)], capture_output=True, text=True, check=True).stdout
    places = {name: int(address, 16) for address, _, name in re.findall(r"^(\w+) (\w) (\w+)$", symbols, re.M)}
    assert places["arena_sram"] == 0x2000_0000
    assert places["tiny_add_flash_constants"] == 0x0800_0000


def test_headers_are_cpp(dsp: Path, needs_tool: Tool) -> None:
    gxx = needs_tool("g++")
    source = dsp / "user.cpp"
    source.write_text(
        '#include "tiny_soc.h"\n#include "tiny_add.h"\n'
        "int main() { return TINY_ADD_INPUT_X_0_SCALE == 0.5f && tiny_add_input_x_0() ? 0 : 1; }\n"
    )
    flags = [
        "-std=c++11",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-I",
        str(dsp / "include"),
        "-fsyntax-only",
    ]
    subprocess.run([gxx, *flags, str(source)], check=True)


def test_executable_names_its_frames(dsp: Path) -> None:
    executable = build(dsp)
    assert isinstance(executable, Executable)
    assert (executable.input_bytes, executable.output_bytes) == ((8,), (8,))


def test_drivers_and_simulators_of_every_engine_link(tmp_path: Path) -> None:
    chip = tiny_plans.soc()
    brams = tuple(
        Memory(name=f"bram_{index}", size=1024, observers={"conv": 0x0}, replica_of="bram")
        for index in range(2)
    )
    conv = TargetArch(
        name="conv",
        backend="conv2d_engine",
        device=DLDevice(type="kDLExtDev", id=0),
        instances=2,
        memory=("bram",),
    )
    npu = TargetArch(name="npu", backend="gemm_npu", device=DLDevice(type="kDLExtDev", id=2), memory=("tcm",))
    soc = evolve(chip, memories=(*chip.memories, *brams), archs=(*chip.archs, conv, npu))
    backends = {**tiny_plans.on_host().backends, "conv": conv2d_engine.backend, "npu": gemm_npu.backend}
    directory = written(tiny_plans.on_host(soc=soc, backends=backends), tmp_path / "engines")
    assert run_frames(build(directory), FRAMES) == ANSWERS
    table = (directory / "src" / "tiny_soc.c").read_text()
    assert table.count("{TINY_MEMORY_BRAM_0, 0x0ULL}") == table.count("{TINY_MEMORY_BRAM_1, 0x0ULL}") == 1
    assert (
        '"conv[1]", 0, TINY_TIMELINE_CONV_1, TA_LOAD_LINKED, &ta_conv2d_engine_driver, observed_conv_1, 1,'
        in table
    )


def test_a_folder_that_cannot_be_written(dsp: Path) -> None:
    (dsp / "build").write_text("in the way")
    with pytest.raises(
        DiagnosticError, match=r"build: error: cannot be written: File exists \[output-unwritable\]"
    ):
        build(dsp)
