"""The keys of a manifest that `report`, `run` and `verify` need; `docs/manifest.md` has all keys.

Tests: `tests/run/bundles/test_manifest_form.py`.
"""

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from target_arch.backend.goal import Goal
from target_arch.plan.memory import IoOwner
from target_arch.plan.model import DTYPE_BYTES
from target_arch.run.bundles.form import (
    RULE,
    Faults,
    Flag,
    Form,
    Integer,
    ListOf,
    Maybe,
    Number,
    PathInside,
    Record,
    TableOf,
    Text,
    faults_of,
)
from target_arch.soc.faults import Fault, Path

_SIGNED = Integer(least=-(2**63))
_WORDS = ListOf(Text())


class TensorForm:
    """A tensor whose bytes are those of its shape and type."""

    form = Record(
        {
            "name": Text(),
            "shape": ListOf(Integer()),
            "dtype": Text(frozenset(DTYPE_BYTES)),
            "bytes": Integer(),
        }
    )

    def check(self, path: Path, value: object, faults: Faults) -> None:
        before = len(faults)
        self.form.check(path, value, faults)
        if len(faults) > before or not isinstance(value, dict):
            return
        size = prod(value["shape"]) * DTYPE_BYTES[value["dtype"]]
        if value["bytes"] != size:
            said = f"`{value['name']}` has {value['bytes']:,} B, its shape and type need {size:,} B"
            faults.append(Fault(rule=RULE, path=(*path, "bytes"), message=said))


_TENSORS = ListOf(TensorForm())
_MACHINE = Record(
    {
        "name": Text(),
        "code": Text(),
        "data": Text(),
        "stack": Integer(),
        "memories": ListOf(
            Record({"name": Text(), "base": Integer(), "bytes": Integer(), "writable": Flag()})
        ),
    }
)
_TOOLCHAIN = Record(
    {"libraries": _WORDS, "needs": _WORDS},
    {
        "compiler": Text(),
        "flags": _WORDS,
        "link": _WORDS,
        "emulator": _WORDS,
        "packages": TableOf(Text()),
        "counter_hz": Integer(least=1),
        "shift": Integer(),
        "start": Text(),
    },
)
_OF_MACHINES = ("compiler", "flags", "link", "emulator", "packages", "counter_hz", "shift", "start")
_LIBRARY = Record(
    {
        "name": PathInside(plain=True),
        "carried": Flag(),
        "variable": Maybe(Text()),
        "include": ListOf(PathInside()),
        "sources": ListOf(PathInside()),
    }
)
_PARTITION = Record(
    {"id": Text(), "instance": Text(), "operators": _WORDS, "reason": Text()}, {"notes": _WORDS}
)
_PLACEMENT = Record(
    {
        "method": Text(),
        "search_makespan": Number(),
        "search_bound": Number(),
        "load": Number(),
        "load_bytes": Integer(),
        "energy": Maybe(Number()),
        "metered": Integer(),
    }
)
_EXECUTION = Record({"makespan": Number(), "bound": Number(), "alone": Number(), "overlap": Text()})
_BUDGET = Record(
    {
        "partition": Text(),
        "site": Text(),
        "pool": Text(),
        "live": _SIGNED,
        "remaining": _SIGNED,
        "guaranteed": _SIGNED,
        "gap": _SIGNED,
        "used": Maybe(_SIGNED),
    }
)
_ATTEMPT = Record({key: Text() for key in ("kind", "operator", "instance", "reason", "outcome")})
_POOL = Record({"capacity": Integer(), "peak": Integer(), "bound": Integer()}, {"in_place_bound": Integer()})
_STEP = Record(
    {
        "number": Integer(),
        "kind": Text(frozenset({"load", "copy", "dispatch", "wait"})),
        "what": Text(),
        "event": Maybe(Text()),
    }
)
_VERIFICATION = Record(
    {"passed": Flag(), "reference": Text(), "equal": Integer(), "outputs": Integer(), "largest": Number()}
)
_BUNDLE: dict[str, Form] = {
    "soc": Text(),
    "port": Text(),
    "abi_hash": Text(),
    "machine": Maybe(_MACHINE),
    "toolchain": _TOOLCHAIN,
}
_LATER: dict[str, Form] = {
    "optimize": Text(frozenset(Goal)),
    "libraries": ListOf(_LIBRARY),
    "files": TableOf(Text()),
}
_MODEL: dict[str, Form] = {
    "model": Text(),
    "inputs": _TENSORS,
    "outputs": _TENSORS,
    "partitions": ListOf(_PARTITION),
    "lowering_order": ListOf(Record({"partition": Text()})),
    "placement": Maybe(_PLACEMENT),
    "execution": Maybe(_EXECUTION),
    "budgets": ListOf(_BUDGET),
    "attempts": ListOf(_ATTEMPT),
    "pools": TableOf(_POOL),
    "steps": ListOf(_STEP),
}
_STATE = Record(
    {
        "name": Text(),
        "shape": ListOf(Integer()),
        "dtype": Text(),
        "buffer": Text(),
        "initial_buffer": Maybe(Text()),
        "pair": Maybe(ListOf(Integer())),
    }
)
_MODEL_LATER: dict[str, Form] = {
    "io": Text(frozenset(IoOwner)),
    "mode": Text(),
    "states": ListOf(_STATE),
    "buffers": ListOf(Record({"name": Text(), "pool": Text(), "offset": Integer()})),
    "verification": Maybe(_VERIFICATION),
}
_SHARED_POOL = Record(
    {
        "memory": Text(),
        "capacity": Integer(),
        "bytes": Integer(),
        "apart": Integer(),
        "overlaid": Flag(),
        "peaks": TableOf(Integer()),
    }
)
ONE_MODEL = Record({**_BUNDLE, **_MODEL}, {**_LATER, **_MODEL_LATER})
"""The manifest of a bundle of one model."""
_OF_SEVERAL_MODELS = Record(
    {
        **_BUNDLE,
        "arenas": Text(frozenset({"shared", "separate"})),
        "models": ListOf(Record({**_BUNDLE, **_MODEL}, _MODEL_LATER)),
        "pools": TableOf(_SHARED_POOL),
    },
    _LATER,
)


def manifest_faults(manifest: Mapping[str, Any]) -> Faults:
    """Everything that keeps a manifest, of one model or of several, from being read."""
    several = "models" in manifest
    faults = faults_of(manifest, _OF_SEVERAL_MODELS if several else ONE_MODEL)
    if faults:
        return faults
    if several:
        _models_and_pools(manifest, faults)
    if manifest["machine"] is not None:
        _missing(("toolchain",), manifest["toolchain"], _OF_MACHINES, faults)
    for path in manifest.get("files", ()):
        PathInside().check(("files", path), path, faults)
    return faults


def _models_and_pools(manifest: Mapping[str, Any], faults: Faults) -> None:
    names = [model["model"] for model in manifest["models"]]
    if len(set(names)) < len(names) or not names:
        said = "`models` has none" if not names else "two of `models` have one name"
        faults.append(Fault(rule=RULE, path=("models",), message=said))
    for name, pool in manifest["pools"].items():
        _missing(("pools", name, "peaks"), pool["peaks"], names, faults)


def _missing(path: Path, table: Mapping[str, Any], keys: Iterable[str], faults: Faults) -> None:
    for key in keys:
        if key not in table:
            faults.append(Fault(rule=RULE, path=path, message=f"`{key}` is missing", at_key=True))
