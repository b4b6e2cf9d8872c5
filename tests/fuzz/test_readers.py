"""A sample of the mutants of every reader; `make fuzz` reads as many as there is time for."""

import importlib.util
import os
from pathlib import Path

import pytest

from conformance.fuzz_readers import campaign as campaigns
from conformance.fuzz_readers.campaign import campaign
from conformance.fuzz_readers.mutate import of_bytes
from conformance.fuzz_readers.readers import READERS, Reader
from target_arch.diagnostics import DiagnosticError
from tests.slow import slow_except

NEEDS = {"archive": "torch", "pt2": "torch"}


MODELS = {"onnx", "onnx-ml", "tflite", "archive", "pt2"}
"""Their libraries take seconds to import."""


@pytest.mark.parametrize("name", slow_except(["soc", "target", "manifest"], READERS, by_hand=["onnx-ml"]))
def test_every_mutant_is_read_or_refused(name: str) -> None:
    needed = NEEDS.get(name)
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"pip install target-arch[{needed}]")
    reader = READERS[name]
    found = campaign(reader, range(reader.sample))
    assert found.findings == ()
    assert found.executions == reader.sample


REFUSED = {"soc": 1, "npy": 2}
"""Seeds that a reader refuses: each spelling of TOML is no SoC, and two arrays are no input."""


@pytest.mark.parametrize(
    "name", slow_except(READERS.keys() - {"manifest"}, [name for name in READERS if name not in MODELS])
)
def test_seeds_are_read(name: str, tmp_path: Path) -> None:
    """Mutants of one that is refused at once get no further."""
    reader = READERS[name]
    taken = [reader.accepts(content, tmp_path) for content in reader.seeds()]
    assert taken.count(False) == REFUSED.get(name, 0)


def broken(path: Path) -> None:
    """A reader with one fault of every kind."""
    text = path.read_bytes()
    if text == b"a":
        raise IndexError("list index out of range")
    if text == b"b":
        raise SystemExit
    if text == b"c":
        os.abort()
    if text == b"d":
        while True:
            pass
    raise DiagnosticError([])


def lone_seed() -> list[bytes]:
    return [b"-"]


@pytest.mark.slow
def test_findings_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "SECONDS", 1)
    letters = (b"a", b"-", b"b", b"c", b"d", b"-")
    reader = Reader(
        name="broken",
        file="a",
        seeds=lone_seed,
        mutate=lambda seeds, number: letters[number],
        read=broken,
        sample=0,
    )
    found = campaign(reader, range(len(letters)))
    assert (found.executions, found.accepted) == (6, 0)
    assert [(each.number, each.what.partition(" (")[0]) for each in found.findings] == [
        (0, "IndexError: list index out of range"),
        (2, "SystemExit"),
        (3, "signal SIGABRT"),
        (4, "TimeoutError: not done after 1 s of CPU time"),
    ]


def test_a_campaign_ends_when_its_time_is_over() -> None:
    reader = Reader(
        name="length", file="a", seeds=lone_seed, mutate=of_bytes, read=lambda path: path.stat(), sample=0
    )
    found = campaign(reader, range(7, 10**9), seconds=0)
    assert (found.executions, found.accepted, found.findings) == (1, 1, ())


def test_the_same_number_is_the_same_mutant() -> None:
    seeds = [bytes(range(100)), b"other"]
    assert [of_bytes(seeds, number) for number in range(50)] == [
        of_bytes(seeds, number) for number in range(50)
    ]
    assert len({of_bytes(seeds, number) for number in range(50)}) > 40
