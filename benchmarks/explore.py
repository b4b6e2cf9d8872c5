"""How fast and how well spaces of chips are explored.

    python -m benchmarks.explore rate          points per second of one core, for kws
    python -m benchmarks.explore workers       1, 2 and 4 workers: the same front, and the time
    python -m benchmarks.explore samples       the share of the volume that a tenth of the points finds
    python -m benchmarks.explore smallest      the smallest SRAM and TCM for the four Tiny models, 5 % slower
    python -m benchmarks.explore tiny          the four Tiny models over 5,120 chips: the front, and the first
                                               of it as verified C on the host, the DSP and RTL, predicted
                                               beside measured
    python -m benchmarks.explore memory        what a worker takes after more and more points
    python -m benchmarks.explore killed        workers are killed every few seconds, and the run once
    python -m benchmarks.explore many          200 workers of Dask whose compilation is a sleep

`--points` is the size. Needs the models in `../shared/models`. Rates are of processor time, on one core.
`tiny` takes about 40 minutes of it; with `--store FILE` it keeps its points, and goes on where it was ended.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from attrs import evolve, frozen

from target_arch import calibrate_costs, choose_chip, fit_chip
from target_arch.explore.chip import chip_file
from target_arch.explore.content import program_digest
from target_arch.explore.evaluate import Evaluator
from target_arch.explore.exploration import Exploration
from target_arch.explore.front import hypervolume
from target_arch.explore.outcome import ModelNumbers, PointOutcome, Status
from target_arch.explore.sample import sampled
from target_arch.explore.search import SpaceSearch, point_task
from target_arch.explore.space import Point, Space
from target_arch.explore.space_file import parse_space
from target_arch.explore.store import Store
from target_arch.explore.summary import text as summary_text
from target_arch.explore.workers import LocalWorkers
from target_arch.plan.printed.reasoning import duration
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
_TCM = """
[vary.tcm]
key = "memory.dsp_tcm.size"
values = ["16 KiB", "32 KiB", "48 KiB", "64 KiB", "96 KiB", "128 KiB", "192 KiB", "256 KiB"]
"""
_SPEEDS = """
[vary.dsp]
key = ["copy[2].bandwidth", "copy[3].bandwidth"]
values = ["200 MB/s", "400 MB/s", "800 MB/s", "1600 MB/s"]
[vary.fabric]
key = ["copy[4].bandwidth", "copy[5].bandwidth"]
values = ["400 MB/s", "800 MB/s", "1600 MB/s", "3200 MB/s"]
[vary.clock]
key = "target_arch.dsp_cpu.clock"
values = ["300 MHz", "600 MHz"]
"""
EDGE = f"""
{_TCM}[vary.bram]
key = "memory.conv_bram.size"
values = ["16 KiB", "32 KiB", "64 KiB"]
[vary.scratch]
key = ["memory.npu_inp.size", "memory.npu_wgt.size"]
values = ["8 KiB", "32 KiB"]
{_SPEEDS}"""
EDGE_PRICE = "(tcm + 2 * bram + 2 * scratch) / 65536 + dsp / 4e8 + fabric / 8e8 + clock / 1e8"
PRICE = {
    EDGE: EDGE_PRICE,
    BANDWIDTHS: "(copy[2].bandwidth + copy[4].bandwidth) / 1e9",
    SIZES: "(memory.dsp_tcm.size + 4 * memory.conv_bram.size + 2 * memory.npu_inp.size) / 1024",
    BANDWIDTHS + SIZES: "(memory.dsp_tcm.size + 4 * memory.conv_bram.size) / 1024 + copy[2].bandwidth / 1e9",
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


@frozen
class Taken:
    """The seconds of an exploration, start of the workers included, and those of processors together."""

    seconds: float
    processors: float


def explored(chips: Space, points: Sequence[Point], workers: int) -> tuple[Exploration, Taken]:
    """These points, and what they took."""
    before, ours = time.perf_counter(), time.process_time()
    program = program_digest(())
    with LocalWorkers[str](workers) as processes:
        search = SpaceSearch(chips, processes, program)
        search.evaluate(points)
        made, theirs = search.exploration(), sum(map(_processors, processes.every_process))
    return made, Taken(time.perf_counter() - before, time.process_time() - ours + theirs)


def _processors(process: int) -> float:
    """The seconds of processor time of a process."""
    numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, numbers[11:13])) / os.sysconf("SC_CLK_TCK")


def workers(count: int) -> None:
    """The same front for every number of workers, and how much faster so many are: by the clock, and by the
    processor time of all processes, which other work on the computer changes little. Beside it is the most
    that the computer allows: what as many explorations of one worker each, at the same time, come to.
    """
    chips, cores = space("kws_int8", EDGE), len(os.sched_getaffinity(0))
    points = random.Random(0).sample(list(chips.points()), min(count, chips.size))
    first, alone = explored(chips, points, 1)
    said = f"{alone.seconds:.1f} s, {alone.processors:.1f} s of processors"
    print(f"1 worker: {len(points)} points in {said}", flush=True)
    for number in (2, 4):
        made, taken = explored(chips, points, number)
        same = made.outcomes == first.outcomes and made.front == first.front
        able = min(number, cores)
        share, work = alone.seconds / taken.seconds / able, alone.processors / taken.processors
        most = alone.seconds * number / _beside(chips, points, number) / able
        said = f"{taken.seconds:.1f} s, {taken.processors:.1f} s of processors: {share:.2f} of {able} times"
        said += f" as fast, by processors {work:.2f}; {most:.2f} without anything shared"
        print(f"{number} workers: {said}; {'the same front' if same else 'ANOTHER FRONT'}", flush=True)


def _beside(chips: Space, points: Sequence[Point], number: int) -> float:
    """The seconds that so many explorations of one worker take at the same time, each of all points."""
    with ThreadPoolExecutor(number) as threads:
        return max(threads.map(lambda _: explored(chips, points, 1)[1].seconds, range(number)))


def samples(count: int) -> None:
    """A tenth of the points against all of them, for ten seeds, on three spaces; and on bandwidths alone,
    where nearly as many points are on the front.
    """
    program = program_digest(())
    for model, vary in (
        ("kws_int8", EDGE),
        ("kws_int8", SIZES),
        ("ad01_int8", SIZES),
        ("kws_int8", BANDWIDTHS),
    ):
        chips = space(model, vary)
        with tempfile.TemporaryDirectory() as folder, LocalWorkers[str](2) as processes:
            store = Store(Path(folder) / "x.jsonl")
            whole = SpaceSearch(chips, processes, program, store).whole()
            tenth = len(whole.outcomes) // 10
            searches = [SpaceSearch(chips, processes, program, store) for _ in range(10)]
            found = [sampled(search, tenth, seed) for seed, search in enumerate(searches)]
        worst = tuple(max(goals[n] for goals in whole.good.values()) * 1.01 for n in range(2))
        best = hypervolume(whole.good.values(), worst)
        shares = " ".join(f"{hypervolume(made.good.values(), worst) / best:.1%}" for made in found)
        print(f"{model}: {tenth} of {len(whole.outcomes)} points find {shares}", flush=True)


def smallest(count: int) -> None:
    """The smallest memories with which a run of each model takes at most 5 % longer than on the chip."""
    for soc, memory in (("mcu_m7", "sram"), ("zynq_edge", "dsp_tcm")):
        for model in TINY:
            models = {model: MODELS / f"{model}.tflite"}
            (chip,) = choose_chip(models, socs=[soc], workers=1).chips
            most = chip.outcome.models[model].latency * 1.05
            print(fit_chip(models, soc, [memory], within=[f"latency={most * 1e6:.0f}us"]))


TINY_SPACE = f"""
{_TCM}[vary.bram]
key = "memory.conv_bram.size"
values = ["16 KiB", "32 KiB", "48 KiB", "64 KiB", "128 KiB"]
[vary.scratch]
key = ["memory.npu_inp.size", "memory.npu_wgt.size"]
values = ["8 KiB", "16 KiB", "32 KiB", "64 KiB"]
{_SPEEDS}[formulas]
price = "{EDGE_PRICE}"
"""


def tiny(count: int, file: Path | None = None) -> None:
    """The space of 5,120 points, or as many of them as a search by samples chooses; then the quickest of the
    front with verified C, and its predicted runs beside those with the cycles that commands take in RTL. The
    points are kept in the file, if there is one.
    """
    models = "".join(f'[model.{name}]\nfile = "{MODELS / name}.tflite"\n' for name in TINY)
    head = 'schema = 1\nsoc = "zynq_edge"\nminimize = ["latency", "price"]\n'
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chips = parse_space(head + models + TINY_SPACE, str(folder / "tiny.toml"))
        with LocalWorkers[str](len(os.sched_getaffinity(0))) as processes:
            store = Store(file) if file else None
            search = SpaceSearch(chips, processes, program_digest(()), store)
            made = search.whole() if count >= chips.size else sampled(search, count)
        print(summary_text(made))
        best = made.front[0]
        chip = folder / "chip.toml"
        chip.write_text(chip_file(chips, best).beside(folder))
        counted = _counted(chips, best, chip)
        for model in TINY:
            predicted = duration(made.outcomes[best].models[model].latency)
            said = f"{predicted} predicted, {duration(counted.models[model].latency)} with cycles of the RTL"
            print(f"{model} on point {chips.number(best)}: {said}")
            _run_on(chip, model, folder)


def _counted(chips: Space, point: Point, chip: Path) -> PointOutcome:
    """The outcome of a point whose engines' commands take the cycles that are counted in RTL."""
    costs = chip.with_name("rtl.json")
    models = [MODELS / f"{model}.tflite" for model in TINY]
    costs.write_text(calibrate_costs(models, chip, port="rtl").cost_file)
    task = point_task(chips, point)
    text = f'{task.chip.text}\n[cost]\nfile = "{costs.name}"\n'
    file = evolve(task.chip, text=text, folder=costs.parent)
    return Evaluator(PlugIns.discover(()))(evolve(task, chip=file))


