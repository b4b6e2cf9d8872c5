"""The kernel of a lowered partition: C functions or device commands, local buffers, and a short program.

The program of a kernel is a tuple of actions in an order that would be correct if every action completed
before the next began. Overlap is not the backend's business: the step stage turns actions into steps and puts
waits where two actions touch the same bytes.

Two ways to touch a tensor:

- A `Call` names a *tensor* as operand: the instance uses it where it lives, and the step stage copies the
  whole tensor into a memory of the instance first, where the operand rule demands that.
- A `Call` names a *local buffer* (declared in `Kernel.buffers`, in a memory of the instance), and `Move`s
  carry slices of tensors to and from it. This is how a device with little memory tiles.
"""

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen

from target_arch.plan.model import Tensor
from target_arch.plan.regions.lines import RegionPlan


class Codegen(StrEnum):
    """The output of a backend: C text, object code by LLVM for a core, CUDA C, commands that a driver hands
    to its device, or nothing.

    `is_function` is True where kernels are functions over whole tensors; every other codegen is an
    accelerator's.
    """

    is_function: bool

    C = "c", True
    LLVM = "llvm", True
    CUDA = "cuda", True
    COMMAND_STREAM = "command_stream", False
    NONE = "none", False

    def __new__(cls, text: str, is_function: bool) -> "Codegen":
        member = str.__new__(cls, text)
        member._value_, member.is_function = text, is_function
        return member


class Access(StrEnum):
    """Whether a call reads or writes the bytes of an operand."""

    reads: bool
    writes: bool

    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"

    def __init__(self, text: str) -> None:
        self.reads, self.writes = "r" in text, "w" in text


def _access(text: str) -> Access:
    return text if isinstance(text, Access) else Access(text)


@frozen(kw_only=True)
class Slice:
    """Bytes of a tensor or of a local buffer: `rows` runs of `row_bytes`, `stride` apart, the first at
    `offset`.

    A contiguous slice has one row (and then `stride` is 0).
    """

    of: str
    offset: int
    row_bytes: int
    rows: int = 1
    stride: int = 0

    @property
    def bytes(self) -> int:
        return self.row_bytes * self.rows

    @property
    def end(self) -> int:
        """First byte offset after the slice."""
        return self.offset + (self.rows - 1) * self.stride + self.row_bytes

    def renamed(self, of: str) -> "Slice":
        """The same bytes of another tensor or buffer."""
        return Slice(of=of, offset=self.offset, row_bytes=self.row_bytes, rows=self.rows, stride=self.stride)

    def __str__(self) -> str:
        rows = f"{self.rows}x" if self.rows > 1 else ""
        stride = f"/{self.stride}" if self.rows > 1 else ""
        return f"{self.of}[{self.offset}:+{rows}{self.row_bytes}{stride}]"


@frozen(kw_only=True)
class Move:
    """Copy a slice of a tensor into a local buffer, or back. Both slices have equally many bytes."""

    source: Slice
    target: Slice


@frozen(kw_only=True)
class Operand:
    """A tensor or local buffer that a call touches, at a byte offset. `bytes`
    counts those touched, None where that is all up to the end. With `rows` it is so many bytes in each of
    several rows, `stride` apart.

    `over` are other operands of the call, only read, whose bytes a written one may take: when the call writes
    an element it no longer needs the bytes at the same offset in them. With `smaller` that is so for operands
    that have more bytes, too.
    """

    of: str
    access: Access = field(converter=_access)
    offset: int = 0
    over: tuple[str, ...] = ()
    smaller: bool = False
    bytes: int | None = None
    rows: int = 1
    stride: int = 0

    def renamed(self, of: str) -> "Operand":
        """The same bytes of another tensor or buffer."""
        return Operand(
            of=of,
            access=self.access,
            offset=self.offset,
            over=self.over,
            smaller=self.smaller,
            bytes=self.bytes,
            rows=self.rows,
            stride=self.stride,
        )

    def touched(self, size: int) -> Slice:
        """The bytes touched of a tensor or buffer that has so many."""
        count = size - self.offset if self.bytes is None else self.bytes
        return Slice(of=self.of, offset=self.offset, row_bytes=count, rows=self.rows, stride=self.stride)


@frozen(kw_only=True)
class Call:
    """Start one C function (by name) or one device command on the instance.

    For a C function, the operands are its pointer parameters in order. For a device command, `words` are the
    32-bit words the driver understands (its meaning is documented in the driver's header); the driver gets
    the device addresses of the operands, in order.

    With `copies` it is a plain copy from the one operand that is read to the one that is written; it is
    elided where both can share bytes.
    """

    function: str
    operands: tuple[Operand, ...]
    words: tuple[int, ...] = ()
    operator: str = ""
    copies: bool = False


