"""Commands that place a model: partition, explain; what `compile` and others share with them."""

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from target_arch.cli.arguments.input_shapes import input_shapes
from target_arch.cli.arguments.memory_limits import memory_limits
from target_arch.cli.arguments.parser import DUMPS
from target_arch.cli.arguments.soc_argument import target_of
from target_arch.cli.arguments.targets import required, with_options
from target_arch.cli.text.output import data, json_data, progress
from target_arch.diagnostics import name_hint, refusal, rules
from target_arch.plan import text
from target_arch.plan.memory import IoOwner
from target_arch.plan.orders import PHASES
from target_arch.plan.partitions import Candidate, Choice, Partition
from target_arch.plan.reasoning import changes_to, require_operators
from target_arch.plan.tuning import NOTHING_TUNED, read_tuning
from target_arch.relax.tvm_import import import_tvm
from target_arch.soc import SoC
from target_arch.soc.files.cost_file import read_costs

if TYPE_CHECKING:
    from target_arch.pipeline import Compilation, CompileRequest
    from target_arch.stages.lowering.order import Wish

DUMPERS: Mapping[str, Callable[["Compilation"], str]] = {
    "model": lambda made: str(made.model),
    "partitions": lambda made: text.partition_table(made.graph),
    "search": lambda made: "" if made.graph.facts is None else text.search(made.graph.facts),
    "execution": lambda made: "" if made.execution is None else text.execution(made.execution),
    "lowering": lambda made: text.lowering_order(made.lowering),
    "budgets": lambda made: text.budgets(made.budgets),
    "memory": lambda made: text.memory_plan(made.plan, made.capacities),
    "steps": lambda made: text.step_list(made.steps),
}


def request(options: argparse.Namespace) -> "CompileRequest":
    """The arguments as a request to the pipeline. Raises DiagnosticError."""
    from target_arch.cli.arguments.planner import planner
    from target_arch.pipeline import CompileRequest

    chosen = with_options(required(options), options.backend_options)
    soc, targets = chosen.soc, chosen.targets
    demanded, preferred = _wishes(options.require, soc), _wishes(options.prefer, soc)
    return CompileRequest(
        model_path=options.model,
        soc=soc,
        mode=options.mode,
        lowering_order=_lowering_order(options.lowering_order),
        order=_names(options.partitioning_order),
        require={operator: _only(operator, names) for operator, names in demanded.items()},
        prefer={operator: _only(operator, names) for operator, names in preferred.items()},
        forbid=_wishes(options.forbid, soc),
        targets=targets,
        costs=None if options.cost is None else read_costs(options.cost, soc),
        tuning=NOTHING_TUNED if options.tuning_db is None else read_tuning(options.tuning_db),
        exact=options.exact,
        optimize=options.optimize,
        planner=planner(options.planner),
        plug_ins=chosen.plug_ins,
        name=getattr(options, "name", None),
        port=getattr(options, "port", None) or "host",
        images=_images(getattr(options, "image", [])),
        input_shapes=input_shapes(options.input_shape, options.batch, options.input_value),
        states=_pairs(options.state),
        memory=memory_limits(options.memory),
        io=getattr(options, "io", None) or IoOwner.ARENA,
    )


def _pairs(given: list[str]) -> dict[str, str]:
    """`IN=OUT`, each input once. DiagnosticError where one is no pair."""
    found: dict[str, str] = {}
    for each in given:
        source, equals, target = each.partition("=")
        if not (source and equals and target) or source in found:
            text = f"`--state {each}` names " + (
                "an input twice" if source in found else "no input and output"
            )
            raise refusal("wrong-state", "command line", text, "write `--state INPUT=OUTPUT`, once per input")
        found[source] = target
    return found


def partition(options: argparse.Namespace) -> int:
    """Print the partition table."""
    progress(f"placing {options.model}")
    import_tvm()
    from target_arch.pipeline import partition_model

    graph = partition_model(request(options))
    if options.format == "json":
        from target_arch.emit.manifest import execution_facts, placement_facts

        parts = [_partition(each, required(options).soc) for each in graph.partitions]
        facts = {"placement": placement_facts(graph), "execution": execution_facts(graph.run)}
        json_data({"partitions": parts, **facts})
    else:
        run = "" if graph.run is None else text.simulated_run(graph.run, graph.facts, lowered=False)
        data(text.partition_table(graph) + run)
    return 0


def explain(options: argparse.Namespace) -> int:
    """Print for each operator every instance, with its cost or the reason against it; or explain a rule."""
    if not options.model.exists() and not options.model.suffix:
        return _explain_rule(str(options.model), options.format)
    progress(f"placing {options.model}")
    import_tvm()
    from target_arch.pipeline import explain_model

    graph = explain_model(request(options), options.operator)
    wanted = options.operator or [operator.id for operator in graph.model.operators]
    require_operators(wanted, graph.model, "command line")
    if options.format == "json":
        json_data([_choice(graph.choice(operator)) for operator in wanted])
    else:
        data("\n".join(text.explanation(graph, operator) for operator in wanted))
    return 0


def _explain_rule(name: str, form: str) -> int:
    """Print cause and cure of a rule, which messages name in brackets."""
    known = rules()
    if name not in known:
        said = f"`{name}` is no model file and no rule"
        raise refusal("unknown-rule", "command line", said, name_hint(name, known, "there are"))
    if form == "json":
        json_data(attrs.asdict(known[name]))
    else:
        data(str(known[name]))
    return 0


def dump(made: "Compilation", wanted: list[str]) -> None:
    """Print the values that `--dump` names, and the attempts to make the model fit."""
    for name in DUMPS if "all" in wanted else tuple(name for name in DUMPS if name in wanted):
        data(DUMPERS[name](made) + "\n")
    for attempt in made.attempts:
        data(str(attempt))


