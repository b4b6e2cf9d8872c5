"""What lowering C first is worth on a real model and a plausible chip. `docs/c-first.md` shows the table;
`pytest -m slow --update-golden tests/e2e/test_c_first.py` writes."""

from functools import cache
from itertools import product
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.printed import text
from target_arch.run.bundles.write import write_bundle
from target_arch.run.verification.verify import verify
from target_arch.soc import read_soc
from target_arch.stages.lowering import ladder as lower_all
from tests.e2e.conftest import DIGITS

PAGE = Path(__file__).parents[2] / "docs" / "c-first.md"
CHIP = read_soc(DIGITS.parent / "mcu_conv.toml")
KIB = 1024
SIZES = range(17, 23)


@cache
def compiled(kib: int, order: str, retiles: int = lower_all.RETILES) -> CompiledModel:
    """The digits model on the chip with that much SRAM; `retiles` is how often a smaller budget is tried."""
    soc = evolve(CHIP, memories=tuple(evolve(memory, size=kib * KIB) for memory in CHIP.memories))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower_all, "RETILES", retiles)
        return compile_model(CompileRequest(model_path=DIGITS, soc=soc, lowering_order=order))


def run(made: CompiledModel) -> float:
    assert made.execution is not None
    return made.execution.makespan


def test_the_old_order_overflows_where_c_first_fits_at_once() -> None:
    first, old = compiled(20, "c-first"), compiled(20, "accelerators-first")
    assert first.attempts == ()
    assert [(attempt.kind, attempt.operator) for attempt in old.attempts] == [("re-tile", "conv2d_4")]
    assert run(first) == pytest.approx(run(old), rel=0.01)


def test_without_a_remedy_the_old_order_is_slower() -> None:
    first, old = compiled(20, "c-first", 0), compiled(20, "accelerators-first", 0)
    assert first.attempts == ()
    assert {attempt.kind for attempt in old.attempts} == {"re-place"}
    assert run(first) < run(old) / 1.5


def test_what_fits_is_right(tmp_path: Path) -> None:
    """The engine's tiles among the tensors of the CPU."""
    write_bundle(compiled(20, "c-first").bundle, tmp_path / "bundle")
    verification = verify(DIGITS, tmp_path / "bundle", count=20)
    assert verification.passed, str(verification)


def row(kib: int) -> tuple[str, ...]:
    cells = [f"{kib} KiB"]
    for retiles in (lower_all.RETILES, 0):
        for order in ("c-first", "accelerators-first"):
            made = compiled(kib, order, retiles)
            cells += [str(len(made.attempts)), text.duration(run(made))]
    return tuple(cells)


HEADER = ("SRAM", "tried", "c-first", "tried", "acc.-first", "tried", "c-first", "tried", "acc.-first")


@pytest.mark.slow
def test_the_page_shows_the_table(pytestconfig: pytest.Config) -> None:
    """And what the page says below: C first never takes more attempts, and without re-tiling is as fast."""
    for kib, retiles in product(SIZES, (lower_all.RETILES, 0)):
        first, old = (compiled(kib, order, retiles) for order in ("c-first", "accelerators-first"))
        assert len(first.attempts) <= len(old.attempts)
        assert retiles or run(first) <= run(old)
    table = text.table(HEADER, [row(kib) for kib in SIZES], right=range(1, len(HEADER)))
    page = PAGE.read_text()
    start = page.index(HEADER[0] + "  ")
    stood = page[start : page.index("```", start)]
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(page.replace(stood, table))
        return
    assert stood == table
