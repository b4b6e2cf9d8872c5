"""docs/add-a-backend.md from top to bottom: every block is run, in one folder.

`python` blocks share one namespace, and the first is also the file that the page says; `diff` blocks change
files; `console` blocks print what stands below them (`pytest --update-golden` writes it).
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.docs.console import check_page, printed

PAGE = Path(__file__).parents[2] / "docs" / "add-a-backend.md"
BLOCK = re.compile(r"```(python|diff|console)\n(.*?)```", re.DOTALL)
SHOWN_FILE = Path("backends/my_dsp.py")


def applied(diff: str) -> None:
    """Change one file: each hunk (they begin with `@@`) has one place in it."""
    head, *lines = diff.splitlines()
    path = Path(head.removeprefix("--- "))
    text = path.read_text()
    for hunk in "\n".join(lines).split("\n@@\n"):
        old = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[0] in " -")
        new = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[0] in " +")
        assert text.count(old) == 1, f"{path} does not have once:\n{old}"
        text = text.replace(old, new)
    path.write_text(text)


def test_every_block_of_the_page(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
    needs_tool: Callable[[str], str],
) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    needs_tool("cc")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}

    def ran(found: re.Match[str]) -> str:
        kind, code = found[1], found[2]
        if kind == "python":
            line = found.string[: found.start(2)].count("\n")
            exec(compile("\n" * line + code, str(PAGE), "exec"), names)
            if not SHOWN_FILE.exists():
                SHOWN_FILE.parent.mkdir()
                SHOWN_FILE.write_text(code)
        elif kind == "diff":
            applied(code)
        else:
            return printed(code, capsys)
        return found[0]

    check_page(PAGE, BLOCK.sub(ran, PAGE.read_text()), pytestconfig)
