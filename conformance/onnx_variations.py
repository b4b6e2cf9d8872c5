"""ONNX's tests of single operators in forms that they do not have, against onnxruntime.

    python -m conformance.onnx_variations [--tests 3] [--seed 0] [--only OPERATOR …]

Some tests of each operator (`conformance.onnx_node_tests`, the ones that pass) are varied: one attribute at a
time gets another value, the model names an older version of ONNX, in which the operator was another one, or
one extent of the first input is 1, and so is that extent of all inputs of this shape, or of that one alone.
The answers of onnxruntime without its optimizations are right; variations that it refuses, or that end its
process, do not count. Where ONNX's own evaluator gives another answer than onnxruntime, the line says so.
Ends with 1 if something is wrong.
"""

import argparse
import json
import random
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from attrs import evolve
from onnx.reference import ReferenceEvaluator

from conformance.apart import Ended, apart
from conformance.onnx_node_tests import RESULTS, Array, Case, cases, outcomes
from target_arch.registry import PlugIns

WORDS: Mapping[str, Sequence[str]] = {
    "approximate": ("none", "tanh"),
    "auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "coordinate_transformation_mode": (
        "align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "output_half_pixel",
        "pytorch_half_pixel",
    ),
    "direction": ("forward", "reverse", "LEFT", "RIGHT"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    "mode": (
        "CRD", "DCR", "avg", "bicubic", "bilinear", "constant", "cubic", "edge", "linear", "max", "nearest",
        "reflect", "wrap",
    ),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "padding_mode": ("zeros", "border", "reflection"),
    "reduction": ("none", "add", "mul", "max", "min", "mean", "sum"),
}  # fmt: skip
"""Values of attributes that are words."""
FLAGS = frozenset(
    {
        "align_corners", "allowzero", "antialias", "ceil_mode", "center_point_box", "count_include_pad",
        "detect_negative", "detect_positive", "exclude_outside", "exclusive", "fmod", "input_forget",
        "interleaved", "inverse", "is_causal", "keepdims", "largest", "layout", "linear_before_reset",
        "noop_with_empty_axes", "onesided", "periodic", "reverse", "select_last_index", "storage_order",
        "transA", "transB", "upper",
    }
)  # fmt: skip
"""Whole numbers that are 0 or 1."""
FIXED = frozenset(
    {
        "activations", "body", "dtype", "else_branch", "equation", "output_datatype", "precision",
        "qk_matmul_output_mode", "round_mode", "saturate", "seed", "softcap", "softmax_precision",
        "sorted", "stash_type", "then_branch", "to", "training_mode",
    }
)  # fmt: skip
"""Attributes that are not varied: types, graphs, those that leave a result open, and `softcap`, of which ONNX
has two meanings below zero.
"""
OLDEST = 7
"""The first version that onnxruntime has."""
OWN = ("", "ai.onnx")
"""The names of the domain of ONNX's own operators."""
SECONDS = 30


def variations(case: Case) -> Iterator[Case]:
    """The test with another value of one attribute, in another version, or with an extent of 1; without
    answers.
    """
    version = _version(case.model)
    (node,) = case.model.graph.node
    schema = onnx.defs.get_schema(node.op_type, version)
    given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    for name, attribute in schema.attributes.items():
        if name in FIXED or name.startswith("value"):
            continue
        before = given.get(name, _default(attribute))
        for value in _others(name, attribute, before):
            model = _copy(case)
            kept = [each for each in node.attribute if each.name != name]
            del model.graph.node[0].attribute[:]
            model.graph.node[0].attribute.extend([*kept, onnx.helper.make_attribute(name, value)])
            yield evolve(case, model=model, name=f"{case.name}.{name}={_short(value)}")
    for older in _versions(node.op_type, version):
        model = _copy(case)
        del model.opset_import[:]
        model.opset_import.append(onnx.helper.make_opsetid("", older))
        yield evolve(case, model=model, name=f"{case.name}.version={older}")
    if case.inputs:
        yield from narrowed(case)


def narrowed(case: Case) -> Iterator[Case]:
    """The test with an extent of 1 in place of a larger one, and with all of them 1; without answers."""
    first = case.inputs[0]
    wide = [axis for axis, extent in enumerate(first.shape) if extent > 1]
    for axes in [*([axis] for axis in wide), *([wide] if len(wide) > 1 else [])]:
        for which in ("all", "first"):
            narrow = [
                number == 0 or (which == "all" and each.shape == first.shape)
                for number, each in enumerate(case.inputs)
            ]
            inputs = tuple(
                _first_along(each, axes) if is_narrow else each
                for each, is_narrow in zip(case.inputs, narrow, strict=True)
            )
            name = f"{case.name}.{which}[{','.join(map(str, axes))}]=1"
            yield evolve(case, model=_copy(case, inputs), inputs=inputs, name=name)


def _first_along(values: Array, axes: Sequence[int]) -> Array:
    return values[tuple(slice(1) if axis in axes else slice(None) for axis in range(values.ndim))]


def _version(model: Any) -> int:
    return max(entry.version for entry in model.opset_import if entry.domain in OWN)


def _default(attribute: Any) -> Any:
    stated = attribute.default_value
    return onnx.helper.get_attribute_value(stated) if stated is not None and stated.type else None


