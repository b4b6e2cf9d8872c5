"""The rules of messages by what they are about (`target_arch/diagnostics/rules.toml`)."""

from collections.abc import Mapping

from target_arch.diagnostics import rules


def rules_of(group: str) -> Mapping[str, str]:
    """The rules of a group: name and cause."""
    return {rule.name: rule.cause for rule in rules().values() if rule.group == group}
