"""Evaluate a plan.Model with numpy, in real numbers: slow, obvious, and knowing nothing of how kernels are
written.

Integer operators are computed on the real values their integers stand for and rounded once, so a result may
differ from exact integer arithmetic by one step of the output scale per operator; a wrong layout or constant
differs by far more.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from target_arch.plan.model import Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Lowering
from target_arch.relax.operators.program import RelaxProgram

Array = np.ndarray[Any, Any]


def evaluate(model: Model, inputs: Mapping[str, Array], program: RelaxProgram | None = None) -> list[Array]:
    """The outputs of the model for stored inputs by tensor name. `program` runs the `relax` operators."""
    values: dict[str, Array] = dict(inputs)
    for tensor in model.tensors.values():
        if tensor.data is not None:
            values[tensor.name] = np.frombuffer(tensor.data, tensor.dtype).reshape(tensor.shape)
    for operator in model.operators:
        out = model.tensors[operator.output]
        moved = operator.kind in ("reshape", "transpose", "concat", "lookup", "slice")
        if moved or operator.lowering is Lowering.TVM:
            result = _moved(operator, values, out, program)
        elif operator.attributes.get("operator") == "padded":
            result = _padded(operator, values[operator.inputs[0]], out)
        else:
            result = _stored(_KINDS[operator.kind](operator, _real(model, operator, values)), operator, out)
        values[out.name] = result.reshape(out.shape)
    return [values[name] for name in model.outputs]


def _moved(
    operator: Operator, values: Mapping[str, Array], out: Tensor, program: RelaxProgram | None
) -> Array:
    source = [values[name] for name in operator.inputs]
    if operator.kind == "transpose":
        return source[0].transpose(operator.attributes["axes"])
    if operator.kind == "reshape":
        return source[0]
    if operator.kind == "concat":
        return np.concatenate(source, axis=operator.attributes["axis"])
    if operator.kind == "slice":
        bounds = zip(operator.attributes["begin"], operator.attributes["step"], out.shape, strict=True)
        return source[0][np.ix_(*(first + by * np.arange(count) for first, by, count in bounds))]
    if operator.kind == "lookup":
        return values[operator.constants[0]][source[0].astype(int) - np.iinfo(source[0].dtype).min]
    assert program is not None
    return run_relax(program, operator.id, source).astype(out.dtype)


def _padded(operator: Operator, source: Array, out: Tensor) -> Array:
    padded = np.full(out.shape, operator.attributes["fill"], out.dtype)
    bounds = zip(operator.attributes["before"], source.shape, strict=True)
    padded[tuple(slice(first, first + extent) for first, extent in bounds)] = source
    return padded


def run_relax(program: RelaxProgram, id: str, arguments: list[Array]) -> Array:
    """The result of one Relax function, by TVM's own virtual machine."""
    import tvm
    from tvm import relax

    executable = relax.build(program.alone(id), "llvm")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return machine["main"](*[tvm.runtime.tensor(argument) for argument in arguments]).numpy()


def _real(model: Model, operator: Operator, values: Mapping[str, Array]) -> list[Array]:
    names = (*operator.inputs, *operator.constants)
    return [real(values[name], model.tensors[name].quantization) for name in names]


def real(values: Array, quantization: Quantization | None) -> Array:
    """The real numbers that stored values stand for."""
    if quantization is None:
        return values.astype(np.float64)
    shape = [1] * values.ndim
    if quantization.axis is not None:
        shape[quantization.axis] = -1
    scale = np.asarray(quantization.scale).reshape(shape)
    return (values.astype(np.float64) - np.asarray(quantization.zero_point).reshape(shape)) * scale


def _stored(result: Array, operator: Operator, out: Tensor) -> Array:
    if out.dtype == "float32":
        name = operator.attributes.get("activation", "none")
        low, high = {"none": (-np.inf, np.inf), "relu": (0, np.inf), "relu6": (0, 6)}[str(name)]
        return np.clip(result, low, high).astype(np.float32)
    assert out.quantization is not None, out.name
    stored = np.rint(result / out.quantization.scale[0]) + out.quantization.zero_point[0]
    info = np.iinfo(out.dtype)
    low = operator.attributes.get("activation_min", info.min)
    high = operator.attributes.get("activation_max", info.max)
    return np.clip(stored, low, high).astype(out.dtype)


