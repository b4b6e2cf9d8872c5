"""The example of docs/add-a-backend.md is a backend that is found and accepted."""

import re
from pathlib import Path
from typing import Any

from target_arch.backend.contract import Hooks
from target_arch.registry import Backends
from target_arch.relax.hook_stages import lower_by_hooks
from tests.backends.engines import bench
from tests.relax.test_hook_stages import chain, negated

PAGE = Path(__file__).parents[2] / "docs" / "add-a-backend.md"


def test_the_schedule_of_the_example_sees_the_budget() -> None:
    _, code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    found: dict[str, Any] = {}
    exec(code, found)
    asked = bench("c", {"fast": 1024}, buffers={"inp": "fast"}).request(chain("relu"), {"fast": 130})
    kernel = lower_by_hooks(Hooks(legalize=negated, schedules=found["schedules"]), asked)
    assert "x_local_inp_buffer[32]" in kernel.functions[0].text


def test_the_example_is_a_backend(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    (tmp_path / "my_dsp.py").write_text(code[1])
    backend = Backends.discover([tmp_path])["my_dsp"]
    assert (backend.description, backend.codegen) == ("a DSP that computes relu", "c")
