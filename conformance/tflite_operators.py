"""TFLite operators, random models of one operator each, against LiteRT's reference kernels: every bit.

    python -m conformance.tflite_operators [--only NAME …] [--types int8 …] [--variants 3] [--write]

Each operator is drawn `--variants` times for every element type of its activations. The models that compile
become branches of one model, which is built with gcc and run on random frames; floats may differ by a
millionth of the largest value. `--write` puts the table into `docs/operators.md`.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from attrs import field, frozen

from conformance.tflite_cases import CASES as STATELESS
from conformance.tflite_cases import TYPES, Case, Draw, random_values
from conformance.tflite_files import Array, TfliteFile
from conformance.tflite_plain_cases import CASES as PLAIN
from conformance.tflite_recurrent import CASES as RECURRENT
from target_arch.diagnostics import DiagnosticError
from target_arch.emit.bundle import emit_bundle
from target_arch.emit.manifest import manifest
from target_arch.pipeline import CompileRequest, emission
from target_arch.pipeline.emission import emit_inputs
from target_arch.pipeline.planning import plan
from target_arch.pipeline.preparation import prepare
from target_arch.plan.model_pools import Sharing
from target_arch.registry import PlugIns
from target_arch.relax.importer import import_model
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames

CASES: Mapping[str, Case] = {**STATELESS, **PLAIN, **RECURRENT}
PAGE = Path(__file__).parents[1] / "docs" / "operators.md"
MARKED = re.compile(r"(<!-- measured tflite -->\n).*?(<!-- end -->)", re.DOTALL)
HYBRID = "hybrid"
"""In place of an element type: activations in float32, weights in int8."""
FRAMES = 4
FLOAT_TOLERANCE = 1e-6
OPTIMIZED = ("ABS", "CEIL", "ELU", "ROUND", "SUM")
"""Compared with LiteRT's optimized kernels: it has no reference kernel of the others, and that of `SUM`
is wrong on integers.
"""
EQUAL, REFUSED, ABSENT = "bit-equal", "refused", "not in LiteRT"


@frozen(kw_only=True)
class Variant:
    """One random model of an operator; words after its name say which form of it. `ties` as for `Draw`."""

    code: str
    dtype: str
    seed: int
    ties: bool = False

    def add_to(self, file: TfliteFile) -> None:
        """Draw it, always alike, as a branch of a file."""
        rng = np.random.default_rng([self.seed, *f"{self.code} {self.dtype}".encode()])
        dtype = "float32" if self.dtype == HYBRID else self.dtype
        CASES[self.code](Draw(file=file, rng=rng, dtype=dtype, ties=self.ties))

    def content(self) -> bytes:
        """The file of this model alone."""
        file = TfliteFile()
        self.add_to(file)
        if self.dtype == HYBRID:
            file.narrow()
        return file.content()


@frozen(kw_only=True)
class Outcome:
    """The outcome of a variant: bit-equal, refused (and why), not in LiteRT, or how far off."""

    variant: Variant
    verdict: str
    detail: str = field(default="", repr=False)


def reference(content: bytes, *, optimized: bool = False) -> Interpreter | None:
    """LiteRT's reference (or optimized) kernels for a model, None where they refuse it."""
    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if optimized else OpResolverType.BUILTIN_REF
    try:
        found = Interpreter(model_content=content, experimental_op_resolver_type=kernels)
        found.allocate_tensors()
        found.invoke()
    except (RuntimeError, ValueError):
        return None
    return found


def outcomes(variants: Iterable[Variant], folder: Path) -> Iterator[Outcome]:
    """The outcome of every variant."""
    accepted = []
    for variant in variants:
        content = variant.content()
        path = folder / "one.tflite"
        path.write_bytes(content)
        if reference(content, optimized=variant.code in OPTIMIZED) is None:
            yield Outcome(variant=variant, verdict=ABSENT)
            continue
        try:
            import_model(path)
        except DiagnosticError as refusal:
            yield Outcome(variant=variant, verdict=REFUSED, detail=refusal.diagnostics[0].message)
            continue
        accepted.append(variant)
    for optimized in (False, True):
        group = [each for each in accepted if (each.code in OPTIMIZED) is optimized]
        yield from judged(group, folder)


def judged(group: Sequence[Variant], folder: Path) -> Iterator[Outcome]:
    """The outcomes of variants whose bundle is built and run as one; a group that fails is halved."""
    if not group:
        return
    file = TfliteFile()
    for variant in group:
        variant.add_to(file)
    try:
        yield from _compared(group, file.content(), folder)
    except Exception as error:  # whatever it is, it counts against the variant that causes it
        if len(group) == 1:
            detail = " ".join(str(error).split())[:300]
            yield Outcome(variant=group[0], verdict=f"exception {type(error).__name__}", detail=detail)
            return
        half = len(group) // 2
        yield from judged(group[:half], folder)
        yield from judged(group[half:], folder)


