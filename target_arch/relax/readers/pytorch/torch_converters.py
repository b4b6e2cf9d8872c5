"""Core operators of PyTorch become Relax, one by one, so that each that cannot is named.

TVM's frontend takes most operators; the ones that it lacks or computes differently are converted here.
Imports PyTorch.
"""

import operator as operators
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tag
from tvm import relax
from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

from target_arch.plan.model import DTYPE_BYTES
from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.onnx_converters import converted
from target_arch.relax.onnx_operators.node import Node, NotConverted
from target_arch.relax.readers.frontend import FAILURES
from target_arch.relax.readers.pytorch.torch_quantized import quantized_converters
from target_arch.relax.readers.unsupported import Unsupported, unsupported
from target_arch.relax.te.loops import running, written

Convert = Callable[[Any, Any], Any]
"""From a node of PyTorch and the importer to the Relax expression of its output. Raises NotConverted."""


def convert(path: Path, program: Any, in_file: dict[Any, str]) -> Any:
    """The Relax module of a program that is decomposed into core operators. `in_file` receives the names of
    its nodes by the expressions they became.

    Raises DiagnosticError that names every operator that cannot be converted.
    """
    importer = _Importer()
    module = importer.from_exported_program(
        program,
        keep_params_as_input=False,
        unwrap_unit_return_tuple=True,
        no_bind_return_tuple=False,
        custom_convert_map={**_CONVERTERS, **quantized_converters(_tensors(program))},
    )
    if importer.failures:
        raise unsupported(path, importer.failures)
    for node, value in importer.env.items():
        if isinstance(value, relax.Var) and isinstance(value.ty, relax.TensorType):
            in_file.setdefault(value, node.name)
    return module


def _tensors(program: Any) -> dict[str, Any]:
    """The tensors of the file by the names of their nodes."""
    stored: dict[Any, Any] = {**program.state_dict, **program.constants}
    named = ((spec.arg.name, stored.get(spec.target)) for spec in program.graph_signature.input_specs)
    return {name: value.detach().numpy() for name, value in named if value is not None}


class _Importer(ExportedProgramImporter):  # type: ignore[misc]
    """The frontend, which goes on after an operator that fails, with zeros for its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[Unsupported] = []

    def _check_unsupported_func_type(self, nodes: Any) -> None:
        """They are met one by one."""

    def _translate_fx_graph(self, graph_module: Any, nodes: Any, inputs_vars: Any, custom_ops: Any) -> Any:
        names = {node.target.__name__ for node in nodes if node.op == "call_function"}
        known: Mapping[str, Any] = dict(self.convert_map)
        self.convert_map: dict[str, Any] = {
            name: _guarded(self, name, known.get(name), own=name in custom_ops) for name in names
        }
        return super()._translate_fx_graph(graph_module, nodes, inputs_vars, set())


def _guarded(importer: _Importer, name: str, known: Any, *, own: bool) -> Callable[[Any], Any]:
    """The converter of an operator as one that never fails."""

    def convert_node(node: Any) -> Any:
        try:
            _CHECKS.get(name, _not_drawn)(node)
            if known is None:
                raise NotConverted("not known here")
            return _of_its_type(node, known(node, importer) if own else known(node))
        except NotConverted as refusal:
            reason = str(refusal)
        except FAILURES:
            reason = "not with these attributes and operands"
        operator = name.removesuffix(".default")
        importer.failures.append(Unsupported(operator=operator, place=node.name, reason=reason))
        return _stand_in(importer, node.meta.get("val"))

    return convert_node


def _of_its_type(node: Any, value: Any) -> Any:
    """The value, if its elements have the type that PyTorch gives them."""
    if isinstance(value, relax.Var) and isinstance(value.ty, relax.TensorType):
        wanted, found = _dtype(node.meta.get("val")), dtype_of(value)
        if wanted is not None and found != wanted:
            raise NotConverted(f"it gives {found} where PyTorch gives {wanted}")
    return value


def _stand_in(importer: _Importer, value: Any) -> Any:
    """Zeros of the shape and type of a failed operator's output."""
    if isinstance(value, tuple | list):
        return tuple(_stand_in(importer, each) for each in value)
    dtype = _dtype(value)
    return value if dtype is None else importer.block_builder.emit(relax.op.zeros(_shape(value), dtype))


def _dtype(value: Any) -> str | None:
    """The element type of a tensor of PyTorch; None for one that has no form here, and for no tensor."""
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return dtype if dtype in DTYPE_BYTES else None


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(int(extent) for extent in value.shape)


