"""TFLite models, quantized by ai-edge-quantizer.

Inputs and outputs have the type of the layers beside them. Tests: `tests/quantize/test_tflite_file.py`.
"""

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from target_arch.diagnostics import refusal
from target_arch.quantize.data import LabelledFrames
from target_arch.quantize.library import file_answer, library_missing
from target_arch.quantize.precision import Precision, Precisions, QuantizableLayer
from target_arch.quantize.score import Answer
from target_arch.relax.quiet import quiet
from target_arch.run.references.reference import Array, Frame, unreadable

_STORED = (Precision.INT8_STORED, Precision.INT4_STORED)
_CHOICES = tuple(precision for precision in Precision if precision not in _STORED)
_RECIPES = {
    "static_wi8_ai8": Precision.INT8,
    "static_wi8_ai16": Precision.INT16,
    "dynamic_wi8_afp32": Precision.INT8_WEIGHTS,
    "dynamic_legacy_wi8_afp32": Precision.INT8_WEIGHTS,
    "dynamic_wi4_afp32": Precision.INT4_WEIGHTS,
    "weight_only_wi8_afp32": Precision.INT8_STORED,
    "weight_only_wi4_afp32": Precision.INT4_STORED,
}
"""Those of ai-edge-quantizer for whole models, with its default way to find scales."""
_LEGACY = ("dynamic_legacy_wi8_afp32", 1024)
"""The recipe that leaves layers with fewer weights in floats."""
_SMOOTHED, _EXTREMES = "moving averages", "min and max"
_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
_INTEGERS = ("INT8", "UINT8", "INT16")
_KEY = b"serving_default"


@define(kw_only=True, eq=False)
class TfliteQuantizer:
    """A calibrated TFLite model. `groups` are the scopes of the operators of each layer, as ai-edge-quantizer
    calls them; `ranges`, by setting, those of all tensors, for activations of 8 and of 16 bits: the library's
    moving averages of the extremes of frames, which a rare large value hardly moves, and the extremes of all.
    """

    float_model: Path
    layers: tuple[QuantizableLayer, ...]
    groups: tuple[tuple[str, ...], ...] = field(repr=False)
    ranges: Mapping[str, Mapping[str, Any]] = field(repr=False)
    library: str = "ai-edge-quantizer"
    settings: tuple[str, ...] = (_SMOOTHED, _EXTREMES)

    @property
    def recipes(self) -> Mapping[str, Precisions]:
        """The precisions of the layers by recipe; see `library.py`."""
        return {
            name: tuple(_by_recipe(name, precision, layer) for layer in self.layers)
            for name, precision in _RECIPES.items()
        }

    def quantized(self, precisions: Precisions, setting: str) -> bytes:
        """The content of the file with these precisions; see `library.py`."""
        from ai_edge_quantizer import quantizer, recipe

        content = self.float_model.read_bytes()
        if set(precisions) == {Precision.FLOAT}:
            return content
        named = setting in _RECIPES
        with quiet():
            steps = getattr(recipe, setting)() if named else _recipe(self.groups, precisions)
            library = quantizer.Quantizer(content, steps)
            found = self.ranges[_SMOOTHED if named else setting]
            ranges = dict(found) if library.need_calibration else None
            result = library.quantize(ranges, enable_progress_report=False)
        return bytes(result.quantized_model)

    def answer(self, content: bytes, folder: Path) -> Answer:
        """The outputs of a model, in floats; see `library.py`."""
        answer = file_answer(content, folder, self.float_model.suffix)
        inputs, outputs = _terminals(content)

        def in_floats(frame: Frame) -> Frame:
            stored = tuple(_stored(value, one) for value, one in zip(frame, inputs, strict=True))
            return tuple(_real(value, one) for value, one in zip(answer(stored), outputs, strict=True))

        return in_floats