def _run_on(chip: Path, model: str, folder: Path) -> None:
    """The bundle of a model against its reference: on this computer with simulated engines, and in RTL."""
    for words in ((), ("--rtl",)):
        command = [sys.executable, "-m", "target_arch", "verify", str(MODELS / f"{model}.tflite")]
        command += ["--soc", str(chip), "-o", str(folder / model), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()]
        said = [line for line in lines if line.startswith(("verification", "bit-equal", "self-test"))]
        print(f"  {' '.join(words) or 'simulated'}: {', '.join(said) or lines[-1:]}")


def memory(count: int) -> None:
    """The resident memory of a worker, each 500 points."""
    chips = space("kws_int8", BANDWIDTHS + SIZES)
    points = random.Random(0).sample(list(chips.points()), min(count, chips.size))
    with LocalWorkers[str](1) as processes:
        search = SpaceSearch(chips, processes, program_digest(()))
        step = 500
        for first in range(0, len(points), step):
            search.evaluate(points[first : first + step])
            (worker,) = processes.processes
            pages = int(Path(f"/proc/{worker}/statm").read_text().split()[1])
            taken = pages * os.sysconf("SC_PAGESIZE") / 2**20
            print(f"{min(first + step, len(points)):,} points: {taken:.0f} MiB", flush=True)


