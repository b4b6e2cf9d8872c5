"""The bundle that reports are made of."""

from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.division import Divide
from target_arch.resources import examples
from target_arch.run import write_bundle
from target_arch.soc import read_soc


@pytest.fixture(scope="session")
def digits_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of the example model for the SoC `zynq_edge`."""
    return _written(tmp_path_factory, Divide.NEVER)


@pytest.fixture(scope="session")
def divided_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with operators divided over instances."""
    return _written(tmp_path_factory, Divide.AUTO)


def _written(tmp_path_factory: pytest.TempPathFactory, divide: Divide) -> Path:
    folder = tmp_path_factory.mktemp("report") / "digits"
    model, soc = examples() / "digits" / "digits_int8.onnx", read_soc("zynq_edge")
    made = compile_model(CompileRequest(model_path=model, soc=soc, name="digits", divide=divide))
    write_bundle(made.bundle, folder)
    return folder
