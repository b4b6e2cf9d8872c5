"""Linear algebra and spectra: sums of products over one or several dimensions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as ib

from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import Array, NotConverted, constant, counted, local


def _dft(node: Node) -> Any:
    shape = node.shape(0)
    axis = _dft_axis(node, len(shape))
    inverse, onesided = bool(node.integer("inverse", 0)), bool(node.integer("onesided", 0))
    given = node.constant(1, "dft_length")
    whole = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    length = whole if given is None else int(given.reshape(-1)[0])
    if inverse and onesided:
        return _real_inverse(node, axis, length)
    kept = length // 2 + 1 if onesided else length
    return _spectrum(node, node.operand(0), axis, (length, kept), inverse=inverse)


def _dft_axis(node: Node, rank: int) -> int:
    given = node.constant(2, "axis")
    if given is not None:
        return counted(int(given.reshape(-1)[0]), rank)
    return node.axis(1 if node.opset < 20 else -2, rank=rank)


def _roots(rows: int, columns: int, length: int) -> tuple[Array, Array]:
    """Cosine and sine of each product of a row and a column, in turns of a circle of `length` steps."""
    angles = 2 * np.pi * (np.outer(np.arange(rows), np.arange(columns)) % length) / length
    return np.cos(angles), np.sin(angles)


def _spectrum(
    node: Node, signal: Any, axis: int, lengths: tuple[int, int], *, inverse: bool, window: Any | None = None
) -> Any:
    """Real and imaginary part of every frequency; `lengths` are of the transform and of the kept part."""
    length, kept = lengths
    shape = [int(extent) for extent in signal.ty.shape]
    terms = min(length, shape[axis])
    cosines, sines = _roots(kept, terms, length)
    scale = 1 / length if inverse else 1.0
    tables = [
        constant(cosines * scale, "float32"),
        constant(sines * (scale if inverse else -scale), "float32"),
    ]
    final = list(shape)
    final[axis], final[-1] = kept, 2
    is_complex = shape[-1] == 2

    def definition(x: Any, cosine: Any, sine: Any) -> Any:
        t = te.reduce_axis((0, terms), name="t")

        def element(*at: Any) -> Any:
            def part(which: int) -> Any:
                return x(*at[:axis], t, *at[axis + 1 : -1], which)

            row = at[axis]
            real = tirx.Select(at[-1] == 0, cosine(row, t), sine(row, t)) * part(0)
            if is_complex:
                turned = tirx.Select(at[-1] == 0, -sine(row, t), cosine(row, t))
                real = real + turned * part(1)
            return te.sum(real, axis=t)

        return te.compute(tuple(final), element)

    return node.computed(definition, signal, *tables)


def _real_inverse(node: Node, axis: int, length: int) -> Any:
    """The real signal whose spectrum is given by its first half; every other frequency counts twice."""
    shape = list(node.shape(0))
    terms = min(length // 2 + 1, shape[axis])
    twice = np.full(terms, 2.0)
    twice[0] = 1.0
    if length % 2 == 0 and terms == length // 2 + 1:
        twice[-1] = 1.0
    cosines, sines = _roots(length, terms, length)
    tables = [constant(cosines * twice / length, "float32"), constant(-sines * twice / length, "float32")]
    final = [*shape[:-1], 1]
    final[axis] = length

    def definition(x: Any, cosine: Any, sine: Any) -> Any:
        t = te.reduce_axis((0, terms), name="t")

        def element(*at: Any) -> Any:
            real, imaginary = (x(*at[:axis], t, *at[axis + 1 : -1], which) for which in (0, 1))
            return te.sum(cosine(at[axis], t) * real + sine(at[axis], t) * imaginary, axis=t)

        return te.compute(tuple(final), element)

    return node.computed(definition, node.operand(0), *tables)


def _stft(node: Node) -> Any:
    """Frames of the signal, each times the window, each transformed."""
    batch, samples, parts = node.shape(0)
    step_given, length_given = node.constant(1, "frame_step"), node.constant(3, "frame_length")
    if step_given is None:
        raise NotConverted("operand 1 is missing")
    step, window = int(step_given.reshape(-1)[0]), node.given(2)
    if length_given is not None:
        length = int(length_given.reshape(-1)[0])
    else:
        length = samples if window is None else node.shape(2)[0]
    frames = 1 + (samples - length) // step

    def framed(x: Any, *weights: Any) -> Any:
        def element(*at: Any) -> Any:
            value = x(at[0], at[1] * step + at[2], at[3])
            return value * weights[0](at[2]) if weights else value

        return te.compute((batch, frames, length, parts), element)

    signal = node.computed(framed, node.operand(0), *([] if window is None else [window]))
    kept = length // 2 + 1 if node.integer("onesided", 1) else length
    return _spectrum(node, signal, 2, (length, kept), inverse=False)


def _det(node: Node) -> Any:
    """By elimination with the largest element of each column as its pivot."""
    shape, dtype = node.shape(0), node.dtype(0)
    outer, n = shape[:-2], shape[-1]
    flat = node.reshaped(node.operand(0), (int(np.prod(outer, dtype=int)), n, n))

    def body(out: Any, x: Any) -> None:
        rows, pivot = local("rows", (n, n), dtype), local("pivot", (1,), "int32")
        kept = local("kept", (1,), dtype)
        with ib.serial(0, int(np.prod(outer, dtype=int))) as matrix:
            with ib.grid(n, n) as (i, j):
                ib.buffer_store(rows, x[matrix, i, j], [i, j])
            ib.buffer_store(out, tirx.const(1, dtype), [matrix])
            with ib.serial(0, n) as k:
                _choose_pivot(rows, pivot, k, n)
                _swap_rows(rows, pivot, kept, k, n)
                with ib.If(pivot[0] != k), ib.Then():
                    ib.buffer_store(out, -out[matrix], [matrix])
                ib.buffer_store(out, out[matrix] * rows[k, k], [matrix])
                _eliminate(rows, kept, k, n)

    return relax.op.reshape(node.written((int(np.prod(outer, dtype=int)),), dtype, body, flat), tuple(outer))


def _eliminate(rows: Any, kept: Any, k: Any, n: int) -> None:
    """Zeros below the pivot; a column of zeros has none."""
    found = rows[k, k] != tirx.const(0, str(rows.dtype))
    with ib.serial(0, n) as i, ib.If(tirx.all(i > k, found)), ib.Then():
        ib.buffer_store(kept, rows[i, k] / rows[k, k], [0])
        with ib.serial(0, n) as j:
            ib.buffer_store(rows, rows[i, j] - kept[0] * rows[k, j], [i, j])


def _choose_pivot(rows: Any, pivot: Any, k: Any, n: int) -> None:
    ib.buffer_store(pivot, k.astype("int32"), [0])
    with ib.serial(0, n) as i:
        larger = tirx.abs(rows[i, k]) > tirx.abs(rows[pivot[0], k])
        with ib.If(tirx.all(i > k, larger)), ib.Then():
            ib.buffer_store(pivot, i.astype("int32"), [0])


def _swap_rows(rows: Any, pivot: Any, kept: Any, k: Any, n: int) -> None:
    with ib.serial(0, n) as j:
        ib.buffer_store(kept, rows[k, j], [0])
        ib.buffer_store(rows, rows[pivot[0], j], [k, j])
        ib.buffer_store(rows, kept[0], [pivot[0], j])


def _einsum(node: Node) -> Any:
    equation = node.attributes["equation"]
    text = equation.decode() if isinstance(equation, bytes) else str(equation)
    terms, result, extents = _indices(
        text.replace(" ", ""), [node.shape(each) for each in range(len(node.inputs))]
    )
    summed = [letter for term in terms for letter in term if letter not in result]

    def definition(*tensors: Any) -> Any:
        axes = {
            each: te.reduce_axis((0, extents[each]), name=f"k{n}")
            for n, each in enumerate(dict.fromkeys(summed))
        }

        def element(*at: Any) -> Any:
            places = dict(zip(result, at, strict=True)) | axes
            product = None
            for tensor, term in zip(tensors, terms, strict=True):
                own = [0 if int(n) == 1 else places[each] for n, each in zip(tensor.shape, term, strict=True)]
                product = tensor(*own) if product is None else product * tensor(*own)
            return te.sum(product, axis=list(axes.values())) if axes else product

        return te.compute(tuple(extents[each] for each in result), element)

    return node.computed(definition, *(node.operand(each) for each in range(len(node.inputs))))


def _indices(
    text: str, shapes: Sequence[tuple[int, ...]]
) -> tuple[list[list[str]], list[str], dict[str, int]]:
    """The letters of every operand and of the result, and their extents; `...` becomes letters of its own."""
    left, arrow, right = text.partition("->")
    terms = []
    for term, shape in zip(left.split(","), shapes, strict=True):
        head, dots, tail = term.partition("...")
        count = len(shape) - len(head) - len(tail) if dots else 0
        terms.append([*head, *(f".{count - each}" for each in range(count)), *tail])
    extents: dict[str, int] = {}
    for letters, shape in zip(terms, shapes, strict=True):
        for letter, extent in zip(letters, shape, strict=True):
            extents[letter] = max(extents.get(letter, 1), extent)
    dotted = sorted((each for each in extents if each[0] == "."), key=lambda each: -int(each[1:]))
    if arrow:
        head, dots, tail = right.partition("...")
        return terms, [*head, *(dotted if dots else ()), *tail], extents
    every = [letter for term in terms for letter in term]
    single = sorted(each for each in extents if each[0] != "." and every.count(each) == 1)
    return terms, [*dotted, *single], extents


CONVERTERS: Mapping[str, Converter] = {
    "DFT": converter(_dft, "axis inverse onesided"),
    "Det": converter(_det),
    "Einsum": converter(_einsum, "equation"),
    "STFT": converter(_stft, "onesided"),
}
