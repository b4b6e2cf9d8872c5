"""`docs/operators.md`: its tables are those of the operator kinds (`pytest --update-golden` writes them), and
its section on adding an operator is followed, in a copy of the package.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from conformance.onnx_node_tests import page
from target_arch.plan.operators.facts import ACTIVATION, EVERY_ARITHMETIC, Facts, Role
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.importer import import_model
from target_arch.relax.kinds.table import FORMS
from tests.docs.diffs import applied
from tests.generated_pages import table
from tests.relax.models import helper, onnx_model, save

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operators.md"
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
MARKED = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def kinds_table() -> str:
    rows = [
        (
            f"`{kind}`",
            roles(facts.inputs) + (", float32" if facts.float_inputs else ""),
            roles(facts.constants),
            roles(facts.attributes),
        )
        for kind, facts in ((kind, kind.facts) for kind in OperatorKind)
    ]
    return table(("kind", "inputs", "constants", "attributes"), rows, 0)


def roles(found: Iterable[Role]) -> str:
    return ", ".join("activation" if each is ACTIVATION else str(each) for each in found)


def rules_table() -> str:
    head = (
        "kind",
        "an output element comes from",
        "order of dimensions",
        "output of another shape",
        "arithmetic",
        "work",
        "bytes equal to an operand's",
        "lowered",
        "oracle",
    )
    rows = [
        (
            f"`{kind}`",
            kind.facts.structure.value,
            kind.facts.layout.value,
            kind.facts.output_shape.value,
            "all" if kind.facts.arithmetics == EVERY_ARITHMETIC else ", ".join(kind.facts.arithmetics),
            work(kind.facts),
            kind.facts.aliasing.value,
            kind.facts.lowering.value,
            "yes" if kind.facts.oracle else "",
        )
        for kind in OperatorKind
    ]
    return table(head, rows, 0)


def work(facts: Facts) -> str:
    if facts.weight_taps is None:
        return f"{facts.element_work:g}"
    axes = facts.constants[0].meaning.strip("[]").split(",")
    return f"{' * '.join(axes[tap] for tap in facts.weight_taps)} + {facts.element_work:g}"


def patterns_table() -> str:
    rows = []
    for kind in OperatorKind:
        for pattern in FORMS[kind].patterns:
            assert pattern.__doc__ is not None
            text = pattern.__doc__.strip().splitlines()[0].rstrip(".")
            rows.append((f"`{kind}`", text.replace("|", "\\|")))
    return table(("kind", "composite"), rows, 0)


def test_the_tables_of_the_page(pytestconfig: pytest.Config) -> None:
    made = {"kinds": kinds_table, "rules": rules_table, "patterns": patterns_table, "onnx": page}
    text = PAGE.read_text()
    assert set(made) == {name for _, name, _ in MARKED.findall(text)}
    written = MARKED.sub(lambda found: f"{found[1]}\n{made[found[2]]()}\n\n{found[3]}", text)
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(written)
    assert written == PAGE.read_text()


def copy_of_the_package(folder: Path) -> Path:
    """The package and its tests, to be changed."""
    for name in ("target_arch", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "golden"))
    for name in ("runtime_c", "soc_configs", "examples", "rtl", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What Python does in the copy."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-B", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.long
def test_the_steps_to_a_new_operator(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    for tool in ("gcc", "clang"):
        needs_tool(tool)
    folder = copy_of_the_package(tmp_path)
    section = PAGE.read_text().partition("## Add an operator")[2]
    (_, facts), (_, message), (_, form), (_, test) = BLOCK.findall(section)
    applied(facts, folder)
    forgot = ran(folder, "-c", "import target_arch.relax.kinds.table")
    assert forgot.stderr.endswith(f".{message}")
    applied(form, folder)
    path = folder / test.splitlines()[0].removeprefix("# ")
    path.write_text(test)
    tested = ran(folder, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(path))
    assert tested.returncode == 0, tested.stdout + tested.stderr
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Max", ["x", "e"], ["y"])]
    save(onnx_model(nodes, {"x": (1, 9)}, {"y": (1, 9)}), folder / "m.onnx")
    verified = ran(folder, "-m", "target_arch", "verify", "m.onnx", "--target", "c")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_operators_of_your_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The library of the page prints as it says, and a model with its operator is imported."""
    section = PAGE.read_text().partition("## Operators of your own")[2].partition("\n## ")[0]
    ((_, code),) = BLOCK.findall(section)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    assert code.rstrip().endswith(f"  # {capsys.readouterr().out.strip()}")
    gain = helper.make_node("Gain", ["x"], ["y"], domain="com.acme", factor=2.0)
    model = onnx_model([gain], {"x": (1, 9)}, {"y": (1, 9)})
    model.opset_import.append(helper.make_opsetid("com.acme", 1))
    imported, _ = import_model(
        save(model, tmp_path / "m.onnx"), foreign=names["plug_ins"].operators.converter
    )
    assert [operator.kind for operator in imported.operators] == ["mul"]
