"""The load processes that `abi.h` names."""

from target_arch.backend.load_process import LoadProcessKind
from target_arch.ports.sources import some

linked = LoadProcessKind(
    name="linked",
    description="its program is part of the host's, or is there already",
    number=0,
    macro="TA_LOAD_LINKED",
)
firmware = LoadProcessKind(
    name="firmware",
    description="a core gets an ELF file, whose segments go to its memories",
    number=1,
    macro="TA_LOAD_FIRMWARE",
    image=".elf",
    check="ta_elf_check",
    files=some("load/elf.c", "load/elf.h"),
)
bitstream = LoadProcessKind(
    name="bitstream",
    description="logic gets its configuration",
    number=2,
    macro="TA_LOAD_BITSTREAM",
    image=".bit",
)
module = LoadProcessKind(
    name="module",
    description="a device gets the module of kernels that the bundle carries",
    number=3,
    macro="TA_LOAD_MODULE",
)
command_stream = LoadProcessKind(
    name="command_stream",
    description="a device has no program; each dispatch brings its commands",
    number=4,
    macro="TA_LOAD_COMMAND_STREAM",
)