def tflite_quantizer(model: Path, data: LabelledFrames, folder: Path) -> TfliteQuantizer:
    """The model, calibrated with the frames; files that it needs go into the folder, and stay.

    ToolMissing without ai-edge-quantizer, DiagnosticError for a model that has nothing to quantize.
    """
    if find_spec("ai_edge_quantizer") is None:
        raise library_missing("ai-edge-quantizer")
    content, graph, kinds = _prepared(model)
    layers, groups = _layers(graph, kinds)
    if not layers:
        said = f"there is nothing to quantize: no {', '.join(_WEIGHTED[:-1])} or {_WEIGHTED[-1]} with weights"
        raise refusal("nothing-to-quantize", model, said)
    names = [graph.tensors[number].name.decode() for number in graph.inputs]
    frames = [dict(zip(names, frame, strict=True)) for frame in data.frames]
    with quiet():
        ranges = _ranges(content, frames)
    prepared = folder / f"float{model.suffix}"
    prepared.write_bytes(content)
    return TfliteQuantizer(float_model=prepared, layers=layers, groups=groups, ranges=ranges)


def _ranges(content: bytes, frames: Sequence[Mapping[str, Array]]) -> dict[str, Mapping[str, Any]]:
    from ai_edge_quantizer import calibrator, recipe, recipe_manager
    from ai_edge_quantizer.utils import qsv_utils

    manager = recipe_manager.RecipeManager()
    manager.load_quantization_recipe(recipe.static_wi8_ai8())
    updates = {_SMOOTHED: qsv_utils.moving_average_update, _EXTREMES: qsv_utils.min_max_update}
    found = {}
    for setting, update in updates.items():
        calibrating = calibrator.Calibrator(content, qsv_update_func=update)
        calibrating.calibrate({_KEY.decode(): frames}, manager)
        found[setting] = calibrating.get_model_qsvs()
    return found


def require_float_tflite(model: Path) -> None:
    """DiagnosticError for a model that has quantized tensors, or cannot be read."""
    import tflite

    names = {value: name for name, value in vars(tflite.TensorType).items() if isinstance(value, int)}
    try:
        graph = tflite.Model.GetRootAsModel(model.read_bytes(), 0).Subgraphs(0)
        tensors = [graph.Tensors(number) for number in range(graph.TensorsLength())]
        scaled = [each for each in tensors if each.Quantization() and each.Quantization().ScaleLength()]
        kinds = sorted({names[each.Type()] for each in scaled} & set(_INTEGERS))
    except Exception as error:
        # The package reads whatever the bytes say.
        raise unreadable(model, "tflite", error) from error
    if kinds:
        said = f"the model is quantized already: it has tensors of {kinds[0].lower()} with scales"
        raise refusal("already-quantized", model, said, "give the float model that it was made from")


def as_it_is(model: Path, folder: Path) -> Path:
    """The model: a TFLite file has a shape for every open one, and a program has its own."""
    return model


def _prepared(model: Path) -> tuple[bytes, Any, list[str]]:
    """The model with a signature and different names of tensors, by which ai-edge-quantizer takes them; its
    first graph, and the kinds of that one's operators.
    """
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    whole = schema.ModelT.InitFromPackedBuf(model.read_bytes(), 0)
    graph, seen = whole.subgraphs[0], set[bytes]()
    for number, tensor in enumerate(graph.tensors):
        name = bytes(tensor.name or b"tensor")
        tensor.name = name if name not in seen else name + f"_{number}".encode()
        seen.add(tensor.name)
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = _KEY, 0
    signature.inputs, signature.outputs = (
        _named(schema, graph, each) for each in (graph.inputs, graph.outputs)
    )
    whole.signatureDefs = [signature]
    builder = flatbuffers.Builder(1024)
    builder.Finish(whole.Pack(builder), b"TFL3")
    codes = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    numbers = [max(each.builtinCode, each.deprecatedBuiltinCode) for each in whole.operatorCodes]
    kinds = [codes.get(numbers[operator.opcodeIndex], "CUSTOM") for operator in graph.operators]
    return bytes(builder.Output()), graph, kinds


def _named(schema: Any, graph: Any, numbers: Sequence[int]) -> list[Any]:
    maps = []
    for number in numbers:
        one = schema.TensorMapT()
        one.name, one.tensorIndex = graph.tensors[number].name, number
        maps.append(one)
    return maps


