"""The keys of a manifest that `report`, `run` and `verify` need; `docs/manifest.md` has all keys.

Tests: `tests/run/bundles/test_manifest_form.py`.
"""

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from target_arch.plan.execution import below_bound
from target_arch.plan.goal import Goal
from target_arch.plan.memory import IoOwner
from target_arch.plan.model import DTYPE_BYTES
from target_arch.plan.model_pools import Sharing
from target_arch.run.bundles.form import (
    RULE,
    BooleanForm,
    Faults,
    IntegerForm,
    ListOf,
    Maybe,
    NumberForm,
    PathInside,
    Record,
    TableOf,
    TextForm,
    faults_of,
)
from target_arch.soc.faults import Fault, Path

_SIGNED = IntegerForm(least=-(2**63))
_WORDS = ListOf(TextForm())


class TensorForm:
    """A tensor whose bytes are those of its shape and type."""

    form = Record(
        {
            "name": TextForm(),
            "shape": ListOf(IntegerForm()),
            "dtype": TextForm(frozenset(DTYPE_BYTES)),
            "bytes": IntegerForm(),
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
        "name": TextForm(),
        "code": TextForm(),
        "data": TextForm(),
        "stack": IntegerForm(),
        "memories": ListOf(
            Record(
                {"name": TextForm(), "base": IntegerForm(), "bytes": IntegerForm(), "writable": BooleanForm()}
            )
        ),
    }
)
_TOOLCHAIN = Record(
    {"libraries": _WORDS, "needs": _WORDS},
    {
        "compiler": TextForm(),
        "flags": _WORDS,
        "link": _WORDS,
        "emulator": _WORDS,
        "packages": TableOf(TextForm()),
        "counter_hz": IntegerForm(least=1),
        "shift": IntegerForm(),
        "start": TextForm(),
    },
)
_OF_MACHINES = ("compiler", "flags", "link", "emulator", "packages", "counter_hz", "shift", "start")
_LIBRARY = Record(
    {
        "name": PathInside(plain=True),
        "carried": BooleanForm(),
        "variable": Maybe(TextForm()),
        "include": ListOf(PathInside()),
        "sources": ListOf(PathInside()),
    }
)
_PARTITION = Record(
    {"id": TextForm(), "instance": TextForm(), "operators": _WORDS, "reason": TextForm(), "notes": _WORDS}
)
_PLACEMENT = Record(
    {
        "method": TextForm(),
        "search_makespan": NumberForm(),
        "search_bound": NumberForm(),
        "load": NumberForm(),
        "load_bytes": IntegerForm(),
        "energy": Maybe(NumberForm()),
        "metered": IntegerForm(),
    }
)


class ExecutionForm:
    """A simulated run that does not take less than its bound."""

    form = Record(
        {"makespan": NumberForm(), "bound": NumberForm(), "alone": NumberForm(), "overlap": TextForm()}
    )

    def check(self, path: Path, value: object, faults: Faults) -> None:
        before = len(faults)
        self.form.check(path, value, faults)
        if len(faults) > before or not isinstance(value, dict):
            return
        said = below_bound(value["makespan"], value["bound"])
        if said is not None:
            faults.append(Fault(rule=RULE, path=(*path, "makespan"), message=said))


_BUDGET = Record(
    {
        "partition": TextForm(),
        "site": TextForm(),
        "pool": TextForm(),
        "live": _SIGNED,
        "remaining": _SIGNED,
        "guaranteed": _SIGNED,
        "gap": _SIGNED,
        "used": Maybe(_SIGNED),
    }
)
_ATTEMPT = Record({key: TextForm() for key in ("kind", "operator", "instance", "reason", "outcome")})
_POOL = Record({key: IntegerForm() for key in ("capacity", "peak", "bound", "in_place_bound")})
_STEP = Record(
    {
        "number": IntegerForm(),
        "kind": TextForm(frozenset({"load", "copy", "dispatch", "wait"})),
        "what": TextForm(),
        "event": Maybe(TextForm()),
    }
)
_VERIFICATION = Record(
    {
        "passed": BooleanForm(),
        "reference": TextForm(),
        "equal": IntegerForm(),
        "outputs": IntegerForm(),
        "largest": NumberForm(),
    }
)
_STATE = Record(
    {
        "name": TextForm(),
        "shape": ListOf(IntegerForm()),
        "dtype": TextForm(),
        "buffer": TextForm(),
        "initial_buffer": Maybe(TextForm()),
        "pair": Maybe(ListOf(IntegerForm())),
    }
)
_MODEL = Record(
    {
        "name": TextForm(),
        "input_shapes": Maybe(Record({"values": TableOf(NumberForm(signed=True))})),
        "self_test": Record({"reference": Maybe(TextForm()), "missing": Maybe(TextForm())}),
        "io": TextForm(frozenset(IoOwner)),
        "inputs": _TENSORS,
        "outputs": _TENSORS,
        "states": ListOf(_STATE),
        "partitions": ListOf(_PARTITION),
        "lowering_order": ListOf(Record({"partition": TextForm()})),
        "placement": Maybe(_PLACEMENT),
        "execution": Maybe(ExecutionForm()),
        "budgets": ListOf(_BUDGET),
        "attempts": ListOf(_ATTEMPT),
        "pools": TableOf(_POOL),
        "buffers": ListOf(Record({"name": TextForm(), "pool": TextForm(), "offset": IntegerForm()})),
        "steps": ListOf(_STEP),
        "verification": Maybe(_VERIFICATION),
    }
)
_BUNDLE_POOL = Record(
    {
        "memory": TextForm(),
        "capacity": IntegerForm(),
        "bytes": IntegerForm(),
        "apart": IntegerForm(),
        "overlaid": BooleanForm(),
        "peaks": TableOf(IntegerForm()),
    }
)
BUNDLE = Record(
    {
        "schema": IntegerForm(least=1),
        "name": TextForm(),
        "soc": TextForm(),
        "mode": TextForm(),
        "port": TextForm(),
        "abi_hash": TextForm(),
        "machine": Maybe(_MACHINE),
        "toolchain": _TOOLCHAIN,
        "libraries": ListOf(_LIBRARY),
        "optimize": TextForm(frozenset(Goal)),
        "arenas": TextForm(frozenset(Sharing)),
        "models": ListOf(_MODEL),
        "pools": TableOf(_BUNDLE_POOL),
    },
    {"files": TableOf(TextForm())},
)
"""The keys that every reader of a manifest needs."""


def manifest_faults(manifest: Mapping[str, Any]) -> Faults:
    """Everything that keeps a manifest of this schema from being read."""
    faults = faults_of(manifest, BUNDLE)
    if faults:
        return faults
    _models_and_pools(manifest, faults)
    if manifest["machine"] is not None:
        _missing(("toolchain",), manifest["toolchain"], _OF_MACHINES, faults)
    for path in manifest.get("files", ()):
        PathInside().check(("files", path), path, faults)
    return faults


def _models_and_pools(manifest: Mapping[str, Any], faults: Faults) -> None:
    names = [model["name"] for model in manifest["models"]]
    if len(set(names)) < len(names) or not names:
        said = "`models` has none" if not names else "two of `models` have one name"
        faults.append(Fault(rule=RULE, path=("models",), message=said))
    for name, pool in manifest["pools"].items():
        _missing(("pools", name, "peaks"), pool["peaks"], names, faults)


def _missing(path: Path, table: Mapping[str, Any], keys: Iterable[str], faults: Faults) -> None:
    for key in keys:
        if key not in table:
            faults.append(Fault(rule=RULE, path=path, message=f"`{key}` is missing", at_key=True))
