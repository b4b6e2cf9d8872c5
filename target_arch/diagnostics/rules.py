"""Every rule that a message may end with: its cause and its cure.

The text is in `rules.toml`. Tests: `tests/diagnostics/test_rules.py`.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from attrs import frozen


@frozen(kw_only=True)
class Rule:
    """`group` is the name and `title` the words for the subject of the rule; `cause` says when it is broken,
    `cure` is the remedy.
    """

    name: str
    group: str
    title: str
    cause: str
    cure: str

    def __str__(self) -> str:
        return f"{self.name} ({self.title})\n  cause: {self.cause}\n  cure:  {self.cure}\n"


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its name, in the order of the file."""
    text = (files("target_arch.diagnostics") / "rules.toml").read_text(encoding="utf-8")
    found = {
        name: Rule(
            name=name,
            group=group,
            title=about["title"],
            cause=rule["cause"],
            cure=rule.get("cure", about.get("cure")),
        )
        for group, about in tomllib.loads(text).items()
        for name, rule in about["rules"].items()
    }
    return MappingProxyType(found)