def _others(name: str, attribute: Any, before: Any) -> Iterator[Any]:
    kinds = onnx.defs.OpSchema.AttrType
    before = before.decode() if isinstance(before, bytes) else before
    found: list[Any] = []
    if attribute.type == kinds.INT:
        number = before or 0
        found = [1 - number] if name in FLAGS else [number + 1, number - 1, number + 2, 0, 1]
    elif attribute.type == kinds.FLOAT:
        real = 1.0 if before is None else before
        found = [real * 0.5, real + 0.75, -real or 0.3]
    elif attribute.type == kinds.STRING:
        found = list(WORDS.get(name, ()))
    elif attribute.type == kinds.INTS:
        numbers = list(before or (1, 1))
        first, last = (numbers[0] + 1, *numbers[1:]), (*numbers[:-1], numbers[-1] + 1)
        found = [[each + 1 for each in numbers], list(first), list(last), numbers[::-1], [2] * len(numbers)]
    elif attribute.type == kinds.FLOATS and before:
        found = [[each * 0.5 for each in before], list(before)[::-1]]
    seen = [before]
    for value in found:
        if value not in seen:
            seen.append(value)
            yield value


def _short(value: Any) -> str:
    return str(value).replace(" ", "").replace("/", "_")


def _versions(operator: str, newest: int) -> Iterator[int]:
    """The last version of each older form of an operator."""
    forms = {onnx.defs.get_schema(operator, newest).since_version}
    for version in range(newest - 1, OLDEST - 1, -1):
        if not onnx.defs.has(operator, version):
            return
        form = onnx.defs.get_schema(operator, version).since_version
        if form not in forms:
            forms.add(form)
            yield version


def _copy(case: Case, inputs: Sequence[Array] = ()) -> Any:
    """The model, whose outputs have no shapes, with the shapes of these inputs where some are given."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    for value, given in zip(model.graph.input, inputs, strict=False):
        for dimension, extent in zip(value.type.tensor_type.shape.dim, given.shape, strict=True):
            dimension.dim_value = extent
    return model


def answered(case: Case) -> Case | None:
    """The test with the answers of onnxruntime; None where it has none, or some without elements."""
    try:
        found = apart(_answers, case, seconds=SECONDS)
    except Ended:  # onnxruntime ended the process, or took too long
        return None
    if found is None or any(not value.size for value in found):
        return None
    for value, declared in zip(found, case.model.graph.output, strict=True):
        kind = declared.type.tensor_type
        kind.shape.SetInParent()
        for extent in value.shape:
            kind.shape.dim.add().dim_value = extent
    return evolve(case, outputs=tuple(found))


def _answers(case: Case) -> list[Array] | None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content, providers = case.model.SerializeToString(), ["CPUExecutionProvider"]
    try:
        session = onnxruntime.InferenceSession(content, options, providers=providers)
        found: list[Array] = session.run(None, _feed(case))
    except Exception:  # whatever it is, onnxruntime does not take this form
        return None
    return found


def _feed(case: Case) -> dict[str, Array]:
    return {value.name: given for value, given in zip(case.model.graph.input, case.inputs, strict=True)}


def disputed(case: Case) -> bool:
    """Whether ONNX's own evaluator answers otherwise than onnxruntime, or not at all."""
    try:
        found = ReferenceEvaluator(case.model).run(None, _feed(case))
    except Exception:  # it has no forms of old versions
        return True
    return not all(
        np.shape(one) == other.shape and np.allclose(one, other, case.rtol, case.atol, equal_nan=True)
        for one, other in zip(found, case.outputs, strict=True)
    )


def drawn(count: int, seed: int, only: Sequence[str]) -> Iterator[Case]:
    """So many tests of each operator, of those that pass and have one node. Trees of `ai.onnx.ml` are left
    out: their attributes fit each other.
    """
    saved, by_operator = json.loads(RESULTS.read_text()), defaultdict(list)
    for case in cases():
        row, nodes = saved.get(case.name, {}), case.model.graph.node
        if row.get("verdict") == "pass" and case.counts and len(nodes) == 1 and nodes[0].domain in OWN:
            by_operator[case.operator].append(case)
    source = random.Random(seed)
    for operator, found in sorted(by_operator.items()):
        chosen = source.sample(found, min(count, len(found)))
        if not only or operator in only:
            yield from chosen


def main() -> int:
    """Print each variation that does not pass, then how many there were; 1 where one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tests", type=int, default=3, help="of each operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=(), metavar="OPERATOR")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tests = drawn(arguments.tests, arguments.seed, arguments.only)
    made = [found for test in tests for each in variations(test) if (found := answered(each)) is not None]
    count: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for outcome in outcomes(made, Path(folder), PlugIns.discover(())):
            verdict = outcome.verdict
            if verdict == "wrong" and disputed(outcome.case):
                verdict = "disputed"
            count[verdict] += 1
            if verdict != "pass":
                print(f"{verdict}: {outcome.case.name}: {outcome.detail}", flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in count.items()))
    return 1 if count["wrong"] or count["exception"] else 0


if __name__ == "__main__":
    sys.exit(main())
