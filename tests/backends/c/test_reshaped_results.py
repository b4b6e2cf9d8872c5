"""A dense layer writes the shape that its reader wants: heads of an attention, rows of a concatenation."""

from pathlib import Path
from typing import Any

import pytest

from conformance.topologies import Net, written
from target_arch.pipeline import CompileRequest, ModelsRequest, compile_models
from target_arch.run import verify_models, write_bundle
from target_arch.soc.files.soc_file import read_soc

pytest.importorskip("onnxruntime", reason="pip install target-arch[verify]")


def _head(net: Net) -> str:
    return net.add("Reshape", net.dense("x", 16, 16), net.integers(1, 6, 4, 4))


def _heads() -> Any:
    net = Net((1, 6, 16))
    return net.built(net.add("Transpose", _head(net), perm=[0, 2, 1, 3]))


def _joined() -> Any:
    net = Net((1, 6, 16))
    return net.built(net.add("Concat", _head(net), _head(net), axis=-1))


@pytest.mark.slow
def test_heads_are_computed_as_by_the_reference(tmp_path: Path) -> None:
    files = {}
    for name, made in (("heads", _heads()), ("joined", _joined())):
        for form in ("float", "qdq"):
            files[f"{name}_{form}"] = tmp_path / f"{name}_{form}.onnx"
            written(made, form, files[f"{name}_{form}"])
    soc = read_soc("zynq_edge")
    models = tuple(CompileRequest(model_path=file, soc=soc) for file in files.values())
    made = compile_models(ModelsRequest(models=models, name="reshaped"))
    write_bundle(made.bundle, tmp_path / "bundle")
    found = verify_models(files, tmp_path / "bundle", count=5)
    assert {name: each.passed for name, each in found.items()} == dict.fromkeys(files, True)
