"""Saved `torch.export` programs. PyTorch is an optional dependency, imported here and nowhere else."""

from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.errors import model_error
from target_arch.relax.readers.frontend import imported, quiet, translated
from target_arch.relax.readers.source import Imported
from target_arch.relax.readers.torch_indices import count_from_start
from target_arch.relax.readers.torch_misread import refuse_misread
from target_arch.relax.readers.torch_shapes import with_input_shapes

_UNREADABLE = (
    RuntimeError,
    ValueError,
    KeyError,
    AttributeError,
    TypeError,
    AssertionError,
    BadZipFile,
    OSError,
)


def read_torch(path: Path, shapes: InputShapes) -> Imported:
    """A program that `torch.export.save` wrote, with open dimensions as in `shapes`.

    Raises DiagnosticError, see `importer.py`.
    """
    if not is_zipfile(path):
        raise model_error("model-damaged", path, "the archive is cut off or damaged", "export it again")
    try:
        import torch
    except ImportError:
        raise model_error(
            "missing-extra", path, "reading `.pt2` needs PyTorch", "install `target-arch[torch]`"
        ) from None
    program = with_input_shapes(path, _loaded(path, torch), shapes)
    module = translated(path, lambda: _module(path, program))
    outputs = tuple(str(output.arg.name) for output in program.graph_signature.output_specs)
    weights = reversed(list(program.state_dict.items()))
    names = {value.detach().numpy().tobytes(): str(name) for name, value in weights}
    return imported(path, module, Arithmetic.ONNX, outputs, names)


def _loaded(path: Path, torch: Any) -> Any:
    try:
        with quiet():
            return torch.export.load(path)
    except _UNREADABLE:
        hint = "write it with `torch.export.save`"
        raise model_error("model-damaged", path, "this is no saved torch.export program", hint) from None


def _module(path: Path, program: Any) -> Any:
    """TVM's reading of the program, decomposed into the core operators of PyTorch."""
    from tvm.relax.frontend.torch import from_exported_program

    decomposed = program.run_decompositions()
    count_from_start(path, decomposed)
    refuse_misread(path, decomposed)
    return from_exported_program(decomposed, unwrap_unit_return_tuple=True, run_ep_decomposition=False)
