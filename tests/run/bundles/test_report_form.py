"""Every key that a report reads is asked for first; a manifest without one is refused, never half shown."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from target_arch.emit import manifest
from target_arch.report import read_shown
from target_arch.run.bundles.manifest_form import manifest_faults
from target_arch.run.bundles.report_form import report_faults
from tests import tiny_plans


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every key."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        if isinstance(value, dict):
            yield (*path, key)
        yield from _paths(child, (*path, key))


def _without(value: Any, path: tuple[str | int, ...]) -> Any:
    made = copy.deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return made


def test_a_missing_key_is_a_fault_or_not_read() -> None:
    inputs = tiny_plans.on_dsp()
    whole: dict[str, Any] = json.loads(json.dumps(manifest(inputs)))
    assert manifest_faults(whole) + report_faults(whole) == []
    for path in _paths(whole):
        damaged = _without(whole, path)
        if not manifest_faults(damaged) and not report_faults(damaged):
            read_shown(damaged, inputs.soc)
