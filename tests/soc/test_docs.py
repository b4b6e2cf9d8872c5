"""`docs/soc-file.md` says everything there is, and what it says is so."""

import re
from pathlib import Path

from target_arch.registry import PlugIns
from target_arch.soc import units
from target_arch.soc.words import CacheDuty
from tests.rule_groups import rules_of
from tests.systems import MACHINES

TEXT = (Path(__file__).parents[2] / "docs" / "soc-file.md").read_text()


def test_every_rule_with_its_line() -> None:
    groups = ("soc-file", "soc-file-and-backends", "soc-file-and-systems")
    every = {rule: line for group in groups for rule, line in rules_of(group).items()}
    assert [rule for rule, line in every.items() if f"| `{rule}` | {line} |" not in TEXT] == []


def test_every_word_and_unit() -> None:
    words = (
        *PlugIns.discover().load_processes,
        *CacheDuty,
        *MACHINES,
        *units.SIZE,
        *units.BANDWIDTH,
        *units.TIME,
        *units.FREQUENCY,
    )
    assert [word for word in words if f"`{word}`" not in TEXT and f'"{word}"' not in TEXT] == []


def test_the_python_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(example, "docs/soc-file.md", "exec"), {})


def test_the_message_shown_is_a_real_one() -> None:
    (shown,) = re.findall(r"```\n(bad/.*?)```", TEXT, re.DOTALL)
    golden = (Path(__file__).parent / "golden" / "unknown-memory.txt").read_text()
    assert golden.startswith(shown)
