"""The options of a compilation on the command line, a row for each: its text, its help and its value.

The parser, `--help` and the options of the API are made from these rows; `api.options.CompileOptions` has the
types. Tests: `tests/cli/arguments/test_options.py`.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attrs import field, frozen

from target_arch.cli.arguments.option_texts import (
    images,
    input_ranges,
    lowering_orders,
    memory_limits,
    names,
    numbers,
    shapes,
    single_wishes,
    states,
    wishes,
)
from target_arch.plan.division import Divide
from target_arch.plan.goal import Goal
from target_arch.plan.memory import IoOwner
from target_arch.plan.model_pools import Sharing
from target_arch.plan.objective import Objective
from target_arch.plan.resident import Resident
from target_arch.soc import SoC

if TYPE_CHECKING:
    from target_arch.api.options import CompileOptions
    from target_arch.cli.arguments.targets import Selection

DEFAULT_MODE = "default"
AUTO = "auto"
TARGET = "NAME[,NAME|,OPTION=VALUE]..."


@frozen(kw_only=True, eq=False)
class OptionRow:
    """An option of `CompileOptions`, by its `name` there; without one a command reads the argument itself.

    `read` makes the value of the argument (a list, where it may repeat) and the SoC; an argument that was not
    given is none. With `of_model` values may begin with the name of the model that they are for. `choices`
    are the words that it may be, if it is one of some; `argument` is what argparse needs further.
    """

    name: str
    flag: str
    help: str
    read: Callable[[Any, SoC], object] = lambda value, _: value
    of_model: bool = False
    repeats: bool = False
    choices: Iterable[str] = ()
    argument: Mapping[str, Any] = field(factory=dict)

    @property
    def attribute(self) -> str:
        """The argument's attribute of the parsed command line."""
        return self.flag.removeprefix("--").replace("-", "_")

    def add(self, to: "argparse._ActionsContainer") -> None:
        """Add the argument to a parser, or a group of one."""
        more: dict[str, Any] = {"action": "append", "default": []} if self.repeats else {}
        if self.choices:
            more["choices"] = tuple(map(str, self.choices))  # of members argparse prints the class, too
        to.add_argument(self.flag, help=self.help, **more, **self.argument)


