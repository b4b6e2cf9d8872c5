"""Everything a bundle is made from: its models, planned, and their chip. One model is a list of one."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from attrs import field, frozen

from target_arch.backend.contract import Backend
from target_arch.backend.load_process import LoadProcessKind
from target_arch.backend.port import PortKind
from target_arch.emit.bundle_name import qualified
from target_arch.emit.text.literals import c_type
from target_arch.emit.text.names import header_stem, identifiers
from target_arch.plan.constants_form import ConstantsForm
from target_arch.plan.goal import Goal
from target_arch.plan.input_range import InputRange
from target_arch.plan.inputs.shapes import AS_IN_FILE, InputShapes
from target_arch.plan.kernels import Kernel
from target_arch.plan.lowered import Lowered
from target_arch.plan.manifest.model import OptionsEntry
from target_arch.plan.memory import Buffer, BufferKind
from target_arch.plan.model import DTYPE_BYTES, Model, Tensor
from target_arch.plan.model_pools import ModelPools
from target_arch.plan.partitions import Partition
from target_arch.plan.step_ends import step_ends
from target_arch.plan.steps import Fill
from target_arch.plan.tuning import NOTHING_TUNED, Tuning
from target_arch.soc.model import MemoryMode, SoC

if TYPE_CHECKING:
    from target_arch.plan.workloads.answers import TimedTasks


@frozen(kw_only=True)
class Tolerance:
    """How far an element may be from the reference's: `absolute`, in the output's own units, plus `relative`
    of the magnitude of the reference's element. Where both are 0, every bit must agree.
    """

    absolute: float = 0.0
    relative: float = 0.0


@frozen(kw_only=True)
class SelfTest:
    """One input of the model, and the reference's outputs for it.

    `inputs` and `outputs` are the bytes of each model input and output, in the model's order. `tolerances`
    has one per output.
    """

    reference: str
    inputs: tuple[bytes, ...] = field(repr=False)
    outputs: tuple[bytes, ...] = field(repr=False)
    tolerances: tuple[Tolerance, ...]


@frozen(kw_only=True)
class Member:
    """One model of a bundle, planned. `tuning` are the records that its kernels could take schedules from.

    `input_shapes` were asked for where its file leaves dimensions open; `no_self_test` says why it has no
    `self_test`. `options` are those that it was planned with, where one is not the default. Where costs state
    the worst time of every step, a run in which each takes it ends every step within `worst_percent` of the
    time that it has in the simulated run; None where they do not.
    """

    model: Model
    lowered: Lowered
    tuning: Tuning = NOTHING_TUNED
    input_shapes: InputShapes = AS_IN_FILE
    self_test: SelfTest | None = None
    no_self_test: str = ""
    options: OptionsEntry | None = None
    worst_percent: int | None = None

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def due(self) -> tuple[float, ...]:
        """Seconds from the start of the simulated run to the end of each step that the host waits for; of any
        other step, to the end of the next one that it waits for. The run's end is last. Empty where nothing
        was simulated.
        """
        execution = self.lowered.execution
        if execution is None:
            return ()
        steps = self.lowered.steps.steps
        return step_ends(steps, execution.spans, execution.waits, execution.makespan)

    @property
    def stem(self) -> str:
        """How the model's C names begin."""
        return header_stem(self.model.name)

    @property
    def lends(self) -> bool:
        """Whether its inputs and outputs are in memory of the caller."""
        return any(buffer.caller for buffer in self.lowered.steps.buffers)

    def constant(self, name: str) -> Tensor:
        """The constant tensor of that name, the model's own or one a backend packed.

        KeyError where there is none.
        """
        return self._packed[name] if name in self._packed else self.model.tensors[name]

    @cached_property
    def _packed(self) -> Mapping[str, Tensor]:
        kernels = self.lowered.kernels.values()
        return {tensor.name: tensor for kernel in kernels for tensor in kernel.constants}


