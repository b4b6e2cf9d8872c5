"""Writers that are killed, several at once, and readers while they write: no mixed bundle, nothing lost."""

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.bundle import BundleFiles
from target_arch.run import Compiler, build, read_manifest, write_bundle
from target_arch.run.bundles import exchange
from target_arch.run.bundles.contents import JOURNAL
from target_arch.run.bundles.lock import locked
from target_arch.run.executables import executable, objects
from tests.run.bundles.folders import contents, put, two_bundles
from tests.slow import slow_except

Bundles = tuple[BundleFiles, BundleFiles]

KILLS = 60
BESIDE = {"build/a.o": b"object"}
THEIRS = {"src/app.c": b"mine\n", "notes/today.txt": b"remember\n"}
HALF_WRITTEN = (
    "error: holds files of two bundles: a `compile` was interrupted here [half-written]\n"
    "hint: compile into it again: that replaces the rest"
)
FRESH = multiprocessing.get_context("forkserver")
"""Processes that start in milliseconds: what they import is in the memory of their server already."""
FRESH.set_forkserver_preload([__name__, "target_arch.run"])


@pytest.fixture(scope="module")
def bundles() -> Bundles:
    return two_bundles()


def write_for_ever(bundles: Bundles, out: Path) -> None:
    while True:
        for bundle in bundles:
            write_bundle(bundle, out)


@contextmanager
def writer(bundles: Bundles, out: Path) -> Iterator[BaseProcess]:
    """A process that writes the two bundles in turn, as fast as it can; killed at the end."""
    process = FRESH.Process(target=write_for_ever, args=(bundles, out))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


class Killed(BaseException):
    """The death of this process, as far as the disk is concerned."""


class Interrupted(BaseException):
    """A signal: what is under way may still clean up."""


def before_changes(
    check: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *, after: bool = False
) -> None:
    """Call `check` before (or after) each call that changes the disk."""

    def watched(owner: object, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: object, **named: object) -> object:
            if not after:
                check()
            done = original(*arguments, **named)
            if after:
                check()
            return done

        monkeypatch.setattr(owner, name, call)

    for name in ("mkdir", "write_bytes", "write_text", "replace", "rename", "unlink", "rmdir"):
        watched(Path, name)
    watched(exchange.shutil, "rmtree")
    watched(exchange, "_exchange")


