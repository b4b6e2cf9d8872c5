"""PyTorch's own samples of its operators, each exported, compiled, built with gcc, run, and compared.

    python -m conformance.torch_operators [--only NAME …] [--types float32 …] [--samples 2] [--results FILE]

The samples are those by which PyTorch tests itself (`torch.testing`, which needs the package `expecttest`);
operators that are random, of complex numbers, linear algebra or Fourier transforms are left out. A sample
passes where every element is within 1e-5 plus 1e-4 of its magnitude. It is refused where the message names
the operator or the type of its elements; every other way in which it does not compile is an exception.
`--results` keeps what is known of an operator; a run goes on from it. Ends with 1 if something is wrong.
"""

import argparse
import multiprocessing
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as trees

from conformance.kept import Kept
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.registry import PlugIns
from target_arch.run import build, run_frames, write_bundle

TYPES = ("float32", "int64", "bool")
LEFT_OUT = (
    "bernoulli", "cauchy", "complex", "dropout", "empty", "exponential", "fft", "geometric", "linalg",
    "multinomial", "normal", "rand", "sparse", "special", "stft", "uniform",
)  # fmt: skip
"""Parts of the names of operators that are not tried."""
ELEMENTS = (torch.float32, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
NAMED = ("unsupported-operator", "unsupported-type", "dynamic-shape")
DRAWN = 24
"""Samples of an operator among which some are chosen."""
SECONDS = 120


class Call(torch.nn.Module):  # type: ignore[misc]  # PyTorch has no types here
    """An operator with the arguments of a sample, whose tensors are the inputs."""

    def __init__(self, operator: Any, sample: Any) -> None:
        super().__init__()
        self.operator = operator
        self.flat, self.tree = trees.tree_flatten((sample.input, sample.args, sample.kwargs))
        self.places = [place for place, each in enumerate(self.flat) if isinstance(each, torch.Tensor)]

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The tensors of the sample."""
        return tuple(self.flat[place].detach().clone().contiguous() for place in self.places)

    def forward(self, *tensors: Any) -> Any:
        """The operator's result."""
        flat = list(self.flat)
        for place, tensor in zip(self.places, tensors, strict=True):
            flat[place] = tensor
        first, rest, named = trees.tree_unflatten(flat, self.tree)
        return self.operator.op(first, *rest, **named)


def _tensors(result: Any) -> list[Any]:
    return [each for each in trees.tree_leaves(result) if isinstance(each, torch.Tensor)]


def _has_form(tensors: Sequence[Any]) -> bool:
    return bool(tensors) and all(each.dtype in ELEMENTS and each.numel() for each in tensors)


def exported(call: Call, path: Path) -> list[Any] | None:
    """Write the program; what PyTorch computes, or None for a sample without a fixed form or elements."""
    if not _has_form(call.inputs):
        return None
    try:
        expected = _tensors(call(*call.inputs))
        torch.export.save(torch.export.export(call, call.inputs), path)
    except Exception:  # samples are not made for export, and fail in many ways
        return None
    return expected if _has_form(expected) else None


def outcome(call: Call, folder: Path) -> str:
    """What became of a sample."""
    path = folder / "model.pt2"
    expected = exported(call, path)
    if expected is None:
        return "not tried"
    plug_ins = PlugIns.discover(())
    soc = plug_ins.backends.default_soc("c")
    try:
        made = compile_model(CompileRequest(model_path=path, soc=soc, plug_ins=plug_ins))
    except DiagnosticError as error:
        found = error.diagnostics[0]
        return f"{'refused' if found.rule in NAMED else 'exception'}: {found.message[:150]}"
    write_bundle(made.bundle, folder / "bundle")
    frame = b"".join(each.numpy().tobytes() for each in call.inputs)
    (answer,) = run_frames(build(folder / "bundle", optimize="-O1"), (frame,), timeout=SECONDS)
    shapes = [made.model.tensors[name].shape for name in made.model.outputs]
    whole = [_whole(each.detach().numpy(), shape) for each, shape in zip(expected, shapes, strict=False)]
    return compared(answer, whole)


def _whole(value: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The value in its largest shape, which it has in C, with zeros behind it; counts follow all values."""
    whole = np.zeros(shape, value.dtype)
    whole[tuple(map(slice, value.shape))] = value
    return whole


def compared(answer: bytes, expected: Sequence[Any]) -> str:
    """`pass`, or how far off."""
    place = 0
    for each in expected:
        found = np.frombuffer(answer, each.dtype, each.size, place).reshape(each.shape)
        place += each.nbytes
        one, other = found.astype(np.float64), each.astype(np.float64)
        right = np.isclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
        if not right.all():
            return f"wrong: off by {np.abs(one - other)[~right].max():g} in {(~right).mean():.0%}"
    return "pass"


def tried(name: str, dtype: str, count: int) -> list[str]:
    """The outcomes of samples of an operator, by a process of its own."""
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    (operator,) = (each for each in op_db if each.formatted_name == name)
    samples = list(islice(operator.sample_inputs("cpu", getattr(torch, dtype)), DRAWN))
    found: list[str] = []
    for number in np.random.default_rng(0).permutation(len(samples)):
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = outcome(Call(operator, samples[number]), Path(folder))
            except Exception as error:  # whatever it is, it counts against the sample
                said = f"exception: {type(error).__name__}: {' '.join(str(error).split())[:150]}"
        found += [] if said == "not tried" else [said]
        if len(found) == count:
            break
    return found


def outcomes(names: Sequence[tuple[str, str]], count: int, kept: Kept) -> Iterator[tuple[str, list[str]]]:
    """The outcomes by operator and type; a crash of native code is one, too."""
    context = multiprocessing.get_context("fork")
    for name, dtype in names:
        key = f"{name} {dtype}"
        if key not in kept.known:
            with context.Pool(1) as pool:
                waiting = pool.apply_async(tried, (name, dtype, count))
                try:
                    kept.add(key, waiting.get(SECONDS * count))
                except multiprocessing.TimeoutError:
                    kept.add(key, ["exception: it crashed, or took too long"])
        yield key, kept.known[key]


def main() -> int:
    """Print what does not pass, and how many of each outcome; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these operators")
    parser.add_argument("--types", nargs="*", default=TYPES, metavar="TYPE")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--results", type=Path, metavar="FILE", help="outcomes that a run goes on from")
    given = parser.parse_args()
    names = [
        (each.formatted_name, dtype)
        for dtype in given.types
        for each in op_db
        if getattr(torch, dtype) in each.dtypes
        and not any(part in each.name for part in LEFT_OUT)
        and (not given.only or each.name in given.only)
    ]
    total: Counter[str] = Counter()
    for key, found in outcomes(names, given.samples, Kept(given.results)):
        for said in found:
            total[said.partition(":")[0]] += 1
            if said != "pass":
                print(f"{key}: {said}", flush=True)
    print(dict(total))
    return 1 if total["wrong"] or total["exception"] else 0


if __name__ == "__main__":
    sys.exit(main())
