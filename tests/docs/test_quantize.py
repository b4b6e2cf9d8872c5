"""What docs/quantize.md shows is what happens, but for digits that depend on libraries and processors."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from target_arch.cli import main
from target_arch.resources import examples
from tests.docs.console import printed

PAGE = Path(__file__).parents[2] / "docs" / "quantize.md"
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
VARYING = re.compile(r"[\d.,]+|int8(-tensor)?|int4|float|yes|no\b|(?<=onnxruntime, )[a-z ]+(?=, )| +")
pytest.importorskip("ortools", reason="needs OR-tools: pip install 'target-arch[quantize]'")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[quantize]'")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the example's float model and labelled data."""
    (tmp_path / "digits_float.onnx").symlink_to(examples() / "digits" / "digits_float.onnx")
    held_out = np.load(examples() / "digits" / "heldout.npz")
    images = (held_out["images"].reshape(-1, 1, 1, 8, 8) / 16).astype(np.float32)
    np.savez(tmp_path / "digits.npz", image=images, labels=held_out["labels"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARGET_ARCH_QUIET", "")
    return tmp_path


@pytest.mark.slow
def test_the_page(folder: Path, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config) -> None:
    before = PAGE.read_text()
    after = CONSOLE.sub(lambda found: printed(found[1], capsys), before)
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(after)
        return
    first, second = (CONSOLE.search(text) for text in (before, after))
    assert first is not None
    assert second is not None
    assert VARYING.sub("", second[1]) == VARYING.sub("", first[1])


@pytest.mark.long
def test_the_refusal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"```\n\$ (target-arch quantize .*?)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert shown is not None
    _, *arguments = shlex.split(shown[1])
    assert main([*arguments, "--quiet"]) == 2
    assert VARYING.sub("", capsys.readouterr().err) == VARYING.sub("", shown[2])
