"""Models in memory: every function that takes a model file takes them, and the same bundle comes out."""

from pathlib import Path
from typing import Any

import pytest

import target_arch
from target_arch.diagnostics import DiagnosticError
from tests.relax.models import helper, onnx_model, save


@pytest.fixture
def model() -> Any:
    return onnx_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (1, 4)}, {"y": (1, 4)})


def test_an_onnx_model(model: Any, tmp_path: Path) -> None:
    file = save(model, tmp_path / "model.onnx")
    made = target_arch.compile(file, "mcu_m7", port="host")
    for one in (model, model.SerializeToString()):
        assert target_arch.compile(one, "mcu_m7", port="host").files == made.files
    assert str(target_arch.partition(model, "mcu_m7")) == str(target_arch.partition(file, "mcu_m7"))
    assert [use.name for use in target_arch.operators(model).uses] == ["Relu"]
    (found,) = made.write(tmp_path / "bundle").verify(model, count=2).values()
    assert found.passed


def test_an_exported_program(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    program = torch.export.export(torch.nn.ReLU(), (torch.zeros(1, 4),))
    made = target_arch.compile(program, "mcu_m7", port="host", name="rectified")
    assert made.models[0].name == "rectified"
    (found,) = made.write(tmp_path / "bundle").verify(program, count=2).values()
    assert found.passed


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"\x7fELF\x01\x02\x03\x04\x05", "the bytes are an ELF object file, and no model"),
        (b"\x00" * 9, "the bytes are nothing known, and no model"),
        (3, "a value of type `builtins.int` is no model"),
    ],
)
def test_what_is_no_model(value: Any, said: str) -> None:
    with pytest.raises(DiagnosticError) as fault:
        target_arch.compile(value, "mcu_m7")
    assert str(fault.value).splitlines()[0] == f"model: error: {said} [model-type]"
