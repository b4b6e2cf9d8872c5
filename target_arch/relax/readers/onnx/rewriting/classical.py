"""Operators of ONNX's domain of classical machine learning become ONNX's others: scalers, encoders of
numbers, linear models and support vectors. Ensembles of trees become tables (`forests.py`). Scores have no
names: a `ZipMap` leaves them as they are.

Results are those of onnxruntime, whose rules for labels of two classes ONNX does not state. Tests:
`tests/relax/readers/onnx/test_classical.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from target_arch.relax.readers.onnx.rewriting import support_vectors
from target_arch.relax.readers.onnx.rewriting.bodies import OWN_DOMAIN, Body, replaced_by_bodies
from target_arch.relax.readers.onnx.rewriting.forests import (
    read_classes,
    read_targets,
    read_trees,
    tables,
)
from target_arch.relax.readers.onnx.rewriting.graph import Array, OnnxGraph, replace
from target_arch.relax.readers.onnx.rewriting.scores import (
    Labels,
    argmax,
    beside,
    columns,
    labels_of,
    largest,
    reals,
    rows,
    summed,
    text,
    transformed,
)
from target_arch.relax.site import NotConverted

DOMAIN = "ai.onnx.ml"
_MAPS = "ZipMap"
_OPSET = 21
"""The version of ONNX's own operators where a file asks for none."""


def without_classical(graph: OnnxGraph) -> bool:
    """Replace those operators whose first operand has a known type. True where there were any."""
    return replaced_by_bodies(graph, DOMAIN, _BODIES)


def declare_domains(model: Any) -> None:
    """Let a model with operators of this domain ask for each domain once, and for ONNX's own, too."""
    if not any(each.domain == DOMAIN for each in model.opset_import):
        return
    versions = {each.domain: each for each in reversed(model.opset_import)}
    versions.setdefault("", helper.make_opsetid("", _OPSET))
    versions.setdefault(OWN_DOMAIN, helper.make_opsetid(OWN_DOMAIN, 1))
    names = sorted(versions, key=str)  # one that is no text comes as bytes
    replace(model.opset_import, [versions[name] for name in names])


def without_maps(model: Any) -> None:
    """Let scores be a tensor where the file has a list of dictionaries with a name for each."""
    names = {}
    for node in model.graph.node:
        if node.domain == DOMAIN and node.op_type == _MAPS:
            names[node.output[0]] = node.input[0]
            node.domain, node.op_type = "", "Identity"
            del node.attribute[:]
    for value in model.graph.output:
        if value.name in names:
            value.type.Clear()
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    replace(model.graph.value_info, [value for value in model.graph.value_info if value.name not in names])


def _list(body: Body, name: str) -> Array:
    """An attribute that is a list of numbers."""
    value = body.attributes.get(name)
    return np.zeros(0, np.float32) if value is None else np.asarray(value)


def _no_texts(body: Body, *names: str) -> None:
    for name in names:
        if len(_list(body, name)):
            raise NotConverted(f"its `{name}` are texts")


def _scaler(body: Body) -> bool:
    x = reals(body)
    offset, scale = (_list(body, name).astype(np.float32) for name in ("offset", "scale"))
    centred = body.add("Sub", x, body.constant(offset)) if len(offset) else x
    return body.finish(body.add("Mul", centred, body.constant(scale)) if len(scale) else centred)


def _imputer(body: Body) -> bool:
    whole = len(_list(body, "imputed_value_int64s")) > 0
    values = _list(body, "imputed_value_int64s" if whole else "imputed_value_floats")
    dtype = np.dtype(np.int64 if whole else np.float32)
    old = body.attributes.get("replaced_value_int64" if whole else "replaced_value_float", 0)
    x = body.given(0)
    if not whole and np.isnan(old):
        missing = body.add("IsNaN", x)
    else:
        missing = body.add("Equal", x, body.constant(np.array(old, dtype)))
    return body.finish(body.add("Where", missing, body.constant(values.astype(dtype)), x))


def _extractor(body: Body) -> bool:
    """The elements of the last dimension at some places; of a list, a row."""
    x = body.given(0)
    if len(body.kind.shape or ()) == 1:
        x = body.add("Reshape", x, body.constant(np.array([1, -1], np.int64)))
    places = body.add("Reshape", body.given(1), body.constant(np.array([-1], np.int64)))
    return body.finish(body.add("Gather", x, places, axis=-1))