def _compared(group: Sequence[Variant], content: bytes, folder: Path) -> Iterator[Outcome]:
    theirs = reference(content, optimized=group[0].code in OPTIMIZED)
    assert theirs is not None
    frames = list(_frames(theirs))
    ours = run_once(content, [b"".join(value.tobytes() for value in frame) for frame in frames], folder)
    theirs.reset_all_variables()
    details = theirs.get_output_details()
    counts = [_outputs(variant) for variant in group]
    worst: list[tuple[float, float]] = [(0.0, 0.0)] * len(details)
    for frame, answer in zip(frames, ours, strict=True):
        place = 0
        for given, value in zip(theirs.get_input_details(), frame, strict=True):
            theirs.set_tensor(given["index"], value)
        theirs.invoke()
        for number, detail in enumerate(details):
            expected = theirs.get_tensor(detail["index"])
            found = np.frombuffer(answer, expected.dtype, expected.size, place).reshape(expected.shape)
            place += expected.nbytes
            worst[number] = max(worst[number], difference(found, expected))
    at = 0
    for variant, count in zip(group, counts, strict=True):
        far, share = max(worst[at : at + count])
        at += count
        yield Outcome(variant=variant, verdict=EQUAL if far == 0 else f"off by {far:g} in {share:.1%}")


def _outputs(variant: Variant) -> int:
    file = TfliteFile()
    variant.add_to(file)
    return file.outputs


def _frames(theirs: Interpreter) -> Iterator[list[Array]]:
    rng = np.random.default_rng(0)
    for _ in range(FRAMES):
        yield [
            random_values(rng, tuple(each["shape"]), np.dtype(each["dtype"]).name)
            for each in theirs.get_input_details()
        ]


def difference(found: Array, expected: Array) -> tuple[float, float]:
    """The largest difference and the share of elements that differ; none for floats within tolerance."""
    if found.tobytes() == expected.tobytes():
        return 0.0, 0.0
    far = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    far = np.where(np.isnan(found) & np.isnan(expected) if found.dtype.kind == "f" else False, 0.0, far)
    if found.dtype.kind == "f" and far.max() <= FLOAT_TOLERANCE * max(
        1.0, float(np.nanmax(np.abs(expected)))
    ):
        return 0.0, 0.0
    return float(far.max()), float((far > 0).mean())


def run_once(
    content: bytes, frames: Sequence[bytes], folder: Path, libraries: Sequence[Path] = ()
) -> tuple[bytes, ...]:
    """What our program of a model answers to frames, each the bytes of all inputs. `libraries` are folders of
    plug-ins.
    """
    path = folder / "all.tflite"
    path.write_bytes(content)
    plug_ins = PlugIns.discover(libraries)
    request = CompileRequest(model_path=path, soc=plug_ins.backends.default_soc("c"), plug_ins=plug_ins)
    prepared = prepare(request)
    lowered = plan(prepared, request.soc)
    with patch.object(emission, "self_test", lambda *_, **__: "LiteRT is the reference"):
        inputs = emit_inputs("all", [prepared], [lowered], Sharing.SHARED)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        write_bundle(emit_bundle(inputs, manifest(inputs)), Path(name))
        executable = build(Path(name), optimize="-O1")
        return run_frames(executable, frames, timeout=120)


def table(found: Sequence[Outcome]) -> str:
    """A row for each operator, a column for each element type."""
    lines = ["| operator | " + " | ".join(TYPES) + " |", "| --- |" + " --- |" * len(TYPES)]
    for code in dict.fromkeys(each.variant.code for each in found):
        cells = [
            _cell([one for one in found if (one.variant.code, one.variant.dtype) == (code, dtype)])
            for dtype in TYPES
        ]
        lines.append(f"| `{code}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(found: Sequence[Outcome]) -> str:
    verdicts = sorted({each.verdict for each in found if each.verdict != ABSENT})
    if not verdicts:
        return "-" if found else ""
    return ", ".join("equal" if each == EQUAL else each for each in verdicts)


def main() -> int:
    """Print what is not bit-equal, and the table; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these operators")
    parser.add_argument("--types", nargs="*", default=TYPES, metavar="TYPE")
    parser.add_argument("--variants", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ties", action="store_true", help="round scales, which make ties of rounding")
    parser.add_argument("--write", action="store_true", help="the table into docs/operators.md")
    arguments = parser.parse_args()
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        for dtype in arguments.types:
            variants = [
                Variant(code=code, dtype=dtype, seed=seed, ties=arguments.ties)
                for code in arguments.only or CASES
                for seed in range(arguments.seed, arguments.seed + arguments.variants)
            ]
            for outcome in outcomes(variants, Path(folder)):
                found.append(outcome)
                if outcome.verdict not in (EQUAL, ABSENT):
                    variant = outcome.variant
                    print(
                        f"{variant.code} {dtype} {variant.seed}: {outcome.verdict} {outcome.detail}",
                        flush=True,
                    )
    found.sort(key=lambda each: list(CASES).index(each.variant.code))
    print(table(found))
    if arguments.write:
        PAGE.write_text(MARKED.sub(lambda old: f"{old[1]}\n{table(found)}\n\n{old[2]}", PAGE.read_text()))
    return 1 if any(each.verdict not in (EQUAL, REFUSED, ABSENT) for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
