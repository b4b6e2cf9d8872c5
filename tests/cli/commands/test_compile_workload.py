"""`compile --workload`: what it prints, and what does not go with it."""

from pathlib import Path

import pytest

from target_arch.cli import main
from target_arch.resources import examples

TWO = """schema = 1
[model.kws]
file = "digits_int8.onnx"
period = "2 ms"
[model.vww]
file = "digits_int8.onnx"
period = "4 ms"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits_int8.onnx").symlink_to(examples() / "digits" / "digits_int8.onnx")
    (tmp_path / "two.toml").write_text(TWO)
    return tmp_path


def test_response_times_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "--workload", "two.toml", "--soc", "zynq_edge", "-o", "out"]) == 0
    said = capsys.readouterr().out
    assert "\nschedulable: kws " in said
    assert (
        "\nmodel  due         deadline  priority     run  longest step  worst response  of it blocked\n"
        in said
    )
    assert "arenas shared: but for jobs that may be open at once\n" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["digits_int8.onnx", "--workload", "two.toml"],
            "command line: error: a workload names its models, and others are given [bad-workload]\n"
            "hint: leave the models out, or write them into the file\n",
        ),
        (
            [],
            "command line: error: there is no model to compile [no-models]\n"
            "hint: name a model file, or `--workload FILE`\n",
        ),
    ],
)
def test_models_are_named_once(
    words: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", *words, "--soc", "zynq_edge", "-o", "out"]) == 2
    assert capsys.readouterr().err == said