def _vectorizer(body: Body) -> bool:
    """All features behind each other, in a row for each of the first dimension."""
    parts = []
    for name, wanted in zip(body.node.input, _list(body, "inputdimensions").astype(int), strict=True):
        kind = body.types.get(name)
        if kind is None or kind.shape is None:
            return False
        flat = body.add("Reshape", name, body.constant(np.array([kind.shape[0], -1], np.int64)))
        flat = body.add("Cast", flat, to=TensorProto.FLOAT)
        if int(np.prod(kind.shape[1:])) != wanted:
            raise NotConverted(f"its input `{name}` has not {wanted} elements")
        parts.append(flat)
    return body.finish(body.add("Concat", *parts, axis=1))


def _binarizer(body: Body) -> bool:
    limit = body.number(float(body.attributes.get("threshold", 0.0)))
    return body.finish(body.add("Cast", body.add("Greater", body.given(0), limit), to=body.kind.elements))


def _normalizer(body: Body) -> bool:
    """Each row over its norm; over 1 where that is 0."""
    x, norm = reals(body), text(body, "norm", "MAX")
    if norm == "MAX":
        size = largest(body, x)
    elif norm == "L1":
        size = summed(body, body.add("Abs", x))
    elif norm == "L2":
        size = body.add("Sqrt", summed(body, body.add("Mul", x, x)))
    else:
        raise NotConverted(f"its `norm` is `{norm}`")
    one = body.constant(np.float32(1))
    is_zero = body.add("Equal", size, body.constant(np.float32(0)))
    return body.finish(body.add("Div", x, body.add("Where", is_zero, one, size)))


def _one_hot(body: Body) -> bool:
    """A dimension more, with a one at the place of the category. There is none where it is not known, also
    where `zeros` says that this is a fault.
    """
    _no_texts(body, "cats_strings")
    categories = _list(body, "cats_int64s").astype(np.int64)
    whole = body.add("Cast", body.given(0), to=TensorProto.INT64)
    shape = (*(body.kind.shape or ()), 1)
    spread = body.add("Reshape", whole, body.constant(np.array(shape, np.int64)))
    return body.finish(body.add("Cast", body.add("Equal", spread, body.constant(categories)), to=1))


def _label_encoder(body: Body) -> bool:
    """The value of the key that an element is, else the default."""
    keys, values, default = _keys(body), _values(body), _default(body)
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        raise NotConverted("one of its keys is NaN")
    shape = (*(body.kind.shape or ()), 1)
    spread = body.add("Reshape", body.given(0), body.constant(np.array(shape, np.int64)))
    same = body.add("Cast", body.add("Equal", spread, body.constant(keys)), to=TensorProto.FLOAT)
    picked = body.add("Gather", body.constant(values), argmax(body, same, len(shape) - 1), axis=0)
    found = body.add("Cast", largest(body, same, keep=False), to=TensorProto.BOOL)
    return body.finish(body.add("Where", found, picked, body.constant(default)))


_OF_LABELS = ("int64s", "floats")


def _keys(body: Body) -> Array:
    return _pairs(body, "keys")


def _values(body: Body) -> Array:
    return _pairs(body, "values")


def _pairs(body: Body, what: str) -> Array:
    """Keys or values of an encoder: numbers, of the type that the attribute has."""
    _no_texts(body, f"{what}_strings")
    tensor = body.attributes.get(f"{what}_tensor")
    if tensor is not None:
        from onnx import numpy_helper

        found: Array = numpy_helper.to_array(tensor).reshape(-1)
        if found.dtype.kind not in "iuf":
            raise NotConverted(f"its `{what}_tensor` are no numbers")
        return found
    for ending, dtype in zip(_OF_LABELS, (np.int64, np.float32), strict=True):
        found = _list(body, f"{what}_{ending}").astype(dtype)
        if len(found):
            return found
    raise NotConverted(f"its `{what}` are no numbers")


def _default(body: Body) -> Array:
    values = _values(body)
    tensor = body.attributes.get("default_tensor")
    if tensor is not None:
        from onnx import numpy_helper

        return np.asarray(numpy_helper.to_array(tensor).reshape(-1)[0], values.dtype)
    name, otherwise = ("default_float", -0.0) if values.dtype.kind == "f" else ("default_int64", -1)
    return np.asarray(body.attributes.get(name, otherwise), values.dtype)


def _linear_scores(body: Body, targets: int) -> str:
    count, features = rows(body), columns(body)
    weights = _list(body, "coefficients").astype(np.float32).reshape(targets, features)
    x = body.add("Reshape", reals(body), body.constant(np.array([count, features], np.int64)))
    product = body.add("MatMul", x, body.constant(np.ascontiguousarray(weights.T)))
    offsets = _list(body, "intercepts").astype(np.float32)
    return body.add("Add", product, body.constant(offsets)) if len(offsets) else product


def _linear_regressor(body: Body) -> bool:
    targets = int(body.attributes.get("targets", 1))
    scores = _linear_scores(body, targets)
    return body.finish(transformed(body, scores, text(body, "post_transform", "NONE"), targets))