def killed(count: int) -> None:
    """Workers are killed at random, again and again, and the whole run once: the front is the same, and
    no point that was known is computed again.
    """
    chips = space("kws_int8", SIZES)
    points = random.Random(0).sample(list(chips.points()), min(count, chips.size))
    with LocalWorkers[str](2) as processes:
        calm = SpaceSearch(chips, processes, program_digest(()))
        calm.evaluate(points)
    with tempfile.TemporaryDirectory() as folder:
        store, computed, kills = Store(Path(folder) / "x.jsonl"), 0, 0
        for stop in (len(points) // 2, None):
            with LocalWorkers[str](2) as processes:
                search = SpaceSearch(chips, processes, program_digest(()), store)
                search.said = _interrupting(stop)
                ended = threading.Event()
                killer = threading.Thread(target=_kill, args=(processes, ended))
                killer.start()
                try:
                    search.evaluate(points)
                except KeyboardInterrupt:
                    kills += 1
                finally:
                    ended.set()
                    killer.join()
                computed += search.computed
        same = search.exploration().outcomes == calm.exploration().outcomes
        front = "the same" if search.exploration().front == calm.exploration().front else "ANOTHER"
        said = f"{len(points)} points, {computed} computed, {kills} interruption"
        print(f"{said}, {front} front, {'equal' if same else 'OTHER'} outcomes")


def _interrupting(stop: int | None) -> Callable[[int, int], None]:
    def said(done: int, every: int) -> None:
        if done == stop:
            raise KeyboardInterrupt

    return said


def _kill(processes: LocalWorkers[str], ended: threading.Event) -> None:
    dice = random.Random(1)
    while not ended.wait(KILLS):
        running = processes.processes
        if running:
            os.kill(dice.choice(running), signal.SIGKILL)


def many(count: int) -> None:
    """Two hundred workers whose compilation takes two seconds of sleep: points per second, and the share of
    what so many workers could do.
    """
    import dask
    import distributed

    from target_arch.explore import cluster

    cluster.evaluate, cluster.read, cluster.program_digest = _sleeping, _nothing, _program
    chips = space("kws_int8", BANDWIDTHS + SIZES)
    points = random.Random(0).sample(list(chips.points()), min(count, chips.size))
    threads = {"n_workers": SLEEPERS, "threads_per_worker": 1, "processes": False, "memory_limit": None}
    with (
        dask.config.set(UNWATCHED),
        distributed.LocalCluster(**threads, dashboard_address=None) as local,
        tempfile.TemporaryDirectory() as folder,
        cluster.DaskWorkers(local.scheduler_address, _program(())) as workers,
    ):
        search = SpaceSearch(chips, workers, _program(()), Store(Path(folder) / "x.jsonl"))
        before = time.perf_counter()
        search.evaluate(points)
        taken = time.perf_counter() - before
    rate, most = len(points) / taken, SLEEPERS / SLEEP
    print(f"{SLEEPERS} workers: {rate:.0f} points per second, {rate / most:.0%} of {most:.0f}")


KILLS = 20.0
"""Seconds between two kills: a worker starts in less, also on a busy computer."""
SLEEPERS = 200
UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.tick.interval": "10s",
}
"""Workers that do not watch themselves: 200 of them in one process have no time for anything else."""
SLEEP = 2.0


