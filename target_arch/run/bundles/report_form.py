"""The keys of a manifest that a report needs, beside those that `manifest_form.py` asks for every reader.

Tests: `tests/run/bundles/test_report_form.py`.
"""

from collections.abc import Mapping
from typing import Any

from target_arch.run.bundles.form import (
    RULE,
    BooleanForm,
    Faults,
    IntegerForm,
    ListOf,
    Maybe,
    NumberForm,
    Record,
    TableOf,
    TextForm,
    ValueForm,
    faults_of,
)
from target_arch.soc.faults import Fault

_WORDS = ListOf(TextForm())
_SIGNED = IntegerForm(least=-(2**63))
_SPAN: dict[str, ValueForm] = {
    "step": IntegerForm(),
    "what": TextForm(),
    "where": TextForm(),
    "start": NumberForm(),
    "end": NumberForm(),
}
_COST = Record(
    {
        "compute": NumberForm(),
        "copies": ListOf(Record({"what": TextForm(), "seconds": NumberForm()})),
        "measured": BooleanForm(),
    }
)
_CANDIDATE = Record(
    {"instance": TextForm(), "cost": Maybe(_COST), "refusal": Maybe(TextForm()), "change": Maybe(TextForm())}
)
_OPERATOR = Record(
    {
        "id": TextForm(),
        "kind": TextForm(),
        "location": TextForm(),
        "inputs": _WORDS,
        "output": TextForm(),
        "shape": ListOf(IntegerForm()),
        "dtype": TextForm(),
        "macs": IntegerForm(),
        "constant_bytes": IntegerForm(),
        "reason": TextForm(),
        "way": TextForm(),
        "candidates": ListOf(_CANDIDATE),
    }
)
_BUFFER = Record(
    {
        "name": TextForm(),
        "kind": TextForm(),
        "pool": TextForm(),
        "offset": IntegerForm(),
        "bytes": IntegerForm(least=1),
        "first": IntegerForm(),
        "last": IntegerForm(),
        "over": Maybe(TextForm()),
        "holds": ListOf(Record({"tensor": TextForm(), "offset": IntegerForm(), "bytes": IntegerForm()})),
    }
)
_EXECUTION = Record(
    {
        "entries": ListOf(Record({**_SPAN, "kind": TextForm(frozenset({"run", "copy"}))})),
        "waits": ListOf(Record({**_SPAN, "kind": TextForm(frozenset({"wait"}))})),
    }
)
_LAYER = Record(
    {
        "operator": TextForm(),
        "kind": TextForm(),
        "on": TextForm(),
        "elements": IntegerForm(),
        "differ": IntegerForm(),
        "largest": NumberForm(),
        "exact": TextForm(),
        "passed": BooleanForm(),
        "first_wrong": TextForm(),
    }
)
_VERIFICATION = Record(
    {
        "rule": TextForm(),
        "frames": IntegerForm(),
        "allowed": NumberForm(),
        "first_wrong": Maybe(TextForm()),
        "self_test": Maybe(TextForm()),
    },
    {"layers": Maybe(Record({"layers": ListOf(_LAYER)}))},
)
_MODEL = Record(
    {
        "operators": ListOf(_OPERATOR),
        "lowering_policy": TextForm(),
        "lowering_order": ListOf(Record({"phase": TextForm(), "reason": TextForm()})),
        "execution": Maybe(_EXECUTION),
        "pools": TableOf(Record({"memory": TextForm()})),
        "buffers": ListOf(_BUFFER),
        "verification": Maybe(_VERIFICATION),
    }
)
_FILL = Record({"memory": TextForm(), "capacity": IntegerForm(), "linked": _SIGNED})
_SECTION = Record(
    {"memory": TextForm(), "section": TextForm(), "what": TextForm(), "predicted": _SIGNED, "linked": _SIGNED}
)
_STACK = Record({"predicted": IntegerForm(), "reserved": IntegerForm(), "path": _WORDS})
_IMAGE = Record(
    {
        "sections": ListOf(_SECTION),
        "memories": ListOf(_FILL),
        "stack": _STACK,
    }
)
_FIRMWARE = Record(
    {
        "target_arch": TextForm(),
        "core": TextForm(),
        "sections": ListOf(
            Record({"section": TextForm(), "what": TextForm(), "predicted": _SIGNED, "linked": _SIGNED})
        ),
        "memory": _FILL,
        "stack": _STACK,
    }
)

SHOWN_BUNDLE = Record(
    {"models": ListOf(_MODEL), "image": Maybe(_IMAGE), "firmware": Maybe(ListOf(_FIRMWARE))},
)
"""The keys that a report needs besides."""


def report_faults(manifest: Mapping[str, Any]) -> Faults:
    """Everything that keeps a manifest, which others can read, from being shown."""
    return faults_of(manifest, SHOWN_BUNDLE) or [
        fault for index, model in enumerate(manifest["models"]) for fault in _strangers(index, model)
    ]


def _strangers(number: int, model: Mapping[str, Any]) -> Faults:
    """Names that nothing in the entry of that model has."""
    return [
        Fault(
            rule=RULE,
            path=("models", number, "buffers", index),
            message=f"there is no pool `{each['pool']}`",
        )
        for index, each in enumerate(model["buffers"])
        if each["pool"] not in model["pools"]
    ]
