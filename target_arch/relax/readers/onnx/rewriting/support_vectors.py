"""Support vector machines: kernels of a row and each vector, and weighted sums of them.

Labels and scores are onnxruntime's: the class with most votes of the pairs, and the scores of pairs, or
probabilities that are coupled as LIBSVM does (Wu, Lin and Weng, 2004).
"""

from itertools import combinations
from typing import Any

import numpy as np
from attrs import frozen
from onnx import TensorProto

from target_arch.relax.readers.onnx.rewriting.bodies import Body
from target_arch.relax.readers.onnx.rewriting.graph import Array
from target_arch.relax.readers.onnx.rewriting.scores import (
    beside,
    columns,
    labels_of,
    reals,
    rows,
    text,
    transformed,
)
from target_arch.relax.site import NotConverted

COUPLED, DISTANCES = "CoupledProbabilities", "SquaredDistances"


def regressor(body: Body) -> bool:
    """Write a `SVMRegressor`."""
    own = body.attributes
    vectors = int(own.get("n_supports", 0))
    weights = np.asarray(own["coefficients"], np.float32)
    if vectors:
        kernels, weights = _kernels(body, vectors), weights.reshape(vectors, 1)
    else:
        kernels, weights = _rows(body), weights.reshape(columns(body), 1)
    score = _weighted(body, kernels, weights, own.get("rho", [0.0])[:1])
    if own.get("one_class", 0):
        inside = body.add("Greater", score, body.constant(np.float32(0)))
        one, other = body.constant(np.float32(1)), body.constant(np.float32(-1))
        score = body.add("Where", inside, one, other)
    return body.finish(transformed(body, score, text(body, "post_transform", "NONE"), 1))


def classifier(body: Body) -> bool:
    """Write a `SVMClassifier` with support vectors."""
    pairs = _Pairs.of(body)
    labels, after = labels_of(body), text(body, "post_transform", "NONE")
    rho = body.attributes["rho"]
    scores = _weighted(body, _kernels(body, sum(pairs.counts)), pairs.weights(body), rho)
    labels.best(body, pairs.votes(body, scores))
    classes = len(pairs.counts)
    if len(body.attributes.get("prob_a", ())):
        labels.scores(body, transformed(body, _probabilities(body, pairs, scores), after, classes))
    elif classes == 2:
        both = beside(body, scores, opposite=after in ("NONE", "LOGISTIC"))
        labels.scores(body, transformed(body, both, "NONE" if after == "SOFTMAX" else after, 2))
    else:
        labels.scores(body, transformed(body, scores, after, len(pairs.pairs)))
    return True


@frozen(kw_only=True)
class _Pairs:
    """Pairs of classes, each with a score, and how many support vectors every class has."""

    counts: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, body: Body) -> "_Pairs":
        counts = tuple(map(int, body.attributes.get("vectors_per_class", ())))
        if not counts or not len(body.attributes.get("support_vectors", ())):
            raise NotConverted("it has no support vectors")
        if text(body, "post_transform", "NONE") in ("PROBIT", "SOFTMAX_ZERO"):
            raise NotConverted(f"its `post_transform` is `{text(body, 'post_transform', 'NONE')}`")
        return cls(counts=counts, pairs=tuple(combinations(range(len(counts)), 2)))

    def weights(self, body: Body) -> Array:
        """The weight of each vector in the score of each pair."""
        first = np.cumsum([0, *self.counts])
        own = np.asarray(body.attributes["coefficients"], np.float32).reshape(-1, first[-1])
        weights: Array = np.zeros((first[-1], len(self.pairs)), np.float32)
        for number, (one, other) in enumerate(self.pairs):
            for which, row in ((one, other - 1), (other, one)):
                vectors = slice(first[which], first[which + 1])
                weights[vectors, number] = own[row, vectors]
        return weights

    def votes(self, body: Body, scores: str) -> str:
        """How many pairs each class wins: the first of a pair where its score is above zero."""
        wins: Array = np.zeros((len(self.pairs), len(self.counts)), np.float32)
        losses: Array = np.zeros(len(self.counts), np.float32)
        for number, (one, other) in enumerate(self.pairs):
            wins[number, one], wins[number, other] = 1, -1
            losses[other] += 1
        above = body.add("Greater", scores, body.constant(np.float32(0)))
        won = body.add("MatMul", body.add("Cast", above, to=TensorProto.FLOAT), body.constant(wins))
        return body.add("Add", won, body.constant(losses))


def _probabilities(body: Body, pairs: _Pairs, scores: str) -> str:
    """Of every class, from those that one of a pair is right."""
    own, least = body.attributes, 1e-7
    slopes, offsets = (body.constant(np.asarray(own[name], np.float32)) for name in ("prob_a", "prob_b"))
    bent = body.add("Add", body.add("Mul", scores, slopes), offsets)
    right = body.add("Sigmoid", body.add("Neg", bent))
    low, high = (body.constant(np.float32(end)) for end in (least, 1 - least))
    kept = body.add("Min", body.add("Max", right, low), high)
    shape = (rows(body), len(pairs.counts))
    return body.add_own(COUPLED, [kept], shape, classes=len(pairs.counts))


def _rows(body: Body) -> str:
    shape = np.array([rows(body), columns(body)], np.int64)
    return body.add("Reshape", reals(body), body.constant(shape))


def _weighted(body: Body, values: str, weights: Array, offsets: Any) -> str:
    product = body.add("MatMul", values, body.constant(weights))
    return body.add("Add", product, body.constant(np.asarray(offsets, np.float32)))


def _kernels(body: Body, vectors: int) -> str:
    """The kernel of each row and each support vector."""
    own, kind = body.attributes, text(body, "kernel_type", "LINEAR")
    support = np.asarray(own["support_vectors"], np.float32).reshape(vectors, columns(body))
    gamma, shift, degree = (*map(float, own.get("kernel_params", ())), 0.0, 0.0, 0.0)[:3]
    x = _rows(body)
    if kind == "RBF":
        apart = body.add_own(DISTANCES, [x, body.constant(support)], (rows(body), vectors))
        return body.add("Exp", body.add("Mul", apart, body.constant(np.float32(-gamma))))
    product = body.add("MatMul", x, body.constant(np.ascontiguousarray(support.T)))
    if kind == "LINEAR":
        return product
    if kind not in ("POLY", "SIGMOID"):
        raise NotConverted(f"its `kernel_type` is `{kind}`")
    scaled = body.add("Mul", product, body.constant(np.float32(gamma)))
    shifted = body.add("Add", scaled, body.constant(np.float32(shift)))
    if kind == "SIGMOID":
        return body.add("Tanh", shifted)
    return body.add("Pow", shifted, body.constant(np.float32(degree)))