def positive(text: str) -> int:
    """Type of an argument: an integer of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def frames(text: str) -> int | str:
    """Type of an argument: an integer of at least 1, or `auto`."""
    return text if text == AUTO else positive(text)


MODEL = (
    OptionRow(
        name="input_shapes",
        flag="--input-shape",
        help="the shape of a model input whose file leaves dimensions open, as in x=1x3x224x224 (of several "
        "models MODEL:NAME=...); may repeat",
        read=lambda texts, _: shapes(texts),
        of_model=True,
        repeats=True,
        argument={"metavar": "NAME=EXTENTxEXTENT..."},
    ),
    OptionRow(
        name="batch",
        flag="--batch",
        help="the extent of every first dimension that is left open",
        argument={"type": positive, "metavar": "N"},
    ),
    OptionRow(
        name="input_values",
        flag="--input-value",
        help="make an input of an ONNX model a constant, all of whose elements are the number, as one that "
        "chooses a branch (of several models MODEL:NAME=...); may repeat",
        read=lambda texts, _: numbers(texts),
        of_model=True,
        repeats=True,
        argument={"metavar": "NAME=NUMBER"},
    ),
    OptionRow(
        name="begin",
        flag="--from",
        help="compile the part of the model that begins at this tensor of the file: it becomes an input (of "
        "several models MODEL:NAME); may repeat",
        read=lambda texts, _: tuple(texts),
        of_model=True,
        repeats=True,
        argument={"metavar": "NAME"},
    ),
    OptionRow(
        name="end",
        flag="--to",
        help="compile the part that ends there: this tensor becomes an output, and what only others need is "
        "left out; may repeat",
        read=lambda texts, _: tuple(texts),
        of_model=True,
        repeats=True,
        argument={"metavar": "NAME"},
    ),
)
"""Options that say what the model is."""

_WISH: Mapping[str, Any] = {"metavar": "OPERATOR=TARGET"}

PLAN = (
    OptionRow(
        name="memory",
        flag="--mode",
        help="memory mode of the SoC file (default: default)",
        argument={"default": DEFAULT_MODE},
    ),
    OptionRow(
        name="memory_limits",
        flag="--memory",
        help="the most that models may take of a memory, such as sram=40KiB: where tensors do not fit, cores "
        "compute them in stripes; may repeat",
        read=lambda texts, _: memory_limits(texts),
        repeats=True,
        argument={"metavar": "NAME=SIZE"},
    ),
    OptionRow(
        name="",
        flag="--target",
        help="use only these target_archs and the host, in this order of priority; OPTION=VALUE sets an "
        "option of the NAME before it. Without --soc: build the SoC from what these backends are like by "
        "default; then MEMORY=SIZE, clock=, host= and backend= can be set, too. May be JSON",
        repeats=True,
        argument={"metavar": TARGET},
    ),
    OptionRow(
        name="order",
        flag="--partitioning-order",
        help="the order in which target_archs claim operators of equal cost",
        read=lambda text, _: names(text),
        argument={"metavar": "NAME,NAME,..."},
    ),
    OptionRow(
        name="lowering_order",
        flag="--lowering-order",
        help="a policy such as c-first, or partition ids, instances and target_archs with commas; for all of "
        "lowering, or for one phase: graph, s-tir, ns-tir, codegen (s-tir=program). May repeat",
        read=lambda texts, _: lowering_orders(texts),
        repeats=True,
        argument={"metavar": "[PHASE=]ORDER"},
    ),
    OptionRow(
        name="require",
        flag="--require",
        help="place an operator (id, kind or *; of several models MODEL:OPERATOR) there; without a TARGET, "
        "as in conv2d=, drop the SoC file's rule for it; so, too, with the next two",
        read=single_wishes,
        of_model=True,
        repeats=True,
        argument=_WISH,
    ),
    OptionRow(
        name="prefer",
        flag="--prefer",
        help="place it there if that takes it, whatever it costs",
        read=single_wishes,
        of_model=True,
        repeats=True,
        argument=_WISH,
    ),
    OptionRow(
        name="forbid",
        flag="--forbid",
        help="do not place it there",
        read=wishes,
        of_model=True,
        repeats=True,
        argument=_WISH,
    ),
    OptionRow(
        name="states",
        flag="--state",
        help="the output of a run is the input of the next one: both become a state of the model, zeros at "
        "first; may repeat",
        read=lambda texts, _: states(texts),
        of_model=True,
        repeats=True,
        argument={"metavar": "[MODEL:]INPUT=OUTPUT"},
    ),
    OptionRow(
        name="costs",
        flag="--cost",
        help="measured costs (JSON), which count instead of estimates",
        argument={"type": Path, "metavar": "FILE"},
    ),
    OptionRow(
        name="tuning",
        flag="--tuning-db",
        help="what `tune` found to be better than the rules' choice",
        argument={"type": Path, "metavar": "FILE"},
    ),
    OptionRow(
        name="objective",
        flag="--objective",
        help="what placement makes least: the time of a run (latency), the time from result to result with "
        "frames in flight (throughput), or the energy of a run, where costs state it (default: latency)",
        choices=Objective,
        argument={"default": Objective.LATENCY},
    ),
    OptionRow(
        name="within",
        flag="--within",
        help="the time that a run, or a frame in flight, may take at most, such as 20ms; more is refused",
        argument={"metavar": "TIME"},
    ),
    OptionRow(
        name="exact",
        flag="--exact",
        help="let a solver prove the placement optimal, or improve it; needs the extra `exact`",
        argument={"action": "store_true"},
    ),
    OptionRow(
        name="divide",
        flag="--divide",
        help="auto: operators are computed in slices, by several instances or piece by piece, where that "
        "makes the simulated run shorter; host: those of the host piece by piece, where that makes results "
        "of frames in flight come faster (default: never)",
        choices=Divide,
        argument={"default": Divide.NEVER},
    ),
    OptionRow(
        name="resident",
        flag="--resident",
        help="auto: constants that every run would copy are copied once, by init, and stay, where memories "
        "have room for them (default: never)",
        choices=Resident,
        argument={"default": Resident.NEVER},
    ),
    OptionRow(
        name="optimize",
        flag="--optimize",
        help="size: the smallest code and no packed weights, compiled with -Os; speed: packed weights of any "
        "size (default: balanced)",
        choices=Goal,
        argument={"default": Goal.BALANCED},
    ),
    OptionRow(
        name="frames",
        flag="--frames",
        help="the most frames in flight: the bundle gets functions that take a frame while others are at "
        "work; auto: as many as make results come faster",
        argument={"type": frames, "metavar": "N"},
    ),
    OptionRow(
        name="input_ranges",
        flag="--input-range",
        help="promise the lowest and the highest value of an input, stored values where it is quantized, as "
        "in x=-10:90, or LOW:HIGH of the only one (of several models MODEL:NAME=...); may repeat. Of a "
        "bundle that is verified, the random values (of several models MODEL.NAME=...)",
        read=lambda texts, _: input_ranges(texts),
        of_model=True,
        repeats=True,
        argument={"metavar": "[NAME=]LOW:HIGH"},
    ),
    OptionRow(
        name="keep_dead",
        flag="--keep",
        help="dead: channels that influence no result are computed, too",
        read=lambda value, _: value == "dead",
        choices=("dead",),
    ),
    OptionRow(
        name="planner",
        flag="--planner",
        help="the algorithm of the memory plan, and how long one that searches may take; with seconds "
        "the plan may differ from run to run",
        argument={"default": "best", "metavar": "NAME[,nodes=N|,seconds=S|,seed=N]..."},
    ),
)
"""Options that say how the model is planned."""

BUNDLE = (
    OptionRow(
        name="name",
        flag="--name",
        help="the model's name in C (default: from the file's); of several models the bundle's",
    ),
    OptionRow(
        name="",
        flag="--arenas",
        help="several models: shared, they run in turn on the same bytes (the default), or separate, "
        "each keeps its inputs and outputs while others run",
        choices=Sharing,
    ),
    OptionRow(
        name="io",
        flag="--io",
        help="whose the memory of inputs and outputs is: arena, the bundle's (the default), or caller: every "
        "run takes their addresses",
        choices=IoOwner,
    ),
    OptionRow(
        name="constants",
        flag="--constants",
        help="the form of constants: text, numbers in C; section, files that the assembler puts into the "
        "program; file, files that the program finds at run time (default: text up to 1 MiB, else section)",
        choices=("text", "section", "file"),
    ),
    OptionRow(
        name="images",
        flag="--image",
        help="the program that a model wants on a target_arch, instead of the SoC file's; may repeat",
        read=lambda texts, _: images(texts),
        of_model=True,
        repeats=True,
        argument={"metavar": "[MODEL:]TARGET=FILE"},
    ),
    OptionRow(
        name="port",
        flag="--port",
        help="the port of the C runtime that the bundle carries (default: host)",
    ),
)
"""Options that say what the bundle has."""

OF_MODELS = tuple(option.attribute for option in (*MODEL, *PLAN, *BUNDLE) if option.of_model)
"""The attributes whose values may begin with the name of the model that they are for."""


def compile_options(arguments: argparse.Namespace, chosen: "Selection") -> "CompileOptions":
    """The options of one model that the arguments name, beside the SoC. Raises DiagnosticError."""
    return _read((*MODEL, *PLAN), arguments, chosen)


def bundle_options(arguments: argparse.Namespace, chosen: "Selection") -> "CompileOptions":
    """As `compile_options`, with those of the bundle that is made."""
    return _read((*MODEL, *PLAN, *BUNDLE), arguments, chosen)


def model_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that say what the model is, which need no SoC."""
    return _values(MODEL, arguments, None)


