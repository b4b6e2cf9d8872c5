"""docs/with-tvm.md is one program that runs."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "with-tvm.md"


@pytest.mark.long
def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """TVMScript reads the source of a class from its file."""
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "with_tvm.py"
    program.write_text("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)))
    spec = spec_from_file_location("with_tvm", program)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "with_tvm", module)
    spec.loader.exec_module(module)
    said = capsys.readouterr().out
    assert re.search(r"^TVM [\w.]+ True$", said, re.MULTILINE)
    assert "kDLCPU:1 c ['global.dsp_tcm']" in said
    assert "'dsp_cpu', 'global.dsp_tcm', 'clock-300000000Hz'" in said.replace('"', "'")
    assert "operator function_0: on dsp_cpu; required on `dsp_cpu` by its model" in said
    assert (tmp_path / "partitions").is_dir()
