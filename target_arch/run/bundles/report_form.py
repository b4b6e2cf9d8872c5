"""The keys of a manifest that a report needs, beside those that `manifest_form.py` asks for every reader.

Tests: `tests/run/bundles/test_report_form.py`.
"""

from collections.abc import Mapping
from typing import Any

from target_arch.run.bundles.form import (
    Faults,
    Flag,
    Form,
    Integer,
    ListOf,
    Maybe,
    Number,
    Record,
    TableOf,
    Text,
    faults_of,
)
from target_arch.soc.faults import Fault, Path

_WORDS = ListOf(Text())
_SIGNED = Integer(least=-(2**63))
_SPAN: dict[str, Form] = {
    "step": Integer(),
    "what": Text(),
    "where": Text(),
    "start": Number(),
    "end": Number(),
}
_COST = Record(
    {
        "compute": Number(),
        "copies": ListOf(Record({"what": Text(), "seconds": Number()})),
        "measured": Flag(),
    }
)
_CANDIDATE = Record(
    {"instance": Text(), "cost": Maybe(_COST), "refusal": Maybe(Text()), "change": Maybe(Text())}
)
_OPERATOR = Record(
    {
        "id": Text(),
        "kind": Text(),
        "location": Text(),
        "inputs": _WORDS,
        "output": Text(),
        "shape": ListOf(Integer()),
        "dtype": Text(),
        "macs": Integer(),
        "constant_bytes": Integer(),
        "reason": Text(),
        "way": Text(),
        "candidates": ListOf(_CANDIDATE),
    }
)
_BUFFER = Record(
    {
        "name": Text(),
        "kind": Text(),
        "pool": Text(),
        "offset": Integer(),
        "bytes": Integer(least=1),
        "first": Integer(),
        "last": Integer(),
        "over": Maybe(Text()),
        "holds": ListOf(Record({"tensor": Text(), "offset": Integer(), "bytes": Integer()})),
    }
)
_EXECUTION = Record(
    {
        "entries": ListOf(Record({**_SPAN, "kind": Text(frozenset({"run", "copy"}))})),
        "waits": ListOf(Record({**_SPAN, "kind": Text(frozenset({"wait"}))})),
    }
)
_LAYER = Record(
    {
        "operator": Text(),
        "kind": Text(),
        "on": Text(),
        "elements": Integer(),
        "differ": Integer(),
        "largest": Number(),
        "exact": Text(),
        "passed": Flag(),
        "first_wrong": Text(),
    }
)
_VERIFICATION = Record(
    {
        "rule": Text(),
        "frames": Integer(),
        "allowed": Number(),
        "first_wrong": Maybe(Text()),
        "self_test": Maybe(Text()),
    },
    {"layers": Maybe(Record({"layers": ListOf(_LAYER)}))},
)
SHOWN_MODEL = Record(
    {
        "mode": Text(),
        "operators": ListOf(_OPERATOR),
        "states": ListOf(Record({"name": Text()})),
        "partitions": ListOf(Record({"notes": _WORDS})),
        "lowering_policy": Text(),
        "lowering_order": ListOf(Record({"phase": Text(), "reason": Text()})),
        "execution": Maybe(_EXECUTION),
        "pools": TableOf(Record({"memory": Text(), "in_place_bound": Integer()})),
        "buffers": ListOf(_BUFFER),
        "verification": Maybe(_VERIFICATION),
    }
)
"""The keys of a model that a report needs."""
_FILL = Record({"memory": Text(), "capacity": Integer(), "linked": _SIGNED})
_SECTION = Record(
    {"memory": Text(), "section": Text(), "what": Text(), "predicted": _SIGNED, "linked": _SIGNED}
)
_STACK = Record({"predicted": Integer(), "reserved": Integer(), "path": _WORDS})
_IMAGE = Record(
    {
        "sections": ListOf(_SECTION),
        "memories": ListOf(_FILL),
        "stack": _STACK,
    }
)
_FIRMWARE = Record(
    {
        "target_arch": Text(),
        "core": Text(),
        "sections": ListOf(
            Record({"section": Text(), "what": Text(), "predicted": _SIGNED, "linked": _SIGNED})
        ),
        "memory": _FILL,
        "stack": _STACK,
    }
)


_BUILT: dict[str, Form] = {"firmware": ListOf(_FIRMWARE)}
"""The keys that are absent until something was built."""


def report_faults(manifest: Mapping[str, Any]) -> Faults:
    """Everything that keeps a manifest, which others can read, from being shown."""
    if "models" in manifest:
        form = Record({"name": Text(), "models": ListOf(SHOWN_MODEL), "image": Maybe(_IMAGE)}, _BUILT)
        return faults_of(manifest, form) or [
            fault
            for index, model in enumerate(manifest["models"])
            for fault in _strangers(("models", index), model)
        ]
    faults = faults_of(manifest, SHOWN_MODEL)
    Record({"image": Maybe(_IMAGE)}, _BUILT).check((), manifest, faults)
    return faults or _strangers((), manifest)


def _strangers(path: Path, model: Mapping[str, Any]) -> Faults:
    """Names that nothing in the manifest has."""
    return [
        Fault(
            rule="bad-manifest", path=(*path, "buffers", index), message=f"there is no pool `{each['pool']}`"
        )
        for index, each in enumerate(model["buffers"])
        if each["pool"] not in model["pools"]
    ]
