"""`check` accepts what `compile` can use: two memories of the host, and ways through memories of others."""

from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.resources import soc_configs
from target_arch.soc import SoC
from target_arch.soc.files.soc_file import parse_soc
from target_arch.soc.host_copies import with_host_copies
from target_arch.soc.model import CopyPath

TWO = """\
schema = 1
name = "two"
[memory.work]
base = 0x20000000
size = "256 KiB"
[memory.shared]
base = 0x30000000
size = "256 KiB"
[target_arch.cpu]
backend = "c"
host = true
device = { type = "kDLCPU", id = 0 }
clock = "100 MHz"
memory = ["work"]
[memory_mode.default]
workspace = ["work"]
constants = ["work"]
io = ["shared"]
[partitioning]
order = ["cpu"]
"""
DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_int8.onnx"


def test_the_host_copies_between_its_memories() -> None:
    soc = parse_soc(TWO, "two.toml")
    assert soc.copies == (CopyPath(source="work", target="shared"),)
    assert with_host_copies(soc) is soc


def test_a_declared_path_is_enough() -> None:
    declared = '[[copy]]\nfrom = "work"\nto = "shared"\nbandwidth = "1 MB/s"\n'
    assert len(parse_soc(TWO + declared, "two.toml").copies) == 1


@pytest.mark.parametrize("path", sorted(soc_configs().glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_descriptions_are_as_before(path: Path) -> None:
    import tomllib

    from target_arch.soc.files.build import draft

    made = draft(tomllib.loads(path.read_text())).soc
    assert isinstance(made, SoC)
    assert with_host_copies(made) is made


def test_it_compiles() -> None:
    from target_arch.pipeline import CompileRequest, compile_model

    made = compile_model(CompileRequest(model_path=DIGITS, soc=parse_soc(TWO, "two.toml")))
    assert made.plan.peaks


HOPS = (
    TWO
    + """
[memory.gate]
size = "8 KiB"
observers = { npu = 0x0 }
[memory.tile]
size = "8 KiB"
observers = { npu = 0x10000 }
[dma.mover]
[[copy]]
from = "work"
to = "gate"
engine = "mover"
[[copy]]
from = "gate"
to = "tile"
engine = "mover"
[[copy]]
from = "tile"
to = "work"
engine = "mover"
[target_arch.npu]
backend = "gemm_npu"
device = { type = "kDLExtDev", id = 0 }
memory = ["tile"]
"""
)


def test_two_hops_inside_of_a_device() -> None:
    text = HOPS.replace('order = ["cpu"]', 'order = ["npu", "cpu"]')
    with pytest.raises(DiagnosticError) as caught:
        parse_soc(text, "a.toml")
    (found,) = caught.value.diagnostics
    assert found.message == "no copy path leads from a memory the host sees to memory `tile`"
    assert found.hint == 'add a `[[copy]]` with `to = "tile"`; tensors do not rest in `gate` on their way'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('size = "256 KiB"', f'size = "{2**70} B"', "`size` has a number of more than 15 digits [bad-unit]"),
        (
            "[memory.work]",
            f"[memory.{'w' * 10_000}]",
            f"`{'w' * 24}…` has 10,000 characters [bad-identifier]",
        ),
    ],
)
def test_large_numbers_and_names(old: str, new: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_soc(TWO.replace(old, new, 1), "a.toml")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize("image", ["../x.elf", "/etc/passwd", "a/b.elf", "..", "a\\\\b"])
def test_images_are_names_of_files(image: str) -> None:
    text = (soc_configs() / "zynq_edge.toml").read_text().replace('"dsp.elf"', f'"{image}"')
    with pytest.raises(DiagnosticError) as caught:
        parse_soc(text, "a.toml")
    (found,) = caught.value.diagnostics
    assert (found.rule, found.message) == ("bad-text", "`image` must be the name of a file, without folders")


@pytest.mark.parametrize("value", ["0", "-1", "-0.5"])
def test_rates_are_above_zero(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from target_arch.cli import main

    path = tmp_path / "a.toml"
    path.write_text(TWO.replace('backend = "c"', f'backend = "c"\noptions = {{ macs_per_cycle = {value} }}'))
    assert main(["check", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"option `macs_per_cycle` of backend `c` must be above 0, not `{value}` [option-range]" in said