def _linear_classifier(body: Body) -> bool:
    labels = labels_of(body)
    targets = len(_list(body, "coefficients")) // columns(body)
    scores, after = _linear_scores(body, targets), text(body, "post_transform", "NONE")
    if targets > 1:
        labels.best(body, scores)
        labels.scores(body, transformed(body, scores, after, targets))
        return True
    labels.above(body, scores, 0.0)
    if after == "PROBIT" or len(labels.values) < 2:
        labels.scores(body, transformed(body, scores, after if after == "PROBIT" else "NONE", 1))
        return True
    labels.scores(body, beside(body, scores, opposite=False))
    return True


def _forest_scores(body: Body, trees: Any, aggregate: str) -> str:
    """The sums of leaves by an operator of ours, of which `forests.tables` makes constants."""
    count, features = rows(body), columns(body)
    x = body.add("Reshape", reals(body), body.constant(np.array([count, features], np.int64)))
    return tables(body, trees, x, count, aggregate)


def _regressor(body: Body) -> bool:
    targets = int(body.attributes.get("n_targets", 1))
    aggregate = text(body, "aggregate_function", "SUM")
    trees = read_targets(body.attributes, columns(body), targets)
    scores = _forest_scores(body, trees, aggregate)
    base = _list(body, "base_values").astype(np.float32)
    if len(base):
        scores = body.add("Add", scores, body.constant(base))
    return body.finish(transformed(body, scores, text(body, "post_transform", "NONE"), targets))


def _ensemble(body: Body) -> bool:
    """The form of ONNX 5, whose functions are numbers."""
    own = body.attributes
    aggregate = ("AVERAGE", "SUM", "MIN", "MAX")[int(own.get("aggregate_function", 1))]
    transforms = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    targets = int(own["n_targets"])
    trees = read_trees(own, columns(body), targets)
    after = transforms[int(own.get("post_transform", 0))]
    return body.finish(transformed(body, _forest_scores(body, trees, aggregate), after, targets))


def _classifier(body: Body) -> bool:
    labels, after = labels_of(body), text(body, "post_transform", "NONE")
    base = _list(body, "base_values").astype(np.float32)
    trees = read_classes(body.attributes, columns(body), len(labels.values))
    scores = _forest_scores(body, trees, "SUM")
    if len(labels.values) > 2 or (trees.scored == {0, 1} and len(base) != 1):
        return _several_classes(body, labels, scores, base, after)
    return _two_classes(body, labels, scores, base, after, trees)


def _several_classes(body: Body, labels: Labels, scores: str, base: Array, after: str) -> bool:
    if len(base):
        scores = body.add("Add", scores, body.constant(base))
    if len(labels.values) > 2:
        labels.best(body, scores)
    elif labels.values.tolist() != [0, 1]:
        raise NotConverted("two classes have a score each, for which onnxruntime knows the labels 0 and 1")
    else:
        labels.above(body, _column(body, scores, 1), 0.0)
    labels.scores(body, transformed(body, scores, after, len(labels.values)))
    return True


def _column(body: Body, scores: str, number: int) -> str:
    return body.add("Gather", scores, body.constant(np.array([number], np.int64)), axis=1)


def _two_classes(body: Body, labels: Labels, scores: str, base: Array, after: str, trees: Any) -> bool:
    """One score for both classes, that of the class that the file names."""
    if trees.scored != {0} or len(base) > 1:
        raise NotConverted("its leaves have scores of the second class alone, or there are two base values")
    score = _column(body, scores, 0)
    if len(base):
        score = body.add("Add", score, body.constant(base))
    positive = trees.positive
    labels.above(body, score, 0.5 if positive else 0.0)
    if after == "PROBIT":
        labels.scores(body, transformed(body, score, after, 1))
    elif positive:
        labels.scores(body, beside(body, score, opposite=False))
    else:
        both = beside(body, score, opposite=True)
        labels.scores(body, transformed(body, both, "LOGISTIC" if after == "LOGISTIC" else "NONE", 2))
    return True


_BODIES: Mapping[str, Callable[[Body], bool]] = {
    "ArrayFeatureExtractor": _extractor,
    "Binarizer": _binarizer,
    "FeatureVectorizer": _vectorizer,
    "Imputer": _imputer,
    "LabelEncoder": _label_encoder,
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _linear_regressor,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot,
    "SVMClassifier": support_vectors.classifier,
    "SVMRegressor": support_vectors.regressor,
    "Scaler": _scaler,
    "TreeEnsemble": _ensemble,
    "TreeEnsembleClassifier": _classifier,
    "TreeEnsembleRegressor": _regressor,
}
"""What writes the operators in place of one. Raises NotConverted where it cannot."""
