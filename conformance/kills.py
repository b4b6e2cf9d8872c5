"""Kill writers at random moments, and read what they leave.

    python -m conformance.kills [--kills N] [--seed S]

Processes write what commands write, over and over, each time in place of what is there: `compile` two bundles
of the example model in turn, into a folder of bundles alone and into one with files of the user; `package`
its two layouts. Each is killed (SIGKILL) after 5 to 300 ms. Afterwards a reader has to find a whole bundle of
the two, every file of the user, and whole archives. A folder with files of the user may say instead that a
`compile` was interrupted; then the next one has to repair it. Exit code 1 for anything else.
"""

import argparse
import io
import multiprocessing
import random
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from target_arch.api.views.archives import Layout, archived
from target_arch.cli.text.output import write_file
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.bundle import BundleFiles
from target_arch.run.bundles.contents import JOURNAL
from target_arch.run.bundles.manifest import read_manifest
from target_arch.run.bundles.write import write_bundle
from target_arch.soc import read_soc

MODEL = Path(__file__).parents[1] / "examples" / "digits" / "digits_int8.onnx"
THEIRS = {"src/app.c": b"mine\n", "notes/today.txt": b"remember\n"}
LEAST, MOST = 0.005, 0.3
"""Seconds that a writer lives."""

Found = str
"""What was found after a kill: one of these two, or what is wrong."""
WHOLE = "whole"
REPAIRED = "said to be interrupted, and repaired"


def main() -> int:
    """Kill as many writers as the arguments say. Exit code 0 where all that is left is whole."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=250, metavar="N", help="of each kind of writer")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the moments")
    options = parser.parse_args()
    bundles = _bundles()
    wrong = 0
    for name, kind in _KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            found = kind(bundles, Path(folder) / "out", options.kills, random.Random(options.seed))
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in sorted(found.items())))
        wrong += sum(count for what, count in found.items() if what not in (WHOLE, REPAIRED))
    return min(wrong, 1)


def _bundles() -> Sequence[BundleFiles]:
    return [
        compile_model(CompileRequest(model_path=MODEL, soc=read_soc(soc))).bundle
        for soc in ("zynq_edge", "quad_conv")
    ]


def _alone(bundles: Sequence[BundleFiles], out: Path, kills: int, draw: random.Random) -> Counter[Found]:
    return _folders(bundles, out, kills, draw, {})


def _beside(bundles: Sequence[BundleFiles], out: Path, kills: int, draw: random.Random) -> Counter[Found]:
    return _folders(bundles, out, kills, draw, THEIRS)


def _folders(
    bundles: Sequence[BundleFiles], out: Path, kills: int, draw: random.Random, theirs: Mapping[str, bytes]
) -> Counter[Found]:
    write_bundle(bundles[0], out)
    for name, content in theirs.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
    found: Counter[Found] = Counter()
    for _ in range(kills):
        _killed([partial(write_bundle, each, out) for each in bundles], draw)
        found[_of_folder(bundles, out, theirs)] += 1
    return found


def _of_folder(bundles: Sequence[BundleFiles], out: Path, theirs: Mapping[str, bytes]) -> Found:
    if any((out / name).read_bytes() != content for name, content in theirs.items()):
        return "without a file of the user"
    whole = any(_contents(out) == {**bundle.files, **theirs} for bundle in bundles)
    try:
        read_manifest(out)
    except DiagnosticError as error:
        if whole or not theirs or "[half-written]" not in str(error):
            return f"refused: {error}"
        write_bundle(bundles[0], out)
        repaired = _contents(out) == {**bundles[0].files, **theirs}
        return REPAIRED if repaired else "not repaired"
    return WHOLE if whole else "read, and not whole"


def _contents(out: Path) -> Mapping[str, bytes]:
    """Every file but what a killed writer keeps for the next one."""
    kept = Path(JOURNAL).parts[0]
    every = ((path.relative_to(out).as_posix(), path) for path in out.rglob("*") if path.is_file())
    return {name: path.read_bytes() for name, path in every if not name.startswith(kept)}


def _archives(bundles: Sequence[BundleFiles], out: Path, kills: int, draw: random.Random) -> Counter[Found]:
    """Archives of both layouts, each file one of two contents, as `package` writes them."""
    folders = [out / name for name in ("one", "other")]
    for bundle, folder in zip(bundles, folders, strict=True):
        write_bundle(bundle, folder)
    found: Counter[Found] = Counter()
    layouts: tuple[tuple[Layout, Callable[[bytes], bool]], ...] = (("arduino", _unzipped), ("mlf", _untarred))
    for layout, opens in layouts:
        path, contents = out / f"archive.{layout}", _packaged(folders, layout)
        write_file(path, contents[0])
        for _ in range(kills // 2):
            _killed([partial(write_file, path, each) for each in contents], draw)
            whole = path.read_bytes() in contents and opens(path.read_bytes())
            found[WHOLE if whole else f"half an archive ({layout})"] += 1
    return found


def _packaged(folders: Sequence[Path], layout: Layout) -> Sequence[bytes]:
    return [archived(folder, layout).content for folder in folders]


def _unzipped(content: bytes) -> bool:
    return zipfile.ZipFile(io.BytesIO(content)).testzip() is None


def _untarred(content: bytes) -> bool:
    return bool(tarfile.open(fileobj=io.BytesIO(content)).getnames())


def _killed(writes: Sequence[Callable[[], object]], draw: random.Random) -> None:
    """A process that writes all in turn, and is killed."""
    process = multiprocessing.get_context("fork").Process(target=_for_ever, args=(writes,))
    process.start()
    time.sleep(draw.uniform(LEAST, MOST))
    process.kill()
    process.join()


def _for_ever(writes: Sequence[Callable[[], object]]) -> None:
    while True:
        for write in writes:
            write()


_KINDS = {
    "compile, into a folder of its own": _alone,
    "compile, beside files of the user": _beside,
    "package": _archives,
}


if __name__ == "__main__":
    sys.exit(main())
