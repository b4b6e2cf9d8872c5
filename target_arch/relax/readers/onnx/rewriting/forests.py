"""Ensembles of trees as tables: nodes that compare a feature come first, then leaves with their scores.

The three forms of ONNX (of classes, of targets, and the one of version 5) become one operator of ours with
the tables as constants, `Forest`, which `onnx_operators/forests.py` converts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from onnx import numpy_helper

from target_arch.relax.readers.onnx.rewriting.bodies import Body
from target_arch.relax.readers.onnx.rewriting.graph import Array
from target_arch.relax.site import NotConverted

FOREST = "Forest"
_LEAF = "LEAF"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""How a node compares its feature with its value: the number of a mode in tables."""
_MEMBER = "BRANCH_MEMBER"
AGGREGATES = ("SUM", "AVERAGE", "MIN", "MAX")


@frozen(kw_only=True)
class Trees:
    """Trees of `inner` nodes that compare, and leaves behind them. `scores` of a leaf are pairs of target and
    weight; `scored` are the targets that every row has a score of.
    """

    features: tuple[int, ...]
    values: tuple[float, ...]
    modes: tuple[int, ...]
    missing: tuple[bool, ...]
    yes: tuple[int, ...]
    no: tuple[int, ...]
    roots: tuple[int, ...]
    leaves: tuple[tuple[tuple[int, float], ...], ...] = field(repr=False)
    targets: int

    @property
    def scored(self) -> set[int]:
        """The targets that leaves have scores of."""
        return {target for leaf in self.leaves for target, _ in leaf}

    @property
    def positive(self) -> bool:
        """Whether no score is below zero."""
        return all(weight >= 0 for leaf in self.leaves for _, weight in leaf)


@frozen(kw_only=True)
class _Node:
    """A node as files have it; `yes` and `no` are keys of others."""

    mode: str
    feature: int
    value: float
    yes: Any
    no: Any
    missing: bool
    scores: tuple[tuple[int, float], ...] = ()


def read_targets(own: Mapping[str, Any], features: int, targets: int) -> Trees:
    """The trees of a `TreeEnsembleRegressor`."""
    return _of_ids(own, "target", features, targets)


def read_classes(own: Mapping[str, Any], features: int, classes: int) -> Trees:
    """The trees of a `TreeEnsembleClassifier`. Raises NotConverted where a class has a score in some rows
    alone.
    """
    trees = _of_ids(own, "class", features, max(classes, 2))
    for target in trees.scored:
        if not any(_always(trees, root, target) for root in trees.roots):
            raise NotConverted(f"class {target} has no score in some leaves of every tree")
    if len(trees.scored) < classes and classes > 2:
        raise NotConverted("no leaf has a score of one of its classes")
    return trees


def _always(trees: Trees, root: int, target: int) -> bool:
    """Whether every leaf of a tree has a score of a target."""
    rest, inner = [root], len(trees.features)
    seen: set[int] = set()
    while rest:
        node = rest.pop()
        if node in seen:
            continue
        seen.add(node)
        if node < inner:
            rest += [trees.yes[node], trees.no[node]]
        elif all(each != target for each, _ in trees.leaves[node - inner]):
            return False
    return True


def _of_ids(own: Mapping[str, Any], what: str, features: int, targets: int) -> Trees:
    """Nodes that have the numbers of a tree and of a node in it."""
    for name in ("nodes_values_as_tensor", f"{what}_weights_as_tensor", "base_values_as_tensor"):
        if name in own:
            raise NotConverted("its values are float64")
    keys = list(zip(map(int, own["nodes_treeids"]), map(int, own["nodes_nodeids"]), strict=True))
    scores = _scores(own, what)
    missing = own.get("nodes_missing_value_tracks_true", [0] * len(keys))
    columns = ("nodes_modes", "nodes_featureids", "nodes_values", "nodes_truenodeids", "nodes_falsenodeids")
    nodes = {
        key: _Node(
            mode=mode.decode() if isinstance(mode, bytes) else str(mode),
            feature=int(feature),
            value=float(value),
            yes=(key[0], int(yes)),
            no=(key[0], int(no)),
            missing=bool(tracks),
            scores=tuple(scores.get(key, ())),
        )
        for key, mode, feature, value, yes, no, tracks in zip(
            keys, *(own[name] for name in columns), missing, strict=True
        )
    }
    before = [None, *(tree for tree, _ in keys)]
    roots = [key for key, last in zip(keys, before, strict=False) if key[0] != last]
    return _numbered(nodes, roots, features, targets)


