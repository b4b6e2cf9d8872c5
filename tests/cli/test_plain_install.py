"""A plain install, without extras: models become bundles, and bundles run; what is missing is named."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import target_arch
from target_arch.resources import examples

pytest.importorskip("onnxruntime", reason="needs `pip install 'target-arch[verify]'`")

DIGITS = examples() / "digits" / "digits_int8.onnx"

PLAIN = """
import contextlib, io, json, sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

wanted, plain = ["target-arch"], set()
while wanted:
    name = canonicalize_name(wanted.pop())
    if name in plain:
        continue
    plain.add(name)
    with contextlib.suppress(PackageNotFoundError):
        needs = map(Requirement, distribution(name).requires or ())
        wanted += [each.name for each in needs if each.marker is None or each.marker.evaluate({"extra": ""})]
extra = {
    module for module, owners in packages_distributions().items()
    if not plain & set(map(canonicalize_name, owners)) and module not in ("packaging", "_distutils_hack")
}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in extra and name.partition(".")[0] not in sys.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from target_arch.cli.main import main

answers = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(arguments)
    answers.append([code, out.getvalue(), err.getvalue()])
print(json.dumps([sorted(extra & {"onnxruntime", "pytest"}), answers]))
"""
"""Commands in a process that finds no module but those of this package's plain dependencies."""


@pytest.mark.slow
def test_what_a_plain_install_can(tmp_path: Path) -> None:
    own, other = str(tmp_path / "own bundle"), tmp_path / "with_vector"
    target_arch.compile(DIGITS, "mcu_m7").write(other)
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    given = [
        ["compile", str(DIGITS), "--soc", "mcu_m7", "-o", own],
        ["run", own],
        ["run", own, "--input", str(tmp_path / "x.npy"), "--top", "1"],
        ["run", str(other)],
        ["verify", str(DIGITS), "--bundle", own],
        ["report", own, "--html", str(tmp_path / "report.html")],
    ]
    command = [sys.executable, "-c", PLAIN, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    hidden, answers = json.loads(done.stdout)
    made, alone, told, tested, verified, shown = answers
    assert hidden == ["onnxruntime", "pytest"]
    assert made[0] == 0
    assert "  no self-test vector: the package `onnxruntime` is not installed\n" in made[1]
    assert alone == [
        2,
        "",
        f"{own}: error: the bundle has no test vector of its own: the package `onnxruntime` is not installed "
        "[no-input]\nhint: give an --input FILE for each model input\n",
    ]
    assert (told[0], told[1].splitlines()[0]) == (0, "logits float32[1, 10], largest")
    assert [tested[0], tested[2]] == [0, ""]
    assert tested[1].startswith("self-test passed: its own input on port `host`, compared with ")
    assert verified == [
        3,
        "",
        "reference: error: the package `onnxruntime` is not installed [tool-missing]\n"
        "hint: pip install 'target-arch[verify]'\n",
    ]
    assert shown[0] == 0
