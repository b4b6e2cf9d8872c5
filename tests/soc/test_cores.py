"""Cores in a SoC file: memories they share, cache lines, stacks, and what is said of a core without one."""

from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.soc import Cores, check_soc, parse_soc, show
from target_arch.soc.files.cost_file import parse_costs
from target_arch.soc.files.toml_writer import toml
from target_arch.soc.numbering import abi_hash

BAD = Path(__file__).parent / "bad"
CORES = 'cores = { shares = ["code", "sram"], stack = "2 KiB", wake = "1 us", coherent = true }'


def dual(cores: str = CORES, memory: str = "") -> str:
    """A SoC file of a host and a second core, which has these `cores`; `memory` are keys of its `sram`."""
    text = (BAD / "core-device.toml").read_text().replace("kDLExtDev", "kDLCPU")
    assert CORES in text
    return text.replace(CORES, cores).replace('size = "128 KiB"', f'size = "128 KiB"\n{memory}')


def test_shared_memories_are_observed_at_the_addresses_of_the_host() -> None:
    soc = parse_soc(dual(), "dual.toml")
    assert check_soc(soc) == ()
    assert soc.arch("second_cpu").cores == Cores(stack=2048, wake=1e-6, coherent=True)
    assert {memory.name: (memory.base, dict(memory.observers)) for memory in soc.memories} == {
        "code": (0x1000_0000, {"second_cpu": 0x1000_0000}),
        "sram": (0x3000_0000, {"second_cpu": 0x3000_0000}),
    }
    assert parse_soc(toml(soc), "written.toml") == soc
    assert abi_hash(parse_soc(dual(CORES.replace("2 KiB", "1 KiB")), "dual.toml")) != abi_hash(soc)


def test_buffers_have_lines_of_their_own_unless_cores_are_coherent() -> None:
    cached = "cached = true"
    assert parse_soc(dual(memory=cached), "dual.toml").own_line("sram") == 1
    apart = CORES.replace("coherent = true", "coherent = false")
    assert parse_soc(dual(apart, cached), "dual.toml").own_line("sram") == 64
    assert parse_soc(dual(apart), "dual.toml").own_line("sram") == 1, "there is no cache"


def test_the_summary_has_the_stack_of_every_core() -> None:
    lines = show(parse_soc(dual(), "dual.toml")).splitlines()
    at = lines.index("cores")
    assert lines[at + 1 : at + 3] == [
        "  core        stack  in    wakes in  caches",
        "  second_cpu  2 KiB  sram  1 us      coherent",
    ]


@pytest.mark.parametrize(
    ("cores", "said"),
    [
        (
            'cores = { shares = ["sram"] }',
            "dual.toml:28:1: error: `target_arch.second_cpu.cores` lacks `stack` [missing-key]\n"
            '   28 | cores = { shares = ["sram"] }\n'
            "      | ^^^^^",
        ),
        (
            "cores = 2",
            "dual.toml:28:9: error: `cores` must be a table, not an integer [wrong-type]\n"
            "   28 | cores = 2\n"
            "      |         ^",
        ),
        (
            'cores = { stack = "2 KiB", shares = ["slam"] }',
            "dual.toml:28:38: error: memory `slam` is not declared [unknown-memory]\n"
            '   28 | cores = { stack = "2 KiB", shares = ["slam"] }\n'
            "      |                                      ^^^^^^\n"
            "hint: did you mean `sram`?",
        ),
        (
            'cores = { stack = "2 KiB" }',
            "dual.toml:26:11: error: target_arch `second_cpu` works in memory `sram`, which it cannot see "
            "[not-observed]\n"
            '   26 | memory = ["sram"]\n'
            "      |           ^^^^^^\n"
            "dual.toml:9:9: note: `sram` is declared here\n"
            "    9 | [memory.sram]\n"
            "      |         ^^^^\n"
            "hint: add `second_cpu` to its `observers`",
        ),
    ],
)
def test_what_is_wrong_is_said_once(cores: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_soc(dual(cores), "dual.toml")
    assert str(caught.value) == said


def test_memories_of_coherent_cores_alone_have_tensors_at_any_element() -> None:
    soc = parse_soc(dual(), "dual.toml")
    assert [soc.is_of_cores(memory.name) for memory in soc.memories] == [True, True]
    assert not parse_soc(dual(CORES.replace("coherent = true", "coherent = false")), "dual.toml").is_of_cores(
        "sram"
    )
    alone = CORES.replace('"code", "sram"', '"sram"')
    assert not parse_soc(dual(alone), "dual.toml").is_of_cores("code"), "no core shares it"


def test_a_cost_file_says_what_a_line_takes() -> None:
    soc = parse_soc(dual(), "dual.toml")
    text = '{"schema": 1, "cores": {"second_cpu": {"line": "11 ns"}}}'
    applied = parse_costs(text, "c.json", soc).applied(soc)
    assert applied.arch("second_cpu").line == pytest.approx(11e-9)
    assert applied.arch("second_cpu").wake == soc.arch("second_cpu").wake
    assert applied.host == soc.host
