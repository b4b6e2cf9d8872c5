"""The bytes of many bundles, to prove that a change of the source changes none of them.

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
from collections.abc import Iterator
from pathlib import Path

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsRequest, compile_models
from target_arch.plan.model_pools import Sharing
from target_arch.resources import examples
from target_arch.soc import read_soc, shipped_socs

REPOSITORY = Path(__file__).parents[1]
SHARED = REPOSITORY.parent / "shared" / "models"
DIGITS = examples() / "digits" / "digits_int8.onnx"

Digests = dict[str, str]
"""File of a bundle → digest of its bytes; a refusal is one entry, `refused`."""


def corpus() -> Iterator[tuple[str, ModelsRequest]]:
    """A name for every bundle, and the request for it."""
    models = [DIGITS, *sorted(SHARED.glob("*.tflite"))]
    for soc in shipped_socs():
        for mode in [mode.name for mode in read_soc(soc).modes]:
            for model in models:
                request = CompileRequest(model_path=model, soc=read_soc(soc), mode=mode)
                yield f"{model.stem} on {soc}, {mode}", ModelsRequest(models=(request,))
        for arch in read_soc(soc).archs:
            request = CompileRequest(model_path=DIGITS, soc=read_soc(soc), targets=(arch.name,))
            yield f"{DIGITS.stem} on {soc}, targets {arch.name}", ModelsRequest(models=(request,))
        for port in [port.name for port in read_soc(soc).ports]:
            request = CompileRequest(model_path=DIGITS, soc=read_soc(soc), port=port)
            yield f"{DIGITS.stem} on {soc}, port {port}", ModelsRequest(models=(request,))
    for soc in ("mcu_m55", "zynq_edge"):
        for arenas in Sharing:
            requests = tuple(CompileRequest(model_path=m, soc=read_soc(soc)) for m in (models[0], models[-2]))
            several = ModelsRequest(models=requests, arenas=arenas)
            yield f"{len(requests)} models on {soc}, {arenas}", several


def digests(request: ModelsRequest) -> Digests:
    """The digest of every file of the bundle."""
    try:
        bundle = compile_models(request).bundle
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
    for name, request in corpus():
        if arguments.only not in name:
            continue
        found[name] = digests(request)
        old = before.get(name, found[name])
        wrong = sorted(file for file in {*old, *found[name]} if old.get(file) != found[name].get(file))
        different += bool(wrong)
        said = (
            f"different: {', '.join(wrong)}" if wrong else "refused" if "refused" in found[name] else "same"
        )
        whole = hashlib.sha256(json.dumps(found[name]).encode()).hexdigest()[:16]
        print(f"{whole}  {name}" + (f": {said}" if before else ""), flush=True)
    if before:
        print(f"{len(found)} bundles, {different} different")
    if arguments.save:
        arguments.save.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
