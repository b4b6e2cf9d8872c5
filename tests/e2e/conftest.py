"""Bundles that several tests look at are compiled once a session."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from target_arch.pipeline import Compilation, CompileRequest, compile_model
from target_arch.run.bundles.write import write_bundle
from target_arch.soc import read_soc

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_int8.onnx"

Compiled = tuple[Compilation, Path]
Compile = Callable[[Path, str], Compiled]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """`compiled(model, soc)`: the compilation, and the folder its bundle was written to."""

    @cache
    def one(model: Path, soc: str) -> Compiled:
        compilation = compile_model(CompileRequest(model_path=model, soc=read_soc(soc)))
        folder = tmp_path_factory.mktemp(f"{model.stem}_{soc}") / "bundle"
        write_bundle(compilation.bundle, folder)
        return compilation, folder

    return one
