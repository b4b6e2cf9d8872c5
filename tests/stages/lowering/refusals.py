"""Is a model ever refused although it fits?

    python -m tests.stages.lowering.refusals [--cases N] [--start S]

Random models on random chips with too little memory: a host, a DSP, conv2d engines and a matrix engine, whose
constants come straight from a large memory or through the small one. Every model is placed as the program
decides, on the host alone, and on each accelerator alone beside the host. A refusal is wrong if one of these
fits. What fits runs in the simulator of the tests, which must give the bytes of the reference; what a hint
proposes must fit. Exit code 1 where anything was wrong.
"""

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from random import Random

from attrs import evolve, frozen

from target_arch.backend.contract import Backend, DoesNotFit
from target_arch.plan.kernels import Kernel
from target_arch.plan.lowered import AttemptKind, Lowered
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model
from target_arch.plan.partitions import Partition, PartitionGraph
from target_arch.soc.model import SoC
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.lowering.ladder import Lower, lower_in_order
from target_arch.stages.lowering.order import lowering_order
from target_arch.stages.placement.place import place
from target_arch.stages.placement.rules import Rules
from target_arch.stages.setting import Setting
from tests.stages import chips, random_cases
from tests.stages.simulator import Simulator, random_inputs, reference

OPERATORS = 7
"""The most operators of a model: with more, the search for placements takes nearly all the time."""
UNIT = 64
_LARGER = re.compile(r"`(?P<memory>\w+)` (?P<kib>[\d,]+) KiB larger")
_MOVED = re.compile(r"`(?P<operator>\w+)` on `(?P<target>\w+)`")


@frozen(kw_only=True)
class Case:
    """A model, a chip that is probably too small for it, and the backends of the chip's target_archs. Engines
    take tensors in as few of these `tiles` as fit; only tensors of one size can be cut.
    """

    model: Model
    soc: SoC
    backends: Mapping[str, Backend]
    tiles: tuple[int, ...]

    @classmethod
    def random(cls, number: int) -> "Case":
        """The case of that number; it is the same on every machine."""
        random = Random(number)
        model, divisible = random_cases.model(random, OPERATORS), random.random() < 0.5
        if divisible:
            model = _divisible(model, 256 << random.randint(0, 3))
        return cls(
            model=model,
            soc=_little(random, model, random_cases.chip(random)),
            backends=random_cases.backends(random),
            tiles=(1, 2, 4) if divisible else (1,),
        )

    def lowered(self, rules: Rules, soc: SoC | None = None, *, advised: bool = False) -> Lowered | None:
        """The model lowered under these rules, on this chip or another; None if no placement honours them.
        Raises DoesNotFitError, with a hint if `advised`.
        """
        chip = soc or self.soc
        setting = Setting.of(chip, self.backends)
        try:
            return lower_in_order(
                setting=setting,
                place=lambda wishes: place(self.model, setting, self.backends, wishes),
                order=lambda graph: lowering_order(graph, chip, setting.codegens),
                lower=_lowerer(self, setting),
                rules=rules,
                advised=advised,
            )
        except PlacementError:
            return None


def _divisible(model: Model, size: int) -> Model:
    """The model with tensors of this size, and constants that every tile reads whole."""
    return evolve(
        model,
        tensors={
            name: chips.tensor(name, UNIT if tensor.data else size, constant=tensor.data is not None)
            for name, tensor in model.tensors.items()
        },
    )


