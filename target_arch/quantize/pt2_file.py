"""PyTorch programs, quantized by torchao's pt2e with its quantizer for XNNPACK.

Normalizations go into the convolutions before them. Tests: `tests/quantize/test_pt2_file.py`.
"""

import copy
import io
import zipfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from target_arch.diagnostics import refusal
from target_arch.quantize.data import LabelledFrames
from target_arch.quantize.library import file_answer
from target_arch.quantize.precision import Precision, Precisions, QuantizableLayer
from target_arch.quantize.score import Answer
from target_arch.relax.quiet import quiet
from target_arch.relax.readers.pytorch.pt2_archive import plain_archive
from target_arch.relax.readers.pytorch.torch_signature import called
from target_arch.run.references.reference import package_missing, unreadable

_WEIGHTED = {"aten.conv1d.default", "aten.conv2d.default", "aten.linear.default"}
"""Operators whose second input may be weights, for which the quantizer has patterns."""
_SETTINGS = ("histogram", "min and max")
_WEIGHTS: Mapping[Precision, Mapping[str, Any]] = {
    Precision.INT8: {"is_per_channel": True},
    Precision.INT8_TENSOR: {"is_per_channel": False},
    Precision.INT4: {"is_per_channel": True, "weight_qmin": -8, "weight_qmax": 7},
}
_CHOICES = (Precision.FLOAT, *_WEIGHTS)
_HISTORY = ("from_node", "stack_trace")
"""Where an operator comes from, with numbers of objects in memory and paths of files."""
_DRAWN = ".data/serialization_id"
"""A number that is drawn whenever a program is written."""
_WRITTEN = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the archive: the same program has the same bytes."""


@define(kw_only=True, eq=False)
class Pt2Quantizer:
    """A float program, with the frames that calibrate it. `groups` are the names of the operators of each
    layer, `ranges` the states of observers that have seen all frames: calibration computes in floats, so that
    a tensor's range is the same whatever else is quantized.
    """

    float_model: Path
    layers: tuple[QuantizableLayer, ...]
    groups: tuple[frozenset[str], ...] = field(repr=False)
    program: Any = field(repr=False)
    frames: Sequence[tuple[Any, ...]] = field(repr=False)
    library: str = "torchao"
    settings: tuple[str, ...] = _SETTINGS
    ranges: dict[Hashable, Mapping[str, Any]] = field(factory=dict, init=False, repr=False)

    @property
    def recipes(self) -> Mapping[str, Precisions]:
        """None: torchao's quantizer has settings alone; see `library.py`."""
        return {}

    def quantized(self, precisions: Precisions, setting: str) -> bytes:
        """The content of the file with these precisions; see `library.py`."""
        import torch
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        if set(precisions) == {Precision.FLOAT}:
            return self.float_model.read_bytes()
        with quiet(), torch.no_grad():
            prepared = prepare_pt2e(self.program.module(), _quantizer(self.groups, precisions, setting))
            self._calibrate(prepared)
            program = torch.export.export(convert_pt2e(prepared), *self.program.example_inputs)
            return _content(program)

    def _calibrate(self, prepared: Any) -> None:
        """Give every observer its range: those of weights by one frame, those of activations by all frames,
        unless all of these are known.
        """
        observers = _observers(prepared)
        known = observers.keys() <= self.ranges.keys()
        for frame in self.frames[:1] if known else self.frames:
            called(self.program, prepared, frame)
        for key, observer in observers.items():
            if known:
                observer.load_state_dict(self.ranges[key])
            else:
                self.ranges[key] = copy.deepcopy(observer.state_dict())

    def answer(self, content: bytes, folder: Path) -> Answer:
        """The outputs of a model, in floats; see `library.py`."""
        return file_answer(content, folder, self.float_model.suffix)


def pt2_quantizer(model: Path, data: LabelledFrames, folder: Path) -> Pt2Quantizer:
    """The program, with the frames. ToolMissing without torchao, DiagnosticError for a program that has
    nothing to quantize.
    """
    try:
        with quiet():
            import torchao.quantization.pt2e  # noqa: F401
    except ImportError as error:
        raise package_missing("torchao", "torch") from error
    import torch

    program = _program(model)
    layers, groups = _layers(program.module().graph)
    if not layers:
        said = "there is nothing to quantize: no conv1d, conv2d or linear with weights"
        raise refusal("nothing-to-quantize", model, said)
    frames = [tuple(torch.from_numpy(np.array(value)) for value in frame) for frame in data.frames]
    return Pt2Quantizer(float_model=model, layers=layers, groups=groups, program=program, frames=frames)


