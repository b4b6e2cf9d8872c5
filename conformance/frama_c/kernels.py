"""Eva over kernels that are generated for one operator: no alarm, whatever the inputs.

    python -m conformance.frama_c.kernels [CODE ...] [--dtype TYPE] [--seconds S]

Compiles a small model of each operator of TFLite that has a case, or of those named, for a microcontroller,
and calls each function of its kernels as its steps do: the constants are the model's, every input may hold
any value of its type, infinities and NaN included, results hold nothing yet, and every operand has its own
bytes and no more. The kernels are the portable ones. Prints what Eva proves of each, and every alarm. Exit
code 1 where there is one, or an operator took longer than S seconds; 3 where Frama-C is missing.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from attrs import evolve, frozen

from conformance.frama_c.cases import (
    BYTES,
    greatest_at_places,
    greatest_in_each_place,
    shown,
)
from conformance.frama_c.units import MissingTool, Outcome, Unit, analysed
from conformance.tflite_operators import CASES, HYBRID, Variant
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.kernels import Call, CFunction, Operand
from target_arch.plan.model import Tensor
from target_arch.resources import runtime_c
from target_arch.soc import read_soc

SEED, SECONDS, TURNS, OTHER_TURNS = 31, 120.0, 200, 1_000
PRECISIONS = (0, 3)
"""Of Eva, the quick one first: the other one tells apart which value is greater, of a maximum without end."""
_TYPES = {
    "int8_t": "i1",
    "uint8_t": "u1",
    "bool": "u1",
    "int16_t": "i2",
    "uint16_t": "u2",
    "int32_t": "i4",
    "uint32_t": "u4",
    "float": "f4",
    "int64_t": "i8",
}
"""NumPy's names of C types."""


def harness(made: CompiledModel) -> str:
    """The generated C of a model, and a main that calls each function with all values of its inputs."""
    return program(made, [line for call in calls(made) for line in call.lines])


def program(made: CompiledModel, lines: Iterable[str]) -> str:
    """The generated C of a model, and a main of these lines."""
    sources = (text.decode() for name, text in made.bundle.files.items() if name.endswith("_kernels.c"))
    kernels = "\n".join(sources).replace(f'#include "{made.manifest.name}_internal.h"\n', "")
    head = '#include "target_arch/runtime.h"\n#include "__fc_builtin.h"\nvolatile long long any;\n'
    head += greatest_at_places()
    body = "\n".join(lines)
    return f"{head}{shown(kernels)}\nint main(void)\n{{\n{body}\n    return 0;\n}}\n"


@frozen
class Called:
    """A call of a function of a kernel, as lines of C."""

    function: str
    lines: tuple[str, ...]


def calls(made: CompiledModel) -> Iterator[Called]:
    """Every call of the kernels, with operands of its own."""
    for kernel in made.kernels.values():
        tensors = {**made.model.tensors, **{each.name: each for each in kernel.constants}}
        sizes = {name: tensor.bytes for name, tensor in tensors.items()}
        sizes |= {buffer.name: buffer.bytes for buffer in kernel.buffers}
        functions = {each.name: each for each in kernel.functions}
        for call in kernel.actions:
            if isinstance(call, Call):
                lines = _call(functions[call.function], call, tensors, sizes)
                yield Called(call.function, tuple(lines))


def _call(
    function: CFunction, call: Call, tensors: Mapping[str, Tensor], sizes: Mapping[str, int]
) -> Iterator[str]:
    yield "    {"
    for number, (operand, parameter) in enumerate(zip(call.operands, function.parameters, strict=True)):
        yield from _operand(f"p{number}", operand, parameter, tensors.get(operand.of), sizes[operand.of])
    names = ", ".join(f"p{number}" for number in range(len(call.operands)))
    called = f"{function.name}({names});"
    first = tensors.get(call.operands[0].of)
    if first is not None and first.dtype in BYTES and function.name.startswith("softmax_"):
        rows = first.bytes // first.shape[-1]
        yield from greatest_in_each_place(first.dtype, first.shape[-1], rows, called)
    else:
        yield f"    {called}"
    yield "    }"


