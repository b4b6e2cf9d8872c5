"""The normal form of an ONNX model, and the way to it.

Functions are inlined, open dimensions fixed, shapes inferred, constants folded, branches and loops of known
course opened, operators brought to one version; operators that no converter knows, but ONNX defines by
others, become these. Operators that pass their input on, or whose results are not read, are removed. Padding
is stated in numbers. Results whose size depends on values have their largest size, and a count.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from target_arch.plan.inputs.shapes import InputShapes
from target_arch.relax.readers.onnx.rewriting.bounded_sources import forget_sizes
from target_arch.relax.readers.onnx.rewriting.bounded_walk import bound_results, has_bounds
from target_arch.relax.readers.onnx.rewriting.classical import without_classical
from target_arch.relax.readers.onnx.rewriting.cleaning import clean
from target_arch.relax.readers.onnx.rewriting.contributed import declare_outputs, without_contributed
from target_arch.relax.readers.onnx.rewriting.control_flow import open_control_flow
from target_arch.relax.readers.onnx.rewriting.folding import fold_constants
from target_arch.relax.readers.onnx.rewriting.functions import expand_operators, inlined, state_defaults
from target_arch.relax.readers.onnx.rewriting.fused import without_fused
from target_arch.relax.readers.onnx.rewriting.graph import OnnxGraph
from target_arch.relax.readers.onnx.rewriting.inputs import fix_inputs
from target_arch.relax.readers.onnx.rewriting.narrow_weights import widen_weights
from target_arch.relax.readers.onnx.rewriting.opset import raise_opset
from target_arch.relax.readers.onnx.rewriting.padding import state_padding
from target_arch.relax.readers.onnx.rewriting.shapes import infer_shapes, require_sizes, require_types
from target_arch.relax.readers.onnx.rewriting.signals import state_parts
from target_arch.relax.readers.onnx.rewriting.wide_joins import narrow_joins


def normal_form(
    path: Path, model: Any, wanted: InputShapes, is_known: Callable[[str, str], bool]
) -> OnnxGraph:
    """The graph of a model in normal form, with the types of all tensors; `is_known` says whether a converter
    takes an operator. Raises DiagnosticError where the model is not consistent, or an input stays open.
    """
    graph = OnnxGraph.of(inlined(model))
    require_sizes(path, graph.model)
    require_types(path, graph.model)
    widen_weights(graph)
    state_parts(graph)
    without_contributed(graph)
    fix_inputs(path, graph, wanted)
    state_defaults(graph, is_known)
    forget_sizes(graph)
    _settle(path, graph, wanted)
    if raise_opset(graph) or has_bounds(graph):
        _settle(path, graph, wanted, bounds=True)
    state_defaults(graph, is_known)
    while expand_operators(graph, is_known):
        state_defaults(graph, is_known)
        _settle(path, graph, wanted, bounds=True)
    state_padding(graph)
    narrow_joins(graph)
    return graph


def _settle(path: Path, graph: OnnxGraph, wanted: InputShapes, *, bounds: bool = False) -> None:
    """Infer, fold, open and clean until nothing more follows, and with `bounds` give results their largest
    size: before extents are folded, of which some are counts. Every round takes an operator away, of this
    graph or of one inside, unrolls one of its loops, learns the shape of a tensor, or gives one a bound, so
    it ends.
    """
    changed = True
    while changed:
        infer_shapes(path, graph, wanted)
        changed = declare_outputs(graph)
        changed = without_fused(graph) or changed
        changed = (bounds and bound_results(graph)) or changed
        changed = without_classical(graph) or changed
        changed = fold_constants(graph) or changed
        changed = open_control_flow(graph) or changed
        changed = clean(graph) or changed
