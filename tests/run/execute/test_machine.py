"""Programs for emulated machines: built, accounted for before and after the link, refused, run and
counted."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.emit import EmitInputs
from target_arch.emit.build.machine import require_cores_of_machine, require_machine
from target_arch.ports import qemu_sse200
from target_arch.run import (
    Executable,
    ToolMissing,
    build,
    run_frames,
    run_on_machine,
    run_self_test,
    write_bundle,
)
from target_arch.run.executables.elf_objects import read_library
from target_arch.run.executables.stack_depth import INDIRECT, Calls, depth
from target_arch.soc.model import Cores, LoadProcess, Port
from tests import tiny_plans
from tests.systems import COMPILER, EMULATOR, NULL, QEMU_MPS2

FRAMES = tuple(bytes((frame * 29 + index * 7) & 0xFF for index in range(8)) for frame in range(6))
ANSWERS = tuple(tiny_plans.expected(frame) for frame in FRAMES)

Tool = Callable[[str], str]


@pytest.fixture(autouse=True)
def tools(needs_tool: Tool) -> None:
    needs_tool(COMPILER)
    needs_tool(EMULATOR)


def bundle(folder: Path, inputs: EmitInputs) -> Path:
    write_bundle(tiny_plans.bundle(inputs), folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Executable:
    if shutil.which(COMPILER) is None:
        pytest.skip(f"needs `{COMPILER}`: make simulators")
    return build(bundle(tmp_path_factory.mktemp("machine") / "tiny", tiny_plans.on_machine()))


def test_runs(tiny: Executable) -> None:
    assert run_frames(tiny, FRAMES) == ANSWERS
    assert run_self_test(tiny) is True


def test_its_own_makefile_builds_and_runs_it(tmp_path: Path, needs_tool: Tool) -> None:
    folder = bundle(tmp_path / "made", tiny_plans.on_machine())
    command = (needs_tool("make"), "-s", "selftest")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "pass y: 8 of 8 bit-equal\n"


def test_a_wrong_answer_fails_the_self_test(tmp_path: Path) -> None:
    wrong = tiny_plans.on_machine(self_test=tiny_plans.self_test(outputs=bytes(8)))
    assert run_self_test(build(bundle(tmp_path / "wrong", wrong))) is False


def test_instructions_are_counted_to_the_one(tiny: Executable) -> None:
    outputs, profile = run_on_machine(tiny, FRAMES[:1])
    assert (outputs, profile) == run_on_machine(tiny, FRAMES[:1])
    assert len(profile.steps) == 1
    assert 30 < profile.steps[0] < profile.instructions < 2000
    longer = run_on_machine(tiny, FRAMES[1:2])[1].instructions
    assert longer == profile.instructions, "this kernel does the same for every input"


def test_the_image_is_as_predicted_and_the_stack_at_most(tiny: Executable) -> None:
    image = tiny.image
    assert image is not None
    assert image.differences == ()
    assert {part.what for part in image.sections} >= {
        "code",
        "read-only data",
        "constants",
        "arenas",
        "stack",
    }
    assert all(part.linked == part.predicted for part in image.sections)
    used = run_on_machine(tiny, FRAMES)[1].stack
    assert used <= image.stack.predicted <= image.stack.reserved
    assert any(name.endswith("mps2_dispatch") for name in image.stack.path)


def test_what_does_not_fit_is_refused_before_it_is_linked(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "large", tiny_plans.on_machine(flash=4096))
    with pytest.raises(DiagnosticError) as raised:
        build(folder)
    (refused,) = raised.value.diagnostics
    assert refused.rule == "image-too-large"
    assert refused.message.startswith("memory `flash` has 4,096 B, the image takes ")
    assert "code " in refused.message
    assert "constants " in refused.message
    assert not (folder / "build" / "runner").exists()


def test_a_stack_that_is_too_small_is_refused_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as raised:
        build(bundle(tmp_path / "stack", tiny_plans.on_machine(stack=256)))
    (refused,) = raised.value.diagnostics
    assert refused.rule == "stack-too-small"
    assert "ta_mps2_start -> main -> tiny_add_run -> ta_run" in refused.message


@pytest.mark.parametrize("tool", [COMPILER, EMULATOR])
def test_a_missing_tool_is_named(
    tiny: Executable, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for present in {COMPILER, EMULATOR} - {tool}:
        (tmp_path / present).symlink_to(shutil.which(present) or present)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing) as raised:
        build(tiny.directory) if tool == COMPILER else run_self_test(tiny)
    (missing,) = raised.value.diagnostics
    assert missing.message == f"`{tool}` not found; the port's machine needs it"
    assert missing.hint is not None
    assert "apt-get install" in missing.hint
    assert "make simulators" in missing.hint


def test_a_fault_is_told(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "fault", tiny_plans.on_machine())
    (kernels,) = folder.glob("src/*_host_kernels.c")
    text = kernels.read_text()
    assert "int i;" in text
    kernels.write_text(text.replace("int i;", "int i;\n    __builtin_trap();"))
    with pytest.raises(DiagnosticError, match="the processor took a fault"):
        run_frames(build(folder), FRAMES[:1])


def test_ports_that_cannot_be_are_refused() -> None:
    with pytest.raises(
        DiagnosticError, match=r"^port: error: .* does not say on which machine port `qemu_mps2` runs it"
    ):
        require_machine(tiny_plans.soc(), QEMU_MPS2)
    require_machine(tiny_plans.soc(), NULL)


def test_depth_goes_through_the_tables_of_port_and_steps() -> None:
    core = Calls(source="runtime/core/run.c", frames={"run": 16}, edges=(("run", INDIRECT),), points_at=())
    port = Calls(
        source="runtime/ports/p/p.c",
        frames={"runtime/ports/p/p.c:dispatch": 8, "main": 4},
        edges=(("runtime/ports/p/p.c:dispatch", INDIRECT), ("main", "run")),
        points_at=("dispatch",),
    )
    steps = Calls(
        source="src/steps.c", frames={"kernel": 100}, edges=(("kernel", "memset"),), points_at=("kernel",)
    )
    found = depth((core, port, steps), "main")
    assert found.bytes == 4 + 16 + 8 + 100
    assert found.path == ("main", "run", "runtime/ports/p/p.c:dispatch", "kernel", "memset")
    assert found.unknown == ("memset",)


def test_work_for_others_than_the_host_is_refused() -> None:
    inputs = tiny_plans.on_dsp()
    chip = evolve(inputs.soc, ports=(tiny_plans.port(),))
    with pytest.raises(DiagnosticError, match="port `qemu_mps2` has only the host, `p0` is on `dsp`"):
        tiny_plans.bundle(tiny_plans.changed(inputs, soc=chip, port=QEMU_MPS2))


def test_more_cores_than_the_machine_has_are_refused() -> None:
    inputs = tiny_plans.on_dsp()
    table = Port(name="qemu_sse200", machine="mps2-an521", code="flash", data="sram", stack=1024)
    archs = tuple(
        arch if arch.host else evolve(arch, instances=2, cores=Cores(stack=64), load=LoadProcess())
        for arch in inputs.soc.archs
    )
    chip = evolve(inputs.soc, ports=(table,), archs=archs)
    with pytest.raises(DiagnosticError, match="`mps2-an521` has 2 cores, `tiny` the host and 2 more"):
        require_cores_of_machine(tiny_plans.changed(inputs, soc=chip, port=qemu_sse200.port))


def test_recursion_is_refused() -> None:
    circle = Calls(source="src/a.c", frames={"f": 8, "g": 8}, edges=(("f", "g"), ("g", "f")), points_at=())
    with pytest.raises(ValueError, match="recursion: f -> g -> f"):
        depth((circle,), "f")


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "libx.a").write_bytes(b"not one")
    with pytest.raises(ValueError, match="is not a static library"):
        read_library(tmp_path / "libx.a")


def test_a_port_is_found_by_its_name() -> None:
    soc = evolve(tiny_plans.soc(), ports=(tiny_plans.port(),))
    assert isinstance(soc.port("qemu_mps2"), Port)
    assert soc.port("host") is None
