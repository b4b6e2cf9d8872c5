"""SoC files of real chips are right and say where they are from; processors have sources."""

import re
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.cli import main
from target_arch.diagnostics import DiagnosticError
from target_arch.registry import Registry
from target_arch.soc import SoC, parse_soc, read_soc, shipped_chips, shipped_socs
from target_arch.soc.chip.chip import Chip
from target_arch.soc.chip.processors import InstructionClass, processors
from target_arch.soc.files.chip_listing import elements, listed_chips
from target_arch.soc.files.toml_writer import toml
from target_arch.soc.numbering import abi_hash
from target_arch.soc.words import InstructionSet

CHIPS = shipped_chips()
PAGE = Path(__file__).parents[3] / "docs" / "chips.md"


@pytest.mark.parametrize("name", CHIPS)
def test_a_chip_is_a_soc_and_says_what_it_is_from(name: str) -> None:
    soc = read_soc(name)
    assert soc.name == name
    assert soc.chip is not None
    assert soc.chip.part
    assert soc.chip.published
    assert soc.chip.assumed
    assert Registry.from_soc(soc)[name]["host_cpu"]
    assert parse_soc(toml(soc), "again.toml") == soc


@pytest.mark.parametrize("name", CHIPS)
def test_a_factor_or_a_power_says_its_origin(name: str) -> None:
    chip = read_soc(name).chip
    assert chip is not None
    said = " ".join((*chip.fitted, *chip.assumed))
    for key in ("slowdown", "active", "idle"):
        assert not getattr(chip, key) or f"{key}:" in said, key


def test_there_are_at_least_twelve_beside_the_examples() -> None:
    assert len(CHIPS) >= 12
    assert not set(CHIPS) & set(shipped_socs())


def test_every_processor_has_a_source_and_whole_classes() -> None:
    scalar = {
        InstructionClass.ALU,
        InstructionClass.MULTIPLY,
        InstructionClass.LOAD,
        InstructionClass.STORE,
        InstructionClass.BRANCH,
        InstructionClass.DIVIDE,
    }
    for name, processor in processors().items():
        assert processor.source, name
        assert scalar <= processor.cycles.keys(), name
        assert all(0 < cycles < 100 for cycles in processor.cycles.values()), name
        assert processor.issue in (1, 2), name


def test_an_instruction_takes_what_its_processor_and_chip_say() -> None:
    pairs = InstructionSet.ARMV7E_M
    m4, m7 = processors()["cortex-m4"], processors()["cortex-m7"]
    assert 1 < m4.per_instruction(pairs) < 1.2
    assert 0.6 < m7.per_instruction(pairs) < 0.8
    chip = Chip(part="x", processor={"host_cpu": "cortex-m4"}, slowdown={"host_cpu": 1.5})
    assert chip.cycles_per_instruction("host_cpu", pairs) == pytest.approx(1.5 * m4.per_instruction(pairs))
    assert chip.cycles_per_instruction("other", pairs) == 1.0


def test_what_is_known_of_a_part_changes_no_header() -> None:
    soc = read_soc("stm32l4r5")
    assert abi_hash(soc) == abi_hash(evolve(soc, chip=None))


def edited(old: str, new: str) -> str:
    text = toml(read_soc("stm32l4r5"))
    assert old in text
    with pytest.raises(DiagnosticError) as caught:
        parse_soc(text.replace(old, new), "a.toml")
    return re.sub(r"^a\.toml:\d+:\d+: ", "", str(caught.value).split("\n")[0])


def test_mistakes_in_what_is_known_of_a_part() -> None:
    assert edited('"cortex-m4"', '"cortex-m9"') == "error: `host_cpu` cannot be `cortex-m9` [bad-choice]"
    assert edited("host_cpu = 1.52", "host_cpu = 0") == "error: `host_cpu` must be above 0 [out-of-range]"
    assert (
        edited("slowdown = { host_cpu", "slowdown = { cpu")
        == "error: target_arch `cpu` is not declared [unknown-target-arch]"
    )
    assert edited('part = "', 'parts = "') == "error: unknown key `parts` [unknown-key]"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chips"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(CHIPS)
    assert lines[0].split() == ["chip", "part", "computes", "with", "published", "fitted", "assumed"]
    assert any("ra8p1" in line and "cortex-m85 at 1 GHz, ethos_u at 500 MHz" in line for line in lines)


def section(name: str, soc: SoC) -> str:
    chip = soc.chip
    assert chip is not None
    memories = "; ".join(f"`{m.name}` {m.size // 1024:,} KiB" for m in soc.memories)
    facts = [
        f"- {word}: {statement}"
        for word in ("published", "fitted", "assumed")
        for statement in getattr(chip, word)
    ]
    return "\n".join(
        (f"## `{name}`", "", f"{chip.part}: {', '.join(elements(soc, chip))}. {memories}.", "", *facts, "")
    )


def page() -> str:
    rows = [
        f"| [`{c.name}`](#{c.name}) | {c.part} | {', '.join(c.elements)} | {c.fitted} | {c.assumed} |"
        for c in listed_chips()
    ]
    table = "\n".join(
        ("| chip | part | computes with | fitted | assumed |", "|---|---|---|---:|---:|", *rows)
    )
    processor_rows = [
        f"| `{p.name}` | {p.issue} | {_cycles(p.cycles)} | {p.source} | {'; '.join(p.assumed)} |"
        for p in processors().values()
    ]
    head = "| processor | issues | cycles of an instruction | source | assumed |\n|---|---:|---|---|---|"
    return (
        HEAD.format(table=table)
        + "\n".join(section(name, read_soc(name)) for name in CHIPS)
        + (TAIL.format(table="\n".join((head, *processor_rows))))
    )


def _cycles(cycles: object) -> str:
    assert isinstance(cycles, dict)
    return ", ".join(f"{kind} {count:g}" for kind, count in cycles.items())


HEAD = """# Real chips

`target-arch chips` lists the SoC files of real parts; `--soc NAME` takes one. Their addresses and sizes are
from documents that each file names; what nothing states is marked as assumed, and what was fitted says to
what and how far off it is. Nobody has run a bundle of this project on one of them. The other shipped SoC
files resemble no part. This page is made from the files; [the SoC file](soc-file.md) has the keys.

{table}

"""
TAIL = """
## Processors

Cycles of an instruction of each class where its operands are at hand
(`target_arch/soc/chip/processors.toml`); misses of caches, wait states and the compiler are in a chip's
`slowdown`. The estimate of a kernel in C is its instructions times the cycles of the instructions that such
kernels execute, times that factor.

{table}
"""


def test_the_page(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()
