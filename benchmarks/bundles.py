"""The bytes of many bundles, to prove that a change of the house changes no answer.

    python -m benchmarks.bundles --save before.json
    python -m benchmarks.bundles --against before.json

The corpus: every example and every model of `../shared/models` (where that folder is) on every shipped SoC,
other memory modes, ports and targets, and bundles of several models. A refusal counts by its text.
`--against` names every file whose bytes differ and ends with 1 if there is one.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsRequest, compile_model, compile_models
from target_arch.plan.bundle import Bundle
from target_arch.resources import examples
from target_arch.soc import read_soc, shipped_socs

REPOSITORY = Path(__file__).parents[1]
SHARED = REPOSITORY.parent / "shared" / "models"
DIGITS = examples() / "digits" / "digits_int8.onnx"

Digests = dict[str, str]
"""File of a bundle → digest of its bytes; a refusal is one entry, `refused`."""


def corpus() -> Iterator[tuple[str, Callable[[], Bundle]]]:
    """A name for every bundle, and the function that makes it."""
    models = [DIGITS, *sorted(SHARED.glob("*.tflite"))]
    for soc in shipped_socs():
        for mode in [mode.name for mode in read_soc(soc).modes]:
            for model in models:
                request = CompileRequest(model_path=model, soc=read_soc(soc), mode=mode)
                yield f"{model.stem} on {soc}, {mode}", partial(_one, request)
        for arch in read_soc(soc).archs:
            request = CompileRequest(model_path=DIGITS, soc=read_soc(soc), targets=(arch.name,))
            yield f"{DIGITS.stem} on {soc}, targets {arch.name}", partial(_one, request)
        for port in [port.name for port in read_soc(soc).ports]:
            request = CompileRequest(model_path=DIGITS, soc=read_soc(soc), port=port)
            yield f"{DIGITS.stem} on {soc}, port {port}", partial(_one, request)
    for soc in ("mcu_m55", "zynq_edge"):
        for arenas in ("shared", "separate"):
            requests = tuple(CompileRequest(model_path=m, soc=read_soc(soc)) for m in (models[0], models[-2]))
            several = ModelsRequest(models=requests, arenas=arenas)
            yield f"{len(requests)} models on {soc}, {arenas}", partial(_several, several)


def _one(request: CompileRequest) -> Bundle:
    return compile_model(request).bundle


def _several(request: ModelsRequest) -> Bundle:
    return compile_models(request).bundle


def digests(make: Callable[[], Bundle]) -> Digests:
    """The digest of every file of a bundle."""
    try:
        bundle = make()
    except DiagnosticError as refusal:
        return {"refused": str(refusal)}
    return {name: hashlib.sha256(data).hexdigest()[:16] for name, data in sorted(bundle.files.items())}


def main() -> int:
    """Print a line per bundle; save or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="FILE")
    parser.add_argument("--only", default="", metavar="TEXT", help="bundles whose name contains this")
    arguments = parser.parse_args()
    before = json.loads(arguments.against.read_text()) if arguments.against else {}
    found: dict[str, Digests] = {}
    different = 0
    for name, make in corpus():
        if arguments.only not in name:
            continue
        found[name] = digests(make)
        old = before.get(name, found[name])
        wrong = sorted(file for file in {*old, *found[name]} if old.get(file) != found[name].get(file))
        different += bool(wrong)
        said = (
            f"different: {', '.join(wrong)}" if wrong else "refused" if "refused" in found[name] else "same"
        )
        whole = hashlib.sha256(json.dumps(found[name]).encode()).hexdigest()[:16]
        print(f"{whole}  {name}" + (f": {said}" if before else ""), flush=True)
    if arguments.save:
        arguments.save.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
