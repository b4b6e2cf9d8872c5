"""What `--soc` and `--target` select or build, and what they refuse, with the place in the argument."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.cli.arguments.soc_argument import found
from target_arch.cli.arguments.targets import Selection, selection
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, partition_model
from target_arch.registry import PlugIns
from target_arch.soc import check_soc, parse_soc, read_soc
from target_arch.soc.files.toml_writer import toml
from tests.cli.commands.test_describe import call
from tests.cli.commands.test_models import DIGITS
from tests.registry.test_backends import MODULE


def select(*targets: str, soc: str | None = "zynq_edge", backend_dir: tuple[Path, ...] = ()) -> Selection:
    options = argparse.Namespace(soc=soc, target=list(targets), backend_dir=list(backend_dir))
    chosen = selection(options, found(options))
    assert chosen is not None
    return chosen


def refusal(*targets: str, soc: str | None = None, backend_dir: tuple[Path, ...] = ()) -> str:
    with pytest.raises(DiagnosticError) as caught:
        select(*targets, soc=soc, backend_dir=backend_dir)
    return str(caught.value)


def test_a_subset_of_a_file_with_options() -> None:
    chosen = select("accelerator,macs_per_cycle=128,dsp_cpu", "accelerator,host_cpu")
    assert chosen.targets == ("accelerator", "dsp_cpu", "host_cpu")
    assert chosen.soc.arch("accelerator").options == {"macs_per_cycle": 128}
    assert chosen.soc.arch("dsp_cpu").options == {"macs_per_cycle": 4.0}


def test_no_target_is_every_target() -> None:
    assert select().targets == ()


def test_the_instruction_set_of_a_target_is_that_of_all_its_cores() -> None:
    soc = select("c,isa=x86_64,cores=2", "dsp,backend=c", soc=None).soc
    assert [arch.isa for arch in soc.archs] == ["x86_64", "generic", "x86_64"]


def test_what_a_file_does_not_have() -> None:
    given = ("dps_cpu,x=1", "accelerator,macs_per_cycle=many,sram=64KiB")
    assert refusal(*given, soc="zynq_edge") == (
        "--target:1:1: error: SoC `zynq_edge` has no target_arch `dps_cpu` [unknown-target-arch]\n"
        "    1 | dps_cpu,x=1\n"
        "      | ^^^^^^^\n"
        "hint: did you mean `dsp_cpu`?\n"
        "\n"
        "--target:2:28: error: option `macs_per_cycle` of `accelerator` is a whole number, not `many` "
        "[option-type]\n"
        "    2 | accelerator,macs_per_cycle=many,sram=64KiB\n"
        "      |                            ^^^^\n"
        "hint: int8 multiply-accumulates per clock cycle\n"
        "\n"
        "--target:2:33: error: target_arch `accelerator` (backend `gemm_npu`) has no option `sram` "
        "[unknown-option]\n"
        "    2 | accelerator,macs_per_cycle=many,sram=64KiB\n"
        "      |                                 ^^^^\n"
        "hint: its options: `macs_per_cycle`, `start_cycles`"
    )


def test_backends_alone_make_a_soc() -> None:
    given = ("c", "gemm_npu,inp=64 KiB,clock=50MHz,macs_per_cycle=16,host=c", "dsp,backend=c,ram=256KiB")
    soc = select(*given, soc=None).soc
    assert check_soc(soc) == ()
    assert (soc.name, soc.host.name, soc.partitioning) == ("c_gemm_npu_dsp", "c", ("c", "gemm_npu", "dsp"))
    assert [str(arch.device) for arch in soc.archs] == ["kDLCPU:0", "kDLExtDev:0", "kDLCPU:1"]
    assert {memory.name: memory.size for memory in soc.memories} == {
        "c_ram": 1 << 30,
        "gemm_npu_inp": 64 << 10,
        "gemm_npu_wgt": 32 << 10,
        "gemm_npu_acc": 32 << 10,
        "dsp_ram": 256 << 10,
    }
    npu = soc.arch("gemm_npu")
    assert (npu.clock, npu.options, npu.load.process) == (50e6, {"macs_per_cycle": 16}, "command_stream")
    assert npu.buffers == {"inp": "gemm_npu_inp", "wgt": "gemm_npu_wgt", "acc": "gemm_npu_acc"}
    assert parse_soc(toml(soc), "built.toml") == soc


def test_a_host_is_found_or_added() -> None:
    assert select("gemm_npu", "c", soc=None).soc.host.name == "c"
    added = select("gemm_npu", soc=None).soc
    assert (added.host.name, added.partitioning) == ("c", ("gemm_npu", "c"))
    assert select("big,backend=c", "little,backend=c,host=little", soc=None).soc.host.name == "little"


SHARED = """
from attrs import evolve
from target_arch.backend.contract import DefaultArch
from target_arch.soc.model import LoadProcess

