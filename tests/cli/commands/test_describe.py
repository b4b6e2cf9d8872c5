"""Commands about chips and backends: what they print, where, and how they end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from target_arch.cli import main
from target_arch.soc import shipped_socs

SLOWEST_CHECK = 0.5
"""Seconds of this process, imports included; wall time on a busy machine says nothing."""
RUNS = 5
"""The quickest counts: a core shared with other work takes longer for the same instructions."""


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_check_says_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "check", "mcu_m55", "quad_conv") == (
        0,
        "mcu_m55: ok (1 instances of host_cpu; 4 memories, 0 copy paths)\n"
        "quad_conv: ok (5 instances of host_cpu, fpga_conv2d; 6 memories, 18 copy paths)\n",
        "",
    )


@pytest.mark.parametrize("name", shipped_socs())
def test_every_shipped_soc_passes(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, err = call(capsys, "check", name)
    assert (code, err) == (0, "")
    assert out.startswith(f"{name}: ok")


def broken(tmp_path: Path, old: str, new: str) -> Path:
    from target_arch.resources import soc_configs

    text = (soc_configs() / "mcu_m55.toml").read_text()
    assert old in text
    path = tmp_path / "broken.toml"
    path.write_text(text.replace(old, new))
    return path


def test_check_tells_every_file_and_goes_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = broken(tmp_path, 'load = "linked"', 'lode = "linked"')
    code, out, err = call(capsys, "check", str(path), "mcu_m55")
    assert code == 2
    assert out.startswith("mcu_m55: ok")
    assert f"{path}:" in err
    assert "[unknown-key]" in err


def test_faults_between_a_soc_and_its_backends_have_their_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = broken(tmp_path, 'backend = "c"', 'backend = "nul"')
    line = path.read_text().splitlines().index('backend = "nul"') + 1
    code, out, err = call(capsys, "check", str(path))
    assert (code, out) == (2, "")
    assert err == (
        f"{path}:{line}:11: error: backend `nul` is not installed [unknown-backend]\n"
        f'{line:5} | backend = "nul"\n'
        "      |           ^^^^^\n"
        "hint: did you mean `null`?\n"
    )


def test_check_for_programs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = broken(tmp_path, 'backend = "c"', 'backend = "nul"')
    code, out, _ = call(capsys, "check", str(path), "mcu_m55", "--format=json")
    wrong, right = json.loads(out)
    assert code == 2
    assert right == {"file": "mcu_m55", "soc": "mcu_m55", "ok": True, "diagnostics": []}
    assert wrong["diagnostics"][0]["rule"] == "unknown-backend"
    assert wrong["diagnostics"][0]["column"] == 11


def test_show_names_what_a_target_arch_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "show", "zynq_edge")
    assert code == 0
    dsp = next(line for line in out.splitlines() if line.strip().startswith("dsp_cpu"))
    assert " ".join(dsp.split()) == (
        "dsp_cpu kDLCPU:1 c macs_per_cycle=4.0 c firmware, dsp.elf, 64 KiB, 3 ms 300 MHz "
        "inputs and outputs dsp_tcm"
    )


def test_show_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "show", "zynq_edge", "--format=json")
    assert code == 0
    assert json.loads(out)[0]["archs"][1]["device"] == {"type": "kDLCPU", "id": 1}


def test_headers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "headers", "zynq_edge")
    assert code == 0
    assert "#define ZYNQ_EDGE_ABI_HASH UINT64_C(" in out
    path = tmp_path / "zynq_edge_soc.h"
    assert call(capsys, "headers", "zynq_edge", "-o", str(path)) == (0, "", "")
    assert path.read_text() == out


def test_headers_into_nowhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = call(capsys, "headers", "zynq_edge", "-o", str(tmp_path / "absent" / "x.h"))
    assert (code, out) == (2, "")
    assert "cannot be written: No such file or directory [output-unwritable]" in err


def test_backends_are_listed_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "backends")
    assert (code, err) == (0, "")
    assert "null (none): takes nothing; the skeleton to clone\n  contract 2, entry point `null" in out
    assert "  option macs_per_cycle = 64: int8 multiply-accumulates per clock cycle\n" in out


def test_a_broken_backend_is_told_and_the_others_are_listed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("import nothing_of_this_name\n")
    code, out, err = call(capsys, "backends", "--backend-dir", str(tmp_path), "--format=json")
    assert code == 2
    assert err.startswith(
        f"{tmp_path}/mine.py: error: backend `mine` cannot be imported: ModuleNotFoundError"
    )
    assert {"c", "null"} <= {row["name"] for row in json.loads(out)}


def test_a_new_soc_passes_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "my_chip.toml"
    assert call(capsys, "new-soc", "my_chip", "-o", str(path))[0] == 0
    assert call(capsys, "check", str(path))[:2] == (
        0,
        "my_chip: ok (1 instances of host_cpu; 2 memories, 0 copy paths)\n",
    )


def test_a_new_soc_harms_nobody(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("mine\n")
    code, _, err = call(capsys, "new-soc", "mine", "-o", str(path))
    assert (code, path.read_text()) == (2, "mine\n")
    assert "[output-exists]" in err
    assert call(capsys, "new-soc", "Not A Name")[0] == 2
    assert call(capsys, "new-soc", "mine.toml")[2].endswith(
        "hint: the file is called so by itself: `target-arch new-soc mine`\n"
    )


def test_the_name_of_a_file_beside_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shipped SoC is called by its name, and so was one's own."""
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("schema = 1\n")
    assert call(capsys, "check", "mine")[2] == (
        "mine: error: cannot read a SoC file: no such file or directory [cannot-read]\n"
        "hint: did you mean `mine.toml`?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            (),
            "the following arguments are required: COMMAND [bad-argument]\n"
            "hint: `target-arch --help` lists the arguments\n",
        ),
        (
            ("check",),
            "the following arguments are required: SOC [bad-argument]\n"
            "hint: `target-arch check --help` lists the arguments\n",
        ),
        (
            ("check", "mcu_m55", "--format"),
            "argument --format: expected one argument [bad-argument]\n"
            "hint: `target-arch check --help` lists the arguments\n",
        ),
        (
            ("check", "mcu_m55", "--formt=json"),
            "unknown argument `--formt` [unknown-argument]\nhint: did you mean `--format`?\n",
        ),
        (
            ("--quiet", "check", "mcu_m55"),
            "unknown argument `--quiet` [unknown-argument]\nhint: write it behind `target-arch check`\n",
        ),
        (
            ("check", "mcu_m55", "-v"),
            "unknown argument `-v` [unknown-argument]\n"
            "hint: `target-arch check --help` lists the arguments\n",
        ),
    ],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    assert call(capsys, *arguments) == (2, "", f"command line: error: {said}")


def test_choices_are_said_as_they_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "compile", "m.onnx", "--soc", "mcu_m7", "-o", "b", "--divide", "often")
    assert code == 2
    assert "invalid choice: 'often' (choose from " in err
    assert all(choice in err for choice in ("auto", "host", "never"))
    assert "Divide" not in err


def test_check_starts_fast_and_without_tvm() -> None:
    script = (
        "import sys, time; start = time.process_time()\n"
        "from target_arch.cli import main\n"
        "code = main(['check', 'zynq_edge', 'quad_conv', 'mcu_m55', 'orin_like'])\n"
        "heavy = sorted({'tvm', 'numpy', 'networkx', 'onnx'} & set(sys.modules))\n"
        "print(code, heavy, time.process_time() - start)\n"
    )
    # As at a user's: modules are compiled once.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    took = []
    for _ in range(RUNS):
        answer = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        )
        code, heavy, seconds = answer.stdout.splitlines()[-1].split(" ")
        assert (code, heavy) == ("0", "[]")
        took.append(float(seconds))
    assert min(took) < SLOWEST_CHECK
