"""Results whose size depends on values, and what reads them: what onnxruntime computes, frame by frame."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import target_arch
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.manifest.model import BoundedEntry
from target_arch.relax.importer import import_model

pytestmark = pytest.mark.skipif(
    onnxruntime.__version__.startswith("1.19."),
    reason="onnxruntime 1.19 divides by the extent of empty results",
)

CONSTANTS = """
float[4] row = {1, -2, 3, -4}, float[1,4] line = {1, 2, 3, 4}, float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12},
float[3] bias = {1, 2, 3}, float[2,4] two = {9,8,7,6,5,4,3,2}, float half = {0.5}, float least = {-0.5},
int64[1] k0 = {0}, int64[1] k1 = {1}, int64[1] k2 = {2}, int64[1] k3 = {3}, int64[1] last = {-1},
int64[1] far = {9223372036854775807}, int64 zero = {0}, int64 one = {1}, int64[2] wide = {-1, 2},
int64[2] rows = {-1, 4}, int64[1] flat = {-1}, int64[2] twice = {1, 2}, int64[4] pads = {0, 1, 0, 2},
int64 depth = {8}, float[2] hot = {0, 1}, int64[1] eight = {8}
"""
CHOSEN = """
    column = Gather <axis = 1> (x, zero)
    mask = Greater (column, half)
    places = NonZero (mask)
    i = Squeeze (places, k0)
    b = Gather <axis = 0> (x, i)
"""
"""Rows of x whose first element is more than a half."""
MANY = CHOSEN.replace("half", "least")
"""Some rows at least, in all frames that are drawn: onnxruntime has no greatest element of none."""

MOVES = """
    sum = Add (b, row)
    product = Mul (b, b)
    turned = Transpose (b)
    thin = Unsqueeze (b, k0)
    again = Squeeze (thin, k0)
    long = Reshape (b, flat)
    pairs = Reshape (b, wide)
    back = Reshape (pairs, rows)
    flattened = Flatten (thin)
    matrix = MatMul (b, w)
    dense = Gemm (b, w, bias)
    soft = Softmax <axis = 1> (b)
    left, right = Split <axis = 1, num_outputs = 2> (b)
    beside = Concat <axis = 1> (b, sum)
    repeated = Tile (b, twice)
    padded = Pad (b, pads)
    onehot = OneHot (i, depth, hot)
    means = ReduceMean <keepdims = 0> (b, k1)
    strongest = ArgMax <axis = 1> (b)
    running = CumSum (b, one)
    words = Cast <to = 6> (b)
"""
ENDS = """
    total = ReduceSum <keepdims = 0> (b, k0)
    whole = ReduceSum (b)
    high = ReduceMax <keepdims = 0> (b, k0)
    low = ReduceMin <keepdims = 0> (b, k0)
    best = ArgMax <axis = 0, keepdims = 0> (b)
    shape = Shape (b)
    extent = Gather (shape, k0)
    size = Size (b)
    some = Slice (b, k0, k3, k0)
    rest = Slice (b, k1, far, k0)
    most = Slice (b, k0, last, k0)
    inner = Slice (b, k1, k3, k1)
    firsts = Slice (x, k0, extent, k0)
    spread = Expand (line, shape)
    scalar = Squeeze (extent, k0)
    up = Range (zero, scalar, one)
    same = Add (b, spread)
"""
JOINED = """
    other = Less (column, half)
    rivals = Compress <axis = 0> (x, other)
    joined = Concat <axis = 0> (b, rivals, two)
    ahead = Concat <axis = 0> (two, b)
    shape = Shape (b)
    extent = Gather (shape, k0)
    k = Min (extent, k3)
    tall = Gather <axis = 1> (b, one)
    v, at = TopK <axis = 0> (tall, k)
    picked = Gather <axis = 0> (b, at)
    deep = Greater (tall, half)
    again = Compress <axis = 0> (b, deep)
    nested = NonZero (b)
    signs = Sign (x)
    u, uf, ui, uc = Unique (signs)
    across, where = TopK <axis = 1> (b, k2)
    negative = Neg (extent)
    minus = Add (at, negative)
    ends = Gather <axis = 0> (b, minus)
    gi = Unsqueeze (at, k1)
    ge = GatherElements <axis = 0> (b, gi)
    iu = Unsqueeze (i, k1)
    nd = GatherND (x, iu)
    indices = Concat <axis = 0> (i, uf)
