"""The same network from three exporters, in floats and in int8: the same operators, and the same engines take
them. The files are what PyTorch, onnxruntime, torchao, litert-torch and ai-edge-quantizer wrote
(`conformance/exported_nets.py`).
"""

from pathlib import Path

import pytest

from conformance.exported_nets import FORMATS, NAMES, exported
from target_arch.backend.contract import Question
from target_arch.plan.model import Model, Operator
from target_arch.plan.opaque import opaque_share
from target_arch.registry import PlugIns
from target_arch.relax.importer import import_model
from target_arch.resources import soc_configs
from target_arch.soc.files.soc_file import read_soc
from tests.slow import slow_except

ENDS = ("quantize", "dequantize", "requantize", "reshape", "transpose")
"""Which files have conversions where differs, and which dimensions come first."""
NAMED = {"avg_pool2d": "mean", "reduce": "mean"}
"""A mean over time is a pool where it is one over an image of one row."""
ATTENTION = ("dense", "matmul", "softmax", "normalize")

INVERTED = "conv2d depthwise_conv2d conv2d"
BLOCK = "conv2d conv2d mean conv2d conv2d gate mul add"
EXPECTED = {
    "mobilenet": f"conv2d {INVERTED} add {INVERTED} {INVERTED} add mean dense softmax",
    "gated": f"conv2d {BLOCK} {BLOCK} mean dense softmax",
    "tcn": "conv2d add conv2d add conv2d add mean dense",
    "transformer": "dense dense dense matmul softmax matmul dense normalize dense dense normalize dense",
}


def imported(net: str, form: str, format: str, folder: Path) -> Model:
    if format == "pt2":
        pytest.importorskip("torch", reason="needs torch: pip install 'target-arch[torch]'")
    return import_model(exported(net, form, format, folder))[0]


def proper(net: str, model: Model) -> list[Operator]:
    """What the operators compute, without ends. Of the transformer only products, softmaxes and layers of
    normalization. pt2e puts a grid between a convolution and its ReLU6, which is an operator then.
    """
    kinds = (*ENDS, "relu")
    return [
        each
        for each in model.operators
        if each.kind not in kinds and (net != "transformer" or each.kind in ATTENTION)
    ]


def words(operators: list[Operator]) -> str:
    """The kinds; a table of int8 and a function of floats are the same sigmoid."""
    gates = {"lookup": "gate", "function": "gate"}
    return " ".join({**gates, **NAMED}.get(each.kind, str(each.kind)) for each in operators)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("form", ["float", "int8"])
@pytest.mark.parametrize("net", NAMES)
def test_the_operators_are_the_same(net: str, form: str, format: str, tmp_path: Path) -> None:
    model = imported(net, form, format, tmp_path)
    operators = proper(net, model)
    expected = EXPECTED[net]
    if (form, format) == ("int8", "tflite"):  # each step of a layer of normalization has a grid of its own
        expected = expected.replace("normalize ", "")
    assert words(operators) == expected
    assert not opaque_share(model).elements_of
    if form == "int8":
        products = [each for each in operators if each.kind in ("conv2d", "depthwise_conv2d", "dense")]
        assert {model.tensors[each.output].dtype for each in products} == {"int8"}


@pytest.mark.parametrize(
    "engine", slow_except(["dsp_cpu"], ["fpga_conv2d", "accelerator", "dsp_cpu", "cmsis_nn"])
)
@pytest.mark.parametrize("net", NAMES)
def test_engines_take_the_same_ones(net: str, engine: str, tmp_path: Path) -> None:
    backends = PlugIns.discover().backends
    library = engine == "cmsis_nn"
    soc = backends.default_soc(engine) if library else read_soc(soc_configs() / "zynq_edge.toml")
    instance = soc.instance(engine)
    backend = backends[instance.arch.backend]
    taken = {}
    for format in FORMATS:
        model = imported(net, "int8", format, tmp_path)
        products = [each for each in proper(net, model) if each.facts.weighted]
        questions = [Question(operator=each, model=model, instance=instance, soc=soc) for each in products]
        taken[format] = [backend.supports(question) for question in questions]
    assert taken["onnx"] == taken["pt2"] == taken["tflite"]
    assert (None in taken["onnx"]) is (net != "transformer" or engine != "fpga_conv2d")