def _little(random: Random, model: Model, soc: SoC) -> SoC:
    """The chip with little memory for this model; tensors rest in the SRAM only."""
    activations = sum(tensor.bytes for tensor in model.tensors.values() if tensor.data is None)
    largest = max(tensor.bytes for tensor in model.tensors.values())
    sram = random.uniform(0.3, 1.0) * activations
    sizes = {"ddr": 1 << 20, "sram": int(max(sram, largest)) // UNIT * UNIT}
    local = {"tcm": 6, "bram": 5, "npu_inp": 4, "npu_out": 3}
    for memory in soc.memories:
        most = local.get(memory.replica_of or memory.name)
        sizes.setdefault(memory.name, int(largest * random.uniform(0.5, most or 1)) // UNIT * UNIT)
    through = random.random() < 0.5
    return evolve(
        soc,
        memories=tuple(evolve(memory, size=sizes[memory.name]) for memory in soc.memories),
        copies=tuple(
            path for path in soc.copies if not (through and path.source == "ddr" and path.target != "sram")
        ),
        modes=(evolve(chips.MODE, workspace=("sram",)),),
    )


def _lowerer(case: Case, setting: Setting) -> Lower:
    sizes = {name: tensor.bytes for name, tensor in case.model.tensors.items()}

    def lower(graph: PartitionGraph, partition: Partition, given: Budget) -> Kernel:
        if setting.is_function(partition.instance):
            return chips.c_kernel(partition, sizes)
        for tiles in case.tiles:
            try:
                return chips.tiled_kernel(graph, partition, setting.soc, given, tiles)
            except DoesNotFit:
                if tiles == case.tiles[-1]:
                    raise
        raise AssertionError(partition)

    return lower


@frozen(kw_only=True)
class Verdict:
    """The fate of a case: `fits` or `refused`, after which kinds of attempts, and everything wrong."""

    end: str
    kinds: frozenset[AttemptKind]
    wrong: tuple[str, ...] = ()


def judged(case: Case) -> Verdict:
    """Compile a case as the program decides and, if it is refused, in every simple way."""
    try:
        made = case.lowered(Rules(), advised=True)
    except DoesNotFitError as refusal:
        kinds = frozenset(attempt.kind for attempt in refusal.tried)
        return Verdict(end="refused", kinds=kinds, wrong=(*_fitting(case), *_false_hints(case, refusal)))
    if made is None:
        return Verdict(end="unsupported", kinds=frozenset())
    kinds = frozenset(attempt.kind for attempt in made.attempts)
    return Verdict(end="fits", kinds=kinds, wrong=tuple(_different(case, made)))


def _fitting(case: Case) -> list[str]:
    """The simple placements that fit."""
    accelerators = frozenset(arch.name for arch in case.soc.archs if not arch.host)
    found = []
    for name in ("", *sorted(accelerators)):
        try:
            made = case.lowered(Rules(left_out=accelerators - {name}))
        except DoesNotFitError:
            continue
        if made is not None:
            found.append(
                f"refused, but fits on the host and `{name}`" if name else "refused, but fits on the host"
            )
    return found


def _false_hints(case: Case, refusal: DoesNotFitError) -> list[str]:
    """The changes that a hint proposes and that do not make the model fit."""
    found = []
    for larger in _LARGER.finditer(str(refusal.hint or "")):
        if "not even" in (str(refusal.hint or "")):
            continue
        more = int(larger["kib"].replace(",", "")) * 1024
        memories = (
            evolve(m, size=m.size + more) if m.name == larger["memory"] else m for m in case.soc.memories
        )
        if not _fits(case, Rules(), evolve(case.soc, memories=tuple(memories))):
            found.append(f"does not fit with {larger[0]}")
    for moved in _MOVED.finditer(str(refusal.hint or "")):
        if not _fits(case, Rules(require={moved["operator"]: moved["target"]}), case.soc):
            found.append(f"does not fit with {moved[0]}")
    return found


def _fits(case: Case, rules: Rules, soc: SoC) -> bool:
    try:
        return case.lowered(rules, soc) is not None
    except DoesNotFitError:
        return False


def _different(case: Case, made: Lowered) -> list[str]:
    """The faults of the simulated run, with copies as late and as early as they may be."""
    inputs = random_inputs(case.model, 1)
    expected = reference(case.model, inputs)
    runs = {
        "late": Simulator(made.steps, made.plan, case.model, lambda: True, 2).run(inputs),
        "early": Simulator(made.steps, made.plan, case.model, lambda: False, 2).run(inputs),
    }
    return [f"wrong bytes where steps are {name}" for name, found in runs.items() if found != expected]


def main() -> int:
    """Exit code: 0 where nothing was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.stages.lowering.refusals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="how many cases")
    parser.add_argument("--start", type=int, default=0, metavar="S", help="the number of the first case")
    options = parser.parse_args()
    ends, kinds, wrong, start = Counter[str](), Counter[str](), 0, time.monotonic()
    numbers = range(options.start, options.start + options.cases)
    for number in numbers:
        verdict = judged(Case.random(number))
        ends[verdict.end] += 1
        kinds.update(kind.value for kind in verdict.kinds if verdict.end == "fits")
        wrong += bool(verdict.wrong)
        for said in verdict.wrong:
            print(f"case {number}: {said}", flush=True)
    counted = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    helped = ", ".join(f"{count} by {kind}" for kind, count in sorted(kinds.items()))
    print(
        f"cases {numbers.start} to {numbers.stop - 1}: {counted}; made to fit: {helped or 'none'}; "
        f"{wrong} wrong refusals or plans, {time.monotonic() - start:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
