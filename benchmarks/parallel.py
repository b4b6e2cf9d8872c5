"""How much faster chips are with operators divided: `python -m benchmarks.parallel [--soc NAME] [--only
TEXT]`.

For each shipped SoC with several instances and each int8 model beside the repository, the model is compiled
undivided and divided, both bundles run on the same random frames on the host port, and their outputs are
compared first: with each other and with the reference, every byte. Then one row: the simulated runs, the
bound of any division, and how many instances are busy. Times are of the replay, by the costs of the SoC
files. Exit code 1 where an output differs or a divided run is slower.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.division import Divide
from target_arch.plan.execution import Execution
from target_arch.plan.printed.text import counted_operators, table
from target_arch.run import write_bundle
from target_arch.run.verification.verify import verify
from target_arch.soc import read_soc

MODELS = Path(__file__).parents[1].parent / "shared" / "models"
NAMES = ("kws_int8", "vww_96_int8", "ic_resnet_int8")
SOCS = ("quad_conv", "zynq_edge", "vta_edge", "orin_like")
_FRAMES = 4
_HEADER = (
    "SoC",
    "model",
    "operators",
    "undivided ms",
    "divided ms",
    "faster",
    "bound ms",
    "over bound",
    "busy",
    "equal",
    "s to compile",
)


@frozen(kw_only=True)
class Run:
    """A compiled model: its simulated run, its operators in words, whether it computes the reference's bytes,
    and the seconds of its compilation.
    """

    execution: Execution
    operators: str
    equal: bool
    seconds: float


def ran(model: Path, soc: str, divide: Divide) -> Run:
    """The model compiled, built for the host port, and compared with its reference."""
    start = time.monotonic()
    made = compile_model(CompileRequest(model_path=model, soc=read_soc(soc), divide=divide))
    seconds = time.monotonic() - start
    assert made.execution is not None
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(made.bundle, Path(folder))
        found = verify(model, Path(folder), count=_FRAMES, record=False)
    equal = found.passed and found.equal == found.outputs
    return Run(
        execution=made.execution, operators=counted_operators(made.model), equal=equal, seconds=seconds
    )


def rows(socs: tuple[str, ...], only: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    """A row for each SoC and model, and whether it is as it should be."""
    for soc in socs:
        for name in (name for name in NAMES if only in name):
            one, other = (ran(MODELS / f"{name}.tflite", soc, how) for how in (Divide.NEVER, Divide.AUTO))
            before, after = one.execution, other.execution
            equal, bound = one.equal and other.equal, before.division_bound
            row = (
                soc,
                name,
                other.operators,
                f"{before.makespan * 1e3:.3f}",
                f"{after.makespan * 1e3:.3f}",
                f"{1 - after.makespan / before.makespan:.0%}",
                f"{bound * 1e3:.3f}",
                f"{after.makespan / bound:.2f}",
                f"{before.busy:.2f} to {after.busy:.2f} of {after.instances}",
                "yes" if equal else "NO",
                f"{one.seconds:.1f} to {other.seconds:.1f}",
            )
            yield row, equal and after.makespan <= before.makespan


def main() -> int:
    """Exit code: 0 where every output is right and nothing is slower."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parallel", description=__doc__)
    parser.add_argument("--soc", choices=SOCS, help="only this SoC")
    parser.add_argument("--only", default="", metavar="TEXT", help="only models with that in their names")
    options = parser.parse_args()
    made = list(rows(SOCS if options.soc is None else (options.soc,), options.only))
    print(table(_HEADER, [row for row, _ in made], right=range(3, 8)), end="")
    return 0 if all(right for _, right in made) else 1


if __name__ == "__main__":
    sys.exit(main())
