"""Operators of classical machine learning, small ones made here: what onnxruntime computes.

`python -m conformance.classical` tries the exports of scikit-learn, LightGBM and XGBoost.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import target_arch
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.shapes import AS_IN_FILE
from target_arch.relax.readers.onnx.conversion import is_known
from target_arch.relax.readers.onnx.file import loaded
from target_arch.relax.readers.onnx.rewriting.normal_form import normal_form

Array = np.ndarray[Any, np.dtype[Any]]
ML = "ai.onnx.ml"
DRAW = np.random.default_rng(0)
ROWS, FEATURES = 6, 4
X = DRAW.normal(0, 2, (ROWS, FEATURES)).astype(np.float32)
WHOLE = DRAW.integers(0, 5, (ROWS, FEATURES)).astype(np.int64)
HOLES = np.where(DRAW.random(X.shape) < 0.3, np.nan, X).astype(np.float32)


def model(
    operator: str,
    attributes: Mapping[str, Any],
    x: Array = X,
    *,
    outputs: Sequence[int] = (TensorProto.FLOAT,),
    version: int = 3,
    more: Sequence[Array] = (),
) -> Any:
    """A model of one operator; `outputs` are the types of its results."""
    names = [f"c{number}" for number in range(len(more))]
    results = [f"y{number}" for number in range(len(outputs))]
    node = helper.make_node(operator, ["x", *names], results, domain=ML, name="it", **attributes)
    graph = helper.make_graph(
        [node],
        "classical",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_tensor_value_info(n, kind, None) for n, kind in zip(results, outputs, strict=True)],
        [numpy_helper.from_array(value, name) for name, value in zip(names, more, strict=True)],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def answers(content: Any, x: Array) -> list[Array]:
    return list(onnxruntime.InferenceSession(content.SerializeToString()).run(None, {"x": x}))


def normal(content: Any) -> Any:
    place = Path("model.onnx")
    return normal_form(place, loaded(place, content.SerializeToString()), AS_IN_FILE, is_known).whole()


LINE = {"coefficients": DRAW.normal(size=12).tolist(), "intercepts": [0.1, -0.2, 0.3]}
ONE = {"coefficients": LINE["coefficients"][:4], "intercepts": [0.1]}
BOTH = (TensorProto.INT64, TensorProto.FLOAT)
NO_KERNEL = {"kernel_params": [0.0] * 3}
KEYS = {"keys_int64s": [0, 1, 2, 7], "values_floats": [0.5, 1.5, 2.5, 9.5], "default_float": -3.0}

PLAIN: Mapping[str, tuple[str, Mapping[str, Any], Array, Sequence[int]]] = {
    "Scaler": ("Scaler", {"offset": [1.0, 0, -1, 2], "scale": [2.0, 0.5, 1, 3]}, X, (1,)),
    "Scaler of integers": ("Scaler", {"offset": [1.0], "scale": [0.5]}, WHOLE, (1,)),
    "Imputer": (
        "Imputer", {"imputed_value_floats": [1.0, 2, 3, 4], "replaced_value_float": float("nan")}, HOLES, (1,)
    ),
    "Imputer of integers": (
        "Imputer", {"imputed_value_int64s": [9], "replaced_value_int64": 2}, WHOLE, (TensorProto.INT64,)
    ),
    "Binarizer": ("Binarizer", {"threshold": 0.5}, X, (1,)),
    "Normalizer MAX": ("Normalizer", {"norm": "MAX"}, np.abs(X), (1,)),
    "Normalizer L1": ("Normalizer", {"norm": "L1"}, X, (1,)),
    "Normalizer L2": ("Normalizer", {"norm": "L2"}, X, (1,)),
    "OneHotEncoder": ("OneHotEncoder", {"cats_int64s": [0, 2, 3, 4]}, WHOLE, (1,)),
    "LabelEncoder": ("LabelEncoder", KEYS, WHOLE, (1,)),
    "LabelEncoder of floats": (
        "LabelEncoder",
        {"keys_floats": [4.0, 1.0], "values_floats": [5.0, 6.0], "default_float": 0.5},
        np.where(WHOLE == 1, 1.0, np.where(WHOLE == 2, np.nan, 4.0)).astype(np.float32),
        (1,),
    ),
    "FeatureVectorizer": ("FeatureVectorizer", {"inputdimensions": [FEATURES]}, X, (1,)),
    "LinearRegressor": ("LinearRegressor", {**LINE, "targets": 3}, X, (1,)),
    "LinearRegressor SOFTMAX": (
        "LinearRegressor", {**LINE, "targets": 3, "post_transform": "SOFTMAX"}, X, (1,)
    ),
    "LinearClassifier": ("LinearClassifier", {**LINE, "classlabels_ints": [5, 7, 9]}, X, BOTH),
    "LinearClassifier LOGISTIC": (
        "LinearClassifier", {**LINE, "classlabels_ints": [5, 7, 9], "post_transform": "LOGISTIC"}, X, BOTH
    ),
    "LinearClassifier SOFTMAX": (
        "LinearClassifier", {**LINE, "classlabels_ints": [5, 7, 9], "post_transform": "SOFTMAX"}, X, BOTH
    ),
    "LinearClassifier of one score": ("LinearClassifier", {**ONE, "classlabels_ints": [5, 7]}, X, BOTH),
    "SVMRegressor linear": (
        "SVMRegressor",
        {"coefficients": ONE["coefficients"], "rho": [0.3], "kernel_type": "LINEAR", **NO_KERNEL},
        X,
        (1,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_an_operator_becomes_others_with_its_results(name: str) -> None:
    operator, attributes, x, outputs = PLAIN[name]
    content = model(operator, attributes, x, outputs=outputs, version=3 if operator == "LabelEncoder" else 1)
    made = normal(content)
    assert {node.domain for node in made.graph.node} <= {""}
    for mine, other in zip(answers(made, x), answers(content, x), strict=True):
        np.testing.assert_allclose(mine, other.reshape(mine.shape), rtol=1e-5, atol=1e-6)


def test_places_of_features() -> None:
    places = np.array([3, 0, 0], np.int64)
    content = model("ArrayFeatureExtractor", {}, more=[places], version=1)
    np.testing.assert_array_equal(answers(normal(content), X)[0], X[:, places])


def verified(content: Any, x: Array, place: Path) -> list[str]:
    """The kinds of operators of a model that was compiled, built and compared on these rows."""
    onnx.save(content, place / "model.onnx")
    np.savez(place / "frames.npz", x=x[None])
    bundle = target_arch.compile(place / "model.onnx", "mcu_m55").write(place / "bundle")
    (result,) = bundle.verify(place / "model.onnx", count=1, inputs=place / "frames.npz").values()
    assert result.passed, str(result)
    return [operator.kind for operator in bundle.manifest.models[0].operators]


def vectors(classes: int, kind: str, *, probabilities: bool = False) -> dict[str, Any]:
    """A machine with three support vectors for each class."""
    draw, count = np.random.default_rng(classes), 3 * classes
    pairs = classes * (classes - 1) // 2
    found = {
        "kernel_type": kind,
        "kernel_params": [0.3, 0.1, 3.0],
        "support_vectors": draw.normal(size=count * FEATURES).tolist(),
        "coefficients": draw.normal(size=(classes - 1) * count).tolist(),
        "vectors_per_class": [3] * classes,
        "rho": draw.normal(size=pairs).tolist(),
        "classlabels_ints": list(range(10, 10 + classes)),
    }
    if probabilities:
        found |= {"prob_a": [-0.7] * pairs, "prob_b": draw.normal(size=pairs).tolist()}
    return found


@pytest.mark.parametrize(
    ("classes", "kind", "probabilities"),
    [
        (2, "POLY", False),
        pytest.param(2, "RBF", True, marks=pytest.mark.slow),
        pytest.param(3, "SIGMOID", False, marks=pytest.mark.slow),
        (4, "RBF", True),
    ],
)
def test_support_vectors(
    classes: int, kind: str, probabilities: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """TVM's C++ warned on stderr of powers above 2."""
    attributes = vectors(classes, kind, probabilities=probabilities)
    verified(model("SVMClassifier", attributes, outputs=BOTH, version=1), X, tmp_path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("one_class", [0, 1])
def test_support_vectors_of_a_number(one_class: int, tmp_path: Path) -> None:
    attributes = {
        "kernel_type": "RBF",
        "kernel_params": [0.3, 0.0, 0.0],
        "n_supports": 5,
        "support_vectors": DRAW.normal(size=5 * FEATURES).tolist(),
        "coefficients": DRAW.normal(size=5).tolist(),
        "rho": [0.05],
        "one_class": one_class,
    }
    verified(model("SVMRegressor", attributes, version=1), X, tmp_path)


def forest(
    what: str, ids: Sequence[int], modes: Sequence[str] = ("BRANCH_LEQ",), seed: int = 0
) -> dict[str, Any]:
    """Seven trees of three levels, whose leaves have a score for each of these targets or classes."""
    draw, own = np.random.default_rng(seed), dict[str, list[Any]]()

    def note(prefix: str, **values: Any) -> None:
        for name, value in values.items():
            own.setdefault(f"{prefix}_{name}", []).append(value)

    for tree in range(7):
        branches = 7 - tree % 3
        for node in range(2 * branches + 1):
            inner = node < branches
            leaf = {"modes": "LEAF", "featureids": 0, "values": 0.0, "truenodeids": 0, "falsenodeids": 0}
            branch = {
                "modes": modes[(tree + node) % len(modes)],
                "featureids": int(draw.integers(FEATURES)),
                "values": float(np.float32(draw.normal())),
                "truenodeids": 2 * node + 1,
                "falsenodeids": 2 * node + 2,
            }
            note(
                "nodes",
                treeids=tree,
                nodeids=node,
                missing_value_tracks_true=node % 2,
                **(branch if inner else leaf),
            )
            for target in () if inner else ids:
                note(what, treeids=tree, nodeids=node, ids=target, weights=float(np.float32(draw.normal())))
    return own


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_of_targets(aggregate: str, tmp_path: Path) -> None:
    own = {
        **forest("target", (0, 1)),
        "n_targets": 2,
        "aggregate_function": aggregate,
        "base_values": [0.5, -0.5],
    }
    assert verified(model("TreeEnsembleRegressor", own), HOLES, tmp_path)[0] == "trees"


def test_trees_with_every_comparison(tmp_path: Path) -> None:
    modes = [f"BRANCH_{name}" for name in ("LT", "LEQ", "GT", "GTE", "EQ", "NEQ")]
    own: dict[str, Any] = {**forest("target", (0, 1), modes), "n_targets": 2, "post_transform": "LOGISTIC"}
    own["nodes_values"] = [float(round(value)) for value in own["nodes_values"]]
    verified(model("TreeEnsembleRegressor", own), np.round(X), tmp_path)


@pytest.mark.parametrize(
    ("ids", "labels", "more"),
    [
        ((0, 1, 2), [3, 5, 8], {"post_transform": "SOFTMAX"}),
        ((0, 1, 2), [3, 5, 8], {"post_transform": "SOFTMAX_ZERO", "base_values": [0.1, 0.2, 0.3]}),
        ((0,), [3, 5], {"post_transform": "LOGISTIC", "base_values": [0.25]}),
        ((0,), [3, 5], {}),
        ((0,), [3, 5], {"positive": True}),
        ((0, 1), [0, 1], {}),
    ],
)
def test_trees_of_classes(
    ids: Sequence[int], labels: list[int], more: dict[str, Any], tmp_path: Path
) -> None:
    own = {**forest("class", ids), "classlabels_int64s": labels, **more}
    if own.pop("positive", False):
        own["class_weights"] = [abs(weight) / 7 for weight in own["class_weights"]]
    verified(model("TreeEnsembleClassifier", own, outputs=BOTH), X, tmp_path)


def with_sets(*values: float) -> dict[str, Any]:
    """Trees of version 5, of which two nodes ask whether a feature is in a set, each ended by a NaN."""
    return {
        "n_targets": 4,
        "aggregate_function": 1,
        "membership_values": numpy_helper.from_array(np.array(values, np.float32)),
        "nodes_modes": numpy_helper.from_array(np.array([0, 6, 6], np.uint8)),
        "nodes_featureids": [0, 0, 0],
        "nodes_splits": numpy_helper.from_array(np.array([11, 232344.0, np.nan], np.float32)),
        "nodes_trueleafs": [0, 1, 1],
        "nodes_truenodeids": [1, 0, 1],
        "nodes_falseleafs": [1, 0, 1],
        "nodes_falsenodeids": [2, 2, 3],
        "leaf_targetids": [0, 1, 2, 3],
        "leaf_weights": numpy_helper.from_array(np.array([1, 10, 1000, 100], np.float32)),
        "tree_roots": [0],
        "post_transform": 0,
    }


def test_the_form_of_version_5_with_sets_of_values(tmp_path: Path) -> None:
    own = with_sets(1.2, 3.7, 8, 9, np.nan, 12, 7, np.nan)
    x = np.array([[1.2], [3.4], [-0.12], [12], [7]], np.float32)
    onnx.save(model("TreeEnsemble", own, x, version=5), tmp_path / "model.onnx")
    bundle = target_arch.compile(tmp_path / "model.onnx", "mcu_m55").write(tmp_path / "bundle")
    wanted = [[1, 0, 0, 0], [0, 0, 0, 100], [0, 0, 0, 100], [0, 0, 1000, 0], [0, 0, 1000, 0]]
    (found,) = bundle.run([x]).values()
    np.testing.assert_array_equal(found.reshape(5, 4)[[0, 1, 2]], np.array(wanted, np.float32)[[0, 1, 2]])


def test_a_list_of_dictionaries_is_the_scores(tmp_path: Path) -> None:
    content = model("LinearClassifier", {**LINE, "classlabels_ints": [5, 7, 9]}, outputs=BOTH, version=1)
    maps = helper.make_node("ZipMap", ["y1"], ["maps"], domain=ML, classlabels_int64s=[5, 7, 9])
    content.graph.node.append(maps)
    kind = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(1, []))
    content.graph.output[1].CopyFrom(helper.make_value_info("maps", helper.make_sequence_type_proto(kind)))
    verified(content, X, tmp_path)


