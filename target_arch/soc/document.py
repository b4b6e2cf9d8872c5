"""The tables of a SoC file: what is at its top, and tables that are no value of the model on their own.

The reader, `check_soc`, the writer, the JSON Schema and the page on SoC files go by these records and those
of `model.py`.
"""

from collections.abc import Mapping
from typing import Annotated

from attrs import field, frozen

from target_arch.soc.chip.chip import Chip
from target_arch.soc.model import (
    SCHEMA,
    CopyPath,
    DeclaredMemory,
    Dma,
    MemoryMode,
    PartitioningRules,
    Port,
    SoC,
    TargetArch,
)
from target_arch.soc.schema.kinds import Integer, NameOrNames, Text
from target_arch.soc.schema.records import ClosedRecord, KeyName

_Order = str | tuple[str, ...]


@frozen(kw_only=True)
class CostTable(ClosedRecord):
    """Where the measured costs of a chip are."""

    file: Annotated[
        str,
        Text(),
        "the [cost file](cost-file.md) of this chip; a relative path starts at the folder of the SoC file",
    ]


@frozen(kw_only=True)
class LoweringOrders(ClosedRecord):
    """The order in which partitions are lowered, and others for single phases."""

    order: Annotated[
        _Order,
        NameOrNames(),
        "the name of a policy (`c-first`, `program`, `accelerators-first`, or a plug-in's), or an explicit "
        "list; see [lowering orders](lowering-orders.md)",
    ] = "c-first"
    graph: Annotated[_Order | None, NameOrNames(), "another one for that phase"] = None
    s_tir: Annotated[_Order | None, NameOrNames(), KeyName("s-tir"), "another one for that phase"] = None
    ns_tir: Annotated[_Order | None, NameOrNames(), KeyName("ns-tir"), "another one for that phase"] = None
    codegen: Annotated[_Order | None, NameOrNames(), "another one for that phase"] = None


@frozen(kw_only=True)
class SocDocument(ClosedRecord):
    """A SoC file."""

    schema: Annotated[int, Integer(least=SCHEMA, most=SCHEMA), "the version of this format"]
    name: Annotated[str, Text(identifier=True), "of the SoC; a C identifier"]
    memory: Annotated[Mapping[str, DeclaredMemory], "physical memories"]
    dma: Annotated[Mapping[str, Dma], "DMA engines"] = field(factory=dict)
    copy: Annotated[tuple[CopyPath, ...], "ways from one memory to another"] = ()
    target_arch: Annotated[Mapping[str, TargetArch], "compute elements"]
    memory_mode: Annotated[Mapping[str, MemoryMode], "how a product uses the memories"]
    port: Annotated[Mapping[str, Port], "where ports of the C runtime put a program"] = field(factory=dict)
    cost: Annotated[CostTable | None, "measured costs"] = None
    chip: Annotated[Chip | None, "the real part that this describes"] = None
    partitioning: Annotated[PartitioningRules, "which target_archs get what"]
    lowering: Annotated[LoweringOrders | None, "the order of lowering"] = None


def partitioning(soc: SoC) -> PartitioningRules:
    """The order and the rules of placement of a SoC as a file has them."""
    return PartitioningRules(
        order=soc.partitioning,
        require=soc.require,
        prefer=soc.prefer,
        forbid=soc.forbid,
        divide=soc.divide,
    )
