"""Memory plans beside the bound and beside published planners: ours, CP-SAT, omnimalloc, first fit.

    python -m benchmarks.memory_plans [--seconds 60] [--instances ABCFHIJK] [--peers cp-sat,omnimalloc]
                                      [--full 50] [--nodes 40000] [--models]

Four tables. *Instances* of the minimalloc paper (../shared/memory_plans): is there a plan within the
capacity? *Full memories*, as many as `--full` says: all bytes and all the time of a memory are cut into
buffers, some of which are then left out; does `search` find a plan as low with so many `--nodes`? *Random
buffers*, 10,000 of each kind: how far above the bound is a plan made at once? *Models* (with --models): the
arenas of the shared models on every chip. All run on one thread, one after the other; every plan is checked.
The seconds are those of the processor; the peak is over the capacity or the bound.
omnimalloc is not part of any extra (pip install omnimalloc==1.0.0). What is not installed is left out.
"""

import argparse
import csv
import importlib.util
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from target_arch.backend.planner import Effort
from target_arch.plan.memory import Arena, Buffer, MemoryPlan
from target_arch.plan.printed.text import table
from target_arch.stages.memory.packing import ALGORITHMS, Offsets, bound, cores, peak

SHARED = Path(__file__).parents[2] / "shared"
CAPACITY = 1_048_576
UNIT = 1024
MANY = 10_000

Planner = Callable[[Sequence[Buffer]], Mapping[str, int]]