def summary(made: "Compilation") -> str:
    """Operators by instance, the number of steps, and the bytes used of every pool."""
    where = text.placed_operators(made.graph)
    lines = [
        f"{made.model.name}: {len(made.model.operators)} operators, {where}; {len(made.steps.steps)} steps"
    ]
    sizes, soc = made.capacities, made.request.soc
    for arena in sorted(made.plan.peaks):
        used, bound = made.plan.peaks[arena], made.plan.shared[arena]
        if arena.caller:
            lines.append(f"  {arena}: {used:,} B of the caller, in no arena")
            continue
        lines.append(f"  {arena}: {used:,} B of {sizes[arena]:,} B (lower bound {bound:,} B)")
    port = soc.port(made.request.port)
    if port is not None:
        lines.append(
            f"  the stack of port `{port.name}` takes {port.stack:,} B of `{port.data}` from the plan; its "
            "code, read-only data and variables are not counted here, but before it is linked: "
            "`report --image`"
        )
    lines += _firmware(made)
    test = made.manifest["self_test"]
    if isinstance(test, dict) and test["missing"]:
        lines.append(f"  no self-test vector: {test['missing']}")
    run = "" if made.execution is None else text.simulated_run(made.execution, made.graph.facts)
    return "\n".join(lines) + f"\n{run}"


def _firmware(made: "Compilation") -> list[str]:
    """A line for the memory of every firmware: its kernels and its stack."""
    from target_arch.emit.build.firmware import DESCRIPTION

    if DESCRIPTION not in made.bundle.files:
        return []
    from target_arch.run.executables.firmware import kernels_fill

    return [
        f"  {fill.memory}: {fill.predicted:,} B of {fill.capacity:,} B for kernels and stack of `{arch}`'s "
        "firmware; with its runtime, as it is linked: `report --image`"
        for arch, fill in kernels_fill(made.bundle.files).items()
    ]


def _partition(part: Partition, soc: SoC) -> dict[str, object]:
    """As in the manifest."""
    operators = [operator.id for operator in part.operators]
    about = {"id": part.id, "instance": part.instance, "operators": operators, "reason": part.reason}
    return {**about, "target_arch": soc.instance(part.instance).arch.name}


def _choice(choice: Choice) -> dict[str, object]:
    changes = changes_to(choice)
    candidates = [
        {**_candidate(candidate), "change": changes.get(candidate.instance)}
        for candidate in choice.candidates
    ]
    about = {"operator": choice.operator, "instance": choice.instance, "reason": choice.reason}
    return {**about, "way": choice.way, "candidates": candidates}


def _candidate(candidate: Candidate) -> dict[str, object]:
    cost = candidate.cost
    about = {"instance": candidate.instance, "refusal": candidate.refusal, "run": candidate.run}
    if cost is None:
        return {**about, "seconds": None, "measured": False, "joules": None}
    seconds: dict[str, object] = {"compute": cost.compute, "copy": cost.copy, "load": cost.load}
    seconds["total"] = cost.total
    seconds["copies"] = [{"what": part.what, "seconds": part.seconds} for part in cost.parts]
    return {**about, "seconds": seconds, "measured": cost.measured, "joules": cost.energy}


def _lowering_order(given: list[str]) -> "Wish | dict[str, Wish] | None":
    """One order for all phases, orders by phase, or both: a phase that is named has its own."""
    found: dict[str, Wish] = {}
    for each in given:
        phase, named, wish = each.rpartition("=")
        if phase in found:
            first = found[phase] if isinstance(found[phase], str) else ",".join(found[phase])
            what = f"phase `{phase}` has" if named else "lowering has"
            said = f"{what} two orders: `{first}` and `{wish}`"
            raise refusal("contradictory-order", "command line", said, "say `--lowering-order` once for each")
        found[phase] = _order(wish)
    everywhere = found.pop("", None)
    if not found or everywhere is None:
        return found or everywhere
    return {**dict.fromkeys(PHASES, everywhere), **found}


def _order(given: str) -> "Wish":
    """A policy's name, or partition ids; a single id is no order of anything, so one word is a policy."""
    return _names(given) if "," in given else given


def _names(given: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",")) if given else ()


def _wishes(given: list[str], soc: SoC) -> dict[str, tuple[str, ...]]:
    """`OPERATOR=TARGET` texts by operator, without targets for `OPERATOR=`. Names of operators are checked by
    the placer, which knows them.
    """
    found: dict[str, tuple[str, ...]] = {}
    for wish in given:
        operator, equals, target = wish.partition("=")
        if not equals or not operator:
            raise refusal("bad-wish", "command line", f"`{wish}` is not OPERATOR=TARGET")
        if not target:
            found.setdefault(operator, ())
            continue
        found[operator] = tuple(dict.fromkeys((*found.get(operator, ()), target_of(soc, target))))
    return found


def _images(given: list[str]) -> dict[str, str]:
    """`TARGET=FILE` texts by target_arch."""
    found: dict[str, str] = {}
    for each in given:
        target, equals, file = each.partition("=")
        if not equals or not target or not file:
            raise refusal("bad-image", "command line", f"`{each}` is not TARGET=FILE")
        if found.setdefault(target, file) != file:
            said = f"`{target}` is to get `{found[target]}` and `{file}`"
            raise refusal("bad-image", "command line", said, "name one of them")
    return found


def _only(operator: str, targets: tuple[str, ...]) -> str:
    if len(targets) > 1:
        said = f"operator `{operator}` is wanted on `{targets[0]}` and on `{targets[1]}`"
        raise refusal("bad-wish", "command line", said, "name one of them")
    return targets[0] if targets else ""
