"""Bundles reach the disk whole or not at all, and no file of a user is ever lost."""

import json
import os
from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.emit.digests import digest, sealed_text
from target_arch.plan.bundle import BundleFiles
from target_arch.plan.manifest.image import ImageEntry, StackEntry
from target_arch.plan.manifest.verification import VerificationEntry
from target_arch.run import read_manifest, write_bundle
from target_arch.run.bundles import exchange
from target_arch.run.bundles.manifest import RecordedFacts, record_facts
from tests.run.bundles.folders import contents, put, two_bundles

THEIRS = {
    "src/app.c": b"int main(void) { return 0; }\n",
    "notes/today.txt": b"remember\n",
    ".git/HEAD": b"ref: refs/heads/main\n",
    "build/mine.o": b"object",
}
EDITED = "was edited since `compile` wrote it, and would be lost [output-edited]"
EDITED_HINT = "hint: move your version out of the bundle and delete this one, or name another folder"
IN_THE_WAY = (
    "is not a file that `compile` recorded here, and the new bundle has one of this name [output-in-the-way]"
)
IN_THE_WAY_HINT = "hint: move or delete it, or name another folder"

VERIFIED = VerificationEntry(
    reference="r", rule="r", seed=0, frames=1, outputs=1, equal=1, equal_to="", largest=0.0, allowed=0.0,
    self_test="passed",
)  # fmt: skip
IMAGE = ImageEntry(
    sections=(),
    memories=(),
    stack=StackEntry(reserved=64, predicted=1, path=("main",), unknown=()),
    libraries=(),
)


@pytest.fixture(scope="module")
def bundles() -> tuple[BundleFiles, BundleFiles]:
    return two_bundles()


def under(name: str, bundle: BundleFiles) -> dict[str, bytes]:
    return {f"{name}/{path}": data for path, data in bundle.files.items()}


def refused(bundle: BundleFiles, directory: Path) -> str:
    before = contents(directory)
    with pytest.raises(DiagnosticError) as failure:
        write_bundle(bundle, directory)
    assert contents(directory) == before
    return str(failure.value)