def _windows(x: Array, operator: Operator, kernel: tuple[int, ...], fill: float) -> Array:
    """[N, OH, OW, C, KH, KW] of a padded image."""
    top, left, bottom, right = operator.attributes["padding"]
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    rows, columns = operator.attributes.get("dilation", (1, 1))
    reach = ((kernel[0] - 1) * rows + 1, (kernel[1] - 1) * columns + 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(1, 2))
    down, right = operator.attributes["strides"]
    return windows[:, ::down, ::right, :, ::rows, ::columns]


def _conv2d(operator: Operator, operands: list[Array]) -> Array:
    x, weight, bias = operands
    groups = operator.attributes.get("groups", 1)
    parts = zip(np.split(x, groups, 3), np.split(weight, groups), strict=True)
    sums = [
        np.einsum("nhwckl,oklc->nhwo", _windows(image, operator, own.shape[1:3], 0.0), own)
        for image, own in parts
    ]
    return np.concatenate(sums, axis=3) + bias


def _depthwise(operator: Operator, operands: list[Array]) -> Array:
    x, weight, bias = operands
    windows = np.repeat(
        _windows(x, operator, weight.shape[:2], 0.0), operator.attributes["depth_multiplier"], axis=3
    )
    return np.einsum("nhwckl,klc->nhwc", windows, weight) + bias


def _dense(operator: Operator, operands: list[Array]) -> Array:
    x, weight, bias = operands
    return x.reshape(-1, operator.attributes["in_features"]) @ weight.T + bias


def _max_pool(operator: Operator, operands: list[Array]) -> Array:
    return _windows(operands[0], operator, operator.attributes["kernel"], -np.inf).max(axis=(4, 5))


def _avg_pool(operator: Operator, operands: list[Array]) -> Array:
    kernel = operator.attributes["kernel"]
    total = _windows(operands[0], operator, kernel, 0.0).sum(axis=(4, 5))
    if operator.attributes["count_include_pad"]:
        return total / np.prod(kernel)
    return total / _windows(np.ones_like(operands[0]), operator, kernel, 0.0).sum(axis=(4, 5))


def _softmax(operator: Operator, operands: list[Array]) -> Array:
    power = np.exp(operands[0] - operands[0].max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


def _normalized(operator: Operator, operands: list[Array]) -> Array:
    x, scale, offset = operands
    name = operator.attributes["operator"]
    if name != "layer_norm":
        scale, offset = (each.reshape(-1, *[1] * (x.ndim - 2)) for each in (scale, offset))
    if name == "batch_norm":
        return x * scale + offset
    length, groups, epsilon = (operator.attributes.get(key) for key in ("length", "groups", "epsilon"))
    rows = x.reshape(-1, length) if name == "layer_norm" else x.reshape(x.shape[0] * groups, -1)
    apart = rows - rows.mean(-1, keepdims=True)
    unit = apart / np.sqrt((apart**2).mean(-1, keepdims=True) + epsilon)
    return (unit if name == "layer_norm" else unit.reshape(x.shape)) * scale + offset


def _function(operator: Operator, operands: list[Array]) -> Array:
    x, name = operands[0], str(operator.attributes["function"])
    parameters: Any = operator.attributes.get("parameters", ())
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](x, *parameters)
    numpy_name = {"abs": "absolute", "round": "rint"}.get(name, name)
    return getattr(np, numpy_name.replace("asin", "arcsin").replace("acos", "arccos"))(x)


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "clip": np.clip,
    "erf": np.vectorize(math.erf),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "leaky_relu": lambda x, slope: np.where(x > 0, x, x * slope),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x, beta, most: np.where(x * beta > most, x, np.log1p(np.exp(x * beta)) / beta),
}