def _reduced(operator: str) -> Convert:
    """By the converter of ONNX's operator of that name."""

    def convert_node(node: Any, importer: Any) -> Any:
        x, *rest = importer.retrieve_args(node)
        axes = rest[0] if rest else ()
        attributes: dict[str, Any] = {"axes": [axes] if isinstance(axes, int) else list(axes)}
        attributes["keepdims"] = int(rest[1]) if len(rest) > 1 else 0
        made = converted(
            Node(
                operator=operator,
                inputs=(x,),
                attributes=attributes,
                outputs=1,
                opset=18,
                builder=importer.block_builder,
            )
        )
        return importer.block_builder.emit(made)

    return convert_node


def _product(node: Any, importer: Any) -> Any:
    x, axis, *rest = importer.retrieve_args(node)
    return importer.block_builder.emit(relax.op.prod(x, axis, bool(rest and rest[0])))


def _weighed(op: Callable[[Any, Any], Any], of_numbers: Callable[[Any, Any], Any]) -> Convert:
    """Sum or difference, the second operand times `alpha`."""

    def convert_node(node: Any, importer: Any) -> Any:
        emit, alpha = importer.block_builder.emit, node.kwargs.get("alpha", 1)
        if alpha == 1:
            return importer._binary_op(op, of_numbers)(node)
        first, second = importer.retrieve_args(node)
        if not isinstance(second, relax.Expr):
            return emit(op(first, relax.const(second * alpha, dtype_of(first))))
        if dtype_of(first) != dtype_of(second):
            raise NotConverted(f"its operands are {dtype_of(first)} and {dtype_of(second)}")
        return emit(op(first, emit(relax.op.multiply(second, relax.const(alpha, dtype_of(second))))))

    return convert_node


def _elu(node: Any, importer: Any) -> Any:
    """scale * x above zero, scale * alpha * (exp(x * input_scale) - 1) below."""
    emit = importer.block_builder.emit
    x, alpha, scale, input_scale = (*importer.retrieve_args(node), 1.0, 1.0, 1.0)[:4]
    if not dtype_of(x).startswith("float"):
        raise NotConverted(f"its elements are {dtype_of(x)}")

    def number(value: float) -> Any:
        return relax.const(float(value), dtype_of(x))

    below = emit(relax.op.minimum(x, number(0.0)))
    power = emit(relax.op.exp(emit(relax.op.multiply(below, number(input_scale)))))
    low = emit(relax.op.multiply(emit(relax.op.subtract(power, number(1.0))), number(alpha * scale)))
    high = emit(relax.op.multiply(emit(relax.op.nn.relu(x)), number(scale)))
    return emit(relax.op.add(high, low))


def _group_norm(node: Any, importer: Any) -> Any:
    """Without weights, too."""
    x, weight, bias, _, channels, _, groups, epsilon = importer.retrieve_args(node)
    gamma, beta = (
        relax.const(np.full(channels, otherwise, np.float32)) if given is None else given
        for given, otherwise in ((weight, 1.0), (bias, 0.0))
    )
    axes = list(range(2, len(shape_of(x))))
    made = relax.op.nn.group_norm(x, gamma, beta, groups, channel_axis=1, axes=axes, epsilon=epsilon)
    return importer.block_builder.emit(made)


def _nearest(node: Any, importer: Any) -> Any:
    """The pixel at or before the place in the image, which PyTorch computes in float32."""
    x, _, *scales = importer.retrieve_args(node)
    factors = scales[-1] if scales and isinstance(scales[-1], list | tuple) else None
    for number, (before, after) in enumerate(zip(shape_of(x)[2:], node.meta["val"].shape[2:], strict=True)):
        step = np.float32(before) / np.float32(after) if factors is None else np.float32(1 / factors[number])
        places = np.floor(np.arange(int(after), dtype=np.float32) * step).astype(np.int64)
        indices = relax.const(np.minimum(places, before - 1), "int64")
        x = importer.block_builder.emit(relax.op.take(x, indices, axis=number + 2))
    return x


def _filled(node: Any, importer: Any) -> Any:
    """A constant: TVM cannot fill a tensor with an infinite value."""
    value = node.meta["val"]
    dtype = _dtype(value)
    if dtype is None:
        raise NotConverted(f"its elements are {str(value.dtype).removeprefix('torch.')}")
    return relax.const(np.full(_shape(value), importer.retrieve_args(node)[1], dtype), dtype)


