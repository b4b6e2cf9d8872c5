"""The backend contract: the description of one kind of hardware by a plug-in, as one value.

A backend is found by the entry-point group `target_arch.backends` or in a `--backend-dir`; it is checked when
it is registered (see `target_arch.registry`). Nothing here imports TVM; hooks that need it import it when
they are called.
"""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, TypeVar

from attrs import field, frozen

from target_arch.backend.hooks import Hooks
from target_arch.backend.lowering import DoesNotFit, LoweringRequest, NotInstalled
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import Codegen, Kernel
from target_arch.plan.model import Model, Operator
from target_arch.plan.regions.region import Striping
from target_arch.soc.model import CopyPath, Instance, LoadProcess, Memory, SoC
from target_arch.soc.words import DLDeviceType, OperandRule, device_type, member_or_text, operand_rule

T = TypeVar("T")

__all__ = [
    "CONTRACT_VERSION",
    "ENTRY_POINT_GROUP",
    "UNDERSTOOD",
    "Backend",
    "DefaultArch",
    "DoesNotFit",
    "Goal",
    "Hooks",
    "LoweringRequest",
    "NotInstalled",
    "Option",
    "Pattern",
    "Question",
    "RuntimeSources",
    "WorkPart",
]

CONTRACT_VERSION = 2
UNDERSTOOD = (1, 2)
"""Versions a backend may be written for. Contract 1 is contract 2 without `hooks`."""
ENTRY_POINT_GROUP = "target_arch.backends"


@frozen(kw_only=True)
class Pattern:
    """A composite the backend wants matched in the imported Relax program.

    `name` is the operator kind it yields. `load` returns the matcher (see `target_arch.relax.patterns`); it
    is called once, after TVM was imported.
    """

    name: str
    load: Callable[[], Any]


@frozen(kw_only=True)
class Option:
    """A typed option of a target_arch, settable in the SoC file and as `--<target_arch>-<name>`.

    Where `positive`, its numbers are finite and above 0: a rate, which costs are divided by.
    """

    name: str
    default: int | float | str | bool
    help: str
    positive: bool = False

    def takes(self, value: object) -> bool:
        """Whether a value of its type is one that makes sense."""
        return not self.positive or (isinstance(value, int | float) and 0 < value < float("inf"))


@frozen(kw_only=True)
class Question:
    """The query to `supports` and `cost`: one operator at one instance, in code for a goal."""

    operator: Operator
    model: Model = field(repr=False)
    instance: Instance
    soc: SoC = field(repr=False)
    goal: Goal = Goal.BALANCED
    shared: MutableMapping[object, Any] = field(factory=dict, eq=False, repr=False)
    """What backends keep for this model and goal, as in a `LoweringRequest`, whatever the chip."""

    def once(self, key: object, find: Callable[[], T]) -> T:
        """The value of that key, found now if it was not before. The key has everything that the value
        depends on beside the model and the goal.
        """
        if key not in self.shared:
            self.shared[key] = find()
        found: T = self.shared[key]
        return found

    def option(self, backend: "Backend", name: str) -> Any:
        """The value of a backend option at this target_arch, or its default."""
        return backend.option(self.instance, name)


@frozen(kw_only=True)
class WorkPart:
    """How often a unit of work is done, and the seconds that the backend expects of all of them."""

    count: float
    seconds: float


@frozen(kw_only=True)
class RuntimeSources:
    """C files the bundle carries for a backend: the driver, and the behavioural simulator of the host port.

    `driver` is the C symbol of its `ta_driver`, None for backends whose kernels are plain C functions.
    `files` and `simulator` return path (below `runtime/`) → text.
    """

    driver: str | None = None
    simulator_symbol: str | None = None
    files: Callable[[], Mapping[str, str]] = dict
    simulator: Callable[[], Mapping[str, str]] = dict
    stand_ins: bool = False
    """Whether the simulator looks up what a command computes in `ta_host_stand_ins` (`Kernel.stand_in`)."""


_DMA = CopyPath(source="", target="", engine="dma", bandwidth=400e6, setup=1e-6, alignment=4, dimensions=2)