def require_float_pt2(model: Path) -> None:
    """DiagnosticError for a program that has quantized operators, or cannot be read."""
    nodes = (node for node in _program(model).graph.nodes if node.op == "call_function")
    quantized = sorted(str(node.target) for node in nodes if "quantize_per_" in str(node.target))
    if quantized:
        said = f"the model is quantized already: it has `{quantized[0]}`"
        raise refusal("already-quantized", model, said, "give the float model that it was made from")


def _program(model: Path) -> Any:
    try:
        with quiet():
            from target_arch.relax.readers.pytorch.pt2_program import loaded

            return loaded(plain_archive(model.read_bytes()))
    except ImportError as error:
        raise package_missing("torch", "torch") from error
    except Exception as error:
        # PyTorch checks what it builds with exceptions of every kind.
        raise unreadable(model, "PyTorch", error) from error


def _layers(graph: Any) -> tuple[tuple[QuantizableLayer, ...], tuple[frozenset[str], ...]]:
    """The layers, and the operators of each; those before the first belong to it."""
    made_in: dict[Any, int] = {}
    layers: list[QuantizableLayer] = []
    groups: list[set[str]] = [set()]
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        group = max((made_in.get(operand, 0) for operand in node.all_input_nodes), default=0)
        target = str(node.target)
        if target in _WEIGHTED and node.args[1].op == "get_attr":
            weights = node.args[1].meta["val"].numel()
            kind = target.split(".")[1]
            layers.append(QuantizableLayer(name=node.name, kind=kind, weights=weights, choices=_CHOICES))
            group = len(layers) - 1
            groups += [set()] if group else []
        groups[group].add(node.name)
        made_in[node] = group
    return tuple(layers), tuple(map(frozenset, groups))


def _quantizer(groups: Sequence[frozenset[str]], precisions: Precisions, setting: str) -> Any:
    """torchao's quantizer, which takes the operators of each layer as that layer's precision says."""
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer

    class ByLayer(XNNPACKQuantizer):  # type: ignore[misc]  # torchao has no types here
        """Annotates one layer after the other."""

        def annotate(self, model: Any) -> Any:
            for names, precision in zip(groups, precisions, strict=True):
                if precision in _WEIGHTS:
                    self._annotate_all_static_patterns(model, _config(precision, setting), _among(names))
            return model

    return ByLayer()


def _observers(prepared: Any) -> dict[Hashable, Any]:
    """The observers of activations, each by what it observes, in this order, and how."""
    from torchao.quantization.pt2e.observer import ObserverBase

    observed: dict[str, list[str]] = {}
    for node in prepared.graph.nodes:
        observes = node.op == "call_module" and isinstance(prepared.get_submodule(node.target), ObserverBase)
        if observes and node.args[0].op != "get_attr":
            observed.setdefault(node.target, []).append(node.args[0].name)
    observers: dict[Hashable, Any] = {}
    for target, names in observed.items():
        observer = prepared.get_submodule(target)
        form = (type(observer).__name__, observer.dtype, observer.quant_min, observer.quant_max)
        observers[*names, *form, observer.qscheme] = observer
    return observers


def _among(names: frozenset[str]) -> Callable[[Any], bool]:
    """Whether an operator is one of these; weights, which are asked for too, are."""
    return lambda node: node.op != "call_function" or node.name in names


def _config(precision: Precision, setting: str) -> Any:
    from dataclasses import replace

    from torchao.quantization.pt2e import MinMaxObserver
    from torchao.testing.pt2e._xnnpack_quantizer import get_symmetric_quantization_config

    config = get_symmetric_quantization_config(**_WEIGHTS[precision])
    if setting == _SETTINGS[0]:
        return config
    activation = replace(
        config.input_activation,
        observer_or_fake_quant_ctr=MinMaxObserver.with_args(eps=2**-12),
    )
    return replace(config, input_activation=activation, output_activation=activation)


def _content(program: Any) -> bytes:
    """The file of a program, in which nothing depends on when it was written."""
    import torch

    for node in program.graph.nodes:
        for key in _HISTORY:
            node.meta.pop(key, None)
    written, kept = io.BytesIO(), io.BytesIO()
    torch.export.save(program, written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(kept, "w") as target:
        for entry in source.infolist():
            content = b"0" * entry.file_size if entry.filename.endswith(_DRAWN) else source.read(entry)
            target.writestr(zipfile.ZipInfo(entry.filename, _WRITTEN), content)
    return kept.getvalue()
