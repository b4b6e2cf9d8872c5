"""How fast and how well spaces of chips are explored.

    python -m benchmarks.explore rate          points per second of one core, for kws
    python -m benchmarks.explore workers       1, 2 and 4 workers: the same front, and the time
    python -m benchmarks.explore samples       the share of the volume that a tenth of the points finds
    python -m benchmarks.explore smallest      the smallest SRAM and TCM for the four Tiny models, 5 % slower

Needs the models in `../shared/models`. Rates are of processor time, on one core.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from target_arch import choose_chip, fit_chip
from target_arch.explore.content import program_digest
from target_arch.explore.evaluate import Evaluator
from target_arch.explore.exploration import Exploration
from target_arch.explore.front import hypervolume
from target_arch.explore.sample import sampled
from target_arch.explore.search import SpaceSearch, point_task
from target_arch.explore.space import Space
from target_arch.explore.space_file import parse_space
from target_arch.explore.workers import LocalWorkers
from target_arch.registry.plug_ins import PlugIns

MODELS = Path(__file__).parents[2] / "shared" / "models"
TINY = ("ad01_int8", "ic_resnet_int8", "kws_int8", "vww_96_int8")
BANDWIDTHS = """
[vary.dsp]
key = ["copy[2].bandwidth", "copy[3].bandwidth"]
from = "100 MB/s"
to = "1000 MB/s"
step = "100 MB/s"
[vary.fabric]
key = ["copy[4].bandwidth", "copy[5].bandwidth"]
from = "200 MB/s"
to = "2000 MB/s"
step = "200 MB/s"
"""
SIZES = """
[vary.tcm]
key = "memory.dsp_tcm.size"
from = "16 KiB"
to = "256 KiB"
step = "16 KiB"
[vary.bram]
key = "memory.conv_bram.size"
from = "8 KiB"
to = "64 KiB"
step = "8 KiB"
[vary.scratch]
key = ["memory.npu_inp.size", "memory.npu_wgt.size"]
values = ["8 KiB", "16 KiB", "32 KiB"]
"""
PRICE = {
    BANDWIDTHS: "(copy[2].bandwidth + copy[4].bandwidth) / 1e9",
    SIZES: "(memory.dsp_tcm.size + 4 * memory.conv_bram.size + 2 * memory.npu_inp.size) / 1024",
}


def space(model: str, vary: str) -> Space:
    """A space around `zynq_edge` for one of the models."""
    text = f"""
schema = 1
soc = "zynq_edge"
minimize = ["latency", "price"]
[model.{model}]
file = "{MODELS / model}.tflite"
[formulas]
price = "{PRICE[vary]}"
{vary}"""
    return parse_space(text, f"{model}.toml")


def rate(count: int) -> None:
    """Points per second of processor time, after the first one."""
    for name, vary in (("bandwidths", BANDWIDTHS), ("sizes", SIZES)):
        chips = space("kws_int8", vary)
        points = list(chips.points())
        points = points[:: max(1, len(points) // count)][:count]
        evaluate = Evaluator(PlugIns.discover(()))
        evaluate(point_task(chips, points[0]))
        before = time.process_time()
        for point in points[1:]:
            evaluate(point_task(chips, point))
        taken = time.process_time() - before
        print(f"{name}: {(len(points) - 1) / taken:.1f} points per second, {len(points) - 1} points")


def explored(chips: Space, workers: int) -> tuple[Exploration, float]:
    """The whole space, and the seconds that it took, start of the workers included."""
    before = time.perf_counter()
    program = program_digest(())
    with LocalWorkers[str](workers) as processes:
        made = SpaceSearch(chips, processes, program).whole()
    return made, time.perf_counter() - before


def workers(count: int) -> None:
    """The same front for every number of workers."""
    chips, first = space("kws_int8", SIZES), None
    for number in (1, 2, 4):
        made, seconds = explored(chips, number)
        first = first or made
        same = made.outcomes == first.outcomes and made.front == first.front
        said = "the same front" if same else "ANOTHER FRONT"
        print(f"{number} workers: {len(made.outcomes)} points in {seconds:.1f} s, {said}")


def samples(count: int) -> None:
    """A tenth of the points against all of them, on three spaces."""
    for model, vary in (("kws_int8", SIZES), ("ad01_int8", SIZES), ("kws_int8", BANDWIDTHS)):
        chips = space(model, vary)
        whole, _ = explored(chips, 2)
        worst = tuple(max(goals[n] for goals in whole.good.values()) * 1.01 for n in range(2))
        with LocalWorkers[str](2) as processes:
            found = sampled(SpaceSearch(chips, processes, program_digest(())), len(whole.outcomes) // 10)
        share = hypervolume(found.good.values(), worst) / hypervolume(whole.good.values(), worst)
        kind = "sizes" if vary is SIZES else "bandwidths"
        print(f"{model}, {kind}: {len(found.outcomes)} of {len(whole.outcomes)} points find {share:.2%}")


def smallest(count: int) -> None:
    """The smallest memories with which a run of each model takes at most 5 % longer than on the chip."""
    for soc, memory in (("mcu_m7", "sram"), ("zynq_edge", "dsp_tcm")):
        for model in TINY:
            models = {model: MODELS / f"{model}.tflite"}
            (chip,) = choose_chip(models, socs=[soc], workers=1).chips
            most = chip.outcome.models[model].latency * 1.05
            print(fit_chip(models, soc, [memory], within=[f"latency={most * 1e6:.0f}us"]))


PARTS: Mapping[str, Callable[[int], None]] = {
    "rate": rate,
    "workers": workers,
    "samples": samples,
    "smallest": smallest,
}


def main() -> int:
    """One part, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--points", type=int, default=60, help="of `rate` (default: 60)")
    options = parser.parse_args()
    for name, part in PARTS.items():
        if options.part in (name, "all"):
            part(options.points)
    return 0


if __name__ == "__main__":
    sys.exit(main())
