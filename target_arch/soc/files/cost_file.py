"""Read and write cost files: JSON with costs measured on a chip. Form and rules: `docs/cost-file.md`.

The classes of `soc.costs` say what a file has; what it says of a SoC is judged here. Tests:
`tests/soc/files/test_cost_file.py`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path as File
from typing import Any

from attrs import evolve

from target_arch.diagnostics import DiagnosticError, name_hint, refusal
from target_arch.soc.costs import Costs, PathCost
from target_arch.soc.faults import Fault, Path
from target_arch.soc.files.json_positions import JsonPositions
from target_arch.soc.files.json_text import parsed_table, placed
from target_arch.soc.files.toml_file import read_text
from target_arch.soc.model import HOST_ENGINE, SCHEMA, SoC
from target_arch.soc.schema.kinds import Faults
from target_arch.soc.schema.records import read_record, to_json

_WHAT = "cost file"
_BY_ARCH = ("operators", "loads", "cores", "energy", "measured", "fitted")


def read_costs(file: File, soc: SoC) -> Costs:
    """The costs in a file, for a SoC. Raises DiagnosticError with everything that is wrong with it.

    Whether operators are known is judged where the model is.
    """
    return parse_costs(read_text(file, str(file), _WHAT), str(file), soc)


def parse_costs(text: str, shown: str, soc: SoC) -> Costs:
    """As `read_costs`, of a text; `shown` is its name in messages."""
    table = parsed_table(text, shown, _WHAT)
    if table.get("schema") != SCHEMA or isinstance(table["schema"], bool):
        said = "has an unsupported `schema`" if "schema" in table else "does not say its `schema`"
        place, hint = (
            JsonPositions(shown, text).value(("schema",)),
            f'this version reads `"schema": {SCHEMA}`',
        )
        raise refusal("schema-version", place, f"this file {said}", hint)
    faults: Faults = [*_undeclared(table, soc), *_no_devices(table, soc)]
    costs = read_record(Costs, table, faults)
    if costs is not None:
        faults += [*_foreign(costs, soc), *_copies(costs.copies, soc), *_clocks(costs, soc)]
        faults += _no_cores(costs, soc)
    if costs is None or faults:
        raise DiagnosticError(placed(faults, shown, text))
    return evolve(costs, copies=tuple(_of_replicas(path, soc) for path in costs.copies), origin=shown)


def cost_text(costs: Costs) -> str:
    """The file's text. Same costs, same bytes."""
    return json.dumps(to_json(costs), indent=1) + "\n"


def _undeclared(table: Mapping[str, Any], soc: SoC) -> Iterator[Fault]:
    """Names of target_archs that the SoC does not have."""
    archs = {arch.name for arch in soc.archs}
    for section in _BY_ARCH:
        names = archs | {arch.backend for arch in soc.archs} if section == "operators" else archs
        tables = table.get(section)
        for name in tables if isinstance(tables, dict) else ():
            if name not in names:
                said, hint = f"target_arch `{name}` is not declared", name_hint(name, names, "declared here")
                path = (section, name)
                yield Fault(rule="unknown-target-arch", path=path, message=said, hint=hint, at_key=True)


def _no_devices(table: Mapping[str, Any], soc: SoC) -> Iterator[Fault]:
    """Orders to what is no device, and to the host itself."""
    orders, engines = table.get("orders"), [dma.name for dma in soc.dmas]
    devices = [*(arch.name for arch in soc.archs if not arch.host), *engines]
    for name in orders if isinstance(orders, dict) else ():
        path: Path = ("orders", name)
        if name == soc.host.name:
            said, hint = "the host gives itself no orders", name_hint("", devices, "devices here")
            yield Fault(rule="order-to-host", path=path, message=said, hint=hint, at_key=True)
        elif name not in devices:
            said = f"neither a target_arch nor a DMA engine `{name}` is declared"
            hint = name_hint(name, devices, "declared here")
            yield Fault(rule="unknown-device", path=path, message=said, hint=hint, at_key=True)


def _no_cores(costs: Costs, soc: SoC) -> Iterator[Fault]:
    """Costs of cores where the SoC has none."""
    for arch in soc.archs:
        if arch.name in costs.cores and arch.cores is None:
            said = f"target_arch `{arch.name}` has no `cores`"
            path: Path = ("cores", arch.name)
            yield Fault(rule="no-cores", path=path, message=said, hint="remove it", at_key=True)


