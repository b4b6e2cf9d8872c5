"""A manifest that was read and judged becomes the values of a report."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from target_arch.plan.execution import Activity, ActivityKind
from target_arch.report.facts.shown import (
    ShownAttempt,
    ShownBudget,
    ShownBuffer,
    ShownBundle,
    ShownImage,
    ShownLayer,
    ShownModel,
    ShownOperator,
    ShownPartition,
    ShownPlace,
    ShownPool,
    ShownRun,
    ShownSection,
    ShownSlot,
    ShownStep,
    ShownTensor,
    ShownVerification,
)
from target_arch.soc.model import SoC

Facts = Mapping[str, Any]


def read_shown(manifest: Facts, soc: SoC) -> ShownBundle:
    """The values of a bundle's report. The manifest has every key that `docs/manifest.md` lists."""
    pools, machine = manifest["pools"], manifest["machine"]
    return ShownBundle(
        name=manifest["name"],
        soc=soc,
        port=manifest["port"],
        machine=None if machine is None else machine["name"],
        abi_hash=manifest["abi_hash"],
        mode=manifest["mode"],
        models=tuple(map(_model, manifest["models"])),
        pools={name: (pools[name]["capacity"], pools[name]["bytes"]) for name in sorted(pools)},
        images=tuple(_images(manifest)),
    )


def _model(facts: Facts) -> ShownModel:
    placed = facts["placement"]
    return ShownModel(
        name=facts["name"],
        inputs=_tensors(facts["inputs"]),
        outputs=_tensors(facts["outputs"]),
        states=tuple(each["name"] for each in facts["states"]),
        operators=_operators(facts),
        partitions=tuple(map(_partition, facts["partitions"])),
        method="" if placed is None else placed["method"],
        run=None if facts["execution"] is None else _run(facts["execution"]),
        steps=tuple(
            ShownStep(**{key: step[key] for key in ("number", "kind", "what", "event")})
            for step in facts["steps"]
        ),
        pools=_pools(facts),
        budgets=_budgets(facts["budgets"]),
        policy=facts["lowering_policy"],
        lowering=tuple(
            ShownSlot(partition=slot["partition"], phase=slot["phase"], reason=slot["reason"])
            for slot in facts["lowering_order"]
        ),
        attempts=tuple(ShownAttempt(**attempt) for attempt in facts["attempts"]),
        verification=None if facts["verification"] is None else _verification(facts["verification"]),
    )


def _tensors(tensors: Iterable[Facts]) -> tuple[ShownTensor, ...]:
    return tuple(
        ShownTensor(
            name=tensor["name"], shape=tuple(tensor["shape"]), dtype=tensor["dtype"], bytes=tensor["bytes"]
        )
        for tensor in tensors
    )


def _operators(facts: Facts) -> tuple[ShownOperator, ...]:
    inside = {operator: part for part in facts["partitions"] for operator in part["operators"]}
    makers = {operator["output"]: operator["id"] for operator in facts["operators"]}
    return tuple(
        _operator(operator, inside[operator["id"]], makers)
        for operator in facts["operators"]
        if operator["id"] in inside
    )


def _operator(facts: Facts, partition: Facts, makers: Mapping[str, str]) -> ShownOperator:
    return ShownOperator(
        id=facts["id"],
        kind=facts["kind"],
        location=facts["location"],
        before=tuple(dict.fromkeys(makers.get(name, name) for name in facts["inputs"])),
        output=facts["output"],
        shape=tuple(facts["shape"]),
        dtype=facts["dtype"],
        macs=facts["macs"],
        constant_bytes=facts["constant_bytes"],
        partition=partition["id"],
        instance=partition["instance"],
        reason="; by ".join(filter(None, (facts["reason"] or partition["reason"], facts["way"]))),
        places=tuple(map(_place, facts["candidates"])),
    )


def _place(facts: Facts) -> ShownPlace:
    cost = facts["cost"]
    return ShownPlace(
        instance=facts["instance"],
        compute=None if cost is None else cost["compute"],
        copies=() if cost is None else tuple((each["what"], each["seconds"]) for each in cost["copies"]),
        measured=cost is not None and cost["measured"],
        refusal=facts["refusal"],
        change=facts["change"],
    )


