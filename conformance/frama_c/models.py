"""Eva over the kernels of whole models: no alarm in any call, whatever the model's input.

    python -m conformance.frama_c.models FILE [--soc NAME] [--only TEXT] [--seconds S] [--log LOG]

Compiles a model for a microcontroller, and analyses each call of its kernels by itself, as its steps make it:
with the model's constants, every value of every input of the call, results that hold nothing yet, and
operands of just their bytes. So all calls together are a run, whatever the calls before them left. The
kernels are the portable ones. Loops are not summarized: as many turns as a layer has are told from each
other. Prints a line for each call, and every alarm. With `--log` the answers are lines of a file, and the
next run with the same file goes on with the calls that are not in it. Exit code 1 where there is an alarm,
or a call took longer than S seconds; 3 where Frama-C is missing.
"""

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.frama_c.kernels import OTHER_TURNS, Called, calls, program
from conformance.frama_c.units import MissingTool, Unit, analysed
from conformance.kept import Kept
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.soc import read_soc

SECONDS, TURNS = 3600.0, 10_000
CLEAN = "0 alarms"


def analysed_call(made: CompiledModel, call: Called, seconds: float = SECONDS) -> str:
    """What Eva says of a call, in a line for each alarm."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "harness.c"
        source.write_text(program(made, call.lines))
        unit = Unit(
            name=call.function,
            tool="Eva",
            sources=(str(source),),
            flags=("-DTA_KERNELS_PORTABLE",),
            unrolled=TURNS,
            told_apart=OTHER_TURNS,
            precision=0,
            seconds=seconds,
            dead=sys.maxsize,
        )
        try:
            found = analysed(unit)
        except RuntimeError as error:
            return str(error)[:200]
    return CLEAN if found.clean else "\n".join((f"{found.total - found.proved} alarms", *found.left))


def answers(made: CompiledModel, kept: Kept, only: str, seconds: float) -> Iterator[tuple[str, str]]:
    """Each call, numbered, with what is said of it."""
    for number, call in enumerate(calls(made)):
        name = f"{number} {call.function}"
        if only not in name:
            continue
        text = program(made, call.lines)
        key = f"{made.manifest.name} {name} {hashlib.sha256(text.encode()).hexdigest()[:12]}"
        if key not in kept.known:
            kept.add(key, analysed_call(made, call, seconds))
        yield name, kept.known[key]


def main() -> int:
    """Exit code as above."""
    parser = argparse.ArgumentParser(prog="python -m conformance.frama_c.models", description=__doc__)
    parser.add_argument("model", type=Path, metavar="FILE")
    parser.add_argument("--soc", default="mcu_m7", metavar="NAME")
    parser.add_argument("--only", default="", metavar="TEXT", help="calls whose number and name contain this")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help="for each call")
    parser.add_argument("--log", type=Path, metavar="LOG", help="answers, of earlier runs and of this one")
    options = parser.parse_args()
    made = compile_model(CompileRequest(model_path=options.model, soc=read_soc(options.soc)))
    clean = every = 0
    try:
        for name, said in answers(made, Kept(options.log), options.only, options.seconds):
            every, clean = every + 1, clean + (said == CLEAN)
            print(f"{name}: {said}", flush=True)
    except MissingTool as missing:
        print(missing, file=sys.stderr)
        return 3
    print(f"{made.manifest.name}: {clean} of {every} calls without an alarm")
    return int(clean < every)


if __name__ == "__main__":
    sys.exit(main())
