"""A small residual network for the unit, and requests to lower parts of it."""

import struct
from collections.abc import Iterable
from math import prod

from attrs import evolve

from target_arch.backend.contract import LoweringRequest, Question
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.plan.model import Attribute, Model, Operator, Quantization, Tensor
from target_arch.plan.partitions import Partition
from target_arch.soc import read_soc
from target_arch.soc.model import SoC
from tests.backends.engines import layer, random_bytes

Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

SAME = {"strides": (1, 1), "dilation": (1, 1), "padding": (1, 1, 1, 1)}


def chip(**options: int | float | str | bool) -> SoC:
    """The shipped SoC, with other options of the unit."""
    soc = read_soc("corstone_u55")
    archs = tuple(
        evolve(arch, options={**arch.options, **options}) if arch.name == "npu" else arch
        for arch in soc.archs
    )
    return evolve(soc, archs=archs)


def residual() -> Model:
    """conv a, depthwise b, add c = a + b, max pool p, dense d; x is [1, 12, 12, 8]."""
    shape = (1, 12, 12, 8)
    a = layer("conv2d", (shape, (8, 3, 3, 8), shape), SAME, seed=1, name="a", source="x")
    b = layer("depthwise_conv2d", (shape, (8, 3, 3), shape), SAME, seed=2, name="b", source="a.y")
    d = layer(
        "dense", ((1, 6, 6, 8), (10, 288), (1, 10)), {"in_features": 288}, seed=4, name="d", source="p.y"
    )
    weights = evolve(b.tensors["b.w"], shape=(3, 3, 8), quantization=evolve(_grid(b.tensors["b.w"]), axis=2))
    deep = evolve(b.operators[0], attributes={**b.operators[0].attributes, "depth_multiplier": 1})
    total = _value("c.y", shape, 0.05, 3)
    one = _grid(d.tensors["d.w"]).scale[:1]
    dense = evolve(d.tensors["d.w"], quantization=Quantization(scale=one, zero_point=(0,), axis=0))
    tensors = {
        **a.tensors,
        **{name: tensor for name, tensor in b.tensors.items() if name != "a.y"},
        **{name: tensor for name, tensor in d.tensors.items() if name != "p.y"},
        "b.w": weights,
        "d.w": dense,
        "c.y": total,
        "p.y": evolve(total, name="p.y", shape=(1, 6, 6, 8)),
    }
    add = _operator("c", "add", ("a.y", "b.y"), {})
    pool = _operator(
        "p", "max_pool2d", ("c.y",), {"kernel": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}
    )
    return Model(
        name="residual",
        source="test",
        inputs=("x",),
        outputs=("d.y",),
        tensors=_with_bias_grids(tensors, {"a": "x", "b": "a.y", "d": "p.y"}),
        operators=(a.operators[0], deep, add, pool, d.operators[0]),
    )


def question(model: Model, name: str, soc: SoC | None = None) -> Question:
    soc = soc or chip()
    return Question(operator=model.operator(name), model=model, instance=soc.instance("npu"), soc=soc)


def request(model: Model, names: Iterable[str], promised: int, soc: SoC | None = None) -> LoweringRequest:
    """Operators as one chain, with so many bytes of `sram`."""
    soc = soc or chip()
    pool = PoolBudget(memory="sram", live=0, remaining=promised, guaranteed=promised)
    operators = tuple(model.operator(name) for name in names)
    return LoweringRequest(
        partition=Partition(id="p0", instance="npu", operators=operators, reason="test"),
        model=model,
        soc=soc,
        instance=soc.instance("npu"),
        budget=Budget(partition="p0", sites={operator.id: (pool,) for operator in operators}),
    )


def _grid(tensor: Tensor) -> Quantization:
    assert tensor.quantization is not None
    return tensor.quantization


def _value(name: str, shape: tuple[int, ...], scale: float, zero: int) -> Tensor:
    exact = struct.unpack("<f", struct.pack("<f", scale))[0]
    return Tensor(
        name=name, shape=shape, dtype="int8", quantization=Quantization(scale=(exact,), zero_point=(zero,))
    )


def _operator(name: str, kind: str, inputs: tuple[str, ...], attributes: dict[str, object]) -> Operator:
    given = {**attributes, "activation_min": -128, "activation_max": 127}
    return Operator(
        id=name,
        kind=kind,
        arithmetic="tflite",
        inputs=inputs,
        constants=(),
        output=f"{name}.y",
        attributes=given,  # type: ignore[arg-type]
    )


def _with_bias_grids(tensors: dict[str, Tensor], sources: dict[str, str]) -> dict[str, Tensor]:
    """Biases with the grid of TFLite: the scale of the input times that of the weights."""
    for name, source in sources.items():
        x, w = _grid(tensors[source]).scale[0], _grid(tensors[f"{name}.w"])
        scales = tuple(struct.unpack("<f", struct.pack("<f", x * scale))[0] for scale in w.scale)
        grid = Quantization(scale=scales, zero_point=(0,) * len(scales), axis=0)
        tensors[f"{name}.b"] = evolve(tensors[f"{name}.b"], quantization=grid)
    return tensors


def single(
    kind: str,
    inputs: dict[str, tuple[int, ...]],
    out: tuple[int, ...],
    attributes: dict[str, object],
    constants: dict[str, tuple[int, ...]] | None = None,
) -> Model:
    """One operator without weights: shapes of its inputs, of its output `y` and of its int8 constants."""
    held = constants or {}
    tensors = {name: _value(name, shape, 0.05, 3) for name, shape in inputs.items()}
    tensors["y"] = evolve(_value("y", out, *((1 / 256, -128) if kind == "softmax" else (0.05, 3))))
    for name, shape in held.items():
        data = random_bytes(prod(shape), 7)
        tensors[name] = evolve(_value(name, shape, 0.04, 1), data=data)
    operator = evolve(_operator("o", kind, tuple(inputs), attributes), output="y", constants=tuple(held))
    return Model(
        name="single",
        source="test",
        inputs=tuple(inputs),
        outputs=("y",),
        tensors=tensors,
        operators=(operator,),
    )


def weighted(kind: str, shapes: Shapes, attributes: dict[str, Attribute], seed: int = 1) -> Model:
    """One operator with weights: shapes of input, weights and output."""
    if kind != "depthwise_conv2d":
        made = layer(kind, shapes, attributes, seed=seed, name="o")
        if kind == "dense":
            one = _grid(made.tensors["o.w"]).scale[:1]
            grid = Quantization(scale=one, zero_point=(0,), axis=0)
            made = evolve(
                made, tensors={**made.tensors, "o.w": evolve(made.tensors["o.w"], quantization=grid)}
            )
        return evolve(made, tensors=_with_bias_grids(dict(made.tensors), {"o": "x"}))
    height, width, channels = shapes[1]
    made = layer(kind, (shapes[0], (channels, height, width), shapes[2]), attributes, seed=seed, name="o")
    weights = made.tensors["o.w"]
    tensors = {
        **made.tensors,
        "o.w": evolve(weights, shape=shapes[1], quantization=evolve(_grid(weights), axis=2)),
    }
    return evolve(made, tensors=_with_bias_grids(tensors, {"o": "x"}))
