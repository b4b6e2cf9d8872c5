"""The example of docs/add-a-backend.md is a backend that is found and accepted."""

import re
from pathlib import Path

from target_arch.registry import Backends

PAGE = Path(__file__).parents[2] / "docs" / "add-a-backend.md"


def test_the_example_is_a_backend(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    (tmp_path / "my_dsp.py").write_text(code[1])
    backend = Backends.discover([tmp_path])["my_dsp"]
    assert (backend.description, backend.codegen) == ("a DSP that computes relu", "c")
