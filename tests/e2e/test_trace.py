"""The trace of a bundle leads from an operator of every kind to a function, its steps, and a test."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from conformance.tflite_operators import CASES, OPTIMIZED, Variant, reference
from target_arch.diagnostics import DiagnosticError
from target_arch.emit.packages.supply import TRACE
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.relax.importer import import_model
from target_arch.soc import read_soc
from tests.e2e.conftest import DIGITS
from tests.slow import slow_except

_DISPATCH = re.compile(r"/\* (?P<step>\d+): dispatch")
_VIEWS = {"reshape", "concat", "split", "slice"}
"""Operators that may be places in memory alone, which nothing computes."""


def broken(files: Mapping[str, bytes]) -> list[str]:
    """What does not lead anywhere, in words. A model that its reference cannot run has no test."""
    trace = json.loads(files[TRACE])
    entries = {each["name"]: each for each in json.loads(files["manifest.json"])["models"]}
    (steps,) = (text.decode() for path, text in files.items() if path.endswith("_steps.c"))
    dispatched = {int(match["step"]) for match in _DISPATCH.finditer(steps)}
    lost = []
    for model in trace["models"]:
        excused = model["test"] is None and entries[model["name"]]["self_test"]["missing"]
        if not excused and (model["test"] is None or model["test"]["program"] not in files):
            lost.append(f"{model['name']}: no test")
        for each in model["operators"]:
            name = f"{each['operator']} ({each['kind']})"
            if not each["functions"] and each["kind"] not in _VIEWS:
                lost.append(f"{name}: no function")
            if not dispatched.issuperset(each["steps"]) or bool(each["steps"]) != bool(each["functions"]):
                lost.append(f"{name}: steps {each['steps']}")
            source = files.get(each["source"], b"").decode()
            if each["source"].startswith("src/"):
                absent = [f for f in each["functions"] if f"ta_status {f}(" not in source]
                lost += [f"{name}: no {function} in {each['source']}" for function in absent]
    return lost


def traced(path: Path, soc: str) -> Mapping[str, bytes]:
    return dict(compile_model(CompileRequest(model_path=path, soc=read_soc(soc))).bundle.files)


def kinds_of(files: Mapping[str, bytes]) -> set[str]:
    return {each["kind"] for model in json.loads(files[TRACE])["models"] for each in model["operators"]}


@pytest.mark.parametrize("soc", ["zynq_edge", "mcu_m7", "quad_conv"])
def test_the_example_is_traced_on_every_chip(soc: str) -> None:
    assert broken(traced(DIGITS, soc)) == []


def test_what_is_lost_is_said() -> None:
    files = dict(traced(DIGITS, "mcu_m7"))
    trace = json.loads(files[TRACE])
    first, second, third, *_ = trace["models"][0]["operators"]
    first["functions"] = ["nowhere"]
    second["steps"] = [1000]
    third["functions"], third["steps"] = [], []
    trace["models"][0]["test"] = None
    files[TRACE] = json.dumps(trace).encode()
    assert broken(files) == [
        "digits_int8: no test",
        f"{first['operator']} ({first['kind']}): no nowhere in {first['source']}",
        f"{second['operator']} ({second['kind']}): steps [1000]",
        f"{third['operator']} ({third['kind']}): no function",
    ]


@pytest.mark.parametrize("dtype", slow_except([], ["float32", "int8"], by_hand=["float32"]))
def test_an_operator_of_every_kind_is_traced(dtype: str, tmp_path: Path) -> None:
    """All operators of TFLite that have a case, each a model."""
    kinds: set[str] = set()
    for path in models(tmp_path, dtype):
        files = traced(path, "mcu_m7")
        assert broken(files) == [], path
        kinds |= kinds_of(files)
    assert len(kinds) > 20, sorted(kinds)


def models(folder: Path, dtype: str) -> Iterator[Path]:
    """A model of each operator that is read with this type."""
    for code in CASES:
        content = Variant(code=code, dtype=dtype, seed=31).content()
        path = folder / f"{code.lower().replace(' ', '_')}.tflite"
        path.write_bytes(content)
        if reference(content, optimized=code in OPTIMIZED) is None:
            continue
        try:
            import_model(path)
        except DiagnosticError:
            continue
        yield path