def die_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the call with that number on nothing changes the disk any more, cleaning up included."""
    calls = count(1)

    def mortal() -> None:
        if next(calls) >= number:
            raise Killed

    before_changes(mortal, monkeypatch)


def interrupt_at(number: int, monkeypatch: pytest.MonkeyPatch, *, after: bool) -> None:
    """An exception before or after the call with that number, and none later."""
    calls = count(1)

    def interrupted() -> None:
        if next(calls) == number:
            raise Interrupted

    before_changes(interrupted, monkeypatch, after=after)


def require_one(out: Path, bundles: Bundles, theirs: dict[str, bytes]) -> None:
    """The folder has one bundle and all of theirs, which readers read, or says that it has files of two."""
    assert {path: (out / path).read_bytes() for path in theirs} == theirs
    waiting = Path(JOURNAL).parts[0]
    found = {path: data for path, data in contents(out).items() if not path.startswith(waiting)}
    if any(found == {**bundle.files, **theirs} for bundle in bundles):
        read_manifest(out)
    else:
        assert (out / JOURNAL).exists()
        with pytest.raises(DiagnosticError) as failure:
            read_manifest(out)
        assert str(failure.value) == f"{out}: {HALF_WRITTEN}"
        assert theirs == THEIRS


def require_repaired(out: Path, bundle: BundleFiles, theirs: dict[str, bytes]) -> None:
    """The next writer leaves its bundle, and nothing beside it."""
    write_bundle(bundle, out)
    assert contents(out.parent) == {f"{out.name}/{path}": d for path, d in {**bundle.files, **theirs}.items()}
    assert [path.name for path in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("theirs", slow_except([THEIRS], [BESIDE, THEIRS], by_hand=[BESIDE]))
def test_a_death_at_any_point(
    bundles: Bundles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: dict[str, bytes]
) -> None:
    """At each change of the disk in turn, until a writer lives to the end."""
    out = tmp_path / "out"
    lives = False
    number = 0
    while not lives:
        first = number % 2 == 0
        write_bundle(bundles[0], out)
        put(out, theirs)
        number += 1
        with monkeypatch.context() as patch:
            die_at(number, patch)
            try:
                write_bundle(bundles[1], out)
                lives = True
            except Killed:
                pass
        require_one(out, bundles, theirs)
        require_repaired(out, bundles[first], theirs)
    assert number > 30


@pytest.mark.parametrize("theirs", [{}, BESIDE])
@pytest.mark.parametrize("after", slow_except([True], [False, True]))
def test_an_interrupt_leaves_nothing_beside(
    bundles: Bundles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: dict[str, bytes], after: bool
) -> None:
    """At each change of the disk in turn, of folders that are exchanged."""
    out = tmp_path / "out"
    write_bundle(bundles[0], out)
    put(out, theirs)
    for number in count(1):
        with monkeypatch.context() as patch:
            interrupt_at(number, patch, after=after)
            try:
                write_bundle(bundles[number % 2], out)
                break
            except Interrupted:
                pass
        require_one(out, bundles, theirs)
        assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert number > 30


@pytest.mark.parametrize("theirs", slow_except([{}], [{}, BESIDE, THEIRS]))
def test_kills(bundles: Bundles, tmp_path: Path, theirs: dict[str, bytes]) -> None:
    """At random moments, one after the other, without a whole write in between."""
    out = tmp_path / "out"
    moments = random.Random(0)
    write_bundle(bundles[0], out)
    put(out, theirs)
    for _ in range(KILLS // 3):
        with writer(bundles, out):
            time.sleep(moments.uniform(0.01, 0.1))
        require_one(out, bundles, theirs)
    require_repaired(out, bundles[1], theirs)


def test_there_is_a_whole_bundle_at_every_moment(bundles: Bundles, tmp_path: Path) -> None:
    """Every look opens the folder by its name, as any program does."""
    out = tmp_path / "out"
    write_bundle(bundles[0], out)
    folders, manifests = set(), {bundle.files["manifest.json"] for bundle in bundles}
    with writer(bundles, out) as process:
        end = time.monotonic() + 2
        while time.monotonic() < end:
            folders.add(out.stat().st_ino)
            assert (out / "manifest.json").read_bytes() in manifests
            assert (out / "Makefile").is_file()
        assert process.is_alive()
    assert len(folders) > 1


def test_readers_wait_beside_files_of_others(bundles: Bundles, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_bundle(bundles[0], out)
    put(out, THEIRS)
    seen = set()
    with writer(bundles, out) as process:
        start = time.monotonic()
        while time.monotonic() < start + (2 if len(seen) == 2 else 30):
            seen.add(read_manifest(out).models[0].partitions[0].instance)
        assert process.is_alive()
    assert len(seen) == 2


def test_a_bundle_replaced_while_it_is_built(
    bundles: Bundles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There and back again: the files have the bytes they had, and the compiler may have seen others."""

    def compiled(command: Sequence[str], directory: Path, output: Path) -> None:
        for bundle in (bundles[1], bundles[0]):
            write_bundle(bundle, directory)
        output.write_bytes(b"")

    monkeypatch.setattr(objects, "_shared_folder", lambda: None)
    monkeypatch.setattr(objects, "run_compiler", lambda command, directory, output: output.write_bytes(b""))
    monkeypatch.setattr(executable, "run_compiler", compiled)
    out = tmp_path / "out"
    write_bundle(bundles[0], out)
    with pytest.raises(DiagnosticError) as failure:
        build(out, compiler=Compiler(command=("cc",), version="1"))
    message = "was replaced or edited while it was read [bundle-replaced]"
    assert str(failure.value) == f"{out}: error: {message}\nhint: run the command again"


@pytest.mark.parametrize("theirs", [{}, THEIRS])
def test_writers_take_turns(bundles: Bundles, tmp_path: Path, theirs: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    put(out, theirs)
    with writer(bundles, out) as one, writer(bundles, out) as other:
        time.sleep(0.5)
        for _ in range(3):
            write_bundle(bundles[0], out)
        assert one.is_alive()
        assert other.is_alive()
    require_one(out, bundles, theirs)
    require_repaired(out, bundles[0], theirs)


def test_a_writer_that_does_not_end(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(DiagnosticError) as failure, locked(tmp_path, patience=0.05):
        pass
    message = "another process is writing this bundle [output-busy]"
    hint = "wait until it ends, or name another folder"
    assert str(failure.value) == f"{tmp_path}: error: {message}\nhint: {hint}"


def test_a_file_saved_in_the_old_folder_is_kept(bundles: Bundles, tmp_path: Path) -> None:
    """Of a writer that was killed after the exchange: nothing knows where the file belongs."""
    out = tmp_path / "out"
    write_bundle(bundles[0], out)
    left = tmp_path / ".out.target_arch-1"
    put(left, {**bundles[1].files, "src/app.c": b"mine"})
    with pytest.raises(DiagnosticError) as failure:
        write_bundle(bundles[1], out)
    message = "was saved here while the folder was replaced, and is in no bundle [output-left-over]"
    hint = "move it to the folder where it belongs, and compile again"
    assert str(failure.value) == f"{left / 'src' / 'app.c'}: error: {message}\nhint: {hint}"
    (left / "src" / "app.c").unlink()
    require_repaired(out, bundles[1], {})