@frozen(kw_only=True)
class DefaultArch:
    """The defaults of one target_arch of this kind without a SoC file: `--target NAME` without `--soc`.

    `memories` are its own, best first; the SoC that is built calls them `<target_arch>_<name>`, gives them
    addresses, and hides them from the host unless this is the host itself. Without any it works in the
    memories of the host. `copy` describes every way between the host's memories and these, in either
    direction (its ends are ignored); its engine is a DMA engine of this target_arch alone, with `channels`.
    `buffers` maps the backend's local buffers to `memories`. `device` is the device type; the number is the
    next free one. `visible` are memories that it shares with the host and that hold no tensors, by the
    option that names each: that of a firmware.
    """

    device: DLDeviceType = field(default=DLDeviceType.EXT_DEV, converter=device_type)
    clock: float = 100e6
    memories: tuple[Memory, ...] = ()
    buffers: Mapping[str, str] = field(factory=dict)
    operands: OperandRule = field(default=OperandRule.IN_AND_OUT, converter=operand_rule)
    copy: CopyPath = field(factory=lambda: _DMA)
    channels: int = 1
    load: LoadProcess = field(factory=lambda: LoadProcess(process="command_stream"))
    visible: Mapping[str, Memory] = field(factory=dict)

    @property
    def every_memory(self) -> tuple[Memory, ...]:
        """Its own memories, and those that it shares."""
        return (*self.memories, *self.visible.values())


def _codegen(text: str) -> Codegen:
    return member_or_text(Codegen, text)


@frozen(kw_only=True)
class Backend:
    """One kind of hardware.

    `codegen` is `c` when kernels are C functions, `llvm` when these come with object code for the core (the
    default lowering order lowers both first), else the name of its format. `supports` returns None, or the
    reason why not (lower case, no full stop, numbers with units). `cost` returns seconds of computing, copies
    not counted.

    A backend lowers in one of two ways: `lower` makes the kernel of a partition by itself (and may raise
    `DoesNotFit`); `hooks` fill in the stages from Relax over S-TIR and NS-TIR to code.
    """

    name: str
    description: str
    codegen: Codegen = field(converter=_codegen)
    supports: Callable[[Question], str | None]
    cost: Callable[[Question], float]
    lower: Callable[[LoweringRequest], Kernel] | None = None
    hooks: Hooks | None = None
    way: Callable[[Question], str] | None = None
    """In words, how it would compute an operator that it supports, such as the kernel; for explanations."""
    work: Callable[[Question], Mapping[str, WorkPart] | None] | None = None
    """The parts of the work of an operator that it supports, by name, to which `calibrate` fits measured
    times; where it says none, they are multiply-accumulates, elements and bytes by the operator's kind.
    """
    patterns: tuple[Pattern, ...] = ()
    options: tuple[Option, ...] = ()
    runtime: RuntimeSources = RuntimeSources()
    joins: Callable[[tuple[Question, ...]], str | None] | None = None
    """For backends that lower whole chains, such as a vendor's compiler: why operators that run one after the
    other at one instance cannot be one partition, None where they can.

    Such a kernel touches the tensors that cross the border of its partition whole, where they are, as C does;
    tensors inside have no place in the plan: it keeps them in the scratch it asks for. Its budget is one for
    all operators. `cost` of an operator is then its addition to the chain's. A backend without
    this hook gets operators one by one (plain C: runs of them) and, unless it is C, moves tiles.
    """
    regions: Callable[[Instance, Model], Striping] | None = None
    """For backends that can run neighbours of a partition as one call, a stripe at a time (`plan.regions`):
    the ways to do so at an instance. Regions that are chosen are in `Partition.regions` when it is lowered.
    """
    needs_buffers: tuple[str, ...] = ()
    """Local buffer names that a SoC file must map to memories, such as `inp`, `wgt`, `acc`."""
    default_arch: DefaultArch | None = None
    """The SoC that `--target` builds without a SoC file; None if this kind needs a file."""
    contract: int = 0
    """The version of the contract the backend is written for, as a number; a backend that does not say is
    refused.
    """

    def option(self, instance: Instance, name: str) -> Any:
        """The value of an option at an instance, or its default.

        KeyError for an option this backend lacks.
        """
        default = next((option.default for option in self.options if option.name == name), None)
        if default is None:
            raise KeyError(name)
        return instance.arch.options.get(name, default)
