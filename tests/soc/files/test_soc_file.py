"""Reading: values, names, several mistakes at once, and text nobody meant to write."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_arch.diagnostics import DiagnosticError
from target_arch.resources import soc_configs
from target_arch.soc import (
    CopyPath,
    DLDevice,
    Dma,
    LoadProcess,
    Memory,
    MemoryMode,
    SoC,
    TargetArch,
    parse_soc,
    place_faults,
    read_soc,
    shipped_socs,
)
from target_arch.soc.faults import Fault

DUO = """\
schema = 1
name = "duo"
[memory.sram]
base = 0x2000_0000
size = "64 KiB"
read_bandwidth = "1.6 GB/s"
latency = "24 ns"
cached = true
[memory.tile]
size = 8192
per_instance = true
observers = { npu = 0x10 }
[dma.mover]
channels = 2
[[copy]]
from = "sram"
to = "tile"
engine = "mover"
setup = "2 us"
alignment = 16
max_bytes = "64 KiB"
dimensions = 2
cache = "clean source"
[[copy]]
from = "tile"
to = "sram"
engine = "mover"
[target_arch.cpu]
backend = "c"
host = true
device = { type = "kDLCPU", id = 0 }
clock = "667 MHz"
memory = ["sram"]
[target_arch.npu]
backend = "gemm_npu"
instances = 2
device = { type = "kDLExtDev", id = 3 }
memory = ["tile"]
buffers = { acc = "tile" }
load = { process = "bitstream", image = "npu.bit", bytes = "2 MiB", time = "12 ms" }
options = { rows = 16, fast = true }
[memory_mode.default]
workspace = ["sram"]
constants = ["sram"]
io = ["sram"]
[partitioning]
order = ["npu", "cpu"]
[lowering]
order = ["npu", "cpu"]
"""


def duo() -> SoC:
    """What DUO describes, built in Python."""
    tile = {"size": 8192, "observers": {"npu": 0x10}, "replica_of": "tile"}
    fast = {
        "engine": "mover",
        "setup": 2e-6,
        "alignment": 16,
        "max_bytes": 65536,
        "dimensions": 2,
        "cache": "clean source",
    }
    sram = Memory(name="sram", size=65536, base=0x2000_0000, read_bandwidth=1.6e9, latency=24e-9, cached=True)
    cpu = TargetArch(
        name="cpu",
        backend="c",
        host=True,
        device=DLDevice(type="kDLCPU", id=0),
        clock=667e6,
        memory=("sram",),
    )
    npu = TargetArch(
        name="npu",
        backend="gemm_npu",
        instances=2,
        device=DLDevice(type="kDLExtDev", id=3),
        memory=("tile",),
        buffers={"acc": "tile"},
        load=LoadProcess(process="bitstream", image="npu.bit", bytes=2 * 2**20, time=0.012),
        options={"rows": 16, "fast": True},
    )
    return SoC(
        name="duo",
        memories=(sram, Memory(name="tile_0", **tile), Memory(name="tile_1", **tile)),
        dmas=(Dma(name="mover", channels=2),),
        copies=(
            CopyPath(source="sram", target="tile_0", **fast),
            CopyPath(source="sram", target="tile_1", **fast),
            CopyPath(source="tile_0", target="sram", engine="mover"),
            CopyPath(source="tile_1", target="sram", engine="mover"),
        ),
        archs=(cpu, npu),
        modes=(MemoryMode(name="default", workspace=("sram",), constants=("sram",), io=("sram",)),),
        partitioning=("npu", "cpu"),
        lowering=("npu", "cpu"),
    )


def test_every_value_arrives() -> None:
    assert parse_soc(DUO, "duo.toml") == duo()


@pytest.mark.parametrize("text", [DUO.replace("\n", "\r\n"), "\ufeff" + DUO])
def test_windows_editors_may_write_it(text: str, tmp_path: Path) -> None:
    file = tmp_path / "duo.toml"
    file.write_bytes(text.encode())
    assert read_soc(file) == duo()


def test_each_instance_has_its_own() -> None:
    first, second = parse_soc(DUO, "duo.toml").instances[1:]
    assert (first.name, first.device, first.memory, first.buffers) == (
        "npu[0]",
        DLDevice(type="kDLExtDev", id=3),
        ("tile_0",),
        {"acc": "tile_0"},
    )
    assert (second.identifier, second.device.id, second.memory) == ("npu_1", 4, ("tile_1",))


def test_an_instance_sees_its_own_replica_alone() -> None:
    soc = parse_soc(DUO, "duo.toml")
    seen = {i.name: [m.name for m in soc.memories if soc.sees(i, m.name)] for i in soc.instances}
    assert seen == {"cpu": ["sram"], "npu[0]": ["tile_0"], "npu[1]": ["tile_1"]}


def test_faults_that_others_find_get_their_places(tmp_path: Path) -> None:
    file = tmp_path / "duo.toml"
    file.write_text(DUO)
    fault = Fault(rule="bad-option", path=("target_arch", "npu", "options", "rows"), message="`rows` is odd")
    (placed,) = place_faults([fault], file)
    assert str(placed).replace(f"{tmp_path}/", "") == (
        "duo.toml:41:20: error: `rows` is odd [bad-option]\n"
        "   41 | options = { rows = 16, fast = true }\n"
        "      |                    ^^"
    )


def test_visible_replicas_lie_one_after_the_other_and_are_pools() -> None:
    text = DUO.replace("size = 8192\n", "size = 8192\nbase = 0x1000_0000\n")
    text = text.replace('workspace = ["sram"]', 'workspace = ["tile", "sram"]')
    soc = parse_soc(text, "duo.toml")
    assert [memory.base for memory in soc.memories[1:]] == [0x1000_0000, 0x1000_2000]
    assert soc.mode().workspace == ("tile_0", "tile_1", "sram")


def test_a_single_instance_keeps_the_plain_name() -> None:
    soc = parse_soc(DUO.replace("instances = 2\n", ""), "duo.toml")
    assert [memory.name for memory in soc.memories] == ["sram", "tile"]


def test_lowering_has_a_default() -> None:
    assert parse_soc(DUO.partition("[lowering]")[0], "duo.toml").lowering == "c-first"


def test_shipped_names() -> None:
    assert shipped_socs() == (
        *("corstone_u55", "mcu_m55", "mcu_m7", "orin_like", "quad_conv", "vta_edge", "zynq_edge"),
    )
    for name in shipped_socs():
        assert read_soc(name).name == name
        assert read_soc(soc_configs() / f"{name}.toml") == read_soc(name)


def test_devices_of_the_shipped_socs() -> None:
    devices = {name: [str(i.device) for i in read_soc(name).instances] for name in shipped_socs()}
    assert devices == {
        "corstone_u55": ["kDLCPU:0", "kDLExtDev:0"],
        "mcu_m55": ["kDLCPU:0"],
        "mcu_m7": ["kDLCPU:0"],
        "orin_like": ["kDLCPU:0", "kDLCUDA:0"],
        "quad_conv": ["kDLCPU:0", "kDLExtDev:0", "kDLExtDev:1", "kDLExtDev:2", "kDLExtDev:3"],
        "vta_edge": ["kDLCPU:0", "kDLExtDev:0"],
        "zynq_edge": ["kDLCPU:0", "kDLCPU:1", "kDLExtDev:0", "kDLExtDev:1"],
    }


SEVERAL = (
    ("name = ", "nmae = ", 2, "unknown-key"),
    ('"64 KiB"\nread', '"64 MHz"\nread', 5, "bad-unit"),
    ("cached = true", 'cached = "yes"', 8, "wrong-type"),
    ("channels = 2", "channels = 0", 14, "out-of-range"),
    ('to = "tile"', 'to = "tiel"', 17, "unknown-memory"),
    ("alignment = 16", "alignment = 24", 20, "out-of-range"),
    ('"clean source"', '"cleen source"', 23, "bad-choice"),
    ('"kDLExtDev", id = 3', '"kDLCPU", id = 0', 37, "same-device"),
    ('io = ["sram"]', "io = []", 45, "empty-list"),
    ('["npu", "cpu"]\n[low', '["npu"]\n[low', 47, "missing-from-order"),
)


def test_all_mistakes_at_once_in_the_order_of_the_file_and_none_that_only_follows() -> None:
    text = DUO
    for right, wrong, _, _ in SEVERAL:
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    with pytest.raises(DiagnosticError) as raised:
        parse_soc(text, "duo.toml")
    found = [(d.place.line, d.rule) for d in raised.value.diagnostics if not isinstance(d.place, str)]
    assert found == [(line, rule) for _, _, line, rule in SEVERAL]


@pytest.mark.parametrize(("right", "wrong", "line", "rule"), SEVERAL)
def test_each_mistake_alone_is_one_message(right: str, wrong: str, line: int, rule: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        parse_soc(DUO.replace(right, wrong), "duo.toml")
    assert [diagnostic.rule for diagnostic in raised.value.diagnostics] == [rule]


def test_empty_sections_are_no_description() -> None:
    text = 'schema = 1\nname = "none"\n[memory]\n[target_arch]\n[memory_mode]\n[partitioning]\norder = []\n'
    with pytest.raises(DiagnosticError) as raised:
        parse_soc(text, "none.toml")
    assert [diagnostic.rule for diagnostic in raised.value.diagnostics] == [
        "no-host",
        "no-default-mode",
        "empty-list",
    ]


def outcome(text: str) -> None:
    """A SoC or messages, never another exception; messages always print."""
    try:
        parse_soc(text, "duo.toml")
    except DiagnosticError as error:
        shown = [str(diagnostic) for diagnostic in error.diagnostics]
    else:
        return
    assert shown
    assert all(": error: " in text for text in shown)


LINES = DUO.splitlines()
VALUES = (
    "-1",
    "0",
    "1e400",
    "nan",
    "true",
    '""',
    '"x"',
    "[]",
    "{}",
    "[[1]]",
    "1979-05-27",
    "99999999999999999999",
)


@given(st.integers(0, len(LINES) - 1), st.sampled_from(VALUES))
@settings(deadline=None, max_examples=150)
def test_any_value_anywhere_is_judged(number: int, value: str) -> None:
    key, equals, _ = LINES[number].partition(" = ")
    if equals:
        outcome("\n".join([*LINES[:number], f"{key} = {value}", *LINES[number + 1 :]]))


@given(st.sets(st.integers(0, len(LINES) - 1), max_size=6))
@settings(deadline=None, max_examples=100)
def test_any_lines_may_be_missing(numbers: set[int]) -> None:
    outcome("\n".join(line for number, line in enumerate(LINES) if number not in numbers))


@pytest.mark.slow
@given(st.integers(0, len(DUO)), st.integers(0, 12), st.text(max_size=8))
@settings(deadline=None, max_examples=200)
def test_any_text_is_judged(start: int, length: int, inserted: str) -> None:
    outcome(DUO[:start] + inserted + DUO[start + length :])


@pytest.mark.parametrize(
    "text", ["", "[", "schema = 1", "schema = 1\n" + "a." * 3000 + "b = 1", "x = " + "9" * 9000]
)
def test_extremes(text: str) -> None:
    with pytest.raises(DiagnosticError):
        parse_soc(text, "x.toml")


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from target_arch.soc import read_soc; read_soc('zynq_edge');"
        "print([m for m in ('tvm', 'numpy', 'networkx', 'rich', 'onnx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_phases_of_lowering_may_have_their_own_order() -> None:
    alone = DUO.partition("[lowering]")[0] + '[lowering]\ns-tir = "program"\n'
    soc = parse_soc(alone, "duo.toml")
    assert (soc.lowering, soc.lowering_phases) == ("c-first", {"s-tir": "program"})
    both = parse_soc(alone + 'order = ["npu", "cpu"]\ncodegen = ["cpu", "npu"]\n', "duo.toml")
    assert both.lowering == ("npu", "cpu")
    assert both.lowering_phases == {"s-tir": "program", "codegen": ("cpu", "npu")}


def test_an_unknown_phase_of_lowering() -> None:
    wrong = DUO + 'nstir = "program"\n'
    with pytest.raises(DiagnosticError) as caught:
        parse_soc(wrong, "duo.toml")
    assert "`nstir`" in str(caught.value)
    assert "did you mean `ns-tir`?" in str(caught.value)
