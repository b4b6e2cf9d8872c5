"""The classes of recorded frames, and the class that a model's outputs name."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from target_arch.diagnostics import refusal
from target_arch.run.execute.tensors import Array

LABELS = "labels"
"""The array of an `.npz` file that has the labels, where no tensor is called so."""


def classes_of(labels: Array, count: int, place: Path) -> tuple[int, ...]:
    """The class of each of so many frames. DiagnosticError where the array has others."""
    flat = labels.reshape(-1) if labels.ndim == 2 and 1 in labels.shape else labels
    if flat.ndim != 1 or flat.dtype.kind not in "iu" or (flat < 0).any():
        has = f"{labels.dtype}{list(labels.shape)}"
        message = f"labels are one class for each frame, counted from 0; given is {has}"
        raise refusal("wrong-labels", place, message, None)
    if len(flat) != count:
        raise refusal("wrong-labels", place, f"there are {len(flat):,} labels for {count:,} frames", None)
    return tuple(map(int, flat))


def require_class(highest: int, output: Array) -> None:
    """DiagnosticError where the first output of a model has no element for a label."""
    if _is_label(output) or highest < output.size:
        return
    message = f"label {highest:,} is no class: the first output has {output.size:,} elements"
    hint = "classes are counted from 0, an element of it for each"
    raise refusal("wrong-labels", "labels", message, hint)


def named_class(outputs: Sequence[Array]) -> int:
    """The class that a frame's outputs name: the place of the largest element of the first one, which may be
    a whole number that is the class itself.
    """
    first = outputs[0]
    return int(first.reshape(-1)[0]) if _is_label(first) else int(np.argmax(first))


def _is_label(output: Array) -> bool:
    return output.size == 1 and output.dtype.kind in "iu"
