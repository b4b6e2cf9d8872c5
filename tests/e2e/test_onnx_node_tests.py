"""A sample of ONNX's own tests of operators: those that passed pass, and no other one is wrong or raises."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.onnx_node_tests import RESULTS, cases, outcomes
from target_arch.registry import PlugIns

SAMPLE = ("bitshift", "cumsum", "dropout", "gathernd", "isinf", "mod", "scatternd", "topk")
"""Files of `onnx.backend.test.case.node` that are quickly made; in four of them TVM's frontend is wrong."""


@pytest.mark.slow
def test_a_sample(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    pytest.importorskip("onnx", reason="needs onnx")
    needs_tool("gcc")
    saved = json.loads(RESULTS.read_text())
    tests = [case for case in cases(SAMPLE) if case.counts][::4]
    found = {each.case.name: each for each in outcomes(tests, tmp_path, PlugIns.discover(()))}
    assert {each.verdict for each in found.values()} <= {"pass", "refused"}
    passed = {case.name for case in tests if saved[case.name]["verdict"] == "pass"}
    assert passed <= {name for name, each in found.items() if each.verdict == "pass"}
    assert len(passed) > len(tests) // 2