@frozen(kw_only=True)
class LocalBuffer:
    """Bytes a kernel needs in a memory of its instance while it runs: a tile, an accumulator, scratch."""

    name: str
    bytes: int
    memory: str
    alignment: int = 16


@frozen(kw_only=True)
class DeviceFunction:
    """A function as text for a device that has a compiler of its own, CUDA C here.

    It runs on `blocks` times `threads` threads. Its name and parameters are those of the C function that
    stands for it where there is no such device.
    """

    text: str = field(repr=False)
    blocks: int
    threads: int


TENSOR_ALIGNMENT = 16
"""Bytes to which every tensor is aligned, so that kernels may use vector loads."""

MOST_OPERANDS = 32
"""The operands that a function in C may have: `TA_MAX_OPERANDS` of the runtime."""


@frozen(kw_only=True)
class CFunction:
    """A C function definition. `parameters` are its pointer parameters as C types, such as `const int8_t *`.

    Two functions with equal `text` are one function: the name is derived from the body. `headers` are
    those it includes beyond C99's, in that order; those below `kernels/` the bundle brings from
    `runtime_c/kernels`. With `fails` it returns an int, 0 where its results are good; else nothing.
    `object` is the same function as an object file for the instance's core, where the codegen is `llvm`;
    a port with the device itself loads `device` instead. `in_place` are pairs of parameters (written,
    read) that may be the same memory; none of these is `restrict`. `without` are macros that leave out code
    of the `headers` below `kernels/` which this function never reaches.
    """

    name: str
    parameters: tuple[str, ...]
    text: str
    headers: tuple[str, ...] = ()
    fails: bool = False
    object: bytes = field(default=b"", repr=False)
    in_place: tuple[tuple[int, int], ...] = ()
    device: DeviceFunction | None = None
    without: frozenset[str] = frozenset()


@frozen(kw_only=True)
class Library:
    """C sources of a third party that kernels call. The bundle carries them below `libraries/<name>`.

    `include` are the folders of its headers, `sources` the C files that these kernels need, `headers` the
    other files carried, all with paths below the library's own folder; `texts` has the files by path. Where
    the user wants the library left where it is, `texts` is empty, and `headers` too: the build of the bundle
    gets the folder in the variable `variable`.
    """

    name: str
    include: tuple[str, ...]
    sources: tuple[str, ...]
    headers: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(factory=dict, repr=False)

    @property
    def variable(self) -> str:
        """The name for `make`, CMake and the environment: `CMSIS_NN`."""
        return self.name.upper()

    @property
    def carried(self) -> bool:
        """True where the bundle has the files."""
        return bool(self.texts)


@frozen(kw_only=True)
class StandIn:
    """The computation of the one command of a kernel, as C functions: for the simulator of a device whose
    commands nothing that may be shipped can execute.

    The simulator finds it by `key`, and hands it pointers to `operands`, which are named as in the command,
    in that order; these functions are carried by bundles for the host port alone. `calls` name those
    operands, `constants`, model constants, `buffers`, and tensors of the model that only they touch.
    """

    key: int
    operands: tuple[str, ...]
    functions: tuple[CFunction, ...]
    constants: tuple[Tensor, ...]
    buffers: tuple[LocalBuffer, ...]
    calls: tuple[Call, ...]


@frozen(kw_only=True)
class Kernel:
    """The lowered form of one partition.

    `constants` are tensors the backend packed for itself, such as weights in the device's order; `actions`
    may name them like any other tensor. Model constants that no action names do not reach the bundle.
    """

    partition: str
    instance: str
    functions: tuple[CFunction, ...] = ()
    constants: tuple[Tensor, ...] = ()
    buffers: tuple[LocalBuffer, ...] = ()
    actions: tuple[Move | Call, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for the report, such as the chosen tiling and the reason."""
    libraries: tuple[Library, ...] = ()
    tuned: tuple[str, ...] = ()
    """Tasks whose tuning records chose functions of this kernel, or gave them their schedules."""
    choices: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """By operator, the codes that tuning may choose from, that of the rules first; none where there is but
    one.
    """
    stand_in: StandIn | None = None
    stripes: Mapping[str, RegionPlan] = field(factory=dict)
    """By function, the turns of each function that runs a region stripe by stripe."""
    seconds: float | None = None
    """The time of all calls together, where a vendor's compiler states it: it counts instead of the estimates
    by which the operators were placed.
    """