def _refused(node: Any, importer: Any) -> Any:
    raise NotConverted("it is computed differently here")


def _batch_norm(node: Any, importer: Any) -> Any:
    """By the mean and variance of the batch itself; instance normalization is one of a batch of one."""
    emit, given = importer.block_builder.emit, importer.retrieve_args(node)
    x, weight, bias, (training, _, epsilon) = given[0], given[1], given[2], given[-3:]
    if not training:
        raise NotConverted("it changes statistics that it does not use")
    rank = len(shape_of(x))
    others = [axis for axis in range(rank) if axis != 1]

    def each_channel(value: Any) -> Any:
        return emit(relax.op.reshape(value, [-1 if axis == 1 else 1 for axis in range(rank)]))

    apart = emit(relax.op.subtract(x, emit(relax.op.mean(x, others, keepdims=True))))
    variance = emit(relax.op.mean(emit(relax.op.multiply(apart, apart)), others, keepdims=True))
    root = emit(relax.op.sqrt(emit(relax.op.add(variance, relax.const(epsilon, dtype_of(x))))))
    made = emit(relax.op.divide(apart, root))
    made = made if weight is None else emit(relax.op.multiply(made, each_channel(weight)))
    return made if bias is None else emit(relax.op.add(made, each_channel(bias)))


def _running(start: int, combine: Callable[[Any, Any], Any]) -> Convert:
    """A sum or product of all elements up to each one along an axis."""

    def convert_node(node: Any, importer: Any) -> Any:
        x, axis = importer.retrieve_args(node)[:2]
        shape, dtype = shape_of(x), _dtype(node.meta["val"])
        if not shape or dtype is None:
            raise NotConverted("a tensor without dimensions, or of another type")
        x = x if dtype_of(x) == dtype else importer.block_builder.emit(relax.op.astype(x, dtype))
        body = running(shape, axis % len(shape), start, combine, exclusive=False, reverse=False)
        return importer.block_builder.emit_te(written(shape, dtype, body), x)

    return convert_node


def _only_first(node: Any) -> None:
    """The frontend gives the first result in place of each."""
    for user in node.users:
        if user.target is operators.getitem and user.args[1] != 0 and user.users:
            raise NotConverted(f"its result {user.args[1]} is used, not only the first")


def _without_divisor(node: Any) -> None:
    if len(node.args) > _DIVISOR and node.args[_DIVISOR] is not None:
        raise NotConverted("the attribute `divisor_override`")


def _not_drawn(node: Any) -> None:
    """The frontend draws the numbers of most random operators once, and makes them constants."""
    if Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
        raise NotConverted(_RANDOM)


def _not_random(node: Any) -> None:
    _, share, training = (*node.args, True)[:3]
    if training is not False and share:
        raise NotConverted(_RANDOM)


_RANDOM = "its results are random; export the model after `eval()`"


_DIVISOR = 6
_MULTIPLE = (
    "max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices", "native_batch_norm",
    "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training", "native_group_norm", "native_layer_norm",
)  # fmt: skip
_CHECKS: Mapping[str, Callable[[Any], None]] = {
    **{name if "." in name else f"{name}.default": _only_first for name in _MULTIPLE},
    "avg_pool2d.default": _without_divisor,
    "avg_pool3d.default": _without_divisor,
    "native_dropout.default": _not_random,
}
"""What the frontend ignores of an operator: each raises NotConverted where that matters."""

_CONVERTERS: Mapping[str, Convert] = {
    "add.Tensor": _weighed(relax.op.add, operators.add),
    "_native_batch_norm_legit.default": _batch_norm,
    "_native_batch_norm_legit.no_stats": _batch_norm,
    "_native_batch_norm_legit_functional.default": _batch_norm,
    "_upsample_bilinear2d_aa.default": _refused,
    "_upsample_bicubic2d_aa.default": _refused,
    "amax.default": _reduced("ReduceMax"),
    "amin.default": _reduced("ReduceMin"),
    "cumprod.default": _running(1, operators.mul),
    "cumsum.default": _running(0, operators.add),
    "elu.default": _elu,
    "full.default": _filled,
    "full_like.default": _filled,
    "grid_sampler_2d.default": _refused,
    "native_group_norm.default": _group_norm,
    "prod.dim_int": _product,
    "sub.Tensor": _weighed(relax.op.subtract, operators.sub),
    "upsample_nearest2d.vec": _nearest,
}
