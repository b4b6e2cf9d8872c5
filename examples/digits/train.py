"""Makes the example models of the demo: `digits_int8.onnx`, `digits_float.onnx` that it is quantized
from, and `heldout.npz` to judge them by.

    pip install -e ".[train]" && python examples/digits/train.py

Data: the 1,797 handwritten digits (8x8 pixels, values 0 to 16) that come inside scikit-learn, originally
"Optical Recognition of Handwritten Digits" of the UCI repository (Alpaydin and Kaynak, 1998). A fixed
permutation keeps 360 of them away from training and calibration; these are the held-out ones.

Network: two 3x3 convolutions with a residual add around the second, a 3x3 convolution of stride 2, a
pointwise one, average pooling, two dense layers. Trained in numpy with Adam on slightly noisy images; every
random number comes from one seed, so one machine always writes the same bytes (another BLAS may round
differently).

Quantization: onnxruntime's `quantize_static`, QDQ, int8 activations, int8 weights with one scale per output
channel, calibrated on the training images.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from sklearn.datasets import load_digits

HERE = Path(__file__).parent
SEED = 20
HELD_OUT = 360
EPOCHS = 80
NOISE = 0.1
BATCH = 32
FULL_SCALE = 16.0
"""The largest pixel value; the network sees pixels divided by it."""

Array = NDArray[np.float32]
Parameters = dict[str, Array]

# name, kernel, input channels, output channels, stride; weights are HWIO here and OIHW in the file
CONVOLUTIONS = (
    ("conv1", 3, 1, 16, 1),
    ("conv2", 3, 16, 16, 1),
    ("conv3", 3, 16, 32, 2),
    ("conv4", 1, 32, 64, 1),
)
DENSE = (("dense1", 64, 32), ("dense2", 32, 10))
STRIDES = {name: stride for name, _, _, _, stride in CONVOLUTIONS}


def initial_parameters(rng: np.random.Generator) -> Parameters:
    """He initialization; biases are zero."""
    parameters: Parameters = {}
    shapes = [(name, (k, k, inputs, outputs)) for name, k, inputs, outputs, _ in CONVOLUTIONS]
    shapes += [(name, (inputs, outputs)) for name, inputs, outputs in DENSE]
    for name, shape in shapes:
        fan_in = np.prod(shape[:-1])
        parameters[f"{name}.w"] = (rng.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32)
        parameters[f"{name}.b"] = np.zeros(shape[-1], np.float32)
    return parameters


def columns(x: Array, kernel: int, stride: int) -> Array:
    """The patches a `same` convolution sees: [N, H', W', kernel * kernel * C]."""
    pad = kernel // 2
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    height, width = x.shape[1], x.shape[2]
    shifted = [
        padded[:, i : i + height : stride, j : j + width : stride]
        for i in range(kernel)
        for j in range(kernel)
    ]
    return np.concatenate(shifted, axis=3)


def scatter_columns(gradient: Array, shape: tuple[int, ...], kernel: int, stride: int) -> Array:
    """The transpose of `columns`: adds every patch back where it came from."""
    pad = kernel // 2
    _, height, width, channels = shape
    padded = np.zeros((shape[0], height + 2 * pad, width + 2 * pad, channels), np.float32)
    for index in range(kernel * kernel):
        i, j = divmod(index, kernel)
        piece = gradient[..., index * channels : (index + 1) * channels]
        padded[:, i : i + height : stride, j : j + width : stride] += piece
    return padded[:, pad : pad + height, pad : pad + width]


class Network:
    """Forward and backward passes; keeps of the last forward pass what the backward pass needs."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.gradients: Parameters = {}
        self._kept: dict[str, Array] = {}

    def forward(self, x: Array) -> Array:
        """Logits [N, 10] of images [N, 8, 8, 1]."""
        first = self._relu("relu1", self._convolve("conv1", x))
        second = self._relu("relu2", self._convolve("conv2", first) + first)
        third = self._relu("relu3", self._convolve("conv3", second))
        fourth = self._relu("relu4", self._convolve("conv4", third))
        hidden = self._relu("relu5", self._dense("dense1", fourth.mean(axis=(1, 2))))
        return self._dense("dense2", hidden)

    def backward(self, gradient: Array) -> None:
        """Fills `gradients` from the gradient of the logits."""
        hidden = self._through_relu("relu5", self._through_dense("dense2", gradient))
        pooled = self._through_dense("dense1", hidden) / np.float32(16)
        fourth = np.broadcast_to(pooled[:, None, None, :], self._kept["relu4"].shape)
        third = self._through_convolution("conv4", self._through_relu("relu4", fourth))
        second = self._through_convolution("conv3", self._through_relu("relu3", third))
        summed = self._through_relu("relu2", second)
        first = self._through_convolution("conv2", summed) + summed
        self._through_convolution("conv1", self._through_relu("relu1", first))

    def _convolve(self, name: str, x: Array) -> Array:
        weight = self.parameters[f"{name}.w"]
        self._kept[name] = x
        patches = columns(x, weight.shape[0], STRIDES[name])
        return patches @ weight.reshape(-1, weight.shape[3]) + self.parameters[f"{name}.b"]

    def _through_convolution(self, name: str, gradient: Array) -> Array:
        weight, x = self.parameters[f"{name}.w"], self._kept[name]
        kernel, stride = weight.shape[0], STRIDES[name]
        flat = gradient.reshape(-1, gradient.shape[3])
        patches = columns(x, kernel, stride).reshape(flat.shape[0], -1)
        self.gradients[f"{name}.w"] = (patches.T @ flat).reshape(weight.shape)
        self.gradients[f"{name}.b"] = flat.sum(axis=0)
        return scatter_columns(gradient @ weight.reshape(-1, weight.shape[3]).T, x.shape, kernel, stride)

    def _dense(self, name: str, x: Array) -> Array:
        self._kept[name] = x
        return x @ self.parameters[f"{name}.w"] + self.parameters[f"{name}.b"]

    def _through_dense(self, name: str, gradient: Array) -> Array:
        self.gradients[f"{name}.w"] = self._kept[name].T @ gradient
        self.gradients[f"{name}.b"] = gradient.sum(axis=0)
        return gradient @ self.parameters[f"{name}.w"].T

    def _relu(self, name: str, x: Array) -> Array:
        self._kept[name] = np.maximum(x, np.float32(0))
        return self._kept[name]

    def _through_relu(self, name: str, gradient: Array) -> Array:
        return gradient * (self._kept[name] > 0)


