"""The input of a bundle's self-test is read from its C as it was written there."""

import struct
from pathlib import Path

import numpy as np
import pytest

from target_arch import compile, compile_models
from target_arch.cli.main import main
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.literals import literals
from target_arch.plan.manifest.model import TensorEntry
from target_arch.plan.model import Tensor
from target_arch.run.execute.own_vector import _tensor
from target_arch.run.references.find import reference_for
from tests.e2e.conftest import DIGITS

VALUES = {
    "int8": [-128, 127, 0],
    "uint8": [255, 0, 1],
    "int32": [-(2**31), 2**31 - 1, -7],
    "int64": [-(2**63), 2**63 - 1, -7],
    "uint32": [2**32 - 1, 0, 3],
    "float16": [1.5, -0.0, 65504.0],
    "float32": [1.1, -3e-40, 0.0],
    "bool": [1, 0, 1],
}


@pytest.mark.parametrize("dtype", VALUES)
def test_literals_are_read_back(dtype: str) -> None:
    values = np.array(VALUES[dtype], dtype=dtype)
    written = literals(Tensor(name="x", shape=(3,), dtype=dtype, data=values.tobytes()))
    out = Emitter()
    out.wrapped(written.items)
    entry = TensorEntry(name="x", shape=(3,), dtype=dtype, bytes=values.nbytes, buffer="x")
    assert _tensor(entry, out.text()).tobytes() == values.tobytes()


def test_bits_of_what_no_literal_has() -> None:
    data = struct.pack("<3I", 0x7FC00001, 0xFF800000, 0x3F800000)
    written = literals(Tensor(name="x", shape=(3,), dtype="float32", data=data))
    out = Emitter()
    out.wrapped(written.items)
    entry = TensorEntry(name="x", shape=(3,), dtype="float32", bytes=12, buffer="x")
    assert _tensor(entry, out.text()).tobytes() == data


def test_the_vector_of_a_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = compile(DIGITS, "mcu_m7").write(tmp_path / "bundle")
    (frame,) = reference_for(DIGITS).frames(1, 0)
    np.testing.assert_array_equal(bundle.own_inputs[0], frame[0])
    assert main(["run", str(bundle.directory), "--top", "2"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    logits = bundle.run(bundle.own_inputs)["logits"][0]
    best = int(np.argmax(logits))
    assert head == "logits float32[1, 10], largest"
    assert first.split() == ["[0,", f"{best}]", f"{float(logits[best])}"]
    assert second.startswith("  [0, ")


def test_vectors_of_several_models(tmp_path: Path) -> None:
    models = [(DIGITS, {"name": "one"}), (DIGITS, {"name": "two"})]
    bundle = compile_models(models, "mcu_m7", name="both").write(tmp_path / "bundle")  # type: ignore[arg-type]
    first, second = bundle.own_inputs
    np.testing.assert_array_equal(first, second)