def _scores(own: Mapping[str, Any], what: str) -> dict[tuple[int, int], list[tuple[int, float]]]:
    found: dict[tuple[int, int], list[tuple[int, float]]] = {}
    columns = (own[f"{what}_{name}"] for name in ("treeids", "nodeids", "ids", "weights"))
    for tree, node, target, weight in zip(*columns, strict=True):
        found.setdefault((int(tree), int(node)), []).append((int(target), float(weight)))
    return found


def read_trees(own: Mapping[str, Any], features: int, targets: int) -> Trees:
    """The trees of a `TreeEnsemble`, the form of version 5: inner nodes, leaves, and sets of values, which
    become a comparison for each value.
    """
    modes = numpy_helper.to_array(own["nodes_modes"]).astype(int)
    values = numpy_helper.to_array(own["nodes_splits"])
    weights = numpy_helper.to_array(own["leaf_weights"])
    if values.dtype != np.float32 or weights.dtype != np.float32:
        raise NotConverted(f"its values are {values.dtype}")
    nodes: dict[Any, _Node] = {
        ("leaf", number): _Node(
            mode=_LEAF, feature=0, value=0.0, yes=None, no=None, missing=False,
            scores=((int(target), float(weight)),),
        )
        for number, (target, weight) in enumerate(zip(own["leaf_targetids"], weights, strict=True))
    }  # fmt: skip
    members = _sets(own)
    if np.count_nonzero(modes == len(MODES)) > len(members):
        raise NotConverted("a node asks for membership in a set that is not there")
    sets = iter(members)
    missing = own.get("nodes_missing_value_tracks_true", [0] * len(modes))
    for number, mode in enumerate(modes):
        yes, no = (_side(own, side, number) for side in ("true", "false"))
        plain = _Node(
            mode=(*MODES, _MEMBER)[mode],
            feature=int(own["nodes_featureids"][number]),
            value=float(values[number]),
            yes=yes,
            no=no,
            missing=bool(missing[number]),
        )
        nodes |= _chained(number, plain, next(sets)) if mode == len(MODES) else {("node", number): plain}
    return _numbered(nodes, [("node", int(root)) for root in own["tree_roots"]], features, targets)


def _side(own: Mapping[str, Any], side: str, number: int) -> Any:
    """The key of the node that a node leads to."""
    kind = "leaf" if int(own[f"nodes_{side}leafs"][number]) else "node"
    return kind, int(own[f"nodes_{side}nodeids"][number])


def _sets(own: Mapping[str, Any]) -> list[list[float]]:
    """The sets of values of all nodes that ask for membership, which a NaN ends each."""
    tensor = own.get("membership_values")
    found: list[list[float]] = [[]]
    for value in () if tensor is None else numpy_helper.to_array(tensor).tolist():
        if np.isnan(value):
            found.append([])
        else:
            found[-1].append(value)
    return found


def _chained(number: int, node: _Node, values: Sequence[float]) -> dict[Any, _Node]:
    """A comparison with each value of a set, one after the other."""
    keys: list[Any] = [("node", number), *(("member", number, place) for place in range(1, len(values)))]
    if not values:
        raise NotConverted("a node asks for membership in an empty set")
    return {
        key: evolve(node, mode="BRANCH_EQ", value=value, no=no)
        for key, value, no in zip(keys, values, (*keys[1:], node.no), strict=True)
    }