def _foreign(costs: Costs, soc: SoC) -> Iterator[Fault]:
    if costs.calibration is not None and costs.calibration.soc != soc.name:
        said = f"these costs were calibrated for `{costs.calibration.soc}`, not for `{soc.name}`"
        hint = "calibrate again with this SoC file"
        yield Fault(rule="another-soc", path=("calibration", "soc"), message=said, hint=hint)


def _clocks(costs: Costs, soc: SoC) -> Iterator[Fault]:
    """Cycles at target_archs that have no clock."""
    for path in _in_cycles(costs):
        for arch in soc.archs:
            if path[1] in (arch.name, arch.backend) and not arch.clock:
                said = f"cycles tell no time: target_arch `{arch.name}` declares no `clock`"
                hint = "declare it, or give a time"
                yield Fault(rule="missing-clock", path=path, message=said, hint=hint, at_key=True)


def _in_cycles(costs: Costs) -> Iterator[Path]:
    """The paths of all costs in cycles."""
    for owner, stated in costs.operators.items():
        for name, cost in stated.items():
            if any(time.cycles for time in cost.times):
                yield "operators", owner, name
    for owner, table in costs.measured.items():
        yield from (("measured", owner, name) for name, cost in table.items() if cost.time.cycles)
    yield from (("fitted", arch, "rates") for arch, fit in costs.fitted.items() if fit.cycles)


def _copies(costs: tuple[PathCost, ...], soc: SoC) -> Iterator[Fault]:
    """Names that the SoC does not have, paths that it does not have, and paths that are there twice."""
    memories = {memory.replica_of or memory.name for memory in soc.memories}
    engines = {HOST_ENGINE, *(dma.name for dma in soc.dmas)}
    first: dict[int, int] = {}
    for number, cost in enumerate(costs):
        path: Path = ("copies", number)
        unknown = [(end, name) for end in ("from", "to") for name in _ends(cost)[end] if name not in memories]
        for end, name in unknown:
            hint = name_hint(name, memories, "declared here")
            said = f"memory `{name}` is not declared"
            yield Fault(rule="unknown-memory", path=(*path, end), message=said, hint=hint)
        if cost.engine not in (None, *engines):
            hint = name_hint(str(cost.engine), engines, "declared here")
            said = f"DMA engine `{cost.engine}` is not declared"
            yield Fault(rule="unknown-engine", path=(*path, "engine"), message=said, hint=hint)
        elif not unknown:
            yield from _declared(path, _of_replicas(cost, soc), soc, first)


def _ends(cost: PathCost) -> dict[str, tuple[str, ...]]:
    return {"from": cost.sources, "to": cost.targets}


def _declared(path: Path, cost: PathCost, soc: SoC, first: dict[int, int]) -> Iterator[Fault]:
    """A fault where no path of the SoC is meant, nothing is said of it, or an earlier entry means it, too, so
    that one of the two would be ignored. `first` has for each path of the SoC the number of its entry.
    """
    meant = [place for place, declared in enumerate(soc.copies) if cost.means(declared)]
    if not meant:
        yield Fault(rule="unknown-copy", path=path, message="the SoC declares no such copy path")
    elif cost.setup is None and cost.bandwidth is None and cost.worst is None:
        said = "nothing was measured: neither `setup` nor `bandwidth` nor `worst`"
        yield Fault(rule="missing-key", path=path, message=said)
    for place in meant:
        if place in first:
            copy = soc.copies[place]
            said = f"the path from `{copy.source}` to `{copy.target}` is in `copies[{first[place]}]`, too"
            yield Fault(rule="duplicate-copy", path=path, message=said, hint="measure each path once")
            return
    first.update(dict.fromkeys(meant, int(path[1])))


def _of_replicas(cost: PathCost, soc: SoC) -> PathCost:
    """The cost with the memories of every instance in place of their common name."""
    sources, targets = (
        tuple(
            memory.name
            for name in names
            for memory in soc.memories
            if name == (memory.replica_of or memory.name)
        )
        for names in (cost.sources, cost.targets)
    )
    return evolve(cost, sources=sources, targets=targets)