def _program(folders: object) -> str:
    """The digest of the program, which 200 workers of one process need not compute."""
    return "one"


def _nothing(sent: object) -> None:
    """A model that need not be read."""


def _sleeping(sent: object) -> PointOutcome:
    time.sleep(SLEEP)
    numbers = ModelNumbers(latency=1e-3, energy=None, bytes={"sram": 1})
    return PointOutcome(status=Status.FITS, models={"kws_int8": numbers}, bytes={"sram": 1})


PARTS: Mapping[str, Callable[[int], None]] = {
    "rate": rate,
    "workers": workers,
    "samples": samples,
    "smallest": smallest,
    "tiny": tiny,
    "memory": memory,
    "killed": killed,
    "many": many,
}
SIZE: Mapping[str, int] = {"workers": 384, "tiny": 5120, "memory": 10_000, "killed": 200, "many": 4000}


def main() -> int:
    """One part, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=(*PARTS, "all"), default="all")
    parser.add_argument("--points", type=int, help="how many points (default: 60, or those of the part)")
    parser.add_argument("--store", type=Path, help="where `tiny` keeps its points")
    options = parser.parse_args()
    parts = {**PARTS, "tiny": partial(tiny, file=options.store)}
    for name, part in parts.items():
        if options.part in (name, "all"):
            part(options.points or SIZE.get(name, 60))
    return 0


if __name__ == "__main__":
    sys.exit(main())