default = DefaultArch(device="kDLCPU", load=LoadProcess())
backend = evolve(backend, default_arch=default)
"""


def test_a_kind_without_memories_works_in_those_of_the_host(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(MODULE.format(name="lib") + SHARED)
    soc = select("lib", soc=None, backend_dir=(tmp_path,)).soc
    assert check_soc(soc) == ()
    assert soc.arch("lib").memory == soc.host.memory == ("c_ram",)
    assert soc.memory("c_ram").observers == {"lib": soc.memory("c_ram").base}
    assert (soc.copies, soc.dmas) == ((), ())
    assert refusal("lib,host=lib", backend_dir=(tmp_path,)) == (
        "--target:1:10: error: `lib` cannot be the host: that is a `kDLCPU` with memories, and C "
        "[bad-target]\n"
        "    1 | lib,host=lib\n"
        "      |          ^^^"
    )


def test_further_cores_of_the_host_share_its_memory() -> None:
    soc = select("gemm_npu", "c,cores=3", "d,backend=c", soc=None).soc
    assert check_soc(soc) == ()
    assert [instance.name for instance in soc.instances] == ["gemm_npu", "c", "d", "c_cores[0]", "c_cores[1]"]
    assert [str(instance.device) for instance in soc.instances[1:]] == [f"kDLCPU:{id}" for id in range(4)]
    cores = soc.arch("c_cores")
    assert (cores.memory, cores.load.process, cores.stack_memory) == (("c_ram",), "linked", "c_ram")
    assert soc.memory("c_ram").observers == {"c_cores": soc.memory("c_ram").base}
    assert soc.own_line("c_ram") == 1, "their caches are coherent"
    assert parse_soc(toml(soc), "written.toml") == soc
    assert select("c,cores=1", soc=None).soc == select("c", soc=None).soc


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        (
            ("c,ram=64KB,lanes=4", "gemm_nup"),
            "--target:1:7: error: `KB` is no unit of size [bad-unit]\n"
            "    1 | c,ram=64KB,lanes=4\n"
            "      |       ^^^^\n"
            "hint: did you mean `KiB`?\n"
            "\n"
            "--target:1:12: error: `lanes` is no option and no memory of backend `c` [unknown-option]\n"
            "    1 | c,ram=64KB,lanes=4\n"
            "      |            ^^^^^\n"
            "hint: there are: `backend`, `clock`, `cores`, `float_macs_per_cycle`, `host`, `isa`, "
            "`macs_per_cycle`, `ram`, `rows_in_flight`\n"
            "\n"
            "--target:2:1: error: there is no backend `gemm_nup` [unknown-backend]\n"
            "    2 | gemm_nup\n"
            "      | ^^^^^^^^\n"
            "hint: did you mean `gemm_npu`?",
        ),
        (
            ("null",),
            "--target:1:1: error: backend `null` does not say what its hardware is like by default "
            "[no-default-arch]\n"
            "    1 | null\n"
            "      | ^^^^\n"
            "hint: describe it in a SoC file, and give that by `--soc`",
        ),
        (
            ("c,host=c", "gemm_npu,host=gemm_npu"),
            "--target:2:15: error: the host is `c` already [bad-target]\n"
            "    2 | gemm_npu,host=gemm_npu\n"
            "      |               ^^^^^^^^",
        ),
        (
            ("gemm_npu,host=gemm_npu",),
            "--target:1:15: error: `gemm_npu` cannot be the host: that is a `kDLCPU` with memories, and C "
            "[bad-target]\n"
            "    1 | gemm_npu,host=gemm_npu\n"
            "      |               ^^^^^^^^",
        ),
        (
            ("gemm_npu,host=conv2d_egine",),
            "--target:1:15: error: there is no backend `conv2d_egine` [unknown-backend]\n"
            "    1 | gemm_npu,host=conv2d_egine\n"
            "      |               ^^^^^^^^^^^^\n"
            "hint: did you mean `conv2d_engine`?",
        ),
        (
            ("c,isa=x68_64",),
            "--target:1:7: error: `isa` cannot be `x68_64` [bad-choice]\n"
            "    1 | c,isa=x68_64\n"
            "      |       ^^^^^^\n"
            "hint: did you mean `x86_64`?",
        ),
        (
            ("gemm_npu,cores=2", "c,cores=many"),
            "--target:1:10: error: backend `gemm_npu` has no cores: they execute functions of the host's "
            "program [no-cores]\n"
            "    1 | gemm_npu,cores=2\n"
            "      |          ^^^^^\n"
            "hint: leave `cores` out\n"
            "\n"
            "--target:2:9: error: `cores` is a number from 1 to 64, not `many` [out-of-range]\n"
            "    2 | c,cores=many\n"
            "      |         ^^^^",
        ),
        (
            ("c", "b,backend=c,cores=3"),
            "--target:2:13: error: `b` has `cores`, and the host is `c` [no-cores]\n"
            "    2 | b,backend=c,cores=3\n"
            "      |             ^^^^^\n"
            "hint: those of the host share its memory; describe others in a SoC file",
        ),
        (
            ('{"name": "a b", "backend": "c"}',),
            "--target:1:10: error: `a b` is not a C identifier [bad-identifier]\n"
            '    1 | {"name": "a b", "backend": "c"}\n'
            "      |          ^^^^^",
        ),
    ],
)
def test_what_cannot_be_built(targets: tuple[str, ...], said: str) -> None:
    assert refusal(*targets) == said


@pytest.mark.parametrize("digits", ["9" * 5000, "²"])
@pytest.mark.parametrize("target", ["c,ram=", "c,clock=", "c,cores=", "gemm_npu,wgt="])
def test_digits_that_are_no_number_of_python(target: str, digits: str) -> None:
    """It makes no integer of more than 4,300 digits, and none of a small two."""
    assert "--target:1:" in refusal(target + digits)


def test_show_prints_a_file_that_check_accepts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "show", "--target", "c", "--target", '{"name": "gemm_npu", "inp": 65536}')
    assert code == 0
    path = tmp_path / "built.toml"
    path.write_text(out)
    assert read_soc(path) == select("c", "gemm_npu,inp=64KiB", soc=None).soc
    assert call(capsys, "check", str(path)) == (
        0,
        "c_gemm_npu: ok (2 instances of c, gemm_npu; 4 memories, 6 copy paths)\n",
        "",
    )


def test_show_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "show", "--target", "c", "--format=json")
    assert (code, json.loads(out)[0]["name"]) == (0, "c")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("show",),
            "command line: error: neither a SoC nor `--target` is given [no-soc]\nhint: `show zynq_edge`\n",
        ),
        (
            ("show", "mcu_m55", "--target", "c"),
            "command line: error: `--target` builds a SoC of its own, beside `mcu_m55` [two-socs]\n"
            "hint: leave one of them out\n",
        ),
        (
            ("partition", DIGITS),
            "command line: error: neither `--soc` nor `--target` says what to plan for [no-soc]\n"
            "hint: `--soc zynq_edge`, or `--target c` for a host alone\n",
        ),
        (
            ("partition", DIGITS, "--target", "c", "--speed=3"),
            "command line: error: unknown argument `--speed` [unknown-argument]\n"
            "hint: `target-arch partition --help` lists the arguments\n",
        ),
        (
            ("partition", DIGITS, "--target", "gemm_npu", "--gemm_npu-max-cycles=1"),
            "command line: error: target_arch `gemm_npu` (backend `gemm_npu`) has no option `max_cycles` "
            "[unknown-option]\nhint: did you mean `start_cycles`?\n",
        ),
        (
            ("partition", DIGITS, "--target", "gemm_npu", "--gemm_npu-start_cycles", "few"),
            "command line: error: option `start_cycles` of `gemm_npu` is a whole number, not `few` "
            "[option-type]\nhint: cycles to write the registers and see the end of a command\n",
        ),
    ],
)
def test_what_the_command_line_refuses(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err == said


def test_options_are_parsed_in_two_phases(capsys: pytest.CaptureFixture[str]) -> None:
    """An option of a target_arch may stand before the model, with or without `=`, with `-` or `_`."""
    arguments = ("--accelerator-macs-per-cycle", "1", "--fpga_conv2d-start_cycles=1", DIGITS, "conv2d_5")
    code, out, _ = call(capsys, "explain", "--soc", "zynq_edge", *arguments, "--format=json")
    assert code == 0
    (choice,) = json.loads(out)
    seconds = {each["instance"]: each["seconds"] for each in choice["candidates"]}
    _, usual, _ = call(capsys, "explain", "--soc", "zynq_edge", DIGITS, "conv2d_5", "--format=json")
    before = {each["instance"]: each["seconds"] for each in json.loads(usual)[0]["candidates"]}
    assert seconds["accelerator"]["compute"] > before["accelerator"]["compute"]
    assert seconds["fpga_conv2d"]["compute"] < before["fpga_conv2d"]["compute"]


def test_help_shows_the_options_of_the_target_archs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "compile", "--help", "--soc", "zynq_edge")
    assert code == 0
    text = " ".join(out.split())
    assert "options of the target_archs of zynq_edge:" in text
    assert "--dsp_cpu-macs_per_cycle NUMBER" in text
    assert "8-bit multiply-accumulates per clock cycle of all C, in place of the rates of kernels" in text
    assert "on its isa (default: 4.0)" in text


def test_help_shows_the_options_of_what_is_selected_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    selected = ("compile", "--help", "--soc", "zynq_edge", "--target", "dsp_cpu")
    assert "--accelerator-" not in call(capsys, *selected)[1]
    assert "--dsp_cpu-macs_per_cycle NUMBER" in call(capsys, *selected)[1]
    (tmp_path / "broken.py").write_text("raise RuntimeError\n")
    code, out, _ = call(capsys, "compile", "--help", "--backend-dir", str(tmp_path))
    assert (code, "macs_per_cycle" in out) == (0, False)
    assert "`target-arch backends` those of every backend" in " ".join(out.split())


@pytest.mark.slow
def test_a_second_cpu_of_its_own_program_is_started(
    capsys: pytest.CaptureFixture[str], needs_tool: Callable[[str], str]
) -> None:
    """Its program is linked with the host's: there is nothing to load, and it is started all the same."""
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    needs_tool("cc")
    targets = ("--target", "dsp,backend=c,ram=64KiB", "--target", "c,host=c", "--require", "conv2d=dsp")
    code, out, _ = call(capsys, "verify", DIGITS, *targets, "--count", "2")
    assert (code, out.splitlines()[0]) == (0, "verification passed")


