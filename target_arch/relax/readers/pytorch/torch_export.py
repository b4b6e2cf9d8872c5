"""Saved `torch.export` programs. PyTorch is an optional dependency, imported here and nowhere else."""

import io
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, is_zipfile

from attrs import evolve

from target_arch.backend.operators import Foreign, ModelFormat, no_libraries
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.content import content_of
from target_arch.relax.ir.errors import model_error
from target_arch.relax.ir.graph import FileFacts
from target_arch.relax.operators.states import StatePair
from target_arch.relax.quiet import quiet
from target_arch.relax.readers.frontend import imported, translated
from target_arch.relax.readers.pytorch.pt2_archive import NoProgram, Unsafe, plain_archive
from target_arch.relax.readers.pytorch.torch_cut import cut_program
from target_arch.relax.readers.pytorch.torch_decomposed import decomposed
from target_arch.relax.readers.pytorch.torch_indices import count_from_start
from target_arch.relax.readers.pytorch.torch_shapes import with_input_shapes
from target_arch.relax.readers.pytorch.torch_signature import keep_tensors, tensor_outputs
from target_arch.relax.readers.pytorch.torch_states import HeldBuffer, held_buffers
from target_arch.relax.readers.source import Imported

if TYPE_CHECKING:
    from target_arch.relax.readers.pytorch.torch_operators.counts import CountedTensors


def read_torch(path: Path, data: bytes, shapes: InputShapes, foreign: Foreign) -> Imported:
    """A program that `torch.export.save` wrote, with open dimensions as in `shapes`.

    Raises DiagnosticError, see `importer.py`.
    """
    loaded = load_program(path, data, foreign)
    program = with_input_shapes(path, loaded, shapes)
    in_file: dict[Any, str] = {}
    core = translated(path, lambda: _core(path, program, shapes))
    results = tensor_outputs(core if shapes.cut else program)
    counted = translated(path, lambda: _counted(core))
    module, held = translated(path, lambda: _module(path, core, counted, in_file, foreign))
    named = {each.count: results[each.output] for each in reversed(counted.bounded)}
    outputs = (*results, *(f"{named[number]}_count" for number in sorted(named)))
    values = tuple(f"{each.node}_value" for each in held)
    weights = reversed(list(program.state_dict.items()))
    names = {content_of(value.detach().numpy()): str(name) for name, value in weights}
    made = imported(path, module, Arithmetic.ONNX, (*outputs, *values), names, FileFacts(tensors=in_file))
    return evolve(
        made,
        program=evolve(made.program, loaded=loaded),
        states=tuple(_states(made, held, len(outputs))),
        bounded=counted.bounded,
    )


def _states(made: Imported, held: Sequence[HeldBuffer], results: int) -> Iterator[StatePair]:
    """The new values are after all results."""
    inputs = [str(var.name) for var in made.program.graph.function.params]
    for number, each in enumerate(held):
        yield StatePair(input=inputs.index(each.node), output=results + number, initial=each.initial)


def named_calls(path: Path, data: bytes, wanted: InputShapes, foreign: Foreign) -> Iterator[tuple[str, str]]:
    """The core operators of an exported program, each with the name of its node."""
    program = load_program(path, data, foreign)
    nodes = translated(path, lambda: list(_core(path, program, wanted).graph.nodes))
    for node in nodes:
        if node.op == "call_function":
            yield str(node.target.__name__).removesuffix(".default"), node.name


def load_program(path: Path, data: bytes, foreign: Foreign = no_libraries) -> Any:
    """The exported program in an archive, loaded without running code from it. Its operators are those of
    PyTorch and of libraries (`foreign`). Raises DiagnosticError.
    """
    if not _is_archive(data):
        raise model_error("model-damaged", path, "the archive is cut off or damaged", "export it again")
    if find_spec("torch") is None:
        message = "reading `.pt2` needs PyTorch"
        raise model_error("missing-extra", path, message, "install `target-arch[torch]`")
    try:
        archive = plain_archive(data, _declaring(foreign))
    except NoProgram as error:
        message = f"this is no saved torch.export program: {error}"
        raise model_error("model-damaged", path, message, _WRITE) from None
    except Unsafe as error:
        message = f"to load it, PyTorch would run code from the file: it contains {error}"
        raise model_error("unsafe-model", path, message, "export tensors and ATen operators alone") from None
    try:
        with quiet():
            from target_arch.relax.readers.pytorch.pt2_program import loaded

            return loaded(archive)
    except Exception as error:
        # PyTorch checks what it builds with exceptions of every kind.
        message = "this is no saved torch.export program: its parts contradict each other"
        raise model_error("model-damaged", path, message, _WRITE) from error


def _is_archive(data: bytes) -> bool:
    try:
        return is_zipfile(io.BytesIO(data))
    except BadZipFile:  # one of several disks
        return False


_WRITE = "write it with `torch.export.save`"


def _declaring(foreign: Foreign) -> Callable[[str], bool]:
    """Return whether a library has a converter of an operator of PyTorch, which it declares then."""

    def is_declared(name: str) -> bool:
        converter = foreign(ModelFormat.PYTORCH, name)
        if converter is not None and converter.library.declare is not None:
            converter.library.declare()
        return converter is not None

    return is_declared


def _core(path: Path, program: Any, wanted: InputShapes) -> Any:
    """The program, or the part of it that is wanted, in the core operators of PyTorch."""
    try:
        core = decomposed(program)
    except Exception as error:
        # Passes of PyTorch raise exceptions of every kind, of programs that it exported itself.
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        message = f"PyTorch cannot take it apart into its core operators: {said}"
        raise model_error("unsupported-model", path, message, _SHOWN) from error
    return cut_program(path, core, wanted.cut) if wanted.cut else core


_SHOWN = "that is PyTorch's own failure: `run_decompositions()` of the program shows it whole"


def _counted(core: Any) -> "CountedTensors":
    from target_arch.relax.readers.pytorch.torch_operators.counts import counted_tensors

    return counted_tensors(core, tensor_outputs(core))


def _module(
    path: Path, core: Any, counted: "CountedTensors", in_file: dict[Any, str], foreign: Foreign
) -> tuple[Any, tuple[HeldBuffer, ...]]:
    """A program in core operators as Relax, and the buffers that became its inputs. `in_file` receives the
    names of its nodes by the expressions they became.
    """
    from target_arch.relax.readers.pytorch.torch_converters import convert

    held = held_buffers(core)
    keep_tensors(core)
    count_from_start(core)
    return convert(path, core, counted, in_file, foreign), held