def _operand(name: str, operand: Operand, parameter: str, tensor: Tensor | None, size: int) -> Iterator[str]:
    """The array of an operand, with its content."""
    kind = parameter.replace("const ", "").replace(" *", "")
    part, each = operand.touched(size), np.dtype(_TYPES[kind])
    count = (part.end - part.offset) // each.itemsize
    if tensor is not None and tensor.data is not None:
        values = np.frombuffer(tensor.data[part.offset : part.end], dtype=each).tolist()
        yield f"    static const {kind} {name}[{count}] = {{{', '.join(map(repr, values))}}};"
        return
    yield f"    {'static ' if operand.access.reads else ''}{kind} {name}[{count}];"
    if not operand.access.reads:
        return
    if kind in ("int8_t", "uint8_t", "float"):
        yield f"    Frama_C_make_unknown((char *){name}, {count * each.itemsize}u);"
    else:  # static, so that Eva knows each element to be there where it joins turns
        yield f"    for (int k = 0; k < {count}; ++k) {{ {name}[k] = ({kind})any; }}"


def compiled(code: str, dtype: str, folder: Path) -> CompiledModel | None:
    """The small model of an operator; None where it is not read with this type, or has no function in C."""
    path = folder / "model.tflite"
    path.write_bytes(Variant(code=code, dtype=dtype, seed=SEED).content())
    try:
        made = compile_model(CompileRequest(model_path=path, soc=read_soc("mcu_m7")))
    except DiagnosticError:
        return None
    if dtype == HYBRID and all(each.dtype != "int8" for each in made.model.tensors.values()):
        return None
    return made if any(kernel.functions for kernel in made.kernels.values()) else None


def executed(code: str, text: str, folder: Path, seconds: float = SECONDS) -> Outcome:
    """What Eva proves of a harness, as precisely as it takes. RuntimeError where it takes longer."""
    source = folder / "harness.c"
    source.write_text(text)
    unit = Unit(
        name=code,
        tool="Eva",
        sources=(str(source),),
        flags=("-DTA_KERNELS_PORTABLE", f"-iquote {_headers(folder)}"),
        unrolled=TURNS,
        seconds=seconds,
        dead=sys.maxsize,
    )
    found = analysed(evolve(unit, precision=PRECISIONS[0], told_apart=OTHER_TURNS))
    return found if found.clean else analysed(evolve(unit, precision=PRECISIONS[1]))


def _headers(folder: Path) -> Path:
    """Where the headers of kernels are that have something to be shown in them."""
    (folder / "kernels").mkdir(exist_ok=True)
    for header in sorted((runtime_c() / "kernels").glob("*.h")):
        text = header.read_text()
        if shown(text) != text:
            (folder / "kernels" / header.name).write_text(shown(text))
    return folder


def _outcome(code: str, dtype: str, seconds: float) -> Outcome | None:
    with tempfile.TemporaryDirectory() as folder:
        made = compiled(code, dtype, Path(folder))
        return None if made is None else executed(code, harness(made), Path(folder), seconds)


def main() -> int:
    """Exit code as above."""
    parser = argparse.ArgumentParser(prog="python -m conformance.frama_c.kernels", description=__doc__)
    parser.add_argument("codes", nargs="*", metavar="CODE", help="operators of TFLite; all without one")
    parser.add_argument(
        "--dtype", default="int8", metavar="TYPE", help=f"or {HYBRID}: int8 weights of floats"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S")
    options = parser.parse_args()
    without, some, failed = 0, 0, 0
    for code in options.codes or CASES:
        try:
            found = _outcome(code, options.dtype, options.seconds)
        except MissingTool as missing:
            print(missing, file=sys.stderr)
            return 3
        except RuntimeError as error:
            failed += 1
            print(f"{code}: {str(error)[:200]}", flush=True)
            continue
        if found is None:
            continue
        without, some = without + found.clean, some + (not found.clean)
        print(f"{code}: {found.proved} of {found.total}, {found.seconds:.0f} s", flush=True)
        for line in found.left:
            print(f"    {line}", flush=True)
    print(f"{without} without an alarm, {some} with some, {failed} not analysed")
    return int(some + failed > 0)


if __name__ == "__main__":
    sys.exit(main())
