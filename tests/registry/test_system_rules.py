"""What a SoC file gets wrong about load processes, ports and lowering orders, each with its whole message."""

from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.registry import PlugIns
from target_arch.soc import place_faults, read_soc
from tests.rule_groups import rules_of
from tests.systems import PROCESSES

HERE = Path(__file__).parent
RULES = rules_of("soc-file-and-systems")
PYTHON_ONLY = ("same-number",)
"""Rules that no file breaks with the plug-ins that are shipped."""


@pytest.mark.parametrize("rule", sorted(set(RULES) - set(PYTHON_ONLY)))
def test_rule(rule: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    file = f"bad/{rule}.toml"
    found = place_faults(PlugIns.discover().system_faults(read_soc(file)), file)
    golden(rule, "\n\n".join(map(str, found)) + "\n")
    assert {each.rule for each in found} == {rule}


def test_every_rule_has_its_file() -> None:
    assert {file.stem for file in (HERE / "bad").glob("*.toml")} == set(RULES) - set(PYTHON_ONLY)


def test_two_load_processes_of_one_number() -> None:
    plug_ins = PlugIns.discover()
    for name in ("fuses", "tape"):
        like = evolve(PROCESSES["bitstream"], name=name, number=300, macro="")
        plug_ins.load_processes.add(like, origin=f"the {name} test")
    soc = read_soc("zynq_edge")
    wanted = {"dsp_cpu": "fuses", "fpga_conv2d": "tape"}
    archs = tuple(
        evolve(arch, load=evolve(arch.load, process=wanted.get(arch.name, arch.load.process)))
        for arch in soc.archs
    )
    (fault,) = plug_ins.faults(evolve(soc, archs=archs))
    assert fault.message == (
        "load processes `fuses` and `tape` have one number, 300: the fuses test; the tape test"
    )
