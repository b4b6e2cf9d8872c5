"""What constants that stay are worth: `python -m benchmarks.residents [--soc NAME] [--only TEXT]`.

For each shipped SoC whose instances get constants by copies and each int8 model beside the repository, the
model is compiled with frames in flight, once with all constants copied in every run and once with residents.
Both bundles run on the host port, and their outputs are compared with the reference first, every byte. Then
one row: the simulated runs, the periods of frames in flight, the bytes that stay and the time in which `init`
copies them. Times are of the replay, by the costs of the SoC files. Exit code 1 where an output differs or a
run is slower.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.memory import BufferKind
from target_arch.plan.printed.text import table
from target_arch.plan.resident import Resident
from target_arch.run import write_bundle
from target_arch.run.verification.verify import verify
from target_arch.soc import read_soc

MODELS = Path(__file__).parents[1].parent / "shared" / "models"
NAMES = ("kws_int8", "vww_96_int8", "ic_resnet_int8", "ad01_int8")
SOCS = ("orin_like", "zynq_edge", "quad_conv")
_FRAMES = 4
_HEADER = (
    "SoC", "model", "run us", "with residents", "faster", "period us", "with residents", "run over it",
    "bytes that stay", "of constants", "init us", "equal",
)  # fmt: skip


@frozen(kw_only=True)
class Run:
    """A compiled model: seconds of its simulated run, of its period and of the copies at `init`, bytes that
    stay and of all constants, and whether it computes the reference's bytes.
    """

    makespan: float
    period: float
    filling: float
    staying: int
    constants: int
    equal: bool


def ran(model: Path, soc: str, resident: Resident) -> Run:
    """The model compiled, built for the host port, and compared with its reference."""
    made = compile_model(
        CompileRequest(model_path=model, soc=read_soc(soc), resident=resident, frames="auto")
    )
    assert made.execution is not None
    assert made.frames is not None
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(made.bundle, Path(folder))
        found = verify(model, Path(folder), count=_FRAMES, record=False)
    sizes = dict.fromkeys(BufferKind, 0)
    for buffer in made.plan.buffers:
        sizes[buffer.kind] += buffer.bytes
    return Run(
        makespan=made.execution.makespan,
        period=made.frames.period,
        filling=made.execution.filling,
        staying=sizes[BufferKind.RESIDENT],
        constants=sizes[BufferKind.CONSTANT],
        equal=found.passed and found.equal == found.outputs,
    )


def rows(socs: tuple[str, ...], only: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    """A row for each SoC and model, and whether it is as it should be."""
    for soc in socs:
        for name in (name for name in NAMES if only in name):
            before, after = (
                ran(MODELS / f"{name}.tflite", soc, how) for how in (Resident.NEVER, Resident.AUTO)
            )
            equal = before.equal and after.equal
            row = (
                soc,
                name,
                f"{before.makespan * 1e6:,.1f}",
                f"{after.makespan * 1e6:,.1f}",
                f"{1 - after.makespan / before.makespan:.0%}",
                f"{before.period * 1e6:,.1f}",
                f"{after.period * 1e6:,.1f}",
                f"{before.makespan / after.period:.2f}",
                f"{after.staying:,}",
                f"{before.constants:,}",
                f"{after.filling * 1e6:,.1f}",
                "yes" if equal else "NO",
            )
            yield row, equal and after.makespan <= before.makespan


def main() -> int:
    """Exit code: 0 where every output is right and nothing is slower."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.residents", description=__doc__)
    parser.add_argument("--soc", choices=SOCS, help="only this SoC")
    parser.add_argument("--only", default="", metavar="TEXT", help="only models with that in their names")
    options = parser.parse_args()
    made = list(rows(SOCS if options.soc is None else (options.soc,), options.only))
    print(table(_HEADER, [row for row, _ in made], right=range(2, 11)), end="")
    return 0 if all(right for _, right in made) else 1


if __name__ == "__main__":
    sys.exit(main())
