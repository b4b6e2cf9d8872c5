"""The options of a compilation, and the request that they make."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from attrs import frozen

from target_arch.api.option_types import require_options
from target_arch.api.soc import described
from target_arch.plan.inputs.cut import ModelCut
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.inputs.time_limit import time_limit
from target_arch.plan.tuning import read_tuning
from target_arch.registry import PlugIns
from target_arch.relax.tvm_import import import_tvm
from target_arch.soc import SoC
from target_arch.soc.files.cost_file import read_costs

if TYPE_CHECKING:
    from target_arch.pipeline import CompileRequest

Wish = str | Sequence[str]
"""One name, or several."""


class CompileOptions(TypedDict, total=False):
    """The options of `compile`; those that are absent have the command line's defaults."""

    memory: str
    """A memory mode of the SoC."""
    memory_limits: Mapping[str, int]
    """The most bytes that models may take of a memory."""
    require: Mapping[str, str]
    """The target_arch or instance that an operator (id, kind or `*`) must be on; without one, the SoC file's
    rule for it is dropped, and so for the next two."""
    prefer: Mapping[str, str]
    """... that it is on where that is possible."""
    forbid: Mapping[str, Wish]
    """... that it is not on; one or several."""
    targets: Sequence[str]
    """The only target_archs to use, besides the host."""
    order: Sequence[str]
    """The target_archs that claim an operator first where costs are equal: the partitioning order."""
    lowering_order: Wish | Mapping[str, Wish]
    """A policy's name, or partitions, instances and target_archs; or one of these for each phase."""
    input_shapes: Mapping[str, Sequence[int]]
    """Shapes of inputs with open dimensions."""
    batch: int | None
    """The extent of an open first dimension."""
    input_values: Mapping[str, float]
    """Inputs of an ONNX model that are constants, and the number that all their elements are."""
    input_ranges: Mapping[str, tuple[float, float]]
    """The lowest and the highest value that an input will have, by its name; an empty name is the only input.
    Integers are stored values."""
    begin: Wish
    """The tensors at which the part of the model begins that is compiled; without them its inputs."""
    end: Wish
    """The tensors that are the outputs of that part; without them those of the model."""
    states: Mapping[str, str]
    """Inputs, and the outputs that are their values in the next run."""
    io: str
    """Whose the memory of inputs and outputs is: `arena`, the bundle's, or `caller`."""
    constants: str
    """The form of constants: `text`, `section` or `file`; without it `text` up to 1 MiB, else `section`."""
    optimize: str
    """The goal for the code: `size`, `balanced` or `speed`."""
    frames: int | str
    """How many frames may be in flight; `auto`: as many as make results come faster."""
    keep_dead: bool
    """Whether channels that influence no result are computed, too."""
    divide: str
    """Whether operators are divided over instances where that makes a run shorter: `auto` or `never`; with
    `host` those of the host alone, in slices between which it starts others, where frames are in flight.
    """
    resident: str
    """Whether constants that every run would copy stay where there is room for them: `auto` or `never`."""
    costs: str | Path
    """A file of measured costs, which count instead of estimates."""
    tuning: str | Path
    """A file of schedules that `tune_kernels` found."""
    objective: str
    """What placement makes least: `latency`, `throughput` or `energy`."""
    within: str
    """The time that a run, or a frame in flight, may take at most, such as `20ms`."""
    exact: bool
    """Whether a solver goes on where the search for a placement ends."""
    planner: str
    """The algorithm of the memory plan, and how long one that searches may take: `search,nodes=100000`."""
    name: str | None
    """The name in C; the file's without it."""
    port: str
    """The port of the C runtime that the bundle carries."""
    images: Mapping[str, str]
    """The program that the model wants on a target_arch, instead of the SoC file's."""
    backend_dirs: Sequence[str | Path]
    """Folders with plug-ins."""
    passes: Sequence[Callable[..., object]]
    """Passes of TVM that run on the Relax program of the model, before backends look for their operators."""
    plug_ins: PlugIns
    """Plug-ins that were found before, instead of those that are installed and those in `backend_dirs`."""


def requested(model: str | Path, soc: str | Path | SoC, options: CompileOptions) -> "CompileRequest":
    """The request to compile a model file for a SoC (a value, a file, or the name of a shipped one).

    DiagnosticError for files that cannot be read, and options that there are not or of other types.
    """
    require_options(options, CompileOptions)
    import_tvm()
    from target_arch.pipeline import CompileRequest

    plug_ins = options.get("plug_ins") or PlugIns.discover(tuple(map(Path, options.get("backend_dirs", ()))))
    chip = soc if isinstance(soc, SoC) else described(soc, plug_ins)
    return CompileRequest(model_path=Path(model), soc=chip, plug_ins=plug_ins, **_fields(options, chip))


def input_shapes(options: CompileOptions) -> InputShapes:
    """The shapes and values of inputs that the options fix, and the part of the model that they name."""
    shapes = {name: tuple(shape) for name, shape in options.get("input_shapes", {}).items()}
    values = options.get("input_values", {})
    cut = ModelCut(inputs=_several(options.get("begin", ())), outputs=_several(options.get("end", ())))
    return InputShapes(shapes=shapes, batch=options.get("batch"), values=values, cut=cut)


@frozen
class _Field:
    """The field of a request that an option becomes, and how its value is made of the option and the SoC."""

    name: str
    read: Callable[[Any, SoC], object] = lambda value, _: value


def _planner(text: str, soc: SoC) -> object:
    from target_arch.api.planner import planner

    return planner(text)


_FIELDS: Mapping[str, _Field] = {
    "memory": _Field("mode"),
    "memory_limits": _Field("memory"),
    "forbid": _Field("forbid", lambda wishes, _: {name: _several(wish) for name, wish in wishes.items()}),
    "targets": _Field("targets", lambda names, _: tuple(names)),
    "passes": _Field("passes", lambda passes, _: tuple(passes)),
    "order": _Field("order", lambda names, _: tuple(names)),
    "costs": _Field("costs", lambda file, soc: read_costs(Path(file), soc)),
    "tuning": _Field("tuning", lambda file, _: read_tuning(Path(file))),
    "planner": _Field("planner", _planner),
    "within": _Field("within", lambda text, _: time_limit(text)),
}
"""Options that are not the field of their name, as they are."""

_TOGETHER = ("input_shapes", "batch", "input_values", "begin", "end", "backend_dirs", "plug_ins")
"""Options that several fields are made of, or several options one field."""


def _fields(options: CompileOptions, soc: SoC) -> dict[str, Any]:
    """The fields of a request that options are."""
    own = {name: value for name, value in options.items() if name not in _TOGETHER}
    fields = {name: _FIELDS.get(name, _Field(name)) for name in own}
    values = {field.name: field.read(own[name], soc) for name, field in fields.items()}
    return {**values, "input_shapes": input_shapes(options)}


def _several(wish: Wish) -> tuple[str, ...]:
    return (wish,) if isinstance(wish, str) else tuple(wish)