@frozen(kw_only=True)
class Terminal:
    """A model input or output: its C function, how its macros start, and its number among its like; of an
    input what is promised of its values, if anything is.
    """

    function: str
    macro: str
    kind: BufferKind
    name: str
    number: int
    tensor: Tensor
    buffer: Buffer = field(repr=False)
    promised: InputRange | None = None

    @property
    def place(self) -> str:
        """The C expression that points to its first element in a program; in memory of the caller, the array
        of that name.
        """
        return self.function if self.buffer.caller else f"{self.function}()"

    @property
    def member(self) -> str:
        """Its member in the value that a run takes, where its bytes are the caller's."""
        return f"{self.kind}_{self.name}"

    @property
    def elements(self) -> int:
        return self.tensor.bytes // DTYPE_BYTES[self.tensor.dtype]

    @property
    def c_type(self) -> str:
        return c_type(self.tensor.dtype)


def terminals(member: Member) -> tuple[Terminal, ...]:
    """All inputs, then all outputs, each in the model's order."""
    steps = member.lowered.steps
    buffers = {buffer.name: buffer for buffer in steps.buffers}
    return tuple(
        Terminal(
            function=f"{member.stem}_{kind}_{name}",
            macro=f"{member.stem}_{kind}_{name}".upper(),
            kind=kind,
            name=name,
            number=number,
            tensor=member.model.tensors[tensor],
            buffer=buffers[held[number][1]],
            promised=member.model.input_ranges.get(tensor),
        )
        for kind, held in {BufferKind.INPUT: steps.inputs, BufferKind.OUTPUT: steps.outputs}.items()
        for number, (tensor, name) in enumerate(identifiers(tensor for tensor, _ in held).items())
    )


@frozen(kw_only=True)
class EmitInputs:
    """A bundle before it is text.

    `name` is that of the bundle; a single model has the same. `members` are the models in their order, which
    is that of `pools`: the bytes they take together. `backends` are by the target_arch that they serve,
    `processes` the load processes of the SoC by name.
    `constants` is never AUTO. `timed` are the tasks of a workload, in the order of the models; None where
    there is none.
    """

    name: str
    soc: SoC
    mode: MemoryMode
    backends: Mapping[str, Backend]
    members: tuple[Member, ...]
    pools: ModelPools
    port: PortKind
    processes: Mapping[str, LoadProcessKind]
    goal: Goal = Goal.BALANCED
    constants: ConstantsForm = ConstantsForm.TEXT
    timed: "TimedTasks | None" = None

    @property
    def stem(self) -> str:
        """How the C names of the bundle begin."""
        return header_stem(self.name)

    @property
    def several(self) -> bool:
        """Whether the bundle has a name and a runtime beside those of its models."""
        return len(self.members) > 1

    @property
    def shares_arenas(self) -> bool:
        """Whether several tables of steps use the table of arenas."""
        return self.several or self.has_frames

    @property
    def has_frames(self) -> bool:
        """Whether a model takes frames while others are in flight."""
        return any(member.lowered.frames is not None for member in self.members)

    @property
    def lends(self) -> bool:
        """Whether inputs and outputs of a model are memory of the caller."""
        return any(member.lends for member in self.members)

    @property
    def has_residents(self) -> bool:
        """Whether constants of a model are copied by init, and stay."""
        steps = (step for member in self.members for step in member.lowered.steps.steps)
        return any(isinstance(step, Fill) for step in steps)

    def qualified(self, member: Member, name: str) -> str:
        """A name of a model as the bundle has it, see `bundle_name`."""
        return qualified(member.name, name, len(self.members))

    def prefix(self, member: Member) -> str:
        """How static C names begin that every model has: nothing where there is one model."""
        return f"{member.stem}_" if self.several else ""

    @property
    def partitions(self) -> Mapping[str, Partition]:
        """The partitions of all models by qualified id."""
        return {
            self.qualified(member, partition.id): partition
            for member in self.members
            for partition in member.lowered.graph.partitions
        }

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels of all models by qualified partition id."""
        return {
            self.qualified(member, partition): kernel
            for member in self.members
            for partition, kernel in member.lowered.kernels.items()
        }
