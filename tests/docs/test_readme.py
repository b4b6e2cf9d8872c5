"""What the README shows is what happens.

Every `console` block is run, line by line, in one empty folder with the repository's `examples` in it, and
compared; `pytest --update-golden` writes what was printed into the README.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.console import check_page, printed

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def test_the_example_prints_what_it_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
    needs_tool: Callable[[str], str],
) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    needs_tool("cc")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(README.parent / "examples")
    text = BLOCK.sub(lambda found: printed(found[1], capsys), README.read_text())
    check_page(README, text, pytestconfig)


def test_the_python_example_holds() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})


def test_links_lead_somewhere() -> None:
    for page in (README, *(README.parent / "docs").glob("*.md"), README.parent / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