def without_defaults(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments with None for those of a compilation that say no more than their absence does."""
    rows = [row for row in (*MODEL, *PLAN, *BUNDLE) if row.name]
    values = {row.attribute: (getattr(arguments, row.attribute, None), row.argument) for row in rows}
    usual = [name for name, (value, about) in values.items() if value in (None, False, about.get("default"))]
    return argparse.Namespace(**{**vars(arguments), **dict.fromkeys(usual)})


def merged(recorded: "CompileOptions", asked: "CompileOptions") -> "CompileOptions":
    """Recorded options, and in their place those that were asked for."""
    chosen = {name: value for name, value in asked.items() if name != "targets" or value}
    return cast("CompileOptions", {**recorded, **chosen})


def _read(
    rows: tuple[OptionRow, ...], arguments: argparse.Namespace, chosen: "Selection"
) -> "CompileOptions":
    selection = {"targets": chosen.targets, "plug_ins": chosen.plug_ins}
    return cast("CompileOptions", {**_values(rows, arguments, chosen.soc), **selection})


def _values(rows: tuple[OptionRow, ...], arguments: argparse.Namespace, soc: SoC | None) -> dict[str, Any]:
    """The values of the arguments that were given, by the names of their options."""
    asked = {row: getattr(arguments, row.attribute) for row in rows if row.name}
    return {
        row.name: row.read(value, cast(SoC, soc)) for row, value in asked.items() if value not in (None, [])
    }