def train(images: Array, labels: NDArray[np.int64], rng: np.random.Generator) -> Parameters:
    """Adam with a cosine learning rate on softmax cross entropy, pixels with some noise."""
    network = Network(initial_parameters(rng))
    first = {name: np.zeros_like(value) for name, value in network.parameters.items()}
    second = {name: np.zeros_like(value) for name, value in network.parameters.items()}
    batches = len(images) // BATCH
    for step in range(EPOCHS * batches):
        if step % batches == 0:
            order = rng.permutation(len(images))
        chosen = order[step % batches * BATCH :][:BATCH]
        logits = network.forward(noisy(images[chosen], rng))
        network.backward(cross_entropy_gradient(logits, labels[chosen]))
        rate = 2e-3 * (1 + np.cos(np.pi * step / (EPOCHS * batches))) / 2
        for name, gradient in network.gradients.items():
            first[name] += np.float32(0.1) * (gradient - first[name])
            second[name] += np.float32(0.001) * (gradient**2 - second[name])
            mean, square = first[name] / (1 - 0.9 ** (step + 1)), second[name] / (1 - 0.999 ** (step + 1))
            network.parameters[name] -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
    return network.parameters


def noisy(images: Array, rng: np.random.Generator) -> Array:
    """Images with normal noise on each pixel."""
    return images + np.float32(NOISE) * rng.standard_normal(images.shape, np.float32)


