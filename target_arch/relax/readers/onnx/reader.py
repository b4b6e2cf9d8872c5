"""ONNX files."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from attrs import evolve

from target_arch.backend.operators import Foreign
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.content import content_of
from target_arch.relax.ir.graph import FileFacts
from target_arch.relax.readers.frontend import imported, translated
from target_arch.relax.readers.onnx.conversion import Known, convert, is_foreign, unknown
from target_arch.relax.readers.onnx.cut import cut_onnx
from target_arch.relax.readers.onnx.element_types import check_element_types
from target_arch.relax.readers.onnx.file import loaded
from target_arch.relax.readers.onnx.rewriting.bounded_marks import BOUNDED
from target_arch.relax.readers.onnx.rewriting.bounded_results import with_counts
from target_arch.relax.readers.onnx.rewriting.graph import OnnxGraph, array_of
from target_arch.relax.readers.onnx.rewriting.normal_form import normal_form
from target_arch.relax.readers.source import Imported
from target_arch.relax.readers.unsupported import unsupported


def named_nodes(graph: OnnxGraph) -> Iterator[tuple[str, str]]:
    """The operators of a model in normal form, each with its name or that of its first output."""
    for node in graph.model.graph.node:
        if node.op_type == BOUNDED:
            continue
        yield node.op_type, node.name or node.output[0]


def read_onnx(path: Path, data: bytes, wanted: InputShapes, foreign: Foreign) -> Imported:
    """The graph of an ONNX model, with open dimensions as `wanted`.

    Raises DiagnosticError, see `importer.py`.
    """
    return of_normal_form(path, in_normal_form(path, data, wanted, foreign), foreign)


def of_normal_form(path: Path, graph: OnnxGraph, foreign: Foreign) -> Imported:
    """The Relax module of a graph in normal form, which it changes. Raises DiagnosticError."""
    known = Known(foreign)
    authors: dict[object, str] = {}
    in_file: dict[object, str] = {}
    bounds = with_counts(path, graph)
    types = graph.types()
    rest = [node for node in graph.model.graph.node if not known.takes(node.domain, node.op_type)]
    if any(node.output[0] in graph.reasons for node in rest):
        raise unsupported(path, (unknown(node, graph.reasons) for node in rest))
    check_element_types(path, types)
    model = graph.whole()
    module = translated(path, lambda: convert(path, model, types, authors, in_file, known, bounds.tensors))
    stored = [
        (content_of(array.astype(np.float32) if array.dtype == np.float16 else array), value.name)
        for value in model.graph.initializer
        for array in (array_of(value),)
    ]
    outputs = tuple(value.name for value in model.graph.output)
    constants = dict(reversed(stored))
    file = FileFacts(authors=authors, tensors=in_file)
    found = imported(path, module, Arithmetic.ONNX, outputs, constants, file, halves=True)
    return evolve(found, bounded=bounds.outputs)


def in_normal_form(path: Path, data: bytes, wanted: InputShapes, foreign: Foreign) -> OnnxGraph:
    """The graph of a model in normal form. Operators of domains that nothing here knows are refused before
    anything else is asked for, since no shapes follow from them.
    """
    known, model = Known(foreign), loaded(path, data)
    if wanted.cut:
        cut_onnx(path, model, wanted.cut)
    own = {(each.domain, each.name) for each in model.functions}
    nodes = [node for node in model.graph.node if (node.domain, node.op_type) not in own]
    try:
        return normal_form(path, model, wanted, known.takes)
    except DiagnosticError:
        strange = [
            node for node in nodes if is_foreign(node.domain) and not known.takes(node.domain, node.op_type)
        ]
        if not strange:
            raise
        raise unsupported(path, (unknown(node, {}) for node in strange)) from None
