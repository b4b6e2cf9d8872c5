"""The contract with a library that quantizes models of a format."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from target_arch.quantize.precision import Precisions, QuantizableLayer
from target_arch.quantize.score import Answer
from target_arch.run.references.find import reference_for
from target_arch.run.references.reference import package_missing
from target_arch.run.tools.toolchain import ToolMissing


class QuantizedModel(Protocol):
    """A float model that a library has calibrated and can quantize, layer by layer.

    `float_model` is the file that is quantized, with fixed shapes. `settings` are ways of the library to
    find the ranges of activations: results of each have the same bytes. `recipes` are settings, too, which
    its authors recommend for whole models, with the precisions that each gives all layers.
    """

    @property
    def library(self) -> str:
        """The name of the library."""

    @property
    def float_model(self) -> Path:
        """The model that is quantized."""

    @property
    def layers(self) -> tuple[QuantizableLayer, ...]:
        """The layers, in the order of the file."""

    @property
    def settings(self) -> tuple[str, ...]:
        """Ways to find the ranges of activations."""

    @property
    def recipes(self) -> Mapping[str, Precisions]:
        """The precisions of the layers by recipe."""

    def quantized(self, precisions: Precisions, setting: str) -> bytes:
        """The content of the file with these precisions, which are those of the recipe where the setting is
        one. The same arguments give the same bytes.
        """

    def answer(self, content: bytes, folder: Path) -> Answer:
        """The outputs of a model that was made so, frames and outputs as the float model has them. Files that
        it needs are in the folder.
        """


def file_answer(content: bytes, folder: Path, suffix: str) -> Answer:
    """The outputs of a model file with that content, as its reference computes them."""
    file = folder / f"judged{suffix}"
    file.write_bytes(content)
    answer = reference_for(file).answer
    return lambda frame: answer(frame)[0]


def library_missing(package: str) -> ToolMissing:
    """The error for a library that is not installed."""
    return package_missing(package, "quantize")
