"""Chains of operators with random weights, as models."""

import numpy as np
from attrs import define, field

from target_arch.plan.model import Attribute, Model, Operator, Tensor
from tests.backends.c.one import constant, quantized, real


@define
class Chain:
    """A model under construction: each operator reads the output of the one before."""

    rng: np.random.Generator
    rule: str
    dtype: str
    tensors: dict[str, Tensor] = field(factory=dict)
    operators: list[Operator] = field(factory=list)

    @property
    def last(self) -> Tensor:
        return self.tensors[f"t{len(self.operators)}"]

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        if self.rule == "float":
            self.tensors[name] = real(name, shape)
        else:
            zero = 3 if self.dtype == "int8" else 120
            self.tensors[name] = quantized(name, shape, 0.04, zero, self.dtype)
        return self.tensors[name]

    def add(
        self,
        kind: str,
        shape: tuple[int, ...],
        *others: str,
        constants: tuple[Tensor, ...] = (),
        **more: Attribute,
    ) -> None:
        """An operator whose output has that shape."""
        number = len(self.operators)
        self.tensors |= {each.name: each for each in constants}
        given = (self.last.name, *others)
        output = self.tensor(f"t{number + 1}", shape).name
        low = 0 if self.dtype == "uint8" else -128
        more |= (
            {"activation": "relu"}
            if self.rule == "float"
            else {"activation_min": low, "activation_max": low + 255}
        )
        self.operators.append(
            Operator(
                id=f"op{number}",
                kind=kind,
                arithmetic=self.rule,
                inputs=given,
                constants=tuple(each.name for each in constants),
                output=output,
                attributes=more,
            )
        )

    def window(self, most: int) -> tuple[int, int, tuple[int, int, int, int], tuple[int, int]]:
        """Taps, stride, padding, and rows and columns of the output."""
        taps, stride = int(self.rng.integers(1, most + 1)), int(self.rng.integers(1, 3))
        before, after = (int(each) for each in self.rng.integers(0, (taps + 1) // 2, 2))
        _, height, width, _ = self.last.shape
        if min(height, width) + before + after < taps:
            return self.window(1)
        out = [(each + before + after - taps) // stride + 1 for each in (height, width)]
        return taps, stride, (before, before, after, after), (out[0], out[1])

    def pool(self) -> None:
        taps, stride, padding, out = self.window(3)
        kind = ("max_pool2d", "avg_pool2d")[int(self.rng.integers(2))]
        steps: dict[str, Attribute] = {
            "kernel": (taps, taps),
            "strides": (stride, stride),
            "padding": padding,
        }
        if kind == "avg_pool2d":
            steps["count_include_pad"] = self.rule != "tflite" and bool(self.rng.integers(2))
        self.add(kind, (1, *out, self.last.shape[3]), **steps)

    def convolution(self) -> None:
        taps, stride, padding, out = self.window(3)
        channels, deep = self.last.shape[3], bool(self.rng.integers(2))
        outputs = channels if deep else int(self.rng.choice([4, 8, 17]))
        shape = (taps, taps, outputs) if deep else (outputs, taps, taps, channels)
        self.convolved("depthwise_conv2d" if deep else "conv2d", shape, outputs, out, stride, padding)

    def convolved(
        self,
        kind: str,
        shape: tuple[int, ...],
        outputs: int,
        out: tuple[int, int],
        stride: int = 1,
        padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> None:
        """A convolution with weights of that shape, to so many rows and columns."""
        w, bias = self.weights(shape, outputs)
        self.add(
            kind,
            (1, *out, outputs),
            constants=(w, bias),
            strides=(stride, stride),
            dilation=(1, 1),
            padding=padding,
            **({"depth_multiplier": 1} if kind == "depthwise_conv2d" else {}),
        )

    def dense(self, outputs: int = 0) -> None:
        """A dense layer, by default with few outputs."""
        *rows, depth = self.last.shape
        outputs = outputs or int(self.rng.choice([4, 8, 17]))
        w, bias = self.weights((outputs, depth), outputs)
        self.add("dense", (*rows, outputs), constants=(w, bias))

    def weights(self, shape: tuple[int, ...], outputs: int) -> tuple[Tensor, Tensor]:
        """Weights and bias of the next operator."""
        number = len(self.operators)
        if self.rule == "float":
            return (
                constant(real(f"w{number}", shape), self.rng.normal(0, 0.4, shape)),
                constant(real(f"b{number}", (outputs,)), self.rng.normal(0, 1, outputs)),
            )
        wide = quantized(f"b{number}", (outputs,), 0.0004, 0, "int32")
        return (
            constant(quantized(f"w{number}", shape, 0.01, 0), self.rng.integers(-128, 128, shape)),
            constant(wide, self.rng.integers(-900, 900, outputs)),
        )

    def scaled(self) -> None:
        """A product with a constant for each channel."""
        shape = self.last.shape[-1:]
        name = f"c{len(self.operators)}"
        values = self.rng.normal(0, 1, shape) if self.rule == "float" else self.rng.integers(-9, 9, shape)
        made = real(name, shape) if self.rule == "float" else quantized(name, shape, 0.02, 0, self.last.dtype)
        self.add("mul", self.last.shape, constants=(constant(made, np.abs(values)),))

    def sum(self) -> None:
        """The sum with the tensor before the last one that has its shape; a relu where there is none."""
        names = [f"t{number}" for number in range(len(self.operators))]
        other = next((each for each in names[::-1] if self.tensors[each].shape == self.last.shape), None)
        self.add("relu" if other is None else "add", self.last.shape, *(() if other is None else (other,)))

    def model(self) -> Model:
        return Model(
            name="chain",
            source="made",
            inputs=("t0",),
            outputs=(self.last.name,),
            tensors=self.tensors,
            operators=tuple(self.operators),
        )