def refused(content: Any, place: Path, **options: Any) -> str:
    onnx.save(content, place / "model.onnx")
    with pytest.raises(DiagnosticError) as caught:
        target_arch.compile(place / "model.onnx", "mcu_m55", **options)
    return str(caught.value).replace(str(place), "")


def test_labels_that_are_texts_are_refused_and_scores_alone_are_not(tmp_path: Path) -> None:
    texts = {**LINE, "classlabels_strings": ["low", "mid", "high"]}
    content = model("LinearClassifier", texts, outputs=(TensorProto.STRING, 1), version=1)
    assert refused(content, tmp_path) == (
        "/model.onnx: error: operator `LinearClassifier` is not supported [unsupported-operator]\n"
        "/model.onnx: note: `LinearClassifier` once, at `it`: its labels are texts; "
        "the scores alone are numbers\n"
        "hint: replace it in the model, or split the model before it"
    )
    made = target_arch.compile(tmp_path / "model.onnx", "mcu_m55", end="y1")
    assert [each.name for each in made.manifest.models[0].outputs] == ["y1"]


@pytest.mark.parametrize(
    ("operator", "attributes", "reason"),
    [
        ("OneHotEncoder", {"cats_strings": ["a"]}, "its `cats_strings` are texts"),
        ("Normalizer", {"norm": "L7"}, "its `norm` is `L7`"),
        ("SVMClassifier", {"classlabels_ints": [0, 1], "coefficients": [1.0]}, "it has no support vectors"),
        ("LinearRegressor", {**LINE, "targets": 3, "post_transform": "X"}, "its `post_transform` is `X`"),
        (
            "LinearRegressor",
            {**ONE, "targets": 1, "post_transform": "LOGISTIC"},
            "of one score its `post_transform` `LOGISTIC` is something to ONNX and not to onnxruntime",
        ),
        ("LabelEncoder", {"keys_strings": ["a"], "values_floats": [1.0]}, "its `keys_strings` are texts"),
        ("CategoryMapper", {"cats_int64s": [1], "cats_strings": ["a"]}, "not known here"),
    ],
)
def test_what_is_not_converted_has_its_reason(
    operator: str, attributes: Mapping[str, Any], reason: str, tmp_path: Path
) -> None:
    outputs = BOTH if operator == "SVMClassifier" else (TensorProto.FLOAT,)
    version = 2 if operator == "LabelEncoder" else 1
    said = refused(model(operator, attributes, outputs=outputs, version=version), tmp_path)
    assert f"note: `{operator}` once, at `it`: {reason}\n" in said


