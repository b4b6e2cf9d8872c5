"""One `[[copy]]` table may stand for many paths: which ones, with which duty, where its mistakes are told."""

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.soc import SoC, parse_soc
from target_arch.soc.copy_tables import Places, expanded
from target_arch.soc.numbering import abi_hash

CHIP = """\
schema = 1
name = "chip"
[memory.ddr]
base = 0x8000_0000
size = "1 MiB"
cached = true
[memory.sram]
base = 0x2000_0000
size = "64 KiB"
[memory.inp]
size = 1024
observers = { npu = 0x0 }
[memory.tile]
size = 1024
per_instance = true
observers = { npu = 0x1000 }
[dma.mover]
COPIES
[target_arch.cpu]
backend = "c"
host = true
device = { type = "kDLCPU", id = 0 }
memory = ["sram"]
[target_arch.npu]
backend = "gemm_npu"
instances = 2
device = { type = "kDLExtDev", id = 0 }
memory = ["inp", "tile"]
[memory_mode.default]
workspace = ["sram", "ddr"]
constants = ["ddr"]
io = ["sram"]
[partitioning]
order = ["npu", "cpu"]
"""


def table(source: str, target: str, *more: str) -> str:
    return "\n".join(("[[copy]]", f"from = {source}", f"to = {target}", 'engine = "mover"', *more))


IN = table('["ddr", "sram"]', '["inp", "tile"]', 'cache = "clean source"')
OUT = table('["inp", "tile"]', '["ddr", "sram"]', 'cache = "invalidate destination"')


def chip(*tables: str) -> SoC:
    return parse_soc(CHIP.replace("COPIES", "\n".join(tables)), "chip.toml")


def messages(*tables: str) -> list[str]:
    with pytest.raises(DiagnosticError) as raised:
        chip(*tables)
    return str(raised.value).splitlines()


def paths(soc: SoC) -> list[tuple[str, str, str]]:
    return [(copy.source, copy.target, copy.cache) for copy in soc.copies]


def test_every_pair_is_a_path_and_owes_its_own_cached_end() -> None:
    assert paths(chip(IN, OUT)) == [
        ("ddr", "inp", "clean source"),
        ("ddr", "tile_0", "clean source"),
        ("ddr", "tile_1", "clean source"),
        ("sram", "inp", "none"),
        ("sram", "tile_0", "none"),
        ("sram", "tile_1", "none"),
        ("inp", "ddr", "invalidate destination"),
        ("inp", "sram", "none"),
        ("tile_0", "ddr", "invalidate destination"),
        ("tile_1", "ddr", "invalidate destination"),
        ("tile_0", "sram", "none"),
        ("tile_1", "sram", "none"),
    ]


def test_a_list_is_only_a_way_to_write_several_tables() -> None:
    owed = 'cache = "clean source"'
    apart = (
        table('"ddr"', '"inp"', owed),
        table('"ddr"', '["tile"]', owed),
        table('["sram"]', '"inp"'),
        table('"sram"', '"tile"'),
        OUT,
    )
    assert chip(*apart) == chip(IN, OUT)
    assert abi_hash(chip(*apart)) == abi_hash(chip(IN, OUT))


def test_both_duties_are_kept_each_for_its_end() -> None:
    written = {"from": ["ddr", "inp"], "to": ["psram", "sram"]}
    values = {"source": ("ddr", "inp"), "target": ("psram", "sram"), "cache": "clean and invalidate"}
    places = Places(replicas={}, uncached=("inp", "sram"))
    found = {(copy.source, copy.target): copy.cache for copy, _ in expanded(0, written, values, places)}
    assert found == {
        ("ddr", "psram"): "clean and invalidate",
        ("ddr", "sram"): "clean source",
        ("inp", "psram"): "invalidate destination",
        ("inp", "sram"): "none",
    }


def test_a_fault_is_told_at_the_element_of_the_list() -> None:
    assert messages(IN, table('["inp", "tile"]', '["ddr", "srma"]')) == [
        "chip.toml:25:14: error: memory `srma` is not declared [unknown-memory]",
        '   25 | to = ["ddr", "srma"]',
        "      |              ^^^^^^",
        "hint: did you mean `sram`?",
    ]


def test_a_pair_in_two_tables_is_told_with_both_elements() -> None:
    assert messages(IN, OUT, table('"sram"', '["ddr", "inp"]')) == [
        "chip.toml:30:14: error: copy path from `sram` to `inp` by `mover` is declared twice "
        "[duplicate-copy]",
        '   30 | to = ["ddr", "inp"]',
        "      |              ^^^^^",
        "chip.toml:20:7: note: the first one is here",
        '   20 | to = ["inp", "tile"]',
        "      |       ^^^^^",
    ]


def test_a_duty_that_no_path_of_a_table_owes_is_refused() -> None:
    assert messages(IN, table('["inp", "tile"]', '"sram"', 'cache = "invalidate destination"')) == [
        "chip.toml:27:9: error: cache duty `invalidate destination` is useless: memory `sram` is not cached "
        "[useless-cache-duty]",
        '   27 | cache = "invalidate destination"',
        "      |         ^^^^^^^^^^^^^^^^^^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (IN.replace('"ddr"', '"drd"'), "unknown-memory"),
        (IN.replace('["inp", "tile"]', '["inp", "inp"]'), "repeated-name"),
        (IN.replace('["inp", "tile"]', "[]"), "empty-list"),
        (IN.replace('["inp", "tile"]', '["inp", 3]'), "wrong-type"),
        (IN.replace('["inp", "tile"]', "3"), "wrong-type"),
        (IN.replace('["inp", "tile"]', '""'), "bad-text"),
    ],
)
def test_nothing_that_only_follows_is_told(wrong: str, rule: str) -> None:
    told = [line for line in messages(wrong, OUT) if ": error: " in line]
    assert len(told) == 1
    assert told[0].endswith(f"[{rule}]")


def test_a_doubtful_cache_is_not_taken_for_none() -> None:
    text = CHIP.replace("COPIES", f"{IN}\n{OUT}").replace("cached = true", 'cached = "yes"')
    with pytest.raises(DiagnosticError) as raised:
        parse_soc(text, "chip.toml")
    assert [diagnostic.rule for diagnostic in raised.value.diagnostics] == ["wrong-type"]
