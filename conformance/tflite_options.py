"""TFLite operators with other options: random models of one operator each, against LiteRT's kernels.

    python -m conformance.tflite_options [--only NAME …] [--types int8 …] [--seed 0]

A model of each operator and element type (`conformance.tflite_cases`) is varied: one option at a time gets
another value that its type allows. Variations that LiteRT refuses, or that end its process, do not count.
Each of the others is refused, or its answers are LiteRT's: integers in every bit, floats nearly so. Ends with
1 if something is wrong.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from conformance.apart import Ended, apart
from conformance.tflite_cases import TYPES, random_values
from conformance.tflite_files import Array
from conformance.tflite_operators import CASES, FRAMES, OPTIMIZED, Variant, difference, reference, run_once
from target_arch.diagnostics import DiagnosticError

FIXED = frozenset(
    {
        "batchDim", "idxOutType", "inDataType", "newShape", "outDataType", "outType", "outputType",
        "quantizedBiasType", "seqDim",
    }
)  # fmt: skip
"""Options that are not varied: types and shapes, which tensors have too, and dimensions that lengths fit."""
ACTIVATIONS = range(5)
"""Fused activations: none, RELU, RELU_N1_TO_1, RELU6, TANH."""
SECONDS = 90
FAR = 1e-5
"""Floats differ by less: an activation may clamp sums to much less than they were."""


def variations(variant: Variant) -> Iterator[tuple[str, bytes]]:
    """The model with another value of one option, and which that is."""
    content = variant.content()
    stated = _options(_model(content))
    for name, value in ({} if stated is None else vars(stated)).items():
        for other in () if name in FIXED else _others(name, value):
            model = _model(content)
            setattr(_options(model), name, other)
            yield f"{name}={other}", _packed(model)


def _model(content: bytes) -> Any:
    return schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(content, 0))


def _options(model: Any) -> Any:
    return model.subgraphs[0].operators[-1].builtinOptions


def _packed(model: Any) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _others(name: str, value: Any) -> list[Any]:
    if name == "fusedActivationFunction":
        return [each for each in ACTIVATIONS if each != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float):
        return sorted({value * 0.5, value * 2, value + 0.3, value + 1} - {value})
    if isinstance(value, int):
        return sorted({0, value - 1, value + 1, value + 2} - {value})
    return []


def outcome(content: bytes, optimized: bool, seed: int) -> str:
    """`pass`, `refused`, `wrong` with the difference, or `absent` where LiteRT does not take the model."""
    theirs = reference(content, optimized=optimized)
    if theirs is None:
        return "absent"
    model = _model(content)
    for each in theirs.get_output_details():
        model.subgraphs[0].tensors[each["index"]].shape = [int(extent) for extent in each["shape"]]
    theirs.reset_all_variables()
    draw = np.random.default_rng(seed)
    frames = [[_drawn(draw, each) for each in theirs.get_input_details()] for _ in range(FRAMES)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            given = [b"".join(value.tobytes() for value in frame) for frame in frames]
            ours = run_once(_packed(model), given, Path(folder))
        except DiagnosticError as refusal:
            return f"refused ({refusal.diagnostics[0].message})"
    worst = max(_worst(theirs, frame, answer) for frame, answer in zip(frames, ours, strict=True))
    return f"wrong by {worst:g}" if worst > FAR else "pass"


def _drawn(draw: np.random.Generator, detail: Any) -> Array:
    return random_values(draw, tuple(detail["shape"]), np.dtype(detail["dtype"]).name)


def _worst(theirs: Any, frame: list[Array], answer: bytes) -> float:
    for each, value in zip(theirs.get_input_details(), frame, strict=True):
        theirs.set_tensor(each["index"], value)
    theirs.invoke()
    worst, place = 0.0, 0
    for each in theirs.get_output_details():
        expected = theirs.get_tensor(each["index"])
        found = np.frombuffer(answer, expected.dtype, expected.size, place).reshape(expected.shape)
        place += expected.nbytes
        worst = max(worst, difference(found, expected)[0] if expected.size else 0.0)
    return worst


def found(content: bytes, optimized: bool, seed: int) -> str:
    """The outcome; LiteRT may end the process that looks for it."""
    try:
        return str(apart(outcome, content, optimized, seed, seconds=SECONDS))
    except Ended as ended:
        by_litert = ended.code is not None and ended.code < 0
        return "absent" if by_litert else "exception"


def main() -> int:
    """Print each variation that does not pass, then how many there were; 1 where one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=tuple(CASES), metavar="NAME")
    parser.add_argument("--types", nargs="*", default=TYPES, metavar="TYPE")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    count: Counter[str] = Counter()
    for code in arguments.only:
        optimized = code in OPTIMIZED
        for dtype in arguments.types:
            variant = Variant(code=code, dtype=dtype, seed=arguments.seed)
            if found(variant.content(), optimized, arguments.seed) == "absent":
                continue
            for name, content in variations(variant):
                verdict = found(content, optimized, arguments.seed)
                count[verdict.split()[0]] += 1
                if verdict not in ("absent", "pass"):
                    print(f"{code} {dtype} {name}: {verdict}", flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in count.items()))
    return 1 if count["wrong"] or count["exception"] else 0


if __name__ == "__main__":
    sys.exit(main())
