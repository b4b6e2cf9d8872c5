"""The kinds of single calls of Relax operators, and of functions that a reader wrote in TE."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tvm import relax

from target_arch.plan.operators.kinds import OperatorKind

_FAMILIES = {
    OperatorKind.REDUCE: "all any argmax argmin max mean median min prod std sum variance",
    OperatorKind.ELEMENTWISE: """
        abs acos acosh add asin asinh astype atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor
        ceil clip cos cosh dequantize divide equal erf exp floor floor_divide floor_mod greater greater_equal
        isfinite isinf isnan left_shift less less_equal log log_add_exp logical_and logical_not logical_or
        logical_xor maximum minimum mod multiply negative nn.gelu nn.gelu_tanh nn.leakyrelu nn.prelu nn.relu
        nn.selu nn.silu nn.softplus not_equal power quantize right_shift round rsqrt sigmoid sign sin sinh
        sqrt square subtract tan tanh tril triu trunc where
    """,
    OperatorKind.NORMALIZE: """
        nn.batch_norm nn.group_norm nn.instance_norm nn.layer_norm nn.log_softmax nn.lrn nn.rms_norm
        nn.softmax
    """,
    OperatorKind.RESIZE: "image.resize2d image.resize3d GridSample Resize Upsample",
    OperatorKind.POOLING: """
        nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.avg_pool1d nn.avg_pool2d
        nn.avg_pool3d nn.max_pool1d nn.max_pool2d nn.max_pool3d AveragePool LpPool MaxPool
    """,
    OperatorKind.PAD: "nn.pad",
    OperatorKind.TILE: "broadcast_to repeat tile",
    OperatorKind.REARRANGE: "concat expand_dims flip permute_dims reshape split squeeze stack strided_slice",
    OperatorKind.GATHER: """
        dynamic_strided_slice gather_elements gather_nd index_tensor one_hot take
    """,
    OperatorKind.SCATTER: "index_put scatter_elements scatter_nd slice_scatter",
    OperatorKind.SCAN: "cumprod cumsum",
    OperatorKind.RECURRENT: "GRU LSTM RNN",
    OperatorKind.TREES: "Forest",
    OperatorKind.PRODUCTS: """
        einsum matmul nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d
        nn.conv3d_transpose outer
    """,
}
_KINDS: Mapping[str, OperatorKind] = MappingProxyType(
    {name: kind for kind, names in _FAMILIES.items() for name in names.split()}
)


def kind_of_call(names: Sequence[str]) -> OperatorKind:
    """The kind of an operator that consists of these Relax calls; `relax` where no row has the call.

    A row has one call; parts of a tuple are taken apart by its only reader.
    """
    proper = [name for name in names if name]
    return _KINDS.get(proper[0], OperatorKind.RELAX) if len(proper) == 1 else OperatorKind.RELAX


def axes_of_call(value: Any) -> tuple[int, ...]:
    """The dimensions that a call of a Relax operator works along, from the end where they are below 0; empty
    where it has none, or works along all.
    """
    attributes = value.attrs if isinstance(value, relax.Call) else None
    for name in ("axes", "axis"):
        axes = getattr(attributes, name, None) if attributes is not None else None
        if axes is not None:
            return (axes,) if isinstance(axes, int) else tuple(int(axis) for axis in axes)
    return ()
