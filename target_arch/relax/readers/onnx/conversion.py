"""Operators of a model in normal form become Relax, one by one, so that each that cannot is named."""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attrs import frozen
from onnx import TensorProto
from tvm import relax, tirx
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter, _get_convert_map, get_type, onnx_input

from target_arch.backend.operators import Foreign, ForeignConverter, ModelFormat
from target_arch.diagnostics import DiagnosticError, listed
from target_arch.plan.inputs.shapes import AS_IN_FILE
from target_arch.relax.onnx_converters import CONVERTERS, converted, takes
from target_arch.relax.onnx_operators.halves import Halves
from target_arch.relax.onnx_operators.node import Node
from target_arch.relax.readers.attempts import UNCLEAR, Attempts, zeros
from target_arch.relax.readers.foreign import results_of
from target_arch.relax.readers.frontend import FAILURES
from target_arch.relax.readers.onnx.loops import looped
from target_arch.relax.readers.onnx.rewriting.bodies import OWN_DOMAIN
from target_arch.relax.readers.onnx.rewriting.bounded_results import with_counts
from target_arch.relax.readers.onnx.rewriting.bounded_sources import BOUNDED_RESULTS
from target_arch.relax.readers.onnx.rewriting.classical import DOMAIN as CLASSICAL
from target_arch.relax.readers.onnx.rewriting.contributed import WITHOUT_SCHEMA
from target_arch.relax.readers.onnx.rewriting.control_flow import Course
from target_arch.relax.readers.onnx.rewriting.forests import FOREST
from target_arch.relax.readers.onnx.rewriting.graph import ONNX_DOMAINS, TensorKind, opset_of
from target_arch.relax.readers.onnx.rewriting.normal_form import normal_form
from target_arch.relax.readers.onnx.rewriting.support_vectors import COUPLED, DISTANCES
from target_arch.relax.readers.unsupported import Unsupported, unsupported
from target_arch.relax.site import NotConverted, Result

_FOREIGN = frozenset(
    (
        "Attention",
        "EmbedLayerNormalization",
        "MatMulInteger16",
    )
)
"""Of the frontend's operators those of `com.microsoft`; all others are ONNX's."""

_CONTRIBUTED = "com.microsoft"
"""onnxruntime's own operators."""

_EXPANDED = frozenset(("GroupNormalization", "MeanVarianceNormalization", "RMSNormalization"))
"""Operators of which the frontend takes only some forms; their definition by other operators has all."""

_CASTS = ("Cast", "CastLike")

_BODY = "its body cannot be converted"


def is_known(domain: str, operator: str) -> bool:
    """Whether a converter takes the operator."""
    if operator in CONVERTERS and _is_ours(domain, operator):
        return True
    theirs = domain == _CONTRIBUTED if operator in _FOREIGN else domain in ONNX_DOMAINS
    return theirs and operator not in _EXPANDED and operator in _of_frontend()


@cache
def _of_frontend() -> Mapping[str, Any]:
    """The frontend's converters by name, whose table it makes again for every operator."""
    return MappingProxyType(_get_convert_map())


@cache
def _converter(operator: str, opset: int) -> Any:
    """The frontend's converter of an operator in that version."""
    return _of_frontend()[operator].get_converter(opset)


def _is_ours(domain: str, operator: str) -> bool:
    """Whether an operator of this domain is the one that a converter of ours of that name is for."""
    if operator in (COUPLED, DISTANCES, FOREST, *BOUNDED_RESULTS):
        return domain == OWN_DOMAIN
    return domain == _CONTRIBUTED if operator in WITHOUT_SCHEMA else domain in ONNX_DOMAINS


def is_foreign(domain: str) -> bool:
    """Whether no operator of the domain is known."""
    return domain not in (*ONNX_DOMAINS, _CONTRIBUTED, CLASSICAL, OWN_DOMAIN)


@frozen(eq=False)
class Known:
    """The operators that have a converter: ours, and those of libraries of others."""

    _foreign: Foreign

    def takes(self, domain: str, operator: str) -> bool:
        """Return whether a converter takes the operator."""
        return is_known(domain, operator) or self.library(domain, operator) is not None

    def library(self, domain: str, operator: str) -> ForeignConverter | None:
        """Return the converter of an operator in a library; None for operators of ours."""
        return self._foreign(ModelFormat.ONNX, f"{domain}.{operator}") if is_foreign(domain) else None


