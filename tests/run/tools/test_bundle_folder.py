"""Bundles reach the disk whole or not at all."""

import os
from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.emit import emit_bundle
from target_arch.plan.bundle import Bundle
from target_arch.run import read_manifest, write_bundle
from target_arch.run.tools.bundle_folder import write_manifest
from tests import tiny_plans

HINT = "hint: name a new folder, an empty one, or one that holds a bundle"


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return emit_bundle(tiny_plans.on_host())


def contents(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_writes_every_file_and_nothing_else(bundle: Bundle, tmp_path: Path) -> None:
    write_bundle(bundle, tmp_path / "a" / "b")
    assert contents(tmp_path) == {f"a/b/{path}": data for path, data in bundle.files.items()}
    assert read_manifest(tmp_path / "a" / "b")["model"] == "tiny-add"


def test_replaces_an_empty_folder_and_an_older_bundle(bundle: Bundle, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    write_bundle(bundle, target)
    (target / "build").mkdir()
    (target / "build" / "old.o").write_bytes(b"")
    write_bundle(bundle, target)
    assert contents(tmp_path) == {f"out/{path}": data for path, data in bundle.files.items()}


def test_writes_into_the_current_folder(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    write_bundle(bundle, Path("."))
    assert contents(tmp_path / "out").keys() == bundle.files.keys()


def test_refuses_a_folder_with_other_files(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(DiagnosticError) as failure:
        write_bundle(bundle, tmp_path)
    message = f"{tmp_path}: error: holds files that are not a bundle [output-not-a-bundle]\n{HINT}"
    assert str(failure.value) == message
    assert contents(tmp_path) == {"precious.txt": b"mine"}


def test_refuses_a_file(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(DiagnosticError) as failure:
        write_bundle(bundle, tmp_path / "out")
    assert str(failure.value) == f"{tmp_path / 'out'}: error: is a file [output-not-a-folder]\n{HINT}"


def test_a_parent_that_is_a_file(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError, match=r"cannot be written: File exists \[output-unwritable\]"):
        write_bundle(bundle, tmp_path / "file" / "out")


def test_a_disk_that_fills_leaves_nothing(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "manifest.json":
            raise OSError(28, os.strerror(28))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DiagnosticError) as failure:
        write_bundle(bundle, tmp_path / "a" / "out")
    assert str(failure.value) == (
        f"{tmp_path / 'a' / 'out'}: error: cannot be written: No space left on device [output-unwritable]\n"
        "hint: name a folder that you may write to"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_failed_replacement_keeps_the_old_bundle(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    write_bundle(bundle, target)
    rename = Path.rename

    def refuse(path: Path, to: Path) -> Path:
        if path.name == "new":
            raise OSError(13, os.strerror(13))
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(DiagnosticError, match="Permission denied"):
        write_bundle(bundle, target)
    assert contents(tmp_path) == {f"out/{path}": data for path, data in bundle.files.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is not a bundle: it has no manifest.json"),
        ("{", "is not a bundle: manifest.json cannot be read"),
        ("[1]", "is not a bundle: manifest.json is another kind of file"),
        ('{"soc": 1}', "is not a bundle: manifest.json is another kind of file"),
    ],
)
def test_a_folder_that_is_no_bundle(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DiagnosticError) as failure:
        read_manifest(tmp_path)
    hint = "hint: name the folder that `compile` wrote"
    assert str(failure.value) == f"{tmp_path}: error: {message} [not-a-bundle]\n{hint}"


def test_the_manifest_is_replaced(bundle: Bundle, tmp_path: Path) -> None:
    write_bundle(bundle, tmp_path)
    write_manifest(tmp_path, {**read_manifest(tmp_path), "verification": {"passed": True}})
    assert read_manifest(tmp_path)["verification"] == {"passed": True}
    assert contents(tmp_path).keys() == bundle.files.keys()
