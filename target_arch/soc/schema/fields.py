"""Every key of a SoC file: its tables, its values, and its purpose.

The reader, `check_soc`, the JSON Schema and the documentation's test all go by these tables.
"""

from attrs import frozen

from target_arch.soc.chip.processors import processors
from target_arch.soc.schema.kinds import (
    SIZE_IN_BYTES,
    Factor,
    Flag,
    Integer,
    Kind,
    Names,
    OneOf,
    OneOrMore,
    Quantity,
    Scalar,
    Sentences,
    Table,
    Text,
)
from target_arch.soc.units import BANDWIDTH, FREQUENCY, POWER, TIME
from target_arch.soc.words import CacheDuty, DLDeviceType, InstructionSet, OperandRule

SCHEMA = 1

_ADDRESS = Integer(least=0, most=2**64 - 1)
_BANDWIDTH = Quantity(what="bandwidth", units=BANDWIDTH, most=1e15)
_TIME = Quantity(what="time", units=TIME, most=1e6, zero=True)
WATTS = Quantity(what="power", units=POWER, most=1e3, zero=True)
_CLOCK = Quantity(what="frequency", units=FREQUENCY, most=1e12)


@frozen(kw_only=True)
class Key:
    """One key of a table. `attribute` is its name in the model, the same unless said."""

    name: str
    kind: Kind
    help: str
    required: bool = False
    attribute: str = ""

    @property
    def field(self) -> str:
        return self.attribute or self.name


