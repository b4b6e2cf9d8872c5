"""`report`, `compare` and `show` as files."""

import json
from pathlib import Path

import pytest

from target_arch.cli.main import main


def test_every_file_that_was_asked_for_is_written(
    digits_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, trace, values, folder = (tmp_path / name for name in ("r.html", "t.json", "v.json", "svg"))
    files = ["--html", page, "--perfetto", trace, "--json", values, "--svg", folder]
    assert main(["report", str(digits_bundle), *map(str, files)]) == 0
    written = capsys.readouterr().out.splitlines()
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(trace.read_text())["traceEvents"]
    assert [model["name"] for model in json.loads(values.read_text())["models"]] == ["digits"]
    drawn = sorted(path.name for path in folder.iterdir())
    assert {"chip.svg", "model.svg", "timeline.svg"} <= {*drawn}
    assert written == [str(page), str(trace), str(values), *(str(folder / name) for name in _named(written))]


def _named(written: list[str]) -> list[str]:
    return [Path(path).name for path in written if path.endswith(".svg")]


def test_a_bundle_beside_itself(
    digits_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(digits_bundle), str(digits_bundle)]) == 0
    assert "no operator moved" in capsys.readouterr().out
    assert main(["compare", str(digits_bundle), str(digits_bundle), "--format=json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["moved"] == []
    assert all(figure["before"] == figure["after"] for figure in found["figures"])
    page = tmp_path / "c.html"
    assert main(["compare", str(digits_bundle), str(digits_bundle), "--html", str(page)]) == 0
    assert "No operator moved." in page.read_text()


def test_a_chip_is_drawn_before_there_is_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chip.svg"
    assert main(["show", "mcu_m7", "--svg", str(path)]) == 0
    assert path.read_text().startswith("<svg")
    assert main(["show", "mcu_m7", "zynq_edge", "--svg", str(path)]) == 2
    assert "[one-picture]" in capsys.readouterr().err


def test_a_place_that_cannot_be_written(digits_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(digits_bundle), "--html", "/nowhere/r.html"]) == 2
    assert "[output-unwritable]" in capsys.readouterr().err
