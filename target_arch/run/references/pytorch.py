"""PyTorch: the reference of exported programs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from target_arch.diagnostics import refusal
from target_arch.plan.inputs.cut import WHOLE, ModelCut
from target_arch.relax.quiet import quiet
from target_arch.relax.readers.pytorch.pt2_archive import plain_archive
from target_arch.relax.readers.pytorch.torch_cut import cut_program
from target_arch.relax.readers.pytorch.torch_decomposed import decomposed
from target_arch.relax.readers.pytorch.torch_signature import called, leaves, tensor_inputs, tensor_outputs
from target_arch.run.references.indices.uses import Use, highest_indices, index_limits
from target_arch.run.references.reference import (
    FLOAT_RELATIVE,
    FLOAT_RULE,
    FLOAT_TOLERANCE,
    Array,
    Frame,
    Input,
    LayerRule,
    Reference,
    Shape,
    Shapes,
    cannot_run,
    fixed_shape,
    limits,
    package_missing,
    quantized_limits,
    unreadable,
)

_QUANTIZED_RULE = "no farther than one step"
_QUANTIZE = ("quantize_per_tensor.default",)
_DEQUANTIZE = ("dequantize_per_tensor.default",)


def pytorch(model: Path, shapes: Shapes = (), cut: ModelCut = WHOLE, loaded: Any = None) -> Reference:
    """The exported program, or a part of it, run eagerly; `loaded` is what was read of the file before.

    ToolMissing without `torch`, DiagnosticError for a file it cannot read.
    """
    try:
        import torch
    except ImportError as error:
        raise package_missing("torch", "torch") from error
    program = _read(model) if loaded is None else loaded
    if cut:
        with quiet():
            program = cut_program(model, decomposed(program), cut)
    module, inside = program.module(), _Inside(program=program, core=bool(cut))
    restore = _restoring(module) if _may_write(program) else _nothing
    names = tensor_inputs(program)
    values = [
        node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in names
    ]

    def answer(frame: Frame) -> tuple[Frame, ...]:
        try:
            with _on_one_thread():
                results = called(program, module, _tensors(frame))
        except (RuntimeError, IndexError, ValueError) as error:
            raise cannot_run(model, "PyTorch", error) from error
        return (tuple(value.detach().numpy().copy() for value in results),)

    def reset() -> None:
        restore()
        inside.reset()

    quantized = _quantized(program.graph)
    highest = highest_indices(_uses(program.graph))
    inputs = tuple(
        _input(program.graph, name, value, shape, highest.get(name))
        for name, value, shape in zip(names, values, _shapes(model, values, shapes), strict=True)
    )
    return Reference(
        name=f"PyTorch {torch.__version__}",
        rule=_QUANTIZED_RULE if quantized else FLOAT_RULE,
        inputs=inputs,
        units=tuple(_unit(program.graph, name) for name in tensor_outputs(program)),
        allowed=1.0 if quantized else FLOAT_TOLERANCE,
        relative=0.0 if quantized else FLOAT_RELATIVE,
        answer=answer,
        reset=reset,
        inside=inside,
        layers=LayerRule(steps=1, judges=quantized),
        rounds=not quantized,
        reals=tuple(_is_real(program.graph, name) for name in tensor_outputs(program)) if quantized else (),
    )


def _read(model: Path) -> Any:
    try:
        from target_arch.relax.readers.pytorch.pt2_program import loaded

        return loaded(plain_archive(model.read_bytes()))
    except Exception as error:
        # PyTorch checks what it builds with exceptions of every kind.
        raise unreadable(model, "PyTorch", error) from error


@contextmanager
def _on_one_thread() -> Iterator[None]:
    """Without gradients, and on one thread: sums have one order then, and threads that a busy computer does
    not run are not waited for.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(threads)


def _tensors(frame: Frame) -> tuple[Any, ...]:
    """Tensors of PyTorch, with copies of the values, since a program may change its inputs."""
    import torch

    return tuple(torch.from_numpy(np.array(value)) for value in frame)


def _may_write(program: Any) -> bool:
    """Whether a program may change its parameters and buffers: not if it has nothing but operators that write
    nowhere, and all that it gives are results.
    """
    import torch
    from torch.export.graph_signature import OutputKind

    def writes(node: Any) -> bool:
        if isinstance(node.target, torch._ops.OpOverload):
            return bool(node.target._schema.is_mutable)
        return getattr(node.target, "__module__", "") != "_operator"

    calls = (node for node in program.graph.nodes if node.op == "call_function")
    kinds = {spec.kind for spec in program.graph_signature.output_specs}
    return kinds != {OutputKind.USER_OUTPUT} or any(map(writes, calls))


def _nothing() -> None:
    """There is nothing to restore."""


def _restoring(module: Any) -> Callable[[], None]:
    """A function that gives the module's tensors the values that they have now; its buffers become its own,
    since it shares them with the program.
    """
    import torch

    own: dict[int, Any] = {}
    for part in module.modules():
        for name, value in part.named_buffers(recurse=False):
            setattr(part, name, own.setdefault(id(value), value.clone()))
    tensors = (*module.named_parameters(), *module.named_buffers())
    before = [(value, value.detach().clone()) for _, value in tensors]

    def restore() -> None:
        with torch.no_grad():
            for value, first in before:
                value.copy_(first)

    return restore


