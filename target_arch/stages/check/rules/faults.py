"""A fault as the rules of the checker state it."""

Fault = tuple[str, str]
"""The name of the violated rule, and the message. The caller adds the place: a step, or the plan."""
