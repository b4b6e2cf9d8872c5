"""How little memory models need on `mcu_m7`, and the instructions that this adds to a run.

    python -m benchmarks.memory [--only TEXT] [--results FILE] [--minutes NUMBER] [--picture FILE]

Models are the int8 models beside the repository and MobileNetV2 0.35 at 96x96, and at 32x32 with stride 1 in
its first layer and second stage (`conformance.mobilenet`). The first row of each is without `--memory`: one
operator at a time. `--memory sram=` then goes down by 32nds of that, and where it is refused, by halves
between the last limit that fits and that one, to 64 B. Each bundle is built for the emulated board, compared
with LiteRT on random inputs, and one run of it is counted.

The second table is a chip whose weights go through its little SRAM (`conformance/little_sram.toml`), without
a rule or a target named: the arena, and frames whose outputs are those of LiteRT.

`--results` keeps each row, and a run goes on from what the file has; `--minutes` ends a run early. Exit code
1 where an output differs.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from benchmarks.instructions import MACHINES, NAMES, SHARED, counted
from benchmarks.memory_picture import curves_picture
from conformance.kept import Kept
from conformance.little_sram import chip
from conformance.mobilenet import mobilenet
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.plan.printed.text import table
from target_arch.run import write_bundle
from target_arch.run.verification.verify import verify
from target_arch.soc import read_soc
from target_arch.stages.errors import DoesNotFitError

BUILT = {"mobilenet_v2_035_96": (96, 2), "mobilenet_v2_035_32": (32, 1)}
"""The side of the image and the early stride."""
LITTLE = (("ic_resnet_int8", 36), ("ic_resnet_int8", 40), ("vww_96_int8", 56), ("vww_96_int8", 64))
"""Models, and KiB of the chip with little SRAM."""
_MACHINE = MACHINES["Cortex-M7"]
_ARENA = Arena("sram")
_STEPS = 32
_CLOSE = 64
"""Bytes between the least limit that fits and the greatest that does not."""
_FRAMES = 2


@frozen(kw_only=True)
class Point:
    """A model under a limit, 0 for none; the arena is 0 where it is refused."""

    limit: int
    arena: int = 0
    instructions: int = 0
    equal: bool = True


class OutOfTimeError(Exception):
    """A row that is not known yet, and no time for it."""


@frozen(kw_only=True)
class Rows:
    """Where rows come from: the file of results, or a measurement that begins before `end`."""

    kept: Kept
    end: float

    def point(self, model: Path, limit: int) -> Point:
        """A point of a curve. Raises OutOfTimeError."""
        return Point(**self._known(f"{model.stem} {limit}", lambda: asdict(_measured(model, limit))))

    def little(self, model: Path, kib: int) -> tuple[int, int, int]:
        """Arena on the chip with little SRAM, equal outputs, and outputs. Raises OutOfTimeError."""
        arena, equal, outputs = self._known(f"{model.stem} {kib} KiB", lambda: _verified(model, kib))
        return arena, equal, outputs

    def _known(self, name: str, measure: Callable[[], Any]) -> Any:
        if name not in self.kept.known:
            if time.monotonic() > self.end:
                raise OutOfTimeError(name)
            self.kept.add(name, measure())
        return self.kept.known[name]


def _measured(model: Path, limit: int) -> Point:
    memory = {"sram": limit} if limit else {}
    request = CompileRequest(model_path=model, soc=read_soc(_MACHINE.soc), port=_MACHINE.port, memory=memory)
    try:
        made = compile_model(request)
    except DoesNotFitError:
        return Point(limit=limit)
    with tempfile.TemporaryDirectory() as folder:
        found = counted(made.bundle, model, _MACHINE, Path(folder))
    arena = made.plan.peaks[_ARENA]
    return Point(limit=limit, arena=arena, instructions=found.instructions, equal=found.equal)


def _verified(model: Path, kib: int) -> tuple[int, int, int]:
    made = compile_model(CompileRequest(model_path=model, soc=chip(kib)))
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(made.bundle, Path(folder))
        found = verify(model, Path(folder), count=_FRAMES)
    return made.plan.peaks[_ARENA], found.equal, found.outputs


def curve(model: Path, rows: Rows) -> Iterator[Point]:
    """The points of a model, from most bytes to least. Raises OutOfTimeError."""
    last = rows.point(model, 0)
    yield last
    step, refused = -(-last.arena // _STEPS), 0
    while last.arena - refused > _CLOSE:
        limit = (last.arena - 1) // step * step if not refused else (last.arena + refused) // 2
        found = rows.point(model, limit)
        if found.arena:
            last = found
            yield found
        else:
            refused = limit


def curves(models: Sequence[Path], rows: Rows) -> dict[str, list[Point]]:
    """The curves by model; the last ones are short where there is no time."""
    found: dict[str, list[Point]] = {}
    for model in models:
        points = found.setdefault(model.stem, [])
        try:
            for point in curve(model, rows):
                points.append(point)
                print(model.stem, point, flush=True)
        except OutOfTimeError as name:
            print(f"no time for {name}", file=sys.stderr)
    return found


def curves_table(found: Mapping[str, Sequence[Point]]) -> str:
    """All points as a table."""
    lines = []
    for name, points in found.items():
        for point in points:
            whole = points[0]
            lines.append(
                (
                    name,
                    f"{point.limit:,}" if point.limit else "",
                    f"{point.arena:,}",
                    f"{point.arena / whole.arena:.0%}",
                    f"{point.instructions:,}",
                    f"{point.instructions / whole.instructions - 1:+.2%}",
                    "equal" if point.equal else "differs",
                )
            )
    header = ("model", "--memory", "arena B", "", "instructions", "more", "outputs")
    return table(header, lines, right=range(1, 6))


def little_table(rows: Rows) -> tuple[str, bool]:
    """The chip with little SRAM, and whether all outputs are equal."""
    lines, right = [], True
    for name, kib in LITTLE:
        try:
            arena, equal, outputs = rows.little(_shared(name), kib)
        except OutOfTimeError as missing:
            print(f"no time for {missing}", file=sys.stderr)
            continue
        lines.append((name, f"{kib} KiB", f"{arena:,}", f"{equal} of {outputs}"))
        right &= equal == outputs
    return table(("model", "sram", "arena B", "equal outputs"), lines, right=(1, 2)), right


def _shared(name: str) -> Path:
    return SHARED / "models" / f"{name}.tflite"


def main() -> int:
    """Print the tables; 1 where an output differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name contains this")
    parser.add_argument("--results", type=Path, metavar="FILE", help="rows that a run goes on from")
    parser.add_argument("--minutes", type=float, default=inf, metavar="NUMBER", help="no row starts later")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write the curves as SVG")
    options = parser.parse_args()
    rows = Rows(kept=Kept(options.results), end=time.monotonic() + 60 * options.minutes)
    with tempfile.TemporaryDirectory() as folder:
        built = [Path(folder) / f"{name}.tflite" for name in BUILT]
        for path in built:
            path.write_bytes(mobilenet(*BUILT[path.stem]))
        models = [each for each in (*map(_shared, NAMES), *built) if options.only in each.stem]
        found = curves(models, rows)
    print(curves_table(found))
    little, right = little_table(rows)
    print(little)
    if options.picture:
        shares = {
            name: [
                (point.arena / points[0].arena, point.instructions / points[0].instructions - 1)
                for point in points
            ]
            for name, points in found.items()
        }
        options.picture.write_text(curves_picture(shares).alone(), encoding="utf-8")
    return 0 if right and all(point.equal for points in found.values() for point in points) else 1


if __name__ == "__main__":
    sys.exit(main())
