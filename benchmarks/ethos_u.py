"""Ethos-U: chains compiled with the memory that really remains, against the whole SRAM and against the least.

    python -m benchmarks.ethos_u [MODELS]

For every int8 model in the folder (by default `../shared/models`) and several sizes of SRAM, one row: Vela
with the arena that the ledger guarantees (what `target-arch compile` does), Vela told that the whole SRAM is
its arena, and Vela told to take as little as it can. `live` is what others hold of the SRAM while the unit
works, in the same plan. An arena that does not fit beside it overflows: the bundle would be wrong. Cycles are
Vela's own; all three columns come from the same run, with the same configuration of memories.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve, frozen

from target_arch.backends.ethos_u import backend
from target_arch.backends.ethos_u.config import config_text, unit_of
from target_arch.backends.ethos_u.graph import graph_of
from target_arch.backends.ethos_u.tflite_file import tflite_bytes
from target_arch.backends.ethos_u.vela import PERFORMANCE, SIZE, Compiled, compile_file, installed
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.memory import Arena
from target_arch.plan.partitions import Partition
from target_arch.soc import read_soc
from target_arch.soc.model import SoC

SHARES = (1.0, 0.8, 0.65, 0.5)
"""Sizes of the SRAM, as parts of what the model takes where there is plenty."""
ON_HOST: Mapping[str, Mapping[str, str]] = {"ic_resnet_int8": {"add_7": "host_cpu"}}
"""Models of which one more row has an operator on the host, so that the chain is cut and more is alive."""
UNIT = "npu"


@frozen(kw_only=True)
class Row:
    """One model with one size of SRAM. Bytes and cycles; `known` is None where the model was refused."""

    what: str
    sram: int
    live: int
    known: CompiledModel | None
    blind: tuple[Compiled, ...]
    least: tuple[Compiled, ...]


def main() -> int:
    """Exit codes as those of `target-arch`: 2 no models there, 3 Vela is missing."""
    parser = argparse.ArgumentParser(prog="benchmarks.ethos_u", description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="?", type=Path, default=Path("../shared/models"))
    models = sorted(parser.parse_args().models.glob("*_int8.tflite"))
    if not models:
        print("no `*_int8.tflite` there", file=sys.stderr)
        return 2
    if not installed():
        print('Vela is missing: pip install "target-arch[ethos-u]"', file=sys.stderr)
        return 3
    print(HEADING)
    for model in models:
        for row in rows(model):
            print(line(row), flush=True)
    return 0


def rows(model: Path) -> Iterator[Row]:
    """The rows of a model, whole on the unit first."""
    yield from _rows(model, {})
    if model.stem in ON_HOST:
        yield from _rows(model, ON_HOST[model.stem])


def _rows(model: Path, require: Mapping[str, str]) -> Iterator[Row]:
    plenty = read_soc("corstone_u55")
    first = compile_model(CompileRequest(model_path=model, soc=plenty, require=require))
    chains = [part for part in first.graph.partitions if part.instance == UNIT]
    live = _live(first)
    what = model.stem + "".join(f", `{name}` on {where}" for name, where in require.items())
    for share in SHARES:
        size = int(first.plan.peaks[Arena("sram")] * share) // 16 * 16
        soc = _with_sram(plenty, size)
        try:
            known = compile_model(CompileRequest(model_path=model, soc=soc, require=require))
        except DiagnosticError:
            known = None
        yield Row(
            what=what,
            sram=size,
            live=live,
            known=known,
            blind=tuple(_compiled(part, first, soc, PERFORMANCE) for part in chains),
            least=tuple(_compiled(part, first, soc, SIZE) for part in chains),
        )


def _live(made: CompiledModel) -> int:
    """The most that others hold of the SRAM while a chain runs."""
    return max(pool.live for budget in made.budgets for pools in budget.sites.values() for pool in pools)


def _with_sram(soc: SoC, size: int) -> SoC:
    memories = tuple(evolve(m, size=size) if m.name == "sram" else m for m in soc.memories)
    return evolve(soc, memories=memories)


def _compiled(partition: Partition, made: CompiledModel, soc: SoC, optimise: str) -> Compiled:
    """A chain compiled without asking the ledger: the arena is the whole SRAM."""
    unit = unit_of(soc, soc.instance(UNIT), backend)
    file = tflite_bytes(graph_of(partition.operators, made.model))
    return compile_file(file, unit.accelerator, config_text(unit, unit.arena.size), optimise, partition.id)


_COLUMNS = f"{'arena':>9}{'peak':>9}{'cycles':>9}"
HEADING = (
    f"{'model':<38}{'SRAM':>9}{'live':>9} | known{_COLUMNS}  chains | blind{_COLUMNS}  verdict      "
    f" | least{_COLUMNS}"
)


def line(row: Row) -> str:
    """A row as text."""
    start = f"{row.what:<38}{row.sram:>9,}{row.live:>9,}"
    return f"{start} | {_known(row)} | {_blind(row, row.blind)} | {_blind(row, row.least, verdict=False)}"


def _known(row: Row) -> str:
    if row.known is None:
        return f"{'refused':>14}{'':>26}"
    kernels = row.known.kernels
    own = [kernels[part.id] for part in row.known.graph.partitions if part.instance == UNIT]
    arena = max(kernel.buffers[0].bytes for kernel in own)
    cycles = sum(
        int(kernel.notes[0].split(" cycles")[0].rsplit(" ", 1)[1].replace(",", "")) for kernel in own
    )
    operators = sum(len(part.operators) for part in row.known.graph.partitions if part.instance != UNIT)
    more = f"+{operators}" if operators else ""
    return f"{arena:>14,}{row.known.plan.peaks[Arena('sram')]:>9,}{cycles:>9,}{len(own):>5}{more:<3}"


def _blind(row: Row, made: tuple[Compiled, ...], *, verdict: bool = True) -> str:
    arena = max(each.scratch for each in made)
    cycles = sum(each.figures.cycles for each in made)
    peak = row.live + arena
    text = f"{arena:>14,}{peak:>9,}{cycles:>9,}"
    if not verdict:
        return text
    over = f"  {peak - row.sram:>+8,} B" if peak > row.sram else "  fits"
    return f"{text}{over:<14}"


if __name__ == "__main__":
    sys.exit(main())
