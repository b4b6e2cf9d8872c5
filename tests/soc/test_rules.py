"""One broken file per rule, each with the whole text of its messages."""

from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.soc import read_soc
from tests.rule_groups import rules_of

HERE = Path(__file__).parent
RULES = rules_of("soc-file")
NO_FILE = ("cannot-read",)
"""Rules about files that are not there."""


def messages(file: Path | str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, set[str]]:
    """All messages for a file named from this folder, and the rules they tell of."""
    monkeypatch.chdir(HERE)
    with pytest.raises(DiagnosticError) as raised:
        read_soc(file)
    return str(raised.value) + "\n", {diagnostic.rule for diagnostic in raised.value.diagnostics}


@pytest.mark.parametrize("rule", sorted(set(RULES) - set(NO_FILE)))
def test_rule(rule: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    text, rules = messages(f"bad/{rule}.toml", monkeypatch)
    golden(rule, text)
    assert rules == {rule}


def test_every_rule_has_its_file() -> None:
    files = {file.stem for file in (HERE / "bad").glob("*.toml")}
    assert files == set(RULES) - set(NO_FILE)


@pytest.mark.parametrize("name", ["zinq_edge", "bad", "bad/nobody.toml", "nul\0.toml"])
def test_cannot_read(name: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    text, rules = messages(name, monkeypatch)
    golden(f"cannot-read-{Path(name).stem.replace(chr(0), '')}", text)
    assert rules == {"cannot-read"}
