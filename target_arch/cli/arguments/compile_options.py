"""The arguments of one model as options of the API."""

import argparse
from typing import TYPE_CHECKING

from target_arch.cli.arguments.input_shapes import input_shapes
from target_arch.cli.arguments.memory_limits import memory_limits
from target_arch.cli.arguments.soc_argument import target_of
from target_arch.cli.arguments.targets import Selection
from target_arch.diagnostics import refusal
from target_arch.plan.orders import PHASES
from target_arch.soc import SoC

if TYPE_CHECKING:
    from target_arch.api.options import CompileOptions

Order = str | tuple[str, ...]


def compile_options(options: argparse.Namespace, chosen: Selection) -> "CompileOptions":
    """The options that the arguments name, beside the SoC. Raises DiagnosticError."""
    soc = chosen.soc
    demanded, preferred = _wishes(options.require, soc), _wishes(options.prefer, soc)
    shapes = input_shapes(options.input_shape, options.batch, options.input_value)
    made: CompileOptions = {
        "memory": options.mode,
        "memory_limits": memory_limits(options.memory),
        "require": {operator: _only(operator, names) for operator, names in demanded.items()},
        "prefer": {operator: _only(operator, names) for operator, names in preferred.items()},
        "forbid": _wishes(options.forbid, soc),
        "targets": chosen.targets,
        "order": _names(options.partitioning_order),
        "input_shapes": shapes.shapes,
        "batch": shapes.batch,
        "input_values": shapes.values,
        "states": _pairs(options.state),
        "optimize": options.optimize,
        "exact": options.exact,
        "planner": options.planner,
        "plug_ins": chosen.plug_ins,
    }
    lowering = _lowering_order(options.lowering_order)
    if lowering:
        made["lowering_order"] = lowering
    if options.cost is not None:
        made["costs"] = options.cost
    if options.tuning_db is not None:
        made["tuning"] = options.tuning_db
    return made


def bundle_options(options: argparse.Namespace, chosen: Selection) -> "CompileOptions":
    """As `compile_options`, with those of the bundle that is made."""
    made = compile_options(options, chosen)
    made["name"] = options.name
    made["images"] = _images(options.image)
    if options.port is not None:
        made["port"] = options.port
    if options.io is not None:
        made["io"] = options.io
    return made


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


def _lowering_order(given: list[str]) -> Order | dict[str, Order]:
    """One order for all phases, orders by phase, or both: a phase that is named has its own."""
    found: dict[str, Order] = {}
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
        return found or everywhere or ()
    return {**dict.fromkeys(PHASES, everywhere), **found}


def _order(given: str) -> Order:
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
