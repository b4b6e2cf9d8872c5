"""Files that a command writes: the old content or the new one, whatever ends the process."""

import os
import threading
from pathlib import Path

import pytest

from target_arch.cli.text.output import write_file, write_text
from target_arch.diagnostics import DiagnosticError


class Killed(BaseException):
    """The death of this process, as far as the disk is concerned."""


@pytest.mark.parametrize("method", ["write_bytes", "replace"])
def test_a_death_before_the_exchange_leaves_the_old_file(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kws.tar"
    write_file(path, b"old")

    def die(*arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Path, method, die)
        with pytest.raises(Killed):
            write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_mode_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    write_text(path, "é\n")
    path.chmod(0o640)
    link.symlink_to(path.name)
    write_text(link, "other\n")
    assert link.is_symlink()
    assert path.read_text() == "other\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"through")
    reader.join(timeout=20)
    assert got == [b"through"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder", "Is a directory"),
        ("none/file", "No such file or directory"),
        ("y" * 300, "File name too long"),
    ],
)
def test_what_cannot_be_written(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / name
    with pytest.raises(DiagnosticError) as refused:
        write_file(path, b"new")
    assert str(refused.value) == (
        f"{path}: error: cannot be written: {said} [output-unwritable]\n"
        "hint: name a place that you may write to"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