@frozen(kw_only=True, eq=False, slots=False)
class _Inside:
    """The values of the nodes of a program, decomposed into PyTorch's core operators as its reader does; a
    `core` program is in these.
    """

    program: Any
    core: bool

    @cached_property
    def _interpreter(self) -> Any:
        with quiet():
            module = (self.program if self.core else decomposed(self.program)).module()
        return _watching(module)

    @cached_property
    def _restore(self) -> Callable[[], None]:
        return _restoring(self._interpreter.module)

    def reset(self) -> None:
        """The values of buffers as they are in the file."""
        if "_interpreter" in vars(self):
            self._restore()

    def __call__(self, frame: Frame) -> Mapping[str, Array]:
        interpreter, _ = self._interpreter, self._restore
        interpreter.seen.clear()
        with _on_one_thread():
            interpreter.run(*leaves(self.program, _tensors(frame)), enable_io_processing=False)
        return dict(interpreter.seen)


def _watching(module: Any) -> Any:
    """An interpreter of a graph that notes, in `seen`, every tensor by the name of its node; of a node with
    several the first, as its reader does.
    """
    import torch

    class Watching(torch.fx.Interpreter):  # type: ignore[misc]  # PyTorch has no types here
        seen: dict[str, Array]

        def run_node(self, n: Any) -> Any:
            value = super().run_node(n)
            first = value[0] if isinstance(value, tuple) and value else value
            if isinstance(first, torch.Tensor):
                self.seen[n.name] = first.detach().numpy().copy()
            return value

    watching = Watching(module)
    watching.seen = {}
    return watching


def _shapes(model: Path, values: list[Any], shapes: Shapes) -> Iterator[Shape]:
    """The shape of every input; DiagnosticError where one stays open."""
    for number, value in enumerate(values):
        shape = fixed_shape(
            shapes, number, [extent if isinstance(extent, int) else None for extent in value.shape]
        )
        if shape is None:
            raise refusal("dynamic-shape", model, f"input {number} has no fixed shape", None)
        yield shape


_INDEXING = {
    "embedding.default": (1, 0, None),
    "index_select.default": (2, 0, 1),
    "gather.default": (2, 0, 1),
    **dict.fromkeys(("index_add_.default", "index_add.default", "index_copy_.default"), (2, 0, 1)),
    **dict.fromkeys(("index_copy.default", "scatter.src", "scatter_add.default"), (2, 0, 1)),
}
"""Operators that index: the numbers of the arguments that are indices, are indexed, and name the dimension
(None: the first).
"""
_INDEXING_BY_LISTS = ("index.Tensor", "index_put.default", "index_put_.default")
"""Operators whose second argument are indices of the first one, a tensor or None for each dimension."""
_PASSING = (
    "to.dtype",
    "expand.default",
    "permute.default",
    "select.int",
    "slice.Tensor",
    "squeeze.dim",
    "transpose.int",
    "_to_copy.default",
    "view.default",
    "reshape.default",
    "unsqueeze.default",
    "clone.default",
)


def _uses(graph: Any) -> Iterator[Use]:
    for node in graph.nodes:
        name = _called(node)
        reads = tuple(each.name for each in node.all_input_nodes)
        extents = _extents_of_lists(node) if name in _INDEXING_BY_LISTS else {}
        if name in _INDEXING:
            indices, table, dimension = _INDEXING[name]
            shape = node.args[table].meta["val"].shape or (1,)
            extents[node.args[indices].name] = int(shape[0 if dimension is None else node.args[dimension]])
        yield Use(reads=reads, writes=(node.name,), extents=extents, passes=name in _PASSING)


def _extents_of_lists(node: Any) -> dict[str, int]:
    shape = node.args[0].meta["val"].shape
    return {
        index.name: int(shape[axis])
        for axis, index in enumerate(node.args[1])
        if index is not None and not str(index.meta["val"].dtype).endswith("bool")
    }


def _quantized(graph: Any) -> bool:
    """Whether it has operators between floats and stored values."""
    return any(_called(node).startswith(("quantize_per", "dequantize_per")) for node in graph.nodes)


def _unit(graph: Any, name: str) -> float:
    """The step of an output that was dequantized, else 1."""
    steps = (
        float(node.args[1]) for node in graph.nodes if node.name == name and _called(node) in _DEQUANTIZE
    )
    return next(steps, 1.0)


def _is_real(graph: Any, name: str) -> bool:
    """Whether an output is a float that was computed as such."""
    nodes = [node for node in graph.nodes if node.name == name]
    return all(node.meta["val"].is_floating_point() and _called(node) not in _DEQUANTIZE for node in nodes)


def _quantization(graph: Any, name: str) -> tuple[float, int, np.dtype[Any]] | None:
    """Scale, zero point and type of the quantization that follows an input, if one does."""
    for node in graph.nodes:
        if _called(node) in _QUANTIZE and node.args[0].name == name:
            stored = np.dtype(str(node.args[5]).removeprefix("torch."))
            return float(node.args[1]), int(node.args[2]), stored
    return None


def _called(node: Any) -> str:
    return str(getattr(node.target, "__name__", ""))


def _input(graph: Any, name: str, value: Any, shape: Shape, highest: int | None) -> Input:
    dtype = np.dtype(str(value.dtype).removeprefix("torch."))
    quantization = _quantization(graph, name)
    low, high = quantized_limits(*quantization) if quantization else limits(dtype)
    if dtype.kind in "iu":
        low, high = index_limits(highest, (low, high))
    step = quantization[0] if quantization else 0.0
    return Input(name=name, shape=shape, dtype=dtype, low=low, high=high, step=step)
