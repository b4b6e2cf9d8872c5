"""The table of operator kinds: nothing can be forgotten, and kinds of strangers fit in."""

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from attrs import evolve

from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.operators import kinds
from target_arch.plan.operators.facts import MACS_PER_OUTPUT, Facts, LayoutRule, Lowering
from target_arch.plan.operators.kinds import FOREIGN, OperatorKind, facts_of, kind_of

SOURCE = inspect.getsource(kinds)


def operator(kind: str) -> Operator:
    return Operator(id="op", kind=kind, arithmetic="float", inputs=("x",), constants=("w",), output="y")


def without_one_rule() -> Iterator[tuple[str, str]]:
    """The table's source, each time without one of the rules that its first row states, or part of a role."""

    def whole(tree: ast.AST) -> list[ast.Call]:
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        return [call for call in calls if getattr(call.func, "id", "") in ("Facts", "Role")]

    for number, call in enumerate(whole(ast.parse(SOURCE))):
        for index, rule in enumerate(call.keywords):
            tree = ast.parse(SOURCE)
            del whole(tree)[number].keywords[index]
            yield f"{rule.arg} in line {call.lineno}", ast.unparse(tree)


def test_a_forgotten_rule_is_an_error_at_import() -> None:
    tried = 0
    for name, source in without_one_rule():
        with pytest.raises(TypeError, match=r"missing .*required keyword-only argument"):
            exec(compile(source, name, "exec"), {"__name__": "table"})
        tried += 1
    assert tried > 50


def test_a_rule_that_is_none_is_an_error_at_import() -> None:
    source = SOURCE.replace("weight_taps=(1,)", "taps=(1,)")
    assert source != SOURCE
    with pytest.raises(TypeError, match="unexpected keyword argument 'taps'"):
        exec(compile(source, "table", "exec"), {"__name__": "table"})


def test_a_kind_without_facts_is_an_error_at_import() -> None:
    source = SOURCE.replace('    MAX_POOL2D = "max_pool2d", _POOL', '    MAX_POOL2D = "max_pool2d"')
    assert source != SOURCE
    with pytest.raises(TypeError, match="facts"):
        exec(compile(source, "table", "exec"), {"__name__": "table"})


def test_no_fact_has_a_default() -> None:
    parameters = inspect.signature(Facts).parameters.values()
    assert all(parameter.default is inspect.Parameter.empty for parameter in parameters)


def test_a_kind_is_its_name() -> None:
    made = operator("conv2d")
    assert made.kind is OperatorKind.CONV2D
    assert made.kind == "conv2d"
    assert f"{made.kind}_0" == "conv2d_0"
    assert json.dumps({made.kind: made.kind}) == '{"conv2d": "conv2d"}'
    assert kind_of("conv2d") is OperatorKind.CONV2D


def test_a_kind_that_a_plug_in_brings_is_its_text() -> None:
    made = operator("leaky_relu")
    assert made.kind == "leaky_relu"
    assert not isinstance(made.kind, OperatorKind)
    assert made.facts is FOREIGN is facts_of("leaky_relu")
    assert made.facts.lowering is Lowering.FOREIGN
    assert made.facts.layout is LayoutRule.AUTHOR


def test_multiply_accumulates_follow_the_weights() -> None:
    def count(
        kind: str, weights: tuple[int, ...], out: tuple[int, ...], stated: int | None = None
    ) -> tuple[int, int]:
        tensors = {
            "x": Tensor(name="x", shape=(1,), dtype="float32"),
            "w": Tensor(name="w", shape=weights, dtype="float32"),
            "y": Tensor(name="y", shape=out, dtype="float32"),
        }
        made = (
            operator(kind) if stated is None else evolve(operator(kind), attributes={MACS_PER_OUTPUT: stated})
        )
        model = Model(name="m", source="m", inputs=("x",), outputs=("y",), tensors=tensors, operators=(made,))
        return model.macs_per_output(model.operators[0]), model.macs(model.operators[0])

    assert count("conv2d", (8, 3, 3, 4), (1, 5, 5, 8)) == (36, 36 * 200)
    assert count("depthwise_conv2d", (3, 3, 8), (1, 5, 5, 8)) == (9, 9 * 200)
    assert count("dense", (10, 64), (2, 10)) == (64, 64 * 20)
    assert count("add", (4,), (1, 4)) == (0, 0)
    assert count("leaky_relu", (4,), (1, 4)) == (0, 0)
    assert count("products", (4,), (1, 4)) == (0, 0)
    assert count("products", (4,), (1, 5), stated=9) == (9, 45)


def test_names_of_constants() -> None:
    assert [OperatorKind.DENSE.facts.role(index) for index in (0, 1)] == ["weight", "bias"]
    assert OperatorKind.ADD.facts.role(0) == "constant0"
    assert FOREIGN.role(2) == "constant2"


def test_the_table_does_not_import_tvm() -> None:
    code = "import sys; import target_arch.plan.operators.kinds; print('tvm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
