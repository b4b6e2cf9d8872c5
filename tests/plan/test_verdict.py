"""The first line about a model: its time, what that is spent on, its bytes."""

from attrs import evolve

from target_arch import compile
from target_arch.plan.printed.verdict import verdict
from tests.e2e.conftest import DIGITS


def test_on_one_core() -> None:
    entry = compile(DIGITS, "mcu_m7").manifest.models[0]
    assert entry.execution is not None
    slowest: dict[str, float] = {}
    for span in entry.execution.entries:
        slowest[span.what] = slowest.get(span.what, 0.0) + span.end - span.start
    operator = max(slowest, key=lambda name: slowest[name])
    said = verdict(entry)
    assert said.startswith("fits: 2.")
    assert ", host_cpu busy for 100% of it, at most " in said
    assert f" less without {operator} on host_cpu; " in said
    assert said.endswith("; 13,104 B of constants, 2,048 B of RAM, flash.constants 1% full")


def test_of_a_chip_with_four_kinds() -> None:
    made = compile(DIGITS, "zynq_edge")
    said = verdict(made.manifest.models[0])
    used = {name: pool.peak for name, pool in made.manifest.models[0].pools.items()}
    constants = sum(peak for name, peak in used.items() if name.endswith(".constants"))
    assert f"; {constants:,} B of constants, {sum(used.values()) - constants:,} B of RAM, " in said
    assert made.models[0].summary.startswith(f"digits_int8 {said}\n")
    assert str(made.report()).startswith(f"digits_int8 {said}\n")
    assert f"F{said[1:]}." in made.report().page


def test_without_a_run() -> None:
    entry = compile(DIGITS, "mcu_m7").manifest.models[0]
    assert verdict(evolve(entry, execution=None)) == (
        "fits: 13,104 B of constants, 2,048 B of RAM, flash.constants 1% full"
    )


def test_bytes_of_the_caller_are_not_the_bundles() -> None:
    entry = compile(DIGITS, "mcu_m7", io="caller").manifest.models[0]
    own = sum(pool.peak for name, pool in entry.pools.items() if name == "sram")
    assert f", {own:,} B of RAM" in verdict(entry)