def _conv2d_transpose(operator: Operator, operands: list[Array]) -> Array:
    """Each place of the image adds its window to the result, of which the padding is cut off."""
    x, weights, bias = operands
    (down, right), (rows, columns) = operator.attributes["strides"], operator.attributes["dilation"]
    batch, height, width, _ = x.shape
    channels, tall, wide, _ = weights.shape
    reach = ((height - 1) * down + rows * (tall - 1) + 1, (width - 1) * right + columns * (wide - 1) + 1)
    result = np.zeros((batch, *reach, channels))
    for i, j in np.ndindex(tall, wide):
        lines = slice(i * rows, i * rows + (height - 1) * down + 1, down)
        places = slice(j * columns, j * columns + (width - 1) * right + 1, right)
        result[:, lines, places] += x @ weights[:, i, j].T
    top, left, bottom, last = operator.attributes["padding"]
    return result[:, top : reach[0] - bottom, left : reach[1] - last] + bias


def _recurrent(operator: Operator, operands: list[Array]) -> Array:
    """States of all steps, the last ones, and of an LSTM the last memories."""
    x, *starts, w, r, bias = operands
    steps, (directions, _, hidden), lstm = len(x), r.shape, operator.attributes["operator"] == "lstm"
    out = np.zeros((steps + 1 + lstm, directions, x.shape[1], hidden))
    for direction in range(directions):
        state, memory = ([start[direction] for start in starts] + [np.zeros(out.shape[2:])] * 2)[:2]
        backwards = operator.attributes["backwards"] or direction
        for time in range(steps)[:: -1 if backwards else 1]:
            halves = np.split(bias[direction], 2)
            sums = [x[time] @ w[direction].T + halves[0], state @ r[direction].T + halves[1]]
            state, memory = _recurrent_step(operator, sums, state, memory, r[direction], bias[direction])
            out[time, direction] = state
        out[steps:, direction] = [state, memory][: len(out) - steps]
    return out


def _recurrent_step(
    operator: Operator, sums: list[Array], state: Array, memory: Array, r: Array, bias: Array
) -> tuple[Array, Array]:
    """State and memory after a step, from the sums of what enters and of the states."""
    name, hidden = operator.attributes["operator"], state.shape[1]
    if name == "rnn":
        return np.tanh(sums[0] + sums[1]), memory
    entering, held = (np.split(each, each.shape[1] // hidden, axis=1) for each in sums)
    gates = [1 / (1 + np.exp(-a - b)) for a, b in zip(entering, held, strict=True)]
    if name == "lstm":
        memory = gates[2] * memory + gates[0] * np.tanh(entering[3] + held[3])
        return gates[1] * np.tanh(memory), memory
    part = gates[1] * held[2]
    if not operator.attributes["linear"]:
        part = (gates[1] * state) @ r[2 * hidden :].T + bias[-hidden:]
    return (1 - gates[0]) * np.tanh(entering[2] + part) + gates[0] * state, memory


def _resized(operator: Operator, operands: list[Array]) -> Array:
    x, *tables = operands
    if operator.attributes["operator"] == "nearest":
        rows, columns = (table.astype(int) for table in tables)
        return x[:, rows][:, :, columns]
    rows, down, columns, right = tables
    lines = np.einsum("nhawc,ha->nhwc", x[:, rows.astype(int)], down)
    return np.einsum("nhwbc,wb->nhwc", lines[:, :, columns.astype(int)], right)


_KINDS: dict[str, Callable[[Operator, list[Array]], Array]] = {
    "conv2d": _conv2d,
    "conv2d_transpose": _conv2d_transpose,
    "depthwise_conv2d": _depthwise,
    "dense": _dense,
    "normalize": _normalized,
    "recurrent": _recurrent,
    "resize": _resized,
    "matmul": lambda _, operands: operands[0] @ operands[1],
    "add": lambda _, operands: operands[0] + operands[1],
    "sub": lambda _, operands: operands[0] - operands[1],
    "mul": lambda _, operands: operands[0] * operands[1],
    "max_pool2d": _max_pool,
    "avg_pool2d": _avg_pool,
    "softmax": _softmax,
    "relu": lambda _, operands: operands[0],
    "function": _function,
    "quantize": lambda _, operands: operands[0],
    "requantize": lambda _, operands: operands[0],
    "dequantize": lambda _, operands: operands[0],
}