def unknown(node: Any, reasons: Mapping[str, str]) -> Unsupported:
    """The refusal of an operator that no converter knows, with its reason where there is one."""
    output = next(iter(node.output), "")
    reason = f"no operator of `{node.domain}` is known here" if is_foreign(node.domain) else "not known here"
    place = node.name or output or node.op_type
    return Unsupported(operator=node.op_type, place=place, reason=reasons.get(output, reason))


def convert(
    path: Path,
    model: Any,
    types: Mapping[str, TensorKind],
    authors: dict[Any, str],
    in_file: dict[Any, str],
    known: Known,
    bounded: frozenset[str] = frozenset(),
) -> Any:
    """The Relax module of a model in normal form, whose tensors have `types`; those called `bounded` have
    another size in the file.

    `authors` and `in_file` receive the names of nodes and of tensors by the expressions they became. Raises
    DiagnosticError that names every operator that cannot be converted.
    """
    importer = _Importer(path, types, authors, in_file, known, bounded)
    return importer.from_onnx(model.graph, opset_of(model))


def _of_body(path: Path, known: Known, model: Any) -> tuple[Any, int]:
    """The Relax module of a loop's body, and the number of its results. Raises DiagnosticError."""
    graph = normal_form(path, model, AS_IN_FILE, known.takes)
    if with_counts(path, graph).outputs:
        raise NotConverted("a result of its body has a size that depends on values")
    whole, types = graph.whole(), graph.types()
    return convert(path, whole, types, {}, {}, known), len(whole.graph.output)