def _numbered(nodes: Mapping[Any, _Node], roots: Sequence[Any], features: int, targets: int) -> Trees:
    """Nodes in the order in which they are met from the roots, leaves last. Raises NotConverted for what is
    no tree.
    """
    inner, leaves = _ordered(nodes, roots)
    places = {key: number for number, key in enumerate((*inner, *leaves))}
    compared = [nodes[key] for key in inner]
    if any(node.mode not in MODES for node in compared):
        raise NotConverted(f"a node has the mode `{next(n.mode for n in compared if n.mode not in MODES)}`")
    if any(not 0 <= node.feature < features for node in compared):
        raise NotConverted(f"a node reads a feature that none of the {features} is")
    trees = Trees(
        features=tuple(node.feature for node in compared),
        values=tuple(node.value for node in compared),
        modes=tuple(MODES.index(node.mode) for node in compared),
        missing=tuple(node.missing for node in compared),
        yes=tuple(places[node.yes] for node in compared),
        no=tuple(places[node.no] for node in compared),
        roots=tuple(places[key] for key in roots),
        leaves=tuple(nodes[key].scores for key in leaves),
        targets=targets,
    )
    if any(not 0 <= target < targets for target in trees.scored):
        raise NotConverted(f"a leaf has a score of a target that none of the {targets} is")
    return trees


def _ordered(nodes: Mapping[Any, _Node], roots: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The keys of nodes that compare, and of leaves, as they are met. Raises NotConverted where a node is
    missing, or comes again below itself.
    """
    inner: dict[Any, None] = {}
    leaves: dict[Any, None] = {}
    done: set[Any] = set()
    for root in roots:
        above: set[Any] = set()
        rest = [(root, False)]
        while rest:
            key, left = rest.pop()
            if left:
                above.discard(key)
                done.add(key)
                continue
            if key not in nodes or key in above:
                raise NotConverted("its nodes are no trees")
            if key in done or key in leaves:
                continue
            if nodes[key].mode == _LEAF:
                leaves[key] = None
                continue
            inner[key] = None
            above.add(key)
            rest += [(key, True), (nodes[key].no, False), (nodes[key].yes, False)]
    return list(inner), list(leaves)


def tables(body: Body, trees: Trees, x: str, count: int, aggregate: str) -> str:
    """The result of our operator on `x`, rows of scores, with the tables in the narrowest types."""
    if aggregate not in AGGREGATES:
        raise NotConverted(f"its `aggregate_function` is `{aggregate}`")
    if not trees.features:
        raise NotConverted("its trees are leaves alone")
    firsts = np.cumsum([0, *map(len, trees.leaves)])
    entries = [entry for leaf in trees.leaves for entry in leaf]
    constants = [
        _narrow(trees.features),
        np.array(trees.values, np.float32),
        _narrow(trees.modes if len({*trees.modes}) > 1 else trees.modes[:1]),
        np.array(trees.missing if any(trees.missing) else [False], np.uint8),
        _narrow(trees.yes),
        _narrow(trees.no),
        _narrow(trees.roots),
        _narrow(tuple(firsts.tolist())),
        _narrow(tuple(target for target, _ in entries) or (0,)),
        np.array([weight for _, weight in entries] or [0.0], np.float32),
    ]
    names = [body.constant(values) for values in constants]
    shape = (count, trees.targets)
    return body.add_own(FOREST, [x, *names], shape, aggregate=aggregate, targets=trees.targets, rows=count)


def _narrow(values: Sequence[int]) -> Array:
    """Whole numbers that are not below zero in the narrowest type."""
    highest = max(values)
    dtype = np.uint8 if highest < 1 << 8 else np.uint16 if highest < 1 << 16 else np.int32
    return np.array(values, dtype)
