"""Patterns: those of a stranger, and how several share a program."""

import subprocess
import sys
from pathlib import Path

import pytest
from tvm.relax.dpl import is_op, wildcard

from target_arch.backend.contract import Pattern
from target_arch.plan.model import Quantization
from target_arch.relax.importer import import_model
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.relax.patterns.matcher import Draft, Match, Matcher, activation_range
from tests.relax.models import helper, onnx_model, save


def _load_gate() -> Matcher:
    """x * sigmoid(x)."""
    x = wildcard()
    sigmoid = is_op("relax.sigmoid")(x)
    product = is_op("relax.multiply")(x, sigmoid)
    return Matcher(roots=("multiply",), pattern=product, calls={"product": product}, build=_build_gate)


def _build_gate(match: Match) -> Draft | None:
    source = match.required("product").args[0]
    return Draft(kind="swish", inputs=(source,), output=match.root) if match.is_activation(source) else None


GATE = Pattern(name="swish", load=_load_gate)


def kinds(path: Path, *patterns: Pattern) -> list[str]:
    model, _ = import_model(path, patterns=(*standard_patterns(), *patterns))
    return [operator.kind for operator in model.operators]


def gated(tmp_path: Path, *, leaks: bool) -> Path:
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("Mul", ["x", "s"], ["m"]),
        helper.make_node("Add", ["m", "s"] if leaks else ["m", "x"], ["y"]),
    ]
    return save(onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}), tmp_path / "m.onnx")


def test_a_pattern_of_a_plug_in_is_matched(tmp_path: Path) -> None:
    path = gated(tmp_path, leaks=False)
    assert kinds(path) == ["function", "mul", "add"]
    assert kinds(path, GATE) == ["swish", "add"]


def test_a_composite_does_not_swallow_what_others_read(tmp_path: Path) -> None:
    assert kinds(gated(tmp_path, leaks=True), GATE) == ["function", "mul", "add"]


def test_asking_a_match_for_an_unknown_name_is_an_error_of_the_pattern(tmp_path: Path) -> None:
    def build(match: Match) -> Draft | None:
        match.required("nothing")
        return None

    call = is_op("relax.sigmoid")(wildcard())
    pattern = Pattern(
        name="odd", load=lambda: Matcher(roots=("sigmoid",), pattern=call, calls={}, build=build)
    )
    with pytest.raises(KeyError):
        kinds(gated(tmp_path, leaks=False), pattern)


def test_every_kind_has_one_pattern() -> None:
    names = [pattern.name for pattern in standard_patterns()]
    assert len(names) == len(set(names))
    assert [pattern.name for pattern in standard_patterns("dense", "conv2d")] == ["dense", "conv2d"]
    with pytest.raises(KeyError):
        standard_patterns("wobble")


def test_every_kind_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "operators.md").read_text()
    for pattern in standard_patterns():
        assert f"| `{pattern.name}` |" in text


def test_listing_patterns_does_not_import_tvm() -> None:
    code = (
        "import sys; from target_arch.relax.kinds.catalogue import standard_patterns; "
        "standard_patterns(); print('tvm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (None, None, (-128, 127)),
        (0.0, None, (-28, 127)),
        (0.0, 6.0, (-28, 32)),
        (-1.0, 1.0, (-38, -18)),
        (0.0, 600.0, (-28, 127)),
    ],
)
def test_activation_ranges(low: float | None, high: float | None, expected: tuple[int, int]) -> None:
    quantization = Quantization(scale=(0.10000000149011612,), zero_point=(-28,))
    assert activation_range(quantization, "int8", low, high, "tflite") == expected


def test_ties_of_an_activation_range_follow_the_format() -> None:
    quantization = Quantization(scale=(4.0,), zero_point=(0,))
    assert activation_range(quantization, "uint8", 0.0, 10.0, "tflite") == (0, 3)
    assert activation_range(quantization, "uint8", 0.0, 10.0, "onnx") == (0, 2)


def _gates(tmp_path: Path, count: int) -> Path:
    nodes = []
    for number in range(count):
        source, result = f"t{number}" if number else "x", f"t{number + 1}" if number < count - 1 else "y"
        nodes.append(helper.make_node("Sigmoid", [source], [f"s{number}"]))
        nodes.append(helper.make_node("Mul", [source, f"s{number}"], [result]))
    return save(onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}), tmp_path / "gates.onnx")


def test_a_long_chain_is_matched_part_by_part(tmp_path: Path) -> None:
    """TVM looks at every variable that it is given, for each match: of all, a long model would take hours.
    Where one part ends, what a pattern can reach is there all the same.
    """
    path = _gates(tmp_path, 400)
    assert kinds(path, GATE) == ["swish"] * 400
    _, program = import_model(path)
    graph = program.graph
    for var in (graph.variables[0], graph.variables[300], graph.variables[-1]):
        assert len(graph.matchable.around(var, 8)) < 300