def test_only_the_selected_backends_partition() -> None:
    """Who is left out neither takes operators nor says what is a composite."""
    soc = read_soc("zynq_edge")
    request = CompileRequest(model_path=Path(DIGITS), soc=soc, targets=("accelerator",))
    graph = partition_model(request)
    assert {part.instance for part in graph.partitions} == {"accelerator", "host_cpu"}


def test_broken_backends_of_a_folder_are_refused_before_anything_is_done(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "one.py").write_text("import no_such_module\n")
    (tmp_path / "two.py").write_text(MODULE.format(name="other"))
    code, out, err = call(capsys, "partition", DIGITS, "--soc", "zynq_edge", "--backend-dir", str(tmp_path))
    assert (code, out) == (2, "")
    assert err == (
        f"{tmp_path}/one.py: error: backend `one` cannot be imported: ModuleNotFoundError: No module named "
        "'no_such_module' [backend-broken]\n"
        "\n"
        f"{tmp_path}/two.py: error: the value registered as `two` calls itself `other` [backend-misnamed]\n"
        "hint: give both the same name\n"
    )


def test_a_failing_hook_is_a_message(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (MODULE.format(name="lib") + SHARED).replace(
        "lambda question: None", "lambda question: question.x"
    )
    (tmp_path / "lib.py").write_text(text)
    arguments = ("partition", DIGITS, "--target", "lib", "--backend-dir", str(tmp_path))
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err == (
        "backend `lib`, hook `supports`, operator `quantize_0` on `lib`: error: AttributeError: 'Question' "
        "object has no attribute 'x' [hook-failed]\n"
        "hint: `--traceback` shows where it was raised\n"
    )
    code, _, shown = call(capsys, *arguments, "--traceback")
    assert code == 2
    assert shown.startswith("Traceback (most recent call last):\n")
    assert f'{tmp_path}/lib.py", line ' in shown
    assert shown.endswith(err)
    monkeypatch.setenv("TARGET_ARCH_TRACEBACK", "1")
    assert call(capsys, *arguments)[2] == shown


@pytest.mark.slow
def test_a_bundle_of_backends_alone_is_verified(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    needs_tool("cc")
    out = str(tmp_path / "out")
    targets = ("--target", "gemm_npu,inp=8KiB,host=c", "--target", "conv2d_engine")
    code, _, err = call(capsys, "compile", DIGITS, *targets, "-o", out)
    assert (code, err) == (0, "")
    code, out_text, err = call(capsys, "run", out)
    assert (code, err) == (0, "")
    assert out_text.startswith("self-test passed: its own input on port `host`, compared with ")
    code, said, _ = call(capsys, "verify", DIGITS, "--bundle", out, "--count", "3")
    assert (code, said.splitlines()[0]) == (0, "verification passed")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["soc"] == "gemm_npu_conv2d_engine_c"
    code, _, err = call(capsys, "verify", DIGITS, "--bundle", out, *targets)
    assert (code, err) == (
        2,
        "command line: error: `--target` says what to compile for, `--bundle` is compiled already "
        "[two-socs]\n"
        "hint: leave one of them out\n",
    )


@pytest.mark.parametrize(
    "name",
    [name for name, backend in PlugIns.discover().backends.items() if backend.default_arch is not None],
)
def test_every_backend_with_a_default_makes_a_soc(name: str) -> None:
    soc = select(name, soc=None).soc
    assert check_soc(soc) == ()
    assert PlugIns.discover().faults(soc) == ()
    assert parse_soc(toml(soc), "built.toml") == soc


def test_where_a_lowering_failed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text, lower = MODULE.format(name="lib") + SHARED, 'Kernel(partition="", instance="")'
    (tmp_path / "lib.py").write_text(text.replace(lower, "request.x"))
    folders = ("--backend-dir", str(tmp_path), "-o", str(tmp_path / "bundle"))
    code, _, shown = call(capsys, "compile", DIGITS, "--target", "lib", *folders, "--traceback")
    assert (code, "hook `lower`" in shown) == (2, True)
    assert f'{tmp_path}/lib.py", line ' in shown
