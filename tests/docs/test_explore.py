"""What docs/explore.md shows is what happens."""

import re
import shlex
from pathlib import Path

import pytest

from target_arch.cli import main
from target_arch.resources import examples
from tests.docs.console import check_page, printed

PAGE = Path(__file__).parents[2] / "docs" / "explore.md"
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the example model and the space file of the page."""
    (tmp_path / "digits_int8.onnx").symlink_to(examples() / "digits" / "digits_int8.onnx")
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "chips.toml").write_text(found[1])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_page(folder: Path, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config) -> None:
    text = CONSOLE.sub(lambda found: printed(found[1], capsys), PAGE.read_text())
    check_page(PAGE, text, pytestconfig)


@pytest.mark.slow
def test_one_point(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    found = re.search(r"```\n(target-arch explore .*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    for line in found[1].splitlines():
        program, *words = shlex.split(line)
        assert program == "target-arch"
        assert main(words) == 0, capsys.readouterr().err