MEMORY = (
    Key(name="size", kind=SIZE_IN_BYTES, required=True, help="bytes, or text with a unit"),
    Key(name="base", kind=_ADDRESS, help="the host's address of the first byte; absent where it sees none"),
    Key(
        name="observers", kind=Table(of=_ADDRESS), help="target_archs that see it, each with its own address"
    ),
    Key(name="read_bandwidth", kind=_BANDWIDTH, help="sustained, for one reader"),
    Key(name="write_bandwidth", kind=_BANDWIDTH, help="sustained, for one writer"),
    Key(name="latency", kind=_TIME, help="of one access"),
    Key(name="cached", kind=Flag(), help="the host's cache stands before it"),
    Key(
        name="cache_line",
        kind=Integer(least=4, most=1024, power_of_two=True),
        help="bytes of a line of the host's cache, where the memory is cached",
    ),
    Key(name="writable", kind=Flag(), help="false for flash and ROM"),
    Key(name="per_instance", kind=Flag(), help="each instance of its one observer has its own"),
)
DMA = (Key(name="channels", kind=Integer(least=1, most=64), help="copies that may be in flight at once"),)
COPY = (
    Key(name="from", kind=OneOrMore(), required=True, attribute="source", help="the memories read"),
    Key(name="to", kind=OneOrMore(), required=True, attribute="target", help="the memories written"),
    Key(name="engine", kind=Text(), help="`cpu` (synchronous) or a DMA engine (asynchronous)"),
    Key(name="bandwidth", kind=_BANDWIDTH, help="sustained"),
    Key(name="setup", kind=_TIME, help="from the order to the first byte"),
    Key(
        name="alignment",
        kind=Integer(least=1, most=4096, power_of_two=True),
        help="of both addresses and of 2-D strides, bytes",
    ),
    Key(name="max_bytes", kind=SIZE_IN_BYTES, help="the longest transfer, or row of a 2-D one"),
    Key(name="dimensions", kind=Integer(least=1, most=2), help="1, or 2 where rows may have strides"),
    Key(
        name="cache",
        kind=OneOf(words=tuple(CacheDuty)),
        help="the cache maintenance that the copy needs from the host",
    ),
)
DEVICE = (
    Key(name="type", kind=OneOf(words=tuple(sorted(DLDeviceType))), required=True, help="DLPack's name"),
    Key(name="id", kind=Integer(least=0, most=2**16 - 1), required=True, help="of the first instance"),
)
LOAD = (
    Key(
        name="process",
        kind=Text(identifier=True),
        required=True,
        help="how it gets its program: linked, firmware, bitstream, module, command_stream or a plug-in's",
    ),
    Key(name="image", kind=Text(file_name=True), help="file name of its image, where it takes one"),
    Key(name="bytes", kind=SIZE_IN_BYTES, help="size of the image"),
    Key(name="time", kind=_TIME, help="to load and start it"),
)
SHARES = Key(
    name="shares",
    kind=Names(),
    help="memories of the host that they see at its addresses, so that nothing is copied",
)
CORES = (
    Key(name="stack", kind=SIZE_IN_BYTES, required=True, help="bytes of the stack of each"),
    Key(name="stack_memory", kind=Text(), help="memory of the stacks; by default the first of `memory`"),
    Key(name="wake", kind=_TIME, help="from the signal until a core that sleeps executes"),
    Key(name="coherent", kind=Flag(), help="they see what the host wrote without maintenance of its cache"),
)
TARGET_ARCH = (
    Key(name="backend", kind=Text(identifier=True), required=True, help="the plug-in that programs it"),
    Key(name="host", kind=Flag(), help="true for exactly one"),
    Key(name="instances", kind=Integer(least=1, most=256), help="identical pieces, programmed on their own"),
    Key(name="clock", kind=_CLOCK, help="of its compute, for the cost model"),
    Key(name="isa", kind=OneOf(words=tuple(InstructionSet)), help="what kernels in C are laid out for"),
    Key(name="memory", kind=Names(), required=True, help="where its operands live, best first"),
    Key(name="buffers", kind=Table(of=Text()), help="local buffer of its backend → memory"),
    Key(name="operands", kind=OneOf(words=tuple(OperandRule)), help="what must live in its memory"),
    Key(name="options", kind=Table(of=Scalar()), help="options of its backend"),
)
MEMORY_MODE = (
    Key(name="workspace", kind=Names(), required=True, help="memories for intermediate tensors, best first"),
    Key(name="constants", kind=Names(), required=True, help="memories for weights, best first"),
    Key(name="io", kind=Names(), required=True, help="memories for inputs and outputs, best first"),
)
PORT = (
    Key(name="machine", kind=Text(), required=True, help="one of the port's, which executes it"),
    Key(name="code", kind=Text(), required=True, help="memory of vectors, code and read-only data"),
    Key(name="data", kind=Text(), required=True, help="memory of variables and of the stack"),
    Key(name="stack", kind=SIZE_IN_BYTES, required=True, help="bytes of the stack"),
)
COST = (
    Key(name="file", kind=Text(), required=True, help="measured costs (JSON), beside this file or below it"),
)
CHIP = (
    Key(name="part", kind=Text(), required=True, help="vendor and number of the real part"),
    Key(
        name="processor",
        kind=Table(of=OneOf(words=tuple(processors()))),
        help="by target_arch, its processor",
    ),
    Key(
        name="slowdown",
        kind=Table(of=Factor()),
        help="by target_arch, how much longer instructions take than its processor needs for them",
    ),
    Key(
        name="active",
        kind=Table(of=WATTS),
        help="by target_arch, power of the chip while it computes",
    ),
    Key(name="idle", kind=Table(of=WATTS), help="by target_arch, power of the chip while it waits"),
    Key(name="published", kind=Sentences(), help="what documents state, with the document"),
    Key(name="fitted", kind=Sentences(), help="what was fitted, to what, and how far off it is"),
    Key(name="assumed", kind=Sentences(), help="what nothing states"),
)
_EVERY = ("*",)
PARTITIONING = (
    Key(name="order", kind=Names(), required=True, help="the order in which target_archs claim operators"),
    Key(name="require", kind=Table(of=Text(), also=_EVERY), help="operator kind or * → where it must go"),
    Key(
        name="prefer", kind=Table(of=Text(), also=_EVERY), help="operator kind or * → where it goes if it can"
    ),
    Key(name="forbid", kind=Table(of=Names(), also=_EVERY), help="operator kind or * → where it must not go"),
    Key(
        name="divide",
        kind=Table(of=Names(least=0), also=_EVERY),
        help="operator kind or * → what may compute slices of it; nothing: it stays whole",
    ),
)
