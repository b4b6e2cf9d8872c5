"""Outcomes that a long run keeps in a file as soon as they are known: the next run goes on from them."""

import json
from pathlib import Path
from typing import Any

from attrs import define, field


@define
class Kept:
    """JSON values by name, also as lines of a file where there is one, which is read first."""

    path: Path | None
    known: dict[str, Any] = field(init=False)

    @known.default
    def _read(self) -> dict[str, Any]:
        if self.path is None or not self.path.exists():
            return {}
        return dict(json.loads(line) for line in self.path.read_text().splitlines())

    def add(self, name: str, outcome: Any) -> None:
        """Keep an outcome that is not known yet."""
        self.known[name] = outcome
        if self.path is not None:
            with self.path.open("a") as file:
                print(json.dumps((name, outcome)), file=file)
