"""The description of the chip: values, the reader of SoC files, rules, numbers. Independent of models and of
TVM.
"""

from target_arch.soc.files.soc_file import parse_soc, place_faults, read_soc, shipped_chips, shipped_socs
from target_arch.soc.model import (
    CopyPath,
    Cores,
    DLDevice,
    Dma,
    Instance,
    LoadProcess,
    Memory,
    MemoryMode,
    Port,
    SoC,
    TargetArch,
)
from target_arch.soc.rules.check import check_soc
from target_arch.soc.text import show

__all__ = [
    "CopyPath",
    "Cores",
    "DLDevice",
    "Dma",
    "Instance",
    "LoadProcess",
    "Memory",
    "MemoryMode",
    "Port",
    "SoC",
    "TargetArch",
    "check_soc",
    "parse_soc",
    "place_faults",
    "read_soc",
    "shipped_chips",
    "shipped_socs",
    "show",
]