class _Importer(ONNXGraphImporter):  # type: ignore[misc]
    """The frontend, which goes on after an operator that fails, with a stand-in for its outputs."""

    def __init__(
        self,
        path: Path,
        types: Mapping[str, TensorKind],
        authors: dict[Any, str],
        in_file: dict[Any, str],
        known: Known,
        bounded: frozenset[str],
    ) -> None:
        super().__init__(None, None)
        self._path = path
        self._types = types
        self._authors = authors
        self._in_file = in_file
        self._known = known
        self._bounded = bounded
        self._halves = Halves(self.bb)

    def _check_for_unsupported_ops(self, graph: Any) -> None:
        """They are met one by one."""

    def _construct_nodes(self, graph: Any) -> None:
        attempts = Attempts()
        self._course = Course(graph, self._types)
        for node in graph.node:
            if self._known.takes(node.domain, node.op_type) and any(
                n and n not in self._nodes for n in node.input
            ):
                continue  # it reads what a failed operator of unknown type would have written
            repeats = node.op_type == "Loop" and node.domain in ONNX_DOMAINS
            attempts.tried(
                partial(self._repeat if repeats else self._construct, node),
                partial(self._refusal, node),
                partial(self._stand_in, node),
                partial(self._unclear, node, repeats=repeats),
            )
            for name in node.output:
                if name in self._nodes:
                    self._authors.setdefault(self._nodes[name], node.name or name)
                    if name not in self._bounded:
                        self._in_file.setdefault(self._nodes[name], name)
        if attempts.failures:
            raise unsupported(self._path, attempts.failures)

    def _unclear(self, node: Any, *, repeats: bool) -> str:
        """Return the reason of a converter that gives none: the types of operands as the file has them."""
        if repeats:
            return _BODY
        return f"{UNCLEAR}: {', '.join(str(self._types.get(name, '?')) for name in node.input if name)}"

    def _refusal(self, node: Any, reason: str) -> Unsupported:
        place, inputs = node.name or node.output[0], self._course.deciding(node)
        return Unsupported(operator=node.op_type, place=place, reason=reason, inputs=inputs)

    def _construct(self, node: Any) -> None:
        """Convert an operator. Raises NotConverted."""
        if not self._known.takes(node.domain, node.op_type):
            inputs = self._course.deciding(node)
            course = f"its course follows from {listed(inputs)}" if inputs else ""
            raise NotConverted(course or unknown(node, {}).reason)
        results = self._converted(node)
        if len(results) < len(node.output):
            raise NotConverted(f"its output {len(results)} is not computed")
        if not all(map(_is_fixed, results)):
            raise NotConverted("the shape of its output depends on values")
        for name, value in zip(node.output, results, strict=False):
            self._nodes[name] = value

    def _repeat(self, node: Any) -> None:
        """Convert a loop. Raises NotConverted."""
        try:
            results = looped(
                node, self._nodes, self.bb, self.opset, partial(_of_body, self._path, self._known)
            )
        except (NotConverted, *FAILURES) as refusal:
            inputs = self._course.deciding(node)
            if inputs:
                raise NotConverted(f"its course follows from {listed(inputs)}") from None
            raise refusal
        except DiagnosticError as refusal:
            raise NotConverted(f"of its body, {refusal.diagnostics[0].message}") from None
        self._nodes.update({name: value for name, value in zip(node.output, results, strict=True) if name})

    def _converted(self, node: Any) -> list[Any]:
        """The results of an operator on float32 in place of float16, as the file's types want them."""
        if node.op_type == "BitCast":
            return self._computed(node, [self._nodes[name] for name in node.input], {})
        inputs = [self._halves.wide(self._nodes[name]) if name else None for name in node.input]
        casts = node.op_type in _CASTS and self._types[node.output[0]].elements == TensorProto.FLOAT16
        found = self._computed(node, inputs, {"to": TensorProto.FLOAT} if casts else {})
        wanted = [self._types.get(name) for name in node.output]
        return [
            self._halves.stored(value, rounds=casts)
            if kind is not None and kind.elements == TensorProto.FLOAT16
            else value
            for value, kind in zip(found, wanted, strict=False)
        ]

    def _computed(self, node: Any, operands: list[Any], replaced: Mapping[str, Any]) -> list[Any]:
        attributes = self._parse_attr(node.attribute)
        attributes.update({name: value for name, value in replaced.items() if name in attributes})
        library = self._known.library(node.domain, node.op_type)
        if library is not None:
            return results_of(library, self._of_ours(node, operands, attributes))
        found = self._by_ours(node, operands, attributes)
        if found is None:
            attributes["tvm_custom"] = {"name": node.name, "num_outputs": len(node.output)}
            found = self._by_frontend(node.op_type, operands, attributes)
        if isinstance(found, relax.Tuple):
            return list(found.fields)
        if isinstance(found.ty, relax.TupleType):
            return [self.bb.emit(relax.TupleGetItem(found, index)) for index in range(len(found.ty.fields))]
        return [found]

    def _of_ours(self, node: Any, operands: list[Any], attributes: Mapping[str, Any]) -> Node:
        return Node(
            operator=node.op_type,
            inputs=tuple(operands),
            attributes=dict(attributes),
            outputs=len(node.output),
            opset=self.opset,
            builder=self.bb,
            results=tuple(_result(self._types.get(name)) for name in node.output),
        )

    def _by_ours(self, node: Any, operands: list[Any], attributes: Mapping[str, Any]) -> Any | None:
        """The result of a converter of ours, None where none takes the operator."""
        if node.op_type not in CONVERTERS or not _is_ours(node.domain, node.op_type):
            return None
        ours = self._of_ours(node, operands, attributes)
        if not takes(ours):
            return None
        made = converted(ours)
        return self.bb.normalize(relax.Tuple(made) if isinstance(made, tuple) else made)

    def _by_frontend(self, operator: str, operands: list[Any], attributes: Mapping[str, Any]) -> Any:
        """The result, as `_convert_operator` makes it, which looks for the converter each time."""
        if operator not in _of_frontend():
            raise NotConverted("not known here")
        inputs = onnx_input()
        for operand in operands:
            inputs.append(operand)
        found = _converter(operator, self.opset)(self.bb, inputs, attributes, [self._nodes, self._params])
        return self.bb.normalize(found) if isinstance(found, relax.Expr) else found

    def _stand_in(self, node: Any) -> None:
        """Zeros for the outputs of an operator that failed, so that those behind it are judged, too."""
        for name in node.output:
            kind = self._types.get(name)
            if kind is not None and kind.shape is not None and kind.elements:
                self._nodes[name] = zeros(self.bb, kind.shape, get_type(kind.elements))


def _result(kind: TensorKind | None) -> Result | None:
    """The shape and type of an output in the file; float16 is computed in float32."""
    if kind is None or kind.shape is None or not kind.elements:
        return None
    dtype = "float32" if kind.elements == TensorProto.FLOAT16 else get_type(kind.elements)
    return Result(shape=tuple(kind.shape), dtype=dtype)


def _is_fixed(value: Any) -> bool:
    """Whether a value is a tensor of a fixed shape."""
    shape = getattr(value.ty, "shape", None)
    return isinstance(shape, relax.ShapeExpr) and all(
        isinstance(extent, tirx.IntImm) for extent in shape.values[:]
    )