def cross_entropy_gradient(logits: Array, labels: NDArray[np.int64]) -> Array:
    """Gradient of the mean softmax cross entropy with respect to the logits."""
    probability = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability /= probability.sum(axis=1, keepdims=True)
    probability[np.arange(len(labels)), labels] -= 1
    return (probability / np.float32(len(labels))).astype(np.float32)


def float_model(parameters: Parameters) -> onnx.ModelProto:
    """The trained network as ONNX: input `image` [1, 1, 8, 8], output `logits` [1, 10]."""

    def conv(name: str, source: str) -> onnx.NodeProto:
        kernel = parameters[f"{name}.w"].shape[0]
        return helper.make_node(
            "Conv",
            [source, f"{name}.w", f"{name}.b"],
            [name],
            name=name,
            kernel_shape=[kernel, kernel],
            pads=[kernel // 2] * 4,
            strides=[STRIDES[name]] * 2,
        )

    def relu(source: str, target: str) -> onnx.NodeProto:
        return helper.make_node("Relu", [source], [target], name=target)

    def gemm(name: str, source: str, target: str) -> onnx.NodeProto:
        return helper.make_node("Gemm", [source, f"{name}.w", f"{name}.b"], [target], name=name, transB=1)

    nodes = [
        conv("conv1", "image"),
        relu("conv1", "relu1"),
        conv("conv2", "relu1"),
        helper.make_node("Add", ["conv2", "relu1"], ["add"], name="add"),
        relu("add", "relu2"),
        conv("conv3", "relu2"),
        relu("conv3", "relu3"),
        conv("conv4", "relu3"),
        relu("conv4", "relu4"),
        helper.make_node(
            "AveragePool", ["relu4"], ["pool"], name="pool", kernel_shape=[4, 4], strides=[4, 4]
        ),
        helper.make_node("Flatten", ["pool"], ["features"], name="flatten"),
        gemm("dense1", "features", "dense1"),
        relu("dense1", "relu5"),
        gemm("dense2", "relu5", "logits"),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])
    graph = helper.make_graph(nodes, "digits", [image], [logits], initializer=initializers(parameters))
    model = helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)], producer_name="target_arch examples"
    )
    onnx.checker.check_model(model)
    return onnx.shape_inference.infer_shapes(model)


def initializers(parameters: Parameters) -> list[onnx.TensorProto]:
    """Weights in ONNX's layouts: OIHW for convolutions, [output, input] for dense layers."""
    layouts = {4: (3, 2, 0, 1), 2: (1, 0), 1: (0,)}
    return [
        numpy_helper.from_array(np.ascontiguousarray(value.transpose(layouts[value.ndim])), name)
        for name, value in parameters.items()
    ]


class Calibration(CalibrationDataReader):  # type: ignore[misc]
    """Feeds images [N, 8, 8, 1] one by one."""

    def __init__(self, images: Array) -> None:
        self._images: Iterator[Array] = iter(images.reshape(-1, 1, 1, 8, 8))

    def get_next(self) -> dict[str, Any] | None:
        image = next(self._images, None)
        return None if image is None else {"image": image}


def main() -> None:
    data = load_digits()
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(data.images))
    held_out, training = order[:HELD_OUT], order[HELD_OUT:]
    images = (data.images[..., None] / FULL_SCALE).astype(np.float32)
    labels = data.target.astype(np.int64)

    parameters = train(images[training], labels[training], rng)
    right = Network(parameters).forward(images[held_out]).argmax(axis=1) == labels[held_out]
    print(f"float accuracy on {HELD_OUT} held-out digits: {right.mean():.4f}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.onnx"
        onnx.save(float_model(parameters), path)
        onnx.save(float_model(parameters), HERE / "digits_float.onnx")
        quantize_static(
            path,
            HERE / "digits_int8.onnx",
            Calibration(images[training]),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
        )
    np.savez_compressed(
        HERE / "heldout.npz",
        images=data.images[held_out].astype(np.uint8),
        labels=labels[held_out].astype(np.uint8),
    )


if __name__ == "__main__":
    main()
