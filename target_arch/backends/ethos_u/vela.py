"""Vela, Arm's compiler for Ethos-U, as a program: a TFLite file in, command stream, weights and figures out.

It runs as a process of its own on files in a temporary folder, by its documented command line. Its results
are always checked: Vela exceeds the given arena silently, and exits with 0.
"""

import csv
import importlib.util
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from target_arch.backend.contract import NotInstalled
from target_arch.backends.ethos_u.config import MODE, SYSTEM
from target_arch.diagnostics import Blank, Diagnostic, DiagnosticError, Entries, Keyword, advice

EXTRA = "ethos-u"
PERFORMANCE, SIZE = "Performance", "Size"
"""The goals that Vela optimises for: speed within the arena it is given, or the smallest arena."""

WEIGHTS_REGION, SCRATCH_REGION = 0, 1
_STEM = "chain"
_HEADER = struct.Struct("<4I4I")
_FOURCC, _TAG = 0x32504F43, 0x4D554556
"""`COP2`, and `VEUM` before the facts about the stream."""
_FACTS_BYTES = 36


@frozen(kw_only=True)
class Figures:
    """Vela's figures for the result, in cycles of the unit; `seconds` is one run."""

    cycles: int
    npu_cycles: int
    seconds: float


@frozen(kw_only=True)
class RegionOffset:
    """Where Vela puts an input or output: a region and an offset in it."""

    region: int
    offset: int


@frozen(kw_only=True)
class Compiled:
    """Vela's output. `scratch` is the bytes it uses, not the bytes it was given; `config` are words for the
    hardware to be compared with (product and shape, version of the architecture).
    """

    stream: bytes = field(repr=False)
    weights: bytes = field(repr=False)
    scratch: int
    inputs: tuple[RegionOffset, ...]
    outputs: tuple[RegionOffset, ...]
    config: tuple[int, int]
    figures: Figures


def installed() -> bool:
    """True if Vela is installed; it is not imported."""
    return importlib.util.find_spec("ethosu") is not None


def compile_file(model: bytes, accelerator: str, config: str, optimise: str, place: str) -> Compiled:
    """Compile a TFLite file whose every operator the unit computes.

    Raises NotInstalled without Vela, DiagnosticError where it fails or leaves an operator to a CPU.
    """
    if not installed():
        raise NotInstalled([_missing(place)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{_STEM}.tflite").write_bytes(model)
        (folder / "vela.ini").write_text(config, encoding="utf-8")
        options = ("--config", str(folder / "vela.ini"), "--system-config", SYSTEM, "--memory-mode", MODE)
        formats = ("--output-format", "raw", "--cop-format", "COP2", "--separate-io-regions")
        words = ("--accelerator-config", accelerator, "--optimise", optimise, *options, *formats)
        done = subprocess.run(
            [sys.executable, "-m", "ethosu.vela", f"{_STEM}.tflite", *words, "--output-dir", "out"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise _failed(place, _last_line(done.stderr) or _last_line(done.stdout))
        return _read(folder / "out", place)


def _read(folder: Path, place: str) -> Compiled:
    import numpy as np

    with np.load(folder / f"{_STEM}_vela.npz") as found:
        arrays: dict[str, Any] = {
            name: found[name]
            for name in ("cmd_data", "weight_data", "scratch_size", "scratch_fast_size", "weight_region")
        }
        arrays |= {
            f"{end}_{part}": found[f"{end}_{part}"].tolist()
            for end in ("input", "output")
            for part in ("region", "offset")
        }
        regions = (int(arrays["weight_region"]), int(found["scratch_region"]))
    if regions != (WEIGHTS_REGION, SCRATCH_REGION) or int(arrays["scratch_fast_size"]):
        raise _failed(place, f"it uses the regions {regions} in a way that is not foreseen here")
    stream, config = _stream(arrays["cmd_data"].tobytes(), int(arrays["scratch_size"]), place)
    return Compiled(
        stream=stream,
        weights=arrays["weight_data"].tobytes(),
        scratch=int(arrays["scratch_size"]),
        inputs=_places(arrays, "input"),
        outputs=_places(arrays, "output"),
        config=config,
        figures=_figures(folder),
    )


def _places(arrays: dict[str, Any], end: str) -> tuple[RegionOffset, ...]:
    pairs: Sequence[tuple[int, int]] = list(
        zip(arrays[f"{end}_region"], arrays[f"{end}_offset"], strict=True)
    )
    return tuple(RegionOffset(region=int(region), offset=int(offset)) for region, offset in pairs)


def _stream(payload: bytes, scratch: int, place: str) -> tuple[bytes, tuple[int, int]]:
    """The command stream inside the driver's payload, and the configuration words.

    A payload is: `COP2`, version, bytes that follow the fourth word, 0; a part's kind, its bytes; the bytes
    of the facts, then the facts (`VEUM`, version, bytes, configuration, architecture, a count, bytes of
    scratch, two more words); the stream.
    """
    start = _HEADER.size - 4 + _FACTS_BYTES
    if len(payload) <= start:
        raise _failed(place, f"its payload has {len(payload)} B, too few")
    fourcc, version, rest, zero, kind, part, facts, tag = _HEADER.unpack_from(payload)
    config, architecture, _, bytes_of_scratch = struct.unpack_from("<4I", payload, 40)
    known = (fourcc, version, zero, kind, facts, tag) == (_FOURCC, 1, 0, 1, _FACTS_BYTES, _TAG)
    sizes = (rest, part, bytes_of_scratch) == (len(payload) - 16, len(payload) - 24, scratch)
    if not known or not sizes:
        raise _failed(place, "its payload is not of the form that this version of Vela writes")
    return payload[start:], (config, architecture)


def _figures(folder: Path) -> Figures:
    with (folder / f"{_STEM}_summary_{SYSTEM}.csv").open(newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    return Figures(
        cycles=int(float(row["cycles_total"])),
        npu_cycles=int(float(row["cycles_npu"])),
        seconds=float(row["inference_time"]),
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _missing(place: str) -> Diagnostic:
    return Diagnostic(
        rule="not-installed",
        place=place,
        message="the backend `ethos_u` compiles with Vela, which is not installed",
        hint=advice(
            f'pip install "target-arch[{EXTRA}]", or leave the target_arch out with ', Keyword("targets")
        ),
    )


def _failed(place: str, why: str) -> DiagnosticError:
    rule = Keyword("forbid", Entries(((Blank("OPERATOR"), Blank("TARGET")),)))
    hint = advice(rule, " keeps an operator off the unit")
    return DiagnosticError([Diagnostic(rule="vela-failed", place=place, message=f"Vela: {why}", hint=hint)])
