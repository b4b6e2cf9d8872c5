"""Object code calls nothing that the firmware's library lacks, for every integer operator of a model."""

import io
import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from target_arch.relax.importer import import_model
from target_arch.relax.kinds.catalogue import standard_patterns
from target_arch.relax.lower.objects import LlvmTarget
from target_arch.relax.lower.operators import lower_operator, lower_operator_object
from target_arch.resources import runtime_c
from target_arch.soc.cores import CORES

MACHINES = {"hexagon": "EM_QDSP6", "riscv64": "EM_RISCV", "aarch64": "EM_AARCH64"}
KINDS = ("conv2d", "depthwise_conv2d", "dense", "add", "avg_pool2d", "reshape")
DEFINED = re.compile(r"^\w[\w *]*?\b(__\w+|mem\w+)\(", re.MULTILINE)


def library() -> set[str]:
    """The functions that `library.c` defines."""
    return set(DEFINED.findall((runtime_c() / "firmware" / "library.c").read_text()))


def symbols(content: bytes) -> tuple[set[str], set[str], str]:
    """Defined and undefined names, and the machine."""
    elf = ELFFile(io.BytesIO(content))
    table = elf.get_section_by_name(".symtab")
    assert isinstance(table, SymbolTableSection)
    named = [each for each in table.iter_symbols() if each.name and each["st_info"]["bind"] == "STB_GLOBAL"]
    undefined = {each.name for each in named if each["st_shndx"] == "SHN_UNDEF"}
    return {each.name for each in named} - undefined, undefined, elf["e_machine"]


@pytest.mark.parametrize("core", sorted(CORES))
def test_every_kind(shared: Path, core: str) -> None:
    model, _ = import_model(shared / "models" / "ic_resnet_int8.tflite", None, standard_patterns())
    target = LlvmTarget(triple=CORES[core].triple, cpu=CORES[core].cpu, features=CORES[core].features)
    seen = set()
    for operator in model.operators:
        if operator.kind in KINDS and operator.kind not in seen:
            seen.add(operator.kind)
            name = lower_operator(operator, model).function.name
            defined, undefined, machine = symbols(lower_operator_object(operator, model, name, target))
            assert defined == {name}
            assert undefined <= library()
            assert machine == MACHINES[core]
    assert {"conv2d", "dense", "add"} <= seen