"""


def made(folder: Path, text: str, outputs: str, inputs: str = "float[8,4] x") -> Path:
    """A model of these operators; the shapes of its outputs follow."""
    kinds = {"i": "int64", "f": "float", "w": "int32"}
    listed = (each.split(":") for each in outputs.split())
    declared = ", ".join(f"{kinds[kind]}[] {name}" for kind, names in listed for name in names.split(","))
    head = '<ir_version: 9, opset_import: ["" : 18]>'
    model = parser.parse_model(f"{head} net ({inputs}) => ({declared}) <{CONSTANTS}> {{{text}}}")
    path = folder / "net.onnx"
    onnx.save(model, path)
    return path


def verified(path: Path, count: int = 30) -> bool:
    bundle = target_arch.compile(path, "mcu_m55").write(path.parent / "bundle")
    (found,) = bundle.verify(path, count=count).values()
    return bool(found.passed)


@pytest.mark.parametrize(
    ("text", "outputs"),
    [
        (
            CHOSEN + MOVES,
            "f:sum,product,turned,thin,again,long,pairs,back,flattened,matrix,dense,soft,left,right,beside,repeated"
            ",padded,onehot,means,running i:strongest w:words",
        ),
        (
            MANY + ENDS,
            "f:total,whole,high,low,some,rest,most,inner,firsts,spread,same i:best,size,up,extent",
        ),
        pytest.param(
            CHOSEN + JOINED,
            "f:joined,ahead,v,picked,again,across,ends,ge,nd,u i:at,nested,uf,ui,uc,where,indices",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["moves", "ends", "joined"],
)
def test_what_reads_such_a_result(tmp_path: Path, text: str, outputs: str) -> None:
    assert verified(made(tmp_path, text, outputs))


def test_the_bound_is_in_the_type_and_the_count_is_an_output(tmp_path: Path) -> None:
    path = made(tmp_path, CHOSEN + "    wider = Concat <axis = 0> (b, two)\n", "f:b,wider i:i")
    model, _ = import_model(path)
    assert [str(model.tensors[name]) for name in model.outputs] == [
        "b: float32[<=8,4]",
        "wider: float32[<=10,4]",
        "i: int64[<=8]",
        "b_count: int64[1]",
        "wider_count: int64[1]",
    ]
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    bounds = {each.name: each.bounded for each in bundle.manifest.models[0].outputs if each.bounded}
    assert bounds == {
        "b": BoundedEntry(axis=0, count="b_count"),
        "wider": BoundedEntry(axis=0, count="wider_count"),
        "i": BoundedEntry(axis=0, count="b_count"),
    }
    header = (tmp_path / "bundle" / "include" / "net.h").read_text()
    assert "/* output 1: wider: float32[<=10,4] */" in header
    assert (
        "/* Along dimension 0 as many are there as output `wider_count` says; behind them are zeros. */\n"
        "const float *net_output_wider(void);"
    ) in header
    x = np.full((8, 4), -1, np.float32)
    x[2] = x[5] = (1, 2, 3, 4)
    outputs = bundle.run({"x": x})
    assert outputs["b_count"].tolist() == [2]
    assert outputs["i"].tolist() == [2, 5, 0, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(outputs["b"][:2], x[[2, 5]])
    assert not outputs["b"][2:].any()
    assert outputs["wider"][2].tolist() == [9, 8, 7, 6]


def test_no_row_at_all(tmp_path: Path) -> None:
    text = CHOSEN + "    wider = Concat <axis = 0> (b, two)\n    total = ReduceSum (b, k0)\n"
    bundle = target_arch.compile(made(tmp_path, text, "f:wider,total"), "mcu_m55").write(tmp_path / "bundle")
    outputs = bundle.run({"x": np.full((8, 4), -1, np.float32)})
    assert outputs["wider_count"].tolist() == [2]
    assert outputs["total"].tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("text", "outputs", "reason"),
    [
        (
            "    y = Softmax <axis = 0> (b)\n",
            "f:y",
            "`Softmax` once, at `y`: it works along a dimension whose size depends on values",
        ),
        (
            "    c = Compress <axis = 0> (x, o)\n    y = Add (b, c)\n",
            "f:y",
            "`Add` once, at `y`: its operands have different sizes, which depend on values",
        ),
        (
            "    y = Add (x, b)\n",
            "f:y",
            "`Add` once, at `y`: the size of one operand depends on values, the other has 8",
        ),
        (
            "    y = Gather (b, last)\n",
            "f:y",
            "`Gather` once, at `y`: it counts from the end of a dimension whose size depends on values",
        ),
        (
            "    s = Softmax <axis = 0> (b)\n    y = Shape (s)\n",
            "i:y",
            "`Softmax` once, at `s`: it works along a dimension whose size depends on values",
        ),
        (
            "    y = MatMul (bt, b)\n",
            "f:y",
            "`MatMul` once, at `y`: two of its dimensions depend on values",
        ),
        (
            "    y = Det (b)\n",
            "f:y",
            "`Det` once, at `y`: it reads a tensor whose size depends on values",
        ),
    ],
)
def test_what_cannot_read_such_a_result_is_refused_by_name(
    tmp_path: Path, text: str, outputs: str, reason: str
) -> None:
    before = CHOSEN + "    o = Less (column, half)\n    bt = Transpose (b)\n"
    with pytest.raises(DiagnosticError) as refused:
        import_model(made(tmp_path, before + text, outputs))
    assert reason in str(refused.value)


def test_a_file_that_states_the_extents_of_one_run(tmp_path: Path) -> None:
    """Some converters write the shapes of the run that they saw."""
    path = made(tmp_path, CHOSEN, "f:b i:i")
    model = onnx.load(path)
    for value, shape in zip(model.graph.output, ((3, 4), (3,)), strict=True):
        kind = value.type.tensor_type.elem_type
        value.CopyFrom(helper.make_tensor_value_info(value.name, kind, shape))
    onnx.save(model, path)
    found, _ = import_model(path)
    assert str(found.tensors["b"]) == "b: float32[<=8,4]"


def test_places_of_rows_are_inputs_of_k(tmp_path: Path) -> None:
    """A k that the caller gives."""
    path = made(tmp_path, "    v, at = TopK (x, n)\n", "f:v i:at", "float[3,8] x, int64[1] n")
    bundle = target_arch.compile(path, "mcu_m55").write(tmp_path / "bundle")
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    session = onnxruntime.InferenceSession(path)
    for n in (1, 5, 8):
        feed = {"x": x, "n": np.array([n])}
        values, at = session.run(None, feed)
        outputs = bundle.run(feed)
        assert outputs["v_count"].tolist() == [n]
        np.testing.assert_array_equal(outputs["v"][:, :n], values)
        np.testing.assert_array_equal(outputs["at"][:, :n], at)


BOXES, CLASSES = 24, 3


def detector(layout: str) -> Any:
    """A small net with box decoding and suppression: of anchors (`ssd`), or of cells (`yolo`)."""
    draw = np.random.default_rng(1)

    def values(name: str, *shape: int, scale: float = 0.4) -> Any:
        return numpy_helper.from_array((draw.standard_normal(shape) * scale).astype(np.float32), name)

    def whole(name: str, numbers: Any) -> Any:
        return numpy_helper.from_array(np.asarray(numbers, np.int64), name)

    def real(name: str, numbers: Any) -> Any:
        return numpy_helper.from_array(np.asarray(numbers, np.float32), name)

    node = helper.make_node
    numbers = 4 + CLASSES
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(6), indexing="ij"), -1).reshape(1, BOXES, 2)
    nodes = [
        node("Conv", ["image", "w1"], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", "w2"], ["c2"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Reshape", ["c2", "cells"], ["flat"]),
        node("Transpose", ["flat"], ["rows"], perm=[0, 2, 1]),
        node("Split", ["rows", "parts"], ["centres", "sizes", "logits"], axis=2),
        node("Sigmoid", ["centres"], ["offsets"]),
        node("Add", ["offsets", "grid"], ["middles"]),
        node("Exp", ["sizes"], ["extents"]),
        node("Mul", ["extents", "half"], ["sides"]),
        node("Sigmoid" if layout == "yolo" else "Softmax", ["logits"], ["likely"]),
        node("Transpose", ["likely"], ["scores"], perm=[0, 2, 1]),
    ]
    if layout == "ssd":
        nodes += [
            node("Sub", ["middles", "sides"], ["first"]),
            node("Add", ["middles", "sides"], ["second"]),
            node("Concat", ["first", "second"], ["boxes"], axis=2),
        ]
    else:
        nodes.append(node("Concat", ["middles", "sides"], ["boxes"], axis=2))
    centred = int(layout == "yolo")
    nodes += [
        node(
            "NonMaxSuppression",
            ["boxes", "scores", "most", "share", "least"],
            ["kept"],
            center_point_box=centred,
        ),
        node("Gather", ["kept", "k2"], ["box_numbers"], axis=1),
        node("Gather", ["kept", "k1"], ["classes"], axis=1),
        node("Squeeze", ["boxes", "k0"], ["one"]),
        node("Gather", ["one", "box_numbers"], ["found"]),
        node("Gather", ["kept", "pair"], ["pairs"], axis=1),
        node("Squeeze", ["scores", "k0"], ["flat_scores"]),
        node("GatherND", ["flat_scores", "pairs"], ["found_scores"]),
        node("Shape", ["found_scores"], ["extent"]),
        node("Min", ["extent", "top"], ["k"]),
        node("TopK", ["found_scores", "k"], ["best_scores", "order"]),
        node("Gather", ["found", "order"], ["best_boxes"]),
        node("Gather", ["classes", "order"], ["best_classes"]),
    ]
    constants = [
        values("w1", 8, 3, 3, 3),
        values("w2", numbers, 8, 3, 3),
        whole("cells", (1, numbers, BOXES)),
        whole("parts", (2, 2, CLASSES)),
        real("grid", grid),
        real("half", 0.5),
        whole("most", [6]),
        real("share", [0.3]),
        real("least", [0.8]),
        whole("k0", [0]),
        whole("k1", 1),
        whole("k2", 2),
        whole("pair", (1, 2)),
        whole("top", [12]),
    ]
    outputs = {
        "best_boxes": TensorProto.FLOAT,
        "best_scores": TensorProto.FLOAT,
        "best_classes": TensorProto.INT64,
    }
    graph = helper.make_graph(
        nodes,
        layout,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, 16, 24))],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["ssd", "yolo"])
def test_a_detector(tmp_path: Path, layout: str) -> None:
    path = tmp_path / f"{layout}.onnx"
    onnx.save(detector(layout), path)
    model, _ = import_model(path)
    assert str(model.tensors["best_boxes"]) == "best_boxes: float32[<=12,4]"
    session = onnxruntime.InferenceSession(path)
    draw = np.random.default_rng(0)
    frames = draw.uniform(-1, 1, (40, 1, 3, 16, 24)).astype(np.float32)
    sizes = {len(session.run(["best_scores"], {"image": frame})[0]) for frame in frames}
    assert len(sizes) > 1, "frames with different numbers of boxes"
    assert verified(path, 40)
