"""What is met on the first day: slips of the hand, capitals, relative paths, programs that read errors."""

import io
import json
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.cli.main import main
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest
from target_arch.pipeline.resolve import rules
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.plan.printed import text
from target_arch.plan.printed.reasoning import operator_hint
from target_arch.run import reference_for
from target_arch.soc import read_soc


def test_the_typo_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complie", "x.onnx"]) == 2
    assert capsys.readouterr().err == (
        "command line: error: there is no command `complie` [unknown-command]\n"
        "hint: did you mean `compile`?\n"
    )


def test_version_with_tvms(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert f"apache-tvm {version('apache-tvm')}" in capsys.readouterr().out


def test_a_soc_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("schema = 1\nname = 3\n"))
    assert main(["check", "-"]) == 2
    assert "stdin:2:8: error: `name` must be text" in capsys.readouterr().err


def test_errors_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "no_such_chip", "--format", "json"]) == 2
    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (found["rule"], found["level"]) == ("cannot-read", "error")


def test_capitals_in_the_name_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "M.TFLITE").write_bytes(b"no model")
    with pytest.raises(DiagnosticError) as refused:
        reference_for(tmp_path / "M.TFLITE")
    assert refused.value.diagnostics[0].rule == "model-unreadable"


def test_an_operator_by_its_number() -> None:
    known = ("conv2d_0", "depthwise_conv2d_3", "conv2d_8")
    assert operator_hint("conv2d_3", known) == "did you mean `depthwise_conv2d_3`?"
    assert operator_hint("conv2d_9", known) == "did you mean `conv2d_8`?"


def test_a_rule_of_the_soc_file_can_be_dropped() -> None:
    soc = evolve(read_soc("zynq_edge"), require={"conv2d": "host_cpu", "dense": "host_cpu"})
    request = CompileRequest(model_path=Path("m.onnx"), soc=soc, require={"conv2d": ""})
    assert rules(request).require == {"dense": "host_cpu"}


def test_equal_budgets_are_one_line() -> None:
    pool = PoolBudget(memory="bram", live=0, remaining=64, guaranteed=64, used=8)
    sites = {f"conv2d_{number}": (pool,) for number in range(30)}
    printed = text.budgets([Budget(partition="p0", sites=sites)])
    assert printed.splitlines()[2].split("  ")[1] == "conv2d_0 and 29 more"
    assert len(printed.splitlines()) == 3


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_completion_names_commands_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("compile", "new-backend", "lowering-order"))


def test_the_help_of_completion_says_where_the_script_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert 'eval "$(target-arch completion bash)"' in said
    assert "target-arch completion fish | source" in said


def test_bash_completes_commands_and_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    main(["completion", "bash"])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    asked = (
        ". ./script; ask() { COMP_WORDS=($1); COMP_CWORD=$2; _shtab_target_arch; echo ${COMPREPLY[@]}; }; "
        "ask 'target-arch comp' 1; ask 'target-arch compile --lower' 2"
    )
    done = subprocess.run([bash, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "compile compare completion\n--lowering-order\n"
