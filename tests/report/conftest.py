"""The bundle that reports are made of."""

from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.resources import examples
from target_arch.run import write_bundle
from target_arch.soc import read_soc


@pytest.fixture(scope="session")
def digits_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of the example model for the SoC `zynq_edge`."""
    folder = tmp_path_factory.mktemp("report") / "digits"
    model = examples() / "digits" / "digits_int8.onnx"
    made = compile_model(CompileRequest(model_path=model, soc=read_soc("zynq_edge"), name="digits"))
    write_bundle(made.bundle, folder)
    return folder
