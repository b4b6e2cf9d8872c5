"""Arrays and files of callers as tensors of a bundle: read, and their shapes and types checked."""

import warnings
from collections.abc import Sequence
from itertools import permutations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_arch.diagnostics import DiagnosticError, Keyword, advice, refusal
from target_arch.plan.manifest.model import TensorEntry

Array = NDArray[Any]

_NPY_HEADER = 10_000
"""Bytes that numpy reads of a header."""
_LAYOUTS = {(0, 2, 3, 1): ("NCHW", "NHWC"), (0, 3, 1, 2): ("NHWC", "NCHW")}
"""Orders of four axes that lead from one layout to another."""
_MOST_AXES = 6


def checked_tensor(value: Array, tensor: TensorEntry, place: str, kind: str = "input") -> Array:
    """The array, which is an input, or a tensor of another `kind`, as a manifest describes it.
    DiagnosticError where its shape or type is another one, or a value is not as was promised.
    """
    has, takes = f"{value.dtype}{list(value.shape)}", f"{tensor.dtype}{list(tensor.shape)}"
    if has == takes:
        require_promised(value, tensor, place)
        return value
    hint = _type_hint(value, tensor) or _shape_hint(value.shape, tensor.shape)
    raise refusal("wrong-input", place, f"{kind} `{tensor.name}` is {takes}, given is {has}", hint)


def require_promised(values: Array, tensor: TensorEntry, place: str) -> None:
    """DiagnosticError where a value is not in the range that was promised of the input."""
    promise = tensor.promised
    if promise is not None and not promise.has(values):
        least, greatest = values.min(), values.max()
        message = f"input `{tensor.name}` was promised to be {promise}, given is {least} to {greatest}"
        hint = advice("compile the model for these values, with a wider range in ", Keyword("input_ranges"))
        raise refusal("wrong-input", place, message, hint)


def read_tensor(path: Path, tensor: TensorEntry) -> Array:
    """An input in an `.npy` file, or as raw bytes in another one. DiagnosticError where the file does not
    hold it.
    """
    try:
        if path.suffix == ".npy":
            return checked_tensor(_npy(path, tensor), tensor, str(path))
        content = path.read_bytes()
    except OSError as error:
        raise refusal("wrong-input", path, f"cannot be read: {error.strerror}") from error
    if len(content) != tensor.bytes:
        text = f"has {len(content):,} B, input `{tensor.name}` takes {tensor.bytes:,} B"
        raise refusal("wrong-input", path, text)
    values = np.frombuffer(content, tensor.dtype).reshape(tensor.shape)
    require_promised(values, tensor, str(path))
    return values


def _npy(path: Path, tensor: TensorEntry) -> Array:
    """The array in an `.npy` file, which is no larger than its header and the tensor."""
    size, most = path.stat().st_size, tensor.bytes + _NPY_HEADER
    if size > most:
        text = f"has {size:,} B, an `.npy` file of input `{tensor.name}` at most {most:,} B"
        raise refusal("wrong-input", path, text)
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
    except OSError:
        raise
    except Exception as error:
        # numpy evaluates the header as Python, and raises whatever that does.
        raise _not_numpy(path, error) from error
    return array


def read_archive(place: Path, what: str) -> dict[str, Array]:
    """The arrays in an `.npz` file by name; `what` is in it, as in "data is". DiagnosticError where it holds
    none.
    """
    if place.suffix != ".npz":
        hint = "name a folder with an `.npy` file for each input, or an `.npz` file with all"
        raise refusal("wrong-input", place, f"{what} in a folder or an .npz file", hint)
    archive = read_array(place)
    try:
        return {name: archive[name] for name in archive}
    except Exception as error:
        # numpy evaluates headers as Python, and unpacks archives: both raise whatever that does.
        raise _not_numpy(place, error) from error


def read_array(path: Path) -> Any:
    """Read an array, or an archive of arrays, by numpy. DiagnosticError where it cannot."""
    try:
        return np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise refusal("wrong-input", path, "cannot be read: No such file or directory") from None
    except Exception as error:
        # numpy evaluates headers as Python, and raises whatever that does.
        raise _not_numpy(path, error) from error


def _not_numpy(path: Path, error: Exception) -> DiagnosticError:
    """The refusal of a file that numpy cannot read."""
    said = (str(error) or type(error).__name__).splitlines()[0]
    return refusal("wrong-input", path, f"is not an {path.suffix} file: {said}")


def _type_hint(value: Array, tensor: TensorEntry) -> str | None:
    wanted = np.dtype(tensor.dtype)
    if value.dtype == wanted:
        return None
    if value.dtype.kind == "f" and wanted.kind in "iu" and wanted.itemsize <= 2:
        return f"quantize real numbers as the model does: round(x / scale) + zero point, as {wanted}"
    return f'convert it: `array.astype("{wanted}")`'


def _shape_hint(has: Sequence[int], takes: Sequence[int]) -> str | None:
    """How an array of one shape becomes one of the other, where they hold the same elements."""
    if [extent for extent in has if extent != 1] == [extent for extent in takes if extent != 1]:
        moved = _order(has, takes) if len(has) == len(takes) else None
        return _moved(moved) if moved in _LAYOUTS else f"`array.reshape({', '.join(map(str, takes))})`"
    if len(has) == len(takes) and list(has[1:]) == list(takes[1:]) and has[0] > takes[0]:
        return f"a frame has {takes[0]} of these {has[0]}: run it once for each"
    order = _order(has, takes)
    return None if order is None else _moved(order)


def frames_hint(array: Array, shape: Sequence[int], kind: str = "input") -> str:
    """The way to a dimension of frames before that shape, for an array that has none: the call that makes it
    where there are whole frames of elements.
    """
    one = shape[1:] if shape[:1] == (1,) else shape
    if not one or not prod(one) or not array.size or array.size % prod(one):
        return f"put a dimension of frames before those of the {kind}"
    return f"where one frame follows the other: `array.reshape({', '.join(map(str, (-1, *one)))})`"


def _moved(order: tuple[int, ...]) -> str:
    transposed = f"`array.transpose({', '.join(map(str, order))})`"
    if order in _LAYOUTS:
        given, wanted = _LAYOUTS[order]
        return f"the array seems to be {given} and the model takes {wanted}: {transposed}"
    return f"the model takes the axes in another order: {transposed}"


def _order(has: Sequence[int], takes: Sequence[int]) -> tuple[int, ...] | None:
    """The order of its axes that gives an array the other shape; one between layouts before others."""
    if sorted(has) != sorted(takes) or len(has) > _MOST_AXES:
        return None
    orders = permutations(range(len(has)))
    fitting = [order for order in orders if [has[axis] for axis in order] == list(takes)]
    return next((order for order in fitting if order in _LAYOUTS), fitting[0])
