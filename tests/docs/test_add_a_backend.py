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
from tests.docs.diffs import applied

PAGE = Path(__file__).parents[2] / "docs" / "add-a-backend.md"
BLOCK = re.compile(r"```(python|diff|console)\n(.*?)```", re.DOTALL)
SHOWN_FILE = Path("backends/my_dsp.py")


@pytest.mark.slow
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