def instance(path: Path) -> list[Buffer]:
    """The buffers of a file with the columns id, lower, upper (the first step after) and size."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return [_buffer(row["id"], int(row["size"]), 1, int(row["lower"]), int(row["upper"]) - 1) for row in rows]


def _buffer(name: str, size: int, alignment: int, first: int, last: int) -> Buffer:
    return Buffer(
        name=name, kind="activation", memory="m", bytes=size, alignment=alignment, first=first, last=last
    )


def _pair(random: Random) -> tuple[int, int]:
    one, other = random.randrange(MANY), random.randrange(MANY)
    return min(one, other), abs(one - other)


KINDS: Mapping[str, Callable[[Random], tuple[int, int]]] = {
    "any life": _pair,
    "up to 1,000 steps": lambda random: (random.randrange(MANY), random.randrange(1000)),
    "up to 50 steps": lambda random: (random.randrange(MANY), random.randrange(50)),
    "up to 5 steps": lambda random: (random.randrange(MANY), random.randrange(5)),
    "crowded": lambda random: (random.randrange(100), random.randrange(10)),
}
"""First step and steps after it."""

SIZES: Mapping[str, Callable[[Random], int]] = {
    "even": lambda random: random.randint(1, 4096),
    "mixed": lambda random: random.randint(1, 2 ** random.randint(0, 14)),
}
"""Units of the alignment."""


def random_buffers(kind: str, sizes: str) -> list[Buffer]:
    """Always the same ones."""
    random = Random(f"{kind} {sizes}")
    rows = []
    for number in range(MANY):
        first, more = KINDS[kind](random)
        rows.append(_buffer(f"b{number}", 16 * SIZES[sizes](random), 16, first, first + more))
    return rows


Row = tuple[int, int, int, int]
"""First step, the step after the last, first unit of bytes and the unit after the last."""


def full_memory(seed: int) -> list[Buffer]:
    """Buffers with a plan of CAPACITY bytes that leaves little or nothing free."""
    random = Random(f"full {seed}")
    count, gone, in_time = (
        random.randrange(150, 460),
        random.choice((0, 0, 2, 5, 10, 20)),
        random.uniform(0.3, 0.7),
    )
    rows: list[Row] = [(0, random.choice((200, 400, 1000)), 0, CAPACITY // UNIT)]
    while len(rows) < count:
        able = [random.randrange(len(rows)) for _ in range(random.choice((1, 2, 4)))]
        largest = max(able, key=lambda number: _area(rows[number]))
        rows[largest : largest + 1] = _cut(rows[largest], random, in_time)
    left = [row for row in rows if random.randrange(100) >= gone]
    random.shuffle(left)
    return [_buffer(f"b{n}", UNIT * (e - b), 1, first, end - 1) for n, (first, end, b, e) in enumerate(left)]


def _area(row: Row) -> int:
    return (row[1] - row[0]) * (row[3] - row[2])


def _cut(row: Row, random: Random, in_time: float) -> list[Row]:
    """In two; now and then in five that no straight cut divides; or not, where it is too small."""
    first, end, low, high = row
    if random.random() < 0.15 and end - first > 8 and high - low > 24:
        one, two = sorted(random.sample(range(first + 1, end), 2))
        a, b = sorted(random.sample(range(low + 1, high), 2))
        around = [(first, two, low, a), (two, end, low, b), (one, end, b, high), (first, one, a, high)]
        return [*around, (one, two, a, b)]
    if random.random() < in_time and end - first > 1:
        step = random.randrange(first + 1, end)
        return [(first, step, low, high), (step, end, low, high)]
    if high - low > 3:
        unit = random.randrange(low + 1, high)
        return [(first, end, low, unit), (first, end, unit, high)]
    return [row]


def omnimalloc(seconds: float | None) -> Planner:
    """Its search with a time limit, or its fast portfolio."""
    import omnimalloc as om
    from omnimalloc.allocators import OmniAllocator, SupermallocAllocator

    def plan(buffers: Sequence[Buffer]) -> dict[str, int]:
        rows = tuple(
            om.Allocation(id=number, size=row.bytes, start=row.first, end=row.last + 1)
            for number, row in enumerate(buffers)
        )
        chosen = SupermallocAllocator(timeout=seconds, num_threads=1) if seconds else OmniAllocator()
        pool = om.allocate(om.Pool(id="pool", allocations=rows), allocator=chosen)
        return {buffers[row.id].name: row.offset for row in pool.allocations}

    return plan


def timed(planner: Planner, buffers: Sequence[Buffer], over: int) -> tuple[str, str, Mapping[str, int]]:
    """The peak over a number of bytes, the seconds, and the plan."""
    begun = time.process_time()
    offsets = planner(buffers)
    seconds = time.process_time() - begun
    _check(buffers, offsets)
    return f"{peak(buffers, offsets) / over:.4f}", f"{seconds:.2f}", offsets


def _check(buffers: Sequence[Buffer], offsets: Mapping[str, int]) -> None:
    """Live buffers are placed side by side, so a new one may only touch its neighbours."""
    begins = [(buffer.first, 1, buffer) for buffer in buffers]
    ends = [(buffer.last + 1, 0, buffer) for buffer in buffers]
    live: list[tuple[int, int]] = []
    for _, begin, buffer in sorted((*begins, *ends), key=lambda event: event[:2]):
        place = (offsets[buffer.name], offsets[buffer.name] + buffer.bytes)
        at = bisect_left(live, place)
        if not begin:
            del live[at]
            continue
        if place[0] % buffer.alignment or any(
            place[0] < other[1] and other[0] < place[1] for other in live[max(at - 1, 0) : at + 1]
        ):
            raise SystemExit(f"wrong plan: `{buffer.name}` is not aligned, or overlaps another buffer")
        live.insert(at, place)


def instances(names: str, seconds: float, peers: Sequence[str]) -> str:
    """Peaks over the capacity; 1.0000 or less is solved."""
    effort = Effort(seconds=seconds, goal=CAPACITY)
    others: dict[str, Planner] = {"greedy": ALGORITHMS["greedy"]}
    if "cp-sat" in peers:
        others[f"cp-sat {seconds:g} s"] = lambda buffers: ALGORITHMS["cp-sat"].pack(buffers, effort=effort)
    if "omnimalloc" in peers:
        others[f"omnimalloc {seconds:g} s"] = omnimalloc(seconds)
    rows = []
    for name in names:
        buffers = instance(SHARED / "memory_plans" / f"{name}.{CAPACITY}.csv")
        ratio, took, plan = timed(
            lambda rows: ALGORITHMS["search"].pack(rows, effort=effort), buffers, CAPACITY
        )
        how = f"{plan.found_by} ({plan.core})" if isinstance(plan, Offsets) else ""
        row = [name, str(len(buffers)), f"{bound(buffers) / CAPACITY:.4f}", ratio, took]
        for planner in others.values():
            row += timed(planner, buffers, CAPACITY)[:2]
        rows.append((*row, how))
    header = ["instance", "buffers", "bound", "search", "s"]
    for other in others:
        header += [other, "s"]
    return table((*header, "how search found it"), rows, right=range(1, len(header)))


def full_memories(many: int, nodes: int) -> str:
    """How many are planned within the capacity, and how far the others are above it on average."""
    effort = Effort(nodes=nodes, goal=CAPACITY)
    planners: Mapping[str, Planner] = {
        "greedy": ALGORITHMS["greedy"],
        "search": lambda rows: ALGORITHMS["search"].pack(rows, effort=effort),
    }
    rows = []
    for name, planner in planners.items():
        found = [timed(planner, full_memory(seed), CAPACITY) for seed in range(many)]
        ratios = [float(ratio) for ratio, _, _ in found]
        above = [ratio for ratio in ratios if ratio > 1]
        seconds = sum(float(took) for _, took, _ in found)
        mean = f"{sum(above) / len(above):.4f}" if above else ""
        rows.append((name, str(many - len(above)), mean, f"{seconds:.1f}"))
    return table(("planner", f"solved of {many}", "the others", "s"), rows, right=(1, 2, 3))


def random_plans(peers: Sequence[str]) -> str:
    """Peaks over the bound."""
    others: dict[str, Planner] = {"by size": ALGORITHMS["by-size"]}
    if "omnimalloc" in peers:
        others["omnimalloc"] = omnimalloc(None)
    rows = []
    for kind in KINDS:
        for sizes in SIZES:
            buffers = random_buffers(kind, sizes)
            ratio, took, plan = timed(ALGORITHMS["best"], buffers, bound(buffers))
            row = [kind, sizes, ratio, took]
            for planner in others.values():
                row += timed(planner, buffers, bound(buffers))[:2]
            rows.append((*row, plan.found_by if isinstance(plan, Offsets) else ""))
    header = ["life", "sizes", "best", "s"]
    for other in others:
        header += [other, "s"]
    return table((*header, "how best found it"), rows, right=range(2, len(header)))


def models() -> str:
    """Peak and bounds of every arena of the shared models that holds more than constants."""
    from target_arch.diagnostics import DiagnosticError
    from target_arch.pipeline import CompileRequest, compile_model
    from target_arch.soc.files.soc_file import read_soc

    rows = []
    for model in sorted((SHARED / "models").glob("*.tflite")):
        for chip in ("mcu_m55", "mcu_m7", "quad_conv", "zynq_edge"):
            try:
                plan = compile_model(CompileRequest(model_path=model, soc=read_soc(chip))).plan
            except DiagnosticError:
                rows.append((model.stem, chip, *[""] * 6, "does not fit"))
                continue
            for arena in sorted(plan.peaks):
                if not arena.constant:
                    rows.append((model.stem, chip, *_arena(plan, arena)))
    header = (
        "model",
        "chip",
        "arena",
        "peak B",
        "bound B",
        "in place B",
        "peak/in place",
        "optimal",
        "found by",
    )
    return table(header, rows, right=(3, 4, 5, 6))


def _arena(plan: MemoryPlan, arena: Arena) -> tuple[str, ...]:
    highest, bound, shared = plan.peaks[arena], plan.bounds[arena], plan.shared[arena]
    sizes = (f"{highest:,}", f"{bound:,}", f"{shared:,}", f"{highest / shared:.4f}")
    return (
        str(arena),
        *sizes,
        "yes" if arena in plan.proven else "no",
        plan.found_by.get(arena, "known plan"),
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of every search")
    parser.add_argument("--instances", default="ABCFHIJK", help="which instances")
    parser.add_argument("--peers", default="cp-sat,omnimalloc", help="which planners beside ours")
    parser.add_argument("--full", type=int, default=50, help="how many full memories")
    parser.add_argument("--nodes", type=int, default=40_000, help="limit of their search")
    parser.add_argument("--models", action="store_true", help="compile the shared models as well")
    options = parser.parse_args()
    needs = {"cp-sat": "ortools", "omnimalloc": "omnimalloc"}
    wanted = [peer for peer in options.peers.split(",") if peer]
    peers = [peer for peer in wanted if importlib.util.find_spec(needs[peer])]
    for peer in wanted:
        if peer not in peers:
            print(f"{peer} is left out: {needs[peer]} is not installed", file=sys.stderr)
    print("core of long searches:", "compiled" if cores.compiled() else "interpreted (numba is missing)")
    print("\ninstances: peak over capacity, seconds of one core")
    print(instances(options.instances, options.seconds, peers), flush=True)
    print(f"full memories, with {options.nodes:,} nodes each: peak over capacity, seconds of one core")
    print(full_memories(options.full, options.nodes), flush=True)
    print(f"{MANY:,} random buffers: peak over bound, seconds of one core")
    print(random_plans(peers), flush=True)
    if options.models:
        print("models")
        print(models())


if __name__ == "__main__":
    main()
