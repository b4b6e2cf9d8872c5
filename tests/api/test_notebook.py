"""The notebook of the example, cell by cell, as a kernel executes them."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from target_arch.resources import examples


@pytest.mark.slow
def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((examples() / "digits" / "digits.ipynb").read_text())
    names: dict[str, Any] = {}
    shown = [_executed("".join(c["source"]), names) for c in notebook["cells"] if c["cell_type"] == "code"]
    assert "conv2d_1" in shown[0]
    (report,) = (value for value in shown if hasattr(value, "_repr_html_"))
    assert "<iframe" in report._repr_html_()
    (scores,) = shown[-2].values()
    assert scores.shape == (1, 10)
    (verified,) = shown[-1].values()
    assert verified.passed


def _executed(source: str, names: dict[str, Any]) -> Any:
    """The value of a cell's last line where that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