def test_labels_of_two_classes_with_a_score_each(tmp_path: Path) -> None:
    own = {**forest("class", (0, 1)), "classlabels_int64s": [3, 5]}
    said = refused(model("TreeEnsembleClassifier", own, outputs=BOTH), tmp_path)
    assert "`it`: two classes have a score each, for which onnxruntime knows the labels 0 and 1\n" in said


def test_nodes_that_are_no_trees_are_refused(tmp_path: Path) -> None:
    own = {**forest("target", (0,)), "n_targets": 1}
    own["nodes_truenodeids"][0] = 0
    assert "`it`: its nodes are no trees" in refused(model("TreeEnsembleRegressor", own), tmp_path)


def test_a_node_without_its_set_of_values(tmp_path: Path) -> None:
    said = refused(model("TreeEnsemble", with_sets(1.2), version=5), tmp_path)
    assert "`it`: a node asks for membership in a set that is not there\n" in said


def test_a_domain_that_is_no_text_and_that_nothing_uses(tmp_path: Path) -> None:
    content = model("Binarizer", {"threshold": 0.5}, version=1)
    content.opset_import.append(helper.make_opsetid("other", 1))
    (tmp_path / "model.onnx").write_bytes(content.SerializeToString().replace(b"other", b"\x84ther"))
    (made,) = target_arch.compile(tmp_path / "model.onnx", "mcu_m55").manifest.models
    assert [each.name for each in made.outputs] == ["y0"]


def test_a_forest_without_its_nodes(tmp_path: Path) -> None:
    content = model("TreeEnsembleRegressor", {"n_targets": 1, "nodes_treeids": [0, 0]})
    assert refused(content, tmp_path) == (
        "/model.onnx: error: operator `TreeEnsembleRegressor` is not supported [unsupported-operator]\n"
        "/model.onnx: note: `TreeEnsembleRegressor` once, at `it`: not with these attributes and operands\n"
        "hint: replace it in the model, or split the model before it"
    )