def _partition(facts: Facts) -> ShownPartition:
    return ShownPartition(
        id=facts["id"],
        instance=facts["instance"],
        operators=tuple(facts["operators"]),
        reason=facts["reason"],
        notes=tuple(facts["notes"]),
    )


def _run(facts: Facts) -> ShownRun:
    return ShownRun(
        makespan=facts["makespan"],
        bound=facts["bound"],
        alone=facts["alone"],
        overlap=facts["overlap"],
        spans=tuple(map(_span, facts["entries"])),
        waits=tuple(map(_span, facts["waits"])),
    )


def _span(facts: Facts) -> Activity:
    keys = ("step", "what", "where", "start", "end")
    return Activity(kind=ActivityKind(facts["kind"]), **{key: facts[key] for key in keys})


def _pools(facts: Facts) -> tuple[ShownPool, ...]:
    inside: dict[str, list[ShownBuffer]] = {}
    for buffer in facts["buffers"]:
        inside.setdefault(buffer["pool"], []).append(_buffer(buffer))
    return tuple(
        ShownPool(
            name=name,
            **{
                key: facts["pools"][name][key]
                for key in ("memory", "capacity", "peak", "bound", "in_place_bound")
            },
            buffers=tuple(inside.get(name, ())),
        )
        for name in sorted(facts["pools"])
    )


def _buffer(facts: Facts) -> ShownBuffer:
    keys = ("name", "kind", "offset", "bytes", "first", "last", "over")
    holds = tuple((each["tensor"], each["offset"], each["bytes"]) for each in facts["holds"])
    return ShownBuffer(**{key: facts[key] for key in keys}, holds=holds)


def _budgets(budgets: Iterable[Facts]) -> tuple[ShownBudget, ...]:
    """One for all call sites with the same numbers, in the order of lowering."""
    keys = ("partition", "pool", "live", "remaining", "guaranteed", "gap", "used")
    sites: dict[tuple[Any, ...], list[str]] = {}
    for budget in budgets:
        sites.setdefault(tuple(budget[key] for key in keys), []).append(budget["site"])
    return tuple(
        ShownBudget(**dict(zip(keys, numbers, strict=True)), sites=tuple(names))
        for numbers, names in sites.items()
    )


def _verification(facts: Facts) -> ShownVerification:
    keys = ("passed", "reference", "rule", "frames", "outputs", "equal", "largest", "allowed")
    known = {key: facts[key] for key in keys}
    every = facts.get("layers") or {"layers": ()}
    names = ("operator", "kind", "on", "elements", "differ", "largest", "exact", "passed", "first_wrong")
    return ShownVerification(
        **known,
        first_wrong=facts["first_wrong"] or "",
        self_test=facts["self_test"] or "",
        layers=tuple(ShownLayer(**{name: each[name] for name in names}) for each in every["layers"]),
    )


def _images(manifest: Facts) -> Iterator[ShownImage]:
    """The program of the machine, then the firmware of every core; as far as they were built."""
    if manifest["image"] is not None:
        image, machine = manifest["image"], manifest["machine"]
        name = "the program" if machine is None else f"the program on {machine['name']}"
        yield _image(name, image, image["sections"], image["memories"])
    for core in manifest["firmware"] or ():
        memory = core["memory"]
        sections = [{**each, "memory": memory["memory"]} for each in core["sections"]]
        yield _image(f"firmware of {core['target_arch']} ({core['core']})", core, sections, [memory])


def _image(name: str, facts: Facts, sections: Iterable[Facts], memories: Iterable[Facts]) -> ShownImage:
    stack = facts["stack"]
    keys = ("memory", "section", "what", "predicted", "linked")
    return ShownImage(
        name=name,
        sections=tuple(ShownSection(**{key: each[key] for key in keys}) for each in sections),
        memories=tuple((each["memory"], each["capacity"], each["linked"]) for each in memories),
        stack=stack["predicted"],
        stack_reserved=stack["reserved"],
        stack_path=tuple(stack["path"]),
    )
