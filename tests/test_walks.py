"""Additions touch the files that CONTRIBUTING names: each is made, or undone, in a copy of the source, in the
files of its row alone.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from target_arch.api.compilation import compile
from target_arch.plan.operators.kinds import OperatorKind

ROOT = Path(__file__).parents[1]
ROWS = dict(
    re.findall(
        r"^\| (.+?) \|[^|]*\|[^|]*\| (.*) \|$",
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
)
"""The text of a walk by what is added."""
CHANGES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "a function of stored 8-bit values": {
        "relax/patterns/pointwise.py": ('    "cosh": np.cosh,\n', ""),
    },
    "a function of floats": {"relax/definitions/functions.py": ('    "cosh": tirx.cosh,\n', "")},
    "a key of a manifest": {
        "plan/manifest/bundle.py": (
            '    soc: Annotated[str, "name of the SoC"]\n',
            '    soc: Annotated[str, "name of the SoC"]\n    flavour: Annotated[str, "what it tastes of"]\n',
        ),
        "emit/manifest.py": ("        soc=soc.name,\n", '        soc=soc.name,\n        flavour="lemon",\n'),
    },
    "an option of a compilation": {
        "cli/arguments/options.py": (
            '    OptionRow(\n        name="keep_dead",\n',
            '    OptionRow(name="flavour", flag="--flavour", help="what it tastes of"),\n'
            '    OptionRow(\n        name="keep_dead",\n',
        ),
        "api/options.py": ("    keep_dead: bool\n", "    flavour: str\n    keep_dead: bool\n"),
        "pipeline/request.py": (
            "    keep_dead: bool = False\n",
            '    flavour: str = "plain"\n    keep_dead: bool = False\n',
        ),
    },
}
"""By walk and file, a text and what stands there in the copy: the addition, or nothing where it is there."""
CHECK = """
import sys
from pathlib import Path
from target_arch.api.options import requested
from target_arch.api.compilation import compile
from target_arch.cli import main
from target_arch.plan.manifest.bundle import Manifest
from target_arch.run.bundles.manifest import read_manifest
from target_arch.soc.schema.records import key_table

model, folder = Path(sys.argv[1]), Path(sys.argv[2])
assert main(["compile", str(model), "--soc", "mcu_m7", "--flavour", "mint", "-o", str(folder)]) == 0
assert read_manifest(folder).flavour == "lemon"
assert "| `flavour` | text | what it tastes of |" in key_table(Manifest)
assert requested(model, "mcu_m7", {"flavour": "mint"}).flavour == "mint"
operators = compile(model, "mcu_m7").models[0].stages.model.operators
assert {"lookup", "function"}.isdisjoint({operator.kind for operator in operators})
try:
    main(["compile", "--help"])
except SystemExit:
    pass
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """A hyperbolic cosine of floats, and one between a dequantize and a quantize."""
    scale, zero = (
        numpy_helper.from_array(np.array(v), n) for n, v in (("s", np.float32(0.02)), ("z", np.int8(3)))
    )
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["real"]),
        helper.make_node("Cosh", ["real"], ["wide"]),
        helper.make_node("QuantizeLinear", ["wide", "s", "z"], ["y"]),
        helper.make_node("Cosh", ["f"], ["g"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.INT8, [1, 64]) for name in "xy")
    f, g = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64]) for name in "fg")
    graph = helper.make_graph(nodes, "net", [x, f], [y, g], [scale, zero])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def kinds(net: Path) -> set[OperatorKind]:
    return {operator.kind for operator in compile(net, "mcu_m7").models[0].stages.model.operators}


def test_additions_take_the_files_of_their_rows(net: Path, tmp_path: Path) -> None:
    """Without the row of a function the copy does not have it, and it has the added key and option."""
    assert kinds(net) == {OperatorKind.LOOKUP, OperatorKind.FUNCTION}
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "target_arch", copy / "target_arch", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("runtime_c", "soc_configs", "examples"):
        (copy / name).symlink_to(ROOT / name)
    for added, files in CHANGES.items():
        for file, (before, after) in files.items():
            path, named = copy / "target_arch" / file, (file, str(Path(file).parent), Path(file).parts[0])
            text = path.read_text(encoding="utf-8")
            assert text.count(before) == 1, file
            path.write_text(text.replace(before, after), encoding="utf-8")
            assert any(f"`{part}`" in ROWS[added] for part in named), file
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    command = (sys.executable, "-c", CHECK, str(net), str(tmp_path / "bundle"))
    answer = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert "--flavour FLAVOUR" in answer.stdout
