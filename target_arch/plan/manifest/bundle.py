"""The manifest of a bundle, and all in it that is true of the bundle and not of one model."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from attrs import field, fields, frozen

from target_arch.plan.goal import Goal
from target_arch.plan.manifest.image import FirmwareEntry, ImageEntry
from target_arch.plan.manifest.model import ModelEntry
from target_arch.plan.manifest.weights import WeightsEntry
from target_arch.plan.model_pools import Sharing
from target_arch.soc.faults import Path
from target_arch.soc.schema.records import INLINE, PathInside, Whole

PlainName = Annotated[str, PathInside(plain=True)]
InnerPath = Annotated[str, PathInside()]


@frozen(kw_only=True)
class MachineMemory:
    """A memory that the host sees."""

    name: str
    base: int
    bytes: int
    writable: bool


@frozen(kw_only=True)
class MachineEntry:
    """The machine that the programs of a bundle run on."""

    name: Annotated[str, "the emulator's name of it"]
    code: Annotated[str, "the memory of code and read-only data"]
    data: Annotated[str, "the memory of variables and the stack"]
    stack: Annotated[int, "bytes of the stack"]
    memories: Annotated[
        tuple[MachineMemory, ...],
        "every memory that the host sees: name, base, bytes, whether it is writable",
    ]


@frozen(kw_only=True)
class CrossToolchain:
    """How programs for a machine without an operating system are made and run."""

    compiler: Annotated[str, "the compiler's command"]
    flags: Annotated[tuple[str, ...], "flags to compile a file"]
    link: Annotated[tuple[str, ...], "flags to link a program"]
    emulator: Annotated[tuple[str, ...], "the command that runs a program, up to its name"]
    packages: Annotated[Mapping[str, str], "Debian packages of these programs"]
    counter_hz: Annotated[int, Whole(least=1), "ticks per second of the port's timer"]
    shift: Annotated[int, "an instruction takes 2^`shift` ns"]
    start: Annotated[str, "the first function that has a stack frame"]


@frozen(kw_only=True)
class ToolchainEntry:
    """How programs are compiled, linked and run; `cross` where that is for a machine."""

    libraries: Annotated[tuple[str, ...], "system libraries to link, `m` for `-lm`"]
    needs: Annotated[tuple[str, ...], "tools that `run` looks for before it starts a program"]
    cross: Annotated[CrossToolchain | None, INLINE] = None


@frozen(kw_only=True)
class LibraryEntry:
    """A C library that kernels call."""

    name: Annotated[PlainName, "also that of its folder below `libraries/`"]
    carried: Annotated[bool, "whether the bundle has its files"]
    variable: Annotated[
        str | None,
        "if it is not carried: the variable that names its folder to `make`, CMake and `target-arch`; "
        "else null",
    ]
    include: Annotated[tuple[InnerPath, ...], "folders of headers, below the library's own folder"]
    sources: Annotated[tuple[InnerPath, ...], "C files that the kernels need, below the library's own folder"]


@frozen(kw_only=True)
class BundlePool:
    """The bytes that all models take of a part of a memory."""

    memory: Annotated[str, "the memory it is a part of"]
    capacity: Annotated[int, "size of that memory"]
    bytes: Annotated[int, "bytes that the bundle takes"]
    apart: Annotated[int, "bytes it would take if each model had bytes of its own"]
    overlaid: Annotated[bool, "whether models use the same bytes in turn"]
    peaks: Annotated[Mapping[str, int], "the bytes of each model by its name; 0 where it has nothing there"]


@frozen(kw_only=True)
class CoreStackEntry:
    """The stack of a core."""

    instance: Annotated[str, "the core"]
    memory: Annotated[str, "the memory that it is in"]
    offset: Annotated[int, "of its first byte in that memory"]
    bytes: Annotated[int, "its size"]


@frozen(kw_only=True)
class Manifest:
    """The description of a bundle, for programs."""

    schema: Annotated[int, Whole(least=1), "the version of this format, `2`"]
    name: Annotated[str, "name of the bundle: that of its model, where it has one"]
    soc: Annotated[str, "name of the SoC"]
    mode: Annotated[str, "the memory mode it was planned for"]
    port: Annotated[str, "the port of the C runtime that the bundle carries"]
    machine: Annotated[
        MachineEntry | None, "the machine that the port runs on; null if that is this computer"
    ]
    toolchain: Annotated[ToolchainEntry, "how the programs are compiled, linked and run"]
    libraries: Annotated[tuple[LibraryEntry, ...], "the [C libraries](c-library.md) that kernels call"]
    abi_hash: Annotated[
        str, "64 bits in hexadecimal over the whole description of the SoC, as in its C header"
    ]
    optimize: Annotated[Goal, "the [goal](kernels.md#goals): `size`, `balanced` or `speed`"]
    arenas: Annotated[
        Sharing,
        "`shared` where [several models](several-models.md#two-ways-to-share) run in turn in the same "
        "bytes, else `separate`; it says nothing about a single model",
    ]
    models: Annotated[
        tuple[ModelEntry, ...], "the models, see [below](#each-model); one model is a list of one"
    ]
    pools: Annotated[
        Mapping[str, BundlePool],
        "the bytes that all models together take of each part of a memory, by its name",
    ]
    stacks: Annotated[
        tuple[CoreStackEntry, ...], "the stacks of [cores](parallel.md#cores), at the ends of their memories"
    ]
    image: Annotated[
        ImageEntry | None,
        "the bytes of the program on its machine; null until it was built, see [below](#image)",
    ]
    firmware: Annotated[
        tuple[FirmwareEntry, ...] | None,
        "the bytes of the firmware of every core that takes one; null until it was built, see "
        "[below](#firmware)",
    ]
    weights: Annotated[WeightsEntry | None, INLINE] = None
    files: Annotated[
        Mapping[InnerPath, str],
        "every file of the bundle with its SHA-256, in hexadecimal; see [below](#files)",
    ] = field(factory=dict)

    def contradictions(self) -> Iterator[tuple[Path, str]]:
        """Models without names of their own, models that a pool forgets, a machine without tools."""
        names = [model.name for model in self.models]
        if len(set(names)) < len(names) or not names:
            yield ("models",), "two of `models` have one name" if names else "`models` has none"
        for pool, about in self.pools.items():
            for name in names:
                if name not in about.peaks:
                    yield ("pools", pool, "peaks"), f"`{name}` is missing"
        if self.machine is not None and self.toolchain.cross is None:
            for part in fields(CrossToolchain):
                yield ("toolchain",), f"`{part.name}` is missing"

    @property
    def cross(self) -> CrossToolchain | None:
        """How programs are made and run for its machine; None where that is this computer."""
        return None if self.machine is None else self.toolchain.cross

    @property
    def has_vectors(self) -> bool:
        """Whether a model of the bundle has a self-test vector."""
        return any(model.self_test.reference is not None for model in self.models)
