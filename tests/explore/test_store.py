"""Stores of outcomes: several writers, kills in the middle of a line, and a full disk."""

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.outcome import ModelNumbers, PointOutcome, Status
from target_arch.explore.store import Store

FITS = PointOutcome(
    status=Status.FITS,
    models={"kws": ModelNumbers(latency=1.25e-3, energy=None, bytes={"sram": 123})},
    bytes={"sram": 128},
)
REFUSED = PointOutcome(status=Status.REFUSED, rule="does-not-fit", reason="pool `sram` …\nnote: a line")


def test_outcomes_stay(tmp_path: Path) -> None:
    store = Store(tmp_path / "below" / "x.jsonl")
    store.add("a", FITS)
    store.add("b", REFUSED)
    store.add("a", REFUSED)
    again = Store(store.file)
    assert (again.get("a"), again.get("b"), again.get("c"), len(again)) == (FITS, REFUSED, None, 2)


def test_a_line_that_was_cut_off_is_not_written(tmp_path: Path) -> None:
    """Wherever a kill cuts the file: what is whole stays, and the next line is whole."""
    store = Store(tmp_path / "x.jsonl")
    store.add("a", FITS)
    whole = store.file.stat().st_size
    store.add("b", REFUSED)
    data = store.file.read_bytes()
    for size in range(len(data)):
        store.file.write_bytes(data[:size])
        cut = Store(store.file)
        assert (cut.get("a") == FITS) == (size >= whole), size
        cut.add("c", REFUSED)
        assert Store(store.file).get("c") == REFUSED, size
        assert Store(store.file).get("a") == cut.get("a"), size


def test_a_damaged_line_is_no_outcome(tmp_path: Path) -> None:
    store = Store(tmp_path / "x.jsonl")
    store.add("a", FITS)
    store.add("b", REFUSED)
    store.file.write_bytes(store.file.read_bytes().replace(b"0.00125", b"0.00525"))
    again = Store(store.file)
    assert (again.get("a"), again.get("b")) == (None, REFUSED)


def test_two_programs_share_one(tmp_path: Path) -> None:
    one, other = Store(tmp_path / "x.jsonl"), Store(tmp_path / "x.jsonl")
    one.add("a", FITS)
    other.add("b", REFUSED)
    one.refresh()
    assert one.get("b") == REFUSED
    assert other.get("a") == FITS


WRITER = """
import sys
from pathlib import Path
from target_arch.explore.outcome import PointOutcome
from target_arch.explore.store import Store
store = Store(Path(sys.argv[1]))
for number in range(200):
    store.add(f"{sys.argv[2]}{number}", PointOutcome(status="refused", reason="r" * 1000))
"""


def test_programs_that_write_at_once(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(file), name]) for name in "abc"]
    assert [each.wait() for each in running] == [0, 0, 0]
    assert len(Store(file)) == 600


@contextmanager
def small_files() -> Iterator[None]:
    """No file of this process may be larger than 600 bytes: as a disk that is full."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "x.jsonl")
    store.add("a", FITS)
    before = store.file.read_bytes()
    with small_files(), pytest.raises(DiagnosticError) as caught:
        store.add("b", PointOutcome(status=Status.REFUSED, reason="r" * 1000))
    assert str(caught.value) == (
        f"{store.file}: error: cannot be written: file too large [store-unwritable]\n"
        "hint: free some space, or name another file: what is stored stays"
    )
    assert store.file.read_bytes() == before
    store.add("c", FITS)
    assert (len(Store(store.file)), Store(store.file).get("c")) == (2, FITS)


def test_another_file(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"my": "data"}\n')
    with pytest.raises(DiagnosticError) as caught:
        Store(file)
    assert str(caught.value) == (
        f"{file}: error: this file holds no outcomes of `explore` [not-a-store]\nhint: name another file"
    )
    assert file.read_text() == '{"my": "data"}\n'


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DiagnosticError) as caught:
        Store(tmp_path / "file" / "x.jsonl")
    assert "cannot be written: " in str(caught.value)
