"""Do the options of a compilation work together?

    python -m conformance.combinations [--cases N] [--seed S] [--show]

Each case is a call of `target-arch verify` with a model, a chip, and options that are all drawn. A refusal
is counted by its rule; whatever else is not success is a finding, and is printed with its call, which can be
repeated. Exit code 1 where there was one.
"""

import argparse
import io
import json
import shlex
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import onnx
from attrs import field, frozen

from conformance.exported_nets import exported
from conformance.random_nets.nets import net
from target_arch.cli.main import DONE, WRONG_INPUT, main
from target_arch.soc.files.soc_file import read_soc

TREE = Path(__file__).parents[1]
SHARED = TREE.parent / "shared" / "models"
CHIPS = (
    *("mcu_m55", "mcu_m7", "orin_like", "quad_conv", "vta_edge", "zynq_edge"),
    *("examples/cores/dual_a9.toml", "examples/cores/dual_m33.toml", "examples/cores/octa_rv64.toml"),
    *(
        "examples/cores/cluster_nine.toml",
        "examples/dsps/quad_dsp.toml",
        "examples/hexagon/hexagon_edge.toml",
    ),
)
EXPORTED = ("gated", "mobilenet", "tcn", "transformer")
OPTIONS: tuple[tuple[float, str, Sequence[str]], ...] = (
    (0.5, "--divide", ("auto",)),
    (0.4, "--resident", ("auto",)),
    (0.3, "--objective", ("throughput",)),
    (0.4, "--frames", ("2", "3", "auto")),
    (0.3, "--optimize", ("size", "speed")),
    (0.2, "--io", ("caller",)),
    (0.3, "--constants", ("text", "section", "file")),
    (0.2, "--keep", ("dead",)),
    (0.3, "--planner", ("greedy", "search,nodes=2000", "skyline", "best", "by-time")),
    (0.2, "--lowering-order", ("accelerators-first", "program", "c-first")),
)
"""How often an option is given, and its values."""


FINDINGS = {"build-failed", "defect"}
"""Rules of refusals that no input should meet."""


@frozen(kw_only=True)
class Outcome:
    """What became of a call: the rule of a refusal, or what was found; neither where it succeeded."""

    rule: str = ""
    finding: str = ""


@frozen
class Cases:
    """Calls by number, with a seed."""

    seed: int
    folder: Path = field(repr=False)

    def call(self, number: int) -> list[str]:
        """The arguments of a case. The same seed and number give the same."""
        draw = Random(f"{self.seed} {number}")
        models = [self._model(draw, index) for index in range(draw.choice((1, 1, 1, 2)))]
        chip = draw.choice(CHIPS)
        soc = str(TREE / chip) if chip.endswith(".toml") else chip
        words = ["verify", *models, "--soc", soc, "--seed", str(number), "--format", "json", "--quiet"]
        for share, option, values in OPTIONS:
            if draw.random() < share:
                words += [option, draw.choice(values)]
        if draw.random() < 0.3:
            words += self._limit(draw, soc)
        if len(models) > 1 and draw.random() < 0.5:
            words += ["--arenas", "separate"]
        return words

    def _model(self, draw: Random, index: int) -> str:
        """A random net, one that three exporters wrote, or one of MLPerf Tiny where these are there."""
        kind, path = draw.randrange(4), self.folder / f"m{index}.onnx"
        if kind == 0:
            name, form = draw.choice(EXPORTED), draw.choice(("float", "int8"))
            return f"m{index}={exported(name, form, draw.choice(('tflite', 'onnx', 'pt2')), self.folder)}"
        if kind == 1 and SHARED.is_dir():
            return f"m{index}={draw.choice(sorted(SHARED.glob('*_int8.tflite')))}"
        onnx.save(net(draw.randrange(10**6)), path)
        return f"m{index}={path}"

    def _limit(self, draw: Random, soc: str) -> list[str]:
        """A limit on one of the chip's memories, from two kilobytes to all of it."""
        memory = draw.choice(read_soc(soc).memories)
        size = int(memory.size * (2048 / memory.size) ** draw.random()) if memory.size > 2048 else memory.size
        return ["--memory", f"{memory.name}={size}"]


def outcome(call: Sequence[str]) -> Outcome:
    """The outcome of one call, in this process."""
    said, complained = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(complained):
            code = main(call)
    except SystemExit as end:
        return Outcome(finding=f"exit {end.code}: {complained.getvalue()[-400:]}")
    except Exception:
        return Outcome(finding=traceback.format_exc()[-1500:])
    if code == DONE:
        return Outcome()
    rules = list(_rules(said.getvalue()))
    if code == WRONG_INPUT and rules and not FINDINGS & set(rules):
        return Outcome(rule=rules[0])
    return Outcome(finding=f"exit code {code}: {said.getvalue()[:700]} {complained.getvalue()[-700:]}")


def _rules(text: str) -> Iterator[str]:
    """The rules of a printed refusal."""
    try:
        yield from (each["rule"] for each in json.loads(text).get("diagnostics", ()))
    except ValueError:
        return


def run() -> int:
    """Exit code: 0 where nothing was found."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance.combinations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", type=int, default=100, metavar="N", help="how many calls")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="what they are drawn from")
    parser.add_argument("--show", action="store_true", help="print each call")
    options = parser.parse_args()
    refused, findings, start = Counter[str](), 0, time.monotonic()
    for number in range(options.first, options.first + options.cases):
        with TemporaryDirectory() as folder:
            call = Cases(options.seed, Path(folder)).call(number)
            before = time.process_time()
            found = outcome(call)
        if options.show or found.finding:
            word = "FOUND" if found.finding else found.rule or "equal"
            print(f"{number}: {word} {time.process_time() - before:.1f} s: {shlex.join(call)}", flush=True)
        if found.finding:
            print(found.finding, flush=True)
        findings += bool(found.finding)
        refused.update([found.rule] if found.rule else [])
    rules = ", ".join(f"{count} {rule}" for rule, count in sorted(refused.items()))
    print(
        f"{options.cases} calls: {findings} findings, {refused.total()} refused ({rules}), "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(run())
