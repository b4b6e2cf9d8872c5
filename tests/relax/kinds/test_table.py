"""The half of the table that needs TVM: what one half promises, the other has."""

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest
from attrs import evolve

from target_arch.plan.operators.facts import ACTIVATION
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.definitions.table import macs_per_output
from target_arch.relax.importer import import_model
from target_arch.relax.kinds import elementwise, functions, named, products, rows, windows
from target_arch.relax.kinds.form import Form
from target_arch.relax.kinds.table import FORMS, IncompleteTableError, joined
from tests.relax.models import convnet, save

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits_int8.onnx"
FAMILIES = (products, elementwise, functions, windows, rows, named)
VALUES = ("Form", "Function", "Expression")


def test_every_kind_has_its_form() -> None:
    assert set(FORMS) == set(OperatorKind)


@pytest.mark.parametrize("kind", OperatorKind)
def test_a_forgotten_kind_is_an_error(kind: OperatorKind) -> None:
    forms = {each: form for each, form in FORMS.items() if each is not kind}
    with pytest.raises(IncompleteTableError) as caught:
        joined([forms])
    assert str(caught.value) == f"`{kind}` has no form"


def rules(tree: ast.Module) -> list[tuple[ast.Call, int]]:
    """The rules that a family states: calls that make values, and numbers of their arguments."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in VALUES]
    return [(call, index) for call in made for index in range(len(call.keywords))]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_a_forgotten_rule_is_an_error_at_import(family: ModuleType) -> None:
    source = inspect.getsource(family)
    count = len(rules(ast.parse(source)))
    assert count
    for number in range(count):
        tree = ast.parse(source)
        call, index = rules(tree)[number]
        del call.keywords[index]
        with pytest.raises(TypeError, match=r"missing .*required keyword-only argument"):
            exec(compile(ast.unparse(tree), str(family.__file__), "exec"), {"__name__": "family"})


def test_operators_have_the_constants_and_attributes_of_their_kind(tmp_path: Path) -> None:
    models = [import_model(save(convnet(), tmp_path / "m.onnx"))[0], import_model(DIGITS)[0]]
    for operator in (operator for model in models for operator in model.operators):
        known = {role.name for role in operator.facts.attributes}
        known |= {"activation_min", "activation_max"} if ACTIVATION in operator.facts.attributes else set()
        assert set(operator.attributes) <= known
        assert len(operator.constants) <= len(operator.facts.constants)


def test_every_definition_that_sums_products_states_its_cost() -> None:
    shapes = [(1, 8, 8, 6), (4, 3, 5, 6)]
    assert macs_per_output("matrix_product", shapes, {"adjoint0": 0}) == 6
    assert macs_per_output("padded", shapes, {}) == 0


def faults(kind: OperatorKind, form: Form) -> str:
    with pytest.raises(IncompleteTableError) as caught:
        joined([{**FORMS, kind: form}])
    return str(caught.value)


def test_halves_that_contradict_each_other() -> None:
    conv, relu, relax = (FORMS[kind] for kind in (OperatorKind.CONV2D, OperatorKind.RELU, OperatorKind.RELAX))
    assert faults(OperatorKind.RELU, evolve(relu, definition=None)) == (
        "`relu` is lowered by its definition in TE, and has no definition"
    )
    assert faults(OperatorKind.CONCAT, evolve(FORMS[OperatorKind.CONCAT], definition=relu.definition)) == (
        "`concat` is lowered by a copy for each operand, and has a definition"
    )
    assert faults(OperatorKind.CONV2D, evolve(conv, paired=None)) == (
        "`conv2d` computes sums of products with constant weights, "
        "and has no form with another operator after it"
    )
    assert faults(OperatorKind.RELU, evolve(relu, patterns=())) == (
        "`relu` is lowered by its definition in TE, and has 0 patterns"
    )
    assert faults(OperatorKind.RELAX, evolve(relax, patterns=relu.patterns)).endswith("has 2 patterns")


def test_a_kind_stands_in_one_family() -> None:
    with pytest.raises(IncompleteTableError) as caught:
        joined([FORMS, windows.FORMS])
    assert str(caught.value) == "`avg_pool2d` stands in two families; `max_pool2d` stands in two families"
