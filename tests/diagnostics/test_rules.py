"""The catalogue of rules: complete, and nothing in it that no message says."""

import json
import re
from pathlib import Path

import pytest

from target_arch.cli.main import main
from target_arch.diagnostics import rules

PACKAGE = Path(__file__).parents[2] / "target_arch"
WORDS = re.compile(r'"([a-z]+(?:-[a-z0-9]+)+)"')
CHECKS = re.compile(r'(?:yield|_fault\() ?"([a-z-]+)", ')
PLUG_IN = re.compile(r"(unknown|backend|port|load-process|operator-library|policy|planner)-[a-z]+(-process)?")
"""Names that are joined from the kind of a plug-in."""
NO_RULES = frozenset(
    """
    accelerators-first ai-edge-litert ai-edge-quantizer
    apache-tvm arm-none-eabi-ar arm-none-eabi-gcc bom-ref by-area
    by-conflicts
    by-length by-size by-time c-compiler c-first cortex-a53 cortex-m3 cortex-m33 cortex-m4 cortex-m55
    cortex-m7
    cp-sat ethos-u ethos-u55-128 full-model generic-rv64 hexagon-unknown-linux-musl k-activation k-input
    k-local
    llvm-objdump load-process machine-learning-model
    new-backend new-operator new-soc next-state not-installed ns-tir num-cores
    operator-library plan-check
    qemu-aarch64 qemu-hexagon qemu-riscv64 qemu-system-arm qemu-user re-place re-tile s-tir set-up
    target-arch utf-8 utf-8-sig
    """.split()  # noqa: SIM905
)
"""Other words with a hyphen in the source."""


def named() -> set[str]:
    found = set[str]()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(WORDS.findall(text)) - NO_RULES
        if path.is_relative_to(PACKAGE / "stages" / "check"):
            found |= set(CHECKS.findall(text))
    return found


def test_every_rule_of_the_source_is_explained() -> None:
    assert sorted(named() - set(rules())) == []


def test_every_rule_that_is_explained_is_in_the_source() -> None:
    left = set(rules()) - named()
    assert sorted(name for name in left if not PLUG_IN.fullmatch(name)) == ["defect"]


def test_cause_and_cure_are_a_line_each() -> None:
    texts = [text for rule in rules().values() for text in (rule.cause, rule.cure)]
    assert [text for text in texts if not text or text.endswith(".") or "\n" in text] == []


def test_explain_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no-host"]) == 0
    assert capsys.readouterr().out == (
        "no-host (SoC files)\n"
        "  cause: no target_arch is the host\n"
        "  cure:  write `host = true` in the one that runs the bundle\n"
    )
    assert main(["explain", "no-host", "--format=json"]) == 0
    assert json.loads(capsys.readouterr().out)["group"] == "soc-file"


def test_explain_a_rule_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no-hots"]) == 2
    assert capsys.readouterr().err == (
        "command line: error: `no-hots` is no model file and no rule [unknown-rule]\n"
        "hint: did you mean `no-host`?\n"
    )