def test_writes_every_file_and_nothing_else(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    write_bundle(bundles[0], tmp_path / "a" / "b")
    assert contents(tmp_path) == under("a/b", bundles[0])
    assert read_manifest(tmp_path / "a" / "b").name == "tiny-add"


def test_the_manifest_lists_every_file(bundles: tuple[BundleFiles, BundleFiles]) -> None:
    files = bundles[0].files
    listed = json.loads(files["manifest.json"])["files"]
    assert listed.keys() == files.keys()
    others = {path: digest(files[path]) for path in files if path != "manifest.json"}
    assert {path: listed[path] for path in others} == others


def test_replaces_an_empty_folder_and_an_older_bundle(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir(mode=0o750)
    for bundle in (*bundles, *bundles):
        write_bundle(bundle, tmp_path / "out")
        assert contents(tmp_path) == under("out", bundle)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750


def test_objects_and_programs_stay(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_bundle(bundles[0], out)
    put(out, {"build/objects/a.o": b"object"})
    (out / "build" / "latest").symlink_to("objects/a.o")
    write_bundle(bundles[1], out)
    kept = {"out/build/objects/a.o": b"object", "out/build/latest": b"object"}
    assert contents(tmp_path) == under("out", bundles[1]) | kept
    assert os.readlink(out / "build" / "latest") == "objects/a.o"


def test_files_of_others_stay(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    put(tmp_path, THEIRS)
    (tmp_path / "src" / "empty").mkdir()
    numbers = {path: (tmp_path / path).stat().st_ino for path in THEIRS}
    for bundle in (*bundles, *bundles):
        write_bundle(bundle, tmp_path)
        assert contents(tmp_path) == {**bundle.files, **THEIRS}
        assert {path: (tmp_path / path).stat().st_ino for path in THEIRS} == numbers
    assert (tmp_path / "src" / "empty").is_dir()


def test_a_bundle_in_the_current_folder_is_there(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    for bundle in bundles:
        write_bundle(bundle, Path())
        assert contents(Path()) == bundle.files


def test_edited_files_are_refused_by_name(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    write_bundle(bundles[0], tmp_path)
    old = next(path for path in sorted(bundles[0].files) if path not in bundles[1].files)
    for path in ("Makefile", old):
        (tmp_path / path).write_bytes(b"mine")
    assert refused(bundles[1], tmp_path) == "\n\n".join(
        f"{tmp_path / path}: error: {EDITED}\n{EDITED_HINT}" for path in sorted(("Makefile", old))
    )


def test_an_edited_manifest_is_refused(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    write_bundle(bundles[0], tmp_path)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text().replace("tiny-add", "my-add"))
    text = f"{manifest}: error: {EDITED}\n{EDITED_HINT}"
    assert refused(bundles[1], tmp_path) == text
    record_facts(tmp_path, read_manifest(tmp_path), RecordedFacts(image=IMAGE))
    assert refused(bundles[1], tmp_path) == text


def test_deleted_files_come_back(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    write_bundle(bundles[0], tmp_path / "out")
    (tmp_path / "out" / "Makefile").unlink()
    write_bundle(bundles[1], tmp_path / "out")
    assert contents(tmp_path) == under("out", bundles[1])


def test_files_in_the_way_are_refused_by_name(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path
) -> None:
    put(tmp_path, {"Makefile": b"all:\n", "precious.txt": b"mine", "src": b"a file", "include/x": b"x"})
    assert refused(bundles[0], tmp_path) == "\n\n".join(
        f"{tmp_path / path}: error: {IN_THE_WAY}\n{IN_THE_WAY_HINT}" for path in ("Makefile", "src")
    )


def test_a_file_with_the_bytes_it_would_get_is_not_in_the_way(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path
) -> None:
    put(tmp_path, {"Makefile": bundles[0].files["Makefile"]})
    write_bundle(bundles[0], tmp_path)
    assert contents(tmp_path) == bundles[0].files


def test_a_bundle_without_digests_is_refused(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path
) -> None:
    """As target_arch wrote them before manifests had the table: nothing says which files were edited."""
    put(tmp_path, bundles[0].files)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["files"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    shared = [path for path in bundles[1].files if path in bundles[0].files]
    different = sorted(path for path in shared if bundles[0].files[path] != bundles[1].files[path])
    assert refused(bundles[1], tmp_path) == "\n\n".join(
        f"{tmp_path / path}: error: {IN_THE_WAY}\n{IN_THE_WAY_HINT}" for path in different
    )


def test_a_manifest_cannot_name_files_elsewhere(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    write_bundle(bundles[0], out)
    put(tmp_path, {"mine": b"mine", "linked/mine": b"mine"})
    (out / "away").symlink_to(tmp_path / "linked")
    manifest = json.loads((out / "manifest.json").read_text())
    names = ("../mine", str(tmp_path / "mine"), "away/mine")
    listed = {**manifest["files"], **dict.fromkeys(names, digest(b"mine"))}
    (out / "manifest.json").write_text(sealed_text({**manifest, "files": listed}))
    write_bundle(bundles[1], out)
    kept = {"mine": b"mine", "linked/mine": b"mine"}
    assert contents(tmp_path) == under("out", bundles[1]) | kept
    assert (out / "away").is_symlink()


def test_a_symbolic_link_is_followed(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    for bundle in bundles:
        write_bundle(bundle, tmp_path / "link")
        assert os.readlink(tmp_path / "link") == "real"
        assert contents(tmp_path / "real") == bundle.files


def test_links_in_the_folder_are_in_the_way(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    write_bundle(bundles[0], out)
    (out / "src").rename(elsewhere)
    (out / "src").symlink_to(elsewhere)
    before = contents(elsewhere)
    assert refused(bundles[1], out) == f"{out / 'src'}: error: {IN_THE_WAY}\n{IN_THE_WAY_HINT}"
    assert contents(elsewhere) == before


def test_refuses_a_file(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(DiagnosticError) as failure:
        write_bundle(bundles[0], tmp_path / "out")
    text = f"{tmp_path / 'out'}: error: is a file [output-not-a-folder]\nhint: name a folder"
    assert str(failure.value) == text


def test_a_parent_that_is_a_file(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError, match=r"cannot be written: .* \[output-unwritable\]"):
        write_bundle(bundles[0], tmp_path / "file" / "out")


@pytest.mark.parametrize("theirs", [{}, {"notes.txt": b"mine"}])
@pytest.mark.parametrize("there", [False, True])
def test_a_disk_that_fills_changes_nothing(
    bundles: tuple[BundleFiles, BundleFiles],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    there: bool,
    theirs: dict[str, bytes],
) -> None:
    out = tmp_path / "a" / "out"
    if there:
        write_bundle(bundles[0], out)
    put(out, theirs)
    before = contents(tmp_path), sorted(tmp_path.rglob("*"))
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "manifest.json":
            raise OSError(28, os.strerror(28))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DiagnosticError) as failure:
        write_bundle(bundles[1], out)
    assert str(failure.value) == (
        f"{out}: error: cannot be written: No space left on device [output-unwritable]\n"
        "hint: name a folder that you may write to"
    )
    assert (contents(tmp_path), sorted(tmp_path.rglob("*"))) == before


@pytest.mark.parametrize("number", [1, 18, 22, 38])
def test_a_system_that_cannot_exchange_or_link(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def cannot(one: Path, other: Path) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(exchange, "_exchange", cannot)
    for bundle in bundles:
        write_bundle(bundle, tmp_path / "out")
        assert contents(tmp_path) == under("out", bundle)


def test_a_file_saved_while_the_folder_is_exchanged(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_bundle(bundles[0], out)
    swap = exchange._exchange

    def saved_before(one: Path, other: Path) -> None:
        (out / "src" / "app.c").write_bytes(b"mine")
        swap(one, other)

    monkeypatch.setattr(exchange, "_exchange", saved_before)
    write_bundle(bundles[1], out)
    assert contents(tmp_path) == under("out", bundles[1]) | {"out/src/app.c": b"mine"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is not a bundle: it has no manifest.json"),
        ("\udc80", "is not a bundle: manifest.json cannot be read: it is not UTF-8"),
        ("[1]", "is not a bundle: manifest.json is another kind of file"),
        ('{"soc": 1}', "is not a bundle: manifest.json is another kind of file"),
    ],
)
def test_a_folder_that_is_no_bundle(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DiagnosticError) as failure:
        read_manifest(tmp_path)
    hint = "hint: name the folder that `compile` wrote"
    assert str(failure.value) == f"{tmp_path}: error: {message} [not-a-bundle]\n{hint}"


def test_facts_found_later_are_no_edit(bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path) -> None:
    write_bundle(bundles[0], tmp_path / "out")
    seen = read_manifest(tmp_path / "out")
    verdicts = {model.name: VERIFIED for model in seen.models}
    record_facts(tmp_path / "out", seen, RecordedFacts(verifications=verdicts))
    record_facts(tmp_path / "out", seen, RecordedFacts(image=IMAGE))
    recorded = read_manifest(tmp_path / "out")
    assert [model.verification for model in recorded.models] == [VERIFIED]
    assert recorded.image == IMAGE
    assert contents(tmp_path).keys() == under("out", bundles[0]).keys()
    write_bundle(bundles[1], tmp_path / "out")
    assert contents(tmp_path) == under("out", bundles[1])


def test_facts_about_another_bundle_are_refused(
    bundles: tuple[BundleFiles, BundleFiles], tmp_path: Path
) -> None:
    write_bundle(bundles[0], tmp_path)
    seen = read_manifest(tmp_path)
    write_bundle(bundles[1], tmp_path)
    with pytest.raises(DiagnosticError) as failure:
        record_facts(tmp_path, seen, RecordedFacts(image=IMAGE))
    message = "was replaced or edited while it was read [bundle-replaced]"
    assert str(failure.value) == f"{tmp_path}: error: {message}\nhint: run the command again"
    assert contents(tmp_path) == bundles[1].files