def _layers(
    graph: Any, kinds: Sequence[str]
) -> tuple[tuple[QuantizableLayer, ...], tuple[tuple[str, ...], ...]]:
    """The layers, and the scopes of the operators of each; inputs belong to the first one."""
    written = {number for operator in graph.operators for number in operator.outputs}
    made_in: dict[int, int] = {}
    layers: list[QuantizableLayer] = []
    groups: list[list[str]] = [[_scope(graph, [number]) for number in graph.inputs]]
    for operator, kind in zip(graph.operators, kinds, strict=True):
        group = max((made_in.get(number, 0) for number in operator.inputs), default=0)
        if kind in _WEIGHTED and operator.inputs[1] not in written:
            layers.append(_layer(graph, operator, kind))
            group = len(layers) - 1
            groups += [[]] if group else []
        groups[group].append(_scope(graph, operator.outputs))
        made_in.update(dict.fromkeys(operator.outputs, group))
    return tuple(layers), tuple(map(tuple, groups))


def _layer(graph: Any, operator: Any, kind: str) -> QuantizableLayer:
    name = graph.tensors[operator.outputs[0]].name.decode(errors="replace")
    weights = int(np.prod(graph.tensors[operator.inputs[1]].shape, dtype=np.int64))
    return QuantizableLayer(name=name, kind=kind, weights=weights, choices=_CHOICES)


def _by_recipe(name: str, precision: Precision, layer: QuantizableLayer) -> Precision:
    """The precision that a recipe gives a layer."""
    recipe, least = _LEGACY
    return Precision.FLOAT if name == recipe and layer.weights < least else precision


def _scope(graph: Any, numbers: Sequence[int]) -> str:
    """An operator as ai-edge-quantizer calls it: the names of its outputs."""
    return "".join(f"{graph.tensors[number].name.decode()};" for number in numbers)


def _recipe(groups: Sequence[Sequence[str]], precisions: Precisions) -> Any:
    """Weights of 4 bits are clipped where that lessens their error (OCTAV)."""
    from ai_edge_quantizer import algorithm_manager, qtyping, recipe_manager

    manager, every = recipe_manager.RecipeManager(), qtyping.TFLOperationName.ALL_SUPPORTED
    clipped = algorithm_manager.AlgorithmName.OCTAV
    one_scale = qtyping.QuantGranularity.TENSORWISE
    for scopes, precision in zip(groups, precisions, strict=True):
        named = f"^(?:{'|'.join(map(re.escape, scopes))})$"
        if precision is Precision.INT8:
            manager.add_static_config(named, every, 8, 8)
        elif precision is Precision.INT8_TENSOR:
            manager.add_static_config(named, every, 8, 8, weight_granularity=one_scale)
        elif precision is Precision.INT4:
            manager.add_static_config(named, every, 8, 4, algorithm_key=clipped)
        elif precision is Precision.INT16:
            manager.add_static_config(named, every, 16, 8)
        elif precision is Precision.INT8_WEIGHTS:
            manager.add_dynamic_config(named, every, 8)
        elif precision is Precision.INT4_WEIGHTS:
            manager.add_dynamic_config(named, every, 4, algorithm_key=clipped)
        elif precision is Precision.INT8_STORED:
            manager.add_weight_only_config(named, every, 8)
        elif precision is Precision.INT4_STORED:
            manager.add_weight_only_config(named, every, 4, algorithm_key=clipped)
    return manager.get_quantization_recipe()


def _terminals(content: bytes) -> tuple[list[Any], list[Any]]:
    """Inputs and outputs as LiteRT describes them."""
    from ai_edge_litert.interpreter import Interpreter

    with quiet():
        interpreter = Interpreter(model_content=content)
    return interpreter.get_input_details(), interpreter.get_output_details()


def _stored(value: Array, terminal: Mapping[str, Any]) -> Array:
    """A value as an input has it: quantized where the input is."""
    scale, zero_point = terminal["quantization"]
    if not scale or value.dtype.kind != "f":
        return value
    bounds = np.iinfo(terminal["dtype"])
    stored: Array = np.clip(np.rint(value / scale) + zero_point, bounds.min, bounds.max)
    return stored.astype(terminal["dtype"])


def _real(value: Array, terminal: Mapping[str, Any]) -> Array:
    """A value of an output, in floats where it is quantized."""
    scale, zero_point = terminal["quantization"]
    return (value.astype(np.float32) - zero_point) * np.float32(scale) if scale else value
