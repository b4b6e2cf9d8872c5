"""TFLite Micro's signal operators, with their options by name."""

import math
from typing import Any

import numpy as np
from tvm import relax

from target_arch.relax.readers.tflite_operators.site import TFLiteOperand, TFLiteOperator
from target_arch.relax.site import NotConverted, constant

from . import fourier
from . import signal_loops as signal
from .complex_numbers import Numbers

_MOST = 1 << 30
"""Numbers among the options are less."""


def _options(site: TFLiteOperator, *names: str) -> tuple[int, ...]:
    """The options of these names, which are all there are. TFLite Micro reads them by their order."""
    stored = site.custom
    if set(stored) != set(names) or not all(isinstance(each, int) for each in stored.values()):
        raise NotConverted(f"its options are not {', '.join(names)}")
    if not all(0 <= each < _MOST for each in stored.values()):
        raise NotConverted("its options are out of range")
    return tuple(int(stored[name]) for name in names)


def _check(site: TFLiteOperator, inputs: str, outputs: str) -> None:
    """NotConverted where the element types are others."""
    given = [each.dtype for each in site.inputs if each is not None]
    found = [each.dtype for each in site.outputs]
    if given != inputs.split() or found != outputs.split():
        raise NotConverted(f"its elements are {', '.join([*given, *found])}")


def _check_shift(*shifts: int) -> None:
    if any(each > 31 for each in shifts):
        raise NotConverted("its options are out of range")


def _check_shapes(*operands: TFLiteOperand) -> None:
    if len({each.shape for each in operands}) > 1:
        raise NotConverted("its tensors have different shapes")


def _flat(site: TFLiteOperator, operand: TFLiteOperand) -> Any:
    return site.builder.emit(relax.op.reshape(operand.expr, (math.prod(operand.shape),)))


def window(site: TFLiteOperator) -> Any:
    """SignalWindow."""
    (shift,) = _options(site, "shift")
    _check(site, "int16 int16", "int16")
    _check_shift(shift)
    length = math.prod(site.tensor(1).shape)
    size = math.prod(site.x.shape)
    if size % length or size != math.prod(site.out.shape):
        raise NotConverted("its weights do not fit its rows")
    loops = signal.WeightedRows(size=size, length=length, shift=shift)
    return site.written(
        (size,), "int16", loops.write, _flat(site, site.x), site.tensor(1).expr, name="window"
    )


def energy(site: TFLiteOperator) -> Any:
    """SignalEnergy; zeros outside of its range, where TFLite Micro leaves what was there."""
    last, first = _options(site, "end_index", "start_index")
    _check(site, "int16", "uint32")
    size = math.prod(site.out.shape)
    if not first <= last <= size or 2 * last > math.prod(site.x.shape):
        raise NotConverted("its range is not within its tensors")
    loops = signal.Energy(size=size, first=first, last=last)
    return site.written((size,), "uint32", loops.write, site.x.expr, name="energy")


def auto_scale(site: TFLiteOperator) -> list[Any]:
    """SignalFftAutoScale."""
    _check(site, "int16", "int16 int32")
    _check_shapes(site.x, site.out)
    size = math.prod(site.x.shape)
    whole = site.written(
        (size + 1,), "int16", signal.AutoScale(size=size).write, site.x.expr, name="auto_scale"
    )
    bits = site.builder.emit(relax.op.strided_slice(whole, [0], [size], [size + 1]))
    return [relax.op.strided_slice(whole, [0], [0], [size]), relax.op.astype(bits, "int32")]


def filter_bank(site: TFLiteOperator) -> Any:
    """SignalFilterBank with constant weights."""
    (channels,) = _options(site, "num_channels")
    _check(site, "uint32 int16 int16 int16 int16 int16", "uint64")
    tables = [site.tensor(index).constant.reshape(-1) for index in range(1, 6)]
    weights, rest, starts, places, widths = tables
    used = [table[: channels + 1].astype(int) for table in (starts, places, widths)]
    if math.prod(site.out.shape) != channels or {len(each) for each in used} != {channels + 1}:
        raise NotConverted(f"its tables are not of {channels} channels")
    limits = (math.prod(site.x.shape), min(len(weights), len(rest)))
    for begins, limit in zip(used[:2], limits, strict=True):
        if begins.min() < 0 or (begins + used[2]).max() > limit:
            raise NotConverted("a channel is not within its tensors")
    loops = signal.FilterBank(channels=channels, widest=max(1, int(used[2].max())))
    given = [constant(np.ascontiguousarray(table)) for table in tables]
    return site.written((channels,), "uint64", loops.write, site.x.expr, *given, name="filter_bank")


def square_root(site: TFLiteOperator) -> Any:
    """SignalFilterBankSquareRoot."""
    _check(site, "uint64 int32", "uint32")
    _check_shapes(site.x, site.out)
    size = math.prod(site.x.shape)
    loops = signal.SquareRoot(channels=size)
    return site.written(
        (size,), "uint32", loops.write, site.x.expr, _flat(site, site.tensor(1)), name="square_root"
    )


_SUBTRACTION = (
    "num_channels",
    "smoothing",
    "one_minus_smoothing",
    "alternate_smoothing",
    "alternate_one_minus_smoothing",
    "min_signal_remaining",
    "spectral_subtraction_bits",
    "smoothing_bits",
    "clamping",
)


def spectral_subtraction(site: TFLiteOperator) -> list[Any]:
    """SignalFilterBankSpectralSubtraction; its estimate of the noise is a state."""
    channels, share, rest, odd, odd_rest, least, bits, smoothing, clamping = _options(site, *_SUBTRACTION)
    _check(site, "uint32", "uint32 uint32")
    _check_shapes(site.x, *site.outputs)
    _check_shift(bits, smoothing)
    if site.x.shape != (channels,):
        raise NotConverted(f"its tensors have not {channels} channels")
    loops = signal.SpectralSubtraction(
        channels=channels,
        smoothing=((share, rest), (odd, odd_rest)),
        least=least,
        bits=bits,
        smoothing_bits=smoothing,
        clamping=bool(clamping),
    )
    noise = site.state("noise", (channels,), "uint32")
    both = site.written((2, channels), "uint32", loops.write, site.x.expr, noise, name="spectral_subtraction")
    rows = [site.builder.emit(relax.op.strided_slice(both, [0], [row], [row + 1])) for row in (0, 1)]
    results = [site.builder.emit(relax.op.reshape(row, (channels,))) for row in rows]
    site.leave("noise", results[1])
    return results


_GAINS = 125
"""The places of a table that gains are read from."""


def gain_control(site: TFLiteOperator) -> Any:
    """SignalPCAN."""
    (shift,) = _options(site, "snr_shift")
    _check(site, "uint32 uint32 int16", "uint32")
    _check_shapes(site.x, site.tensor(1), site.out)
    table = site.tensor(2)
    if math.prod(table.shape) < _GAINS or shift > 63:
        raise NotConverted(f"its table has less than {_GAINS} places, or its shift is out of range")
    size = math.prod(site.x.shape)
    loops = signal.GainControl(channels=size, shift=shift)
    return site.written(
        (size,), "uint32", loops.write, site.x.expr, site.tensor(1).expr, table.expr, name="gain"
    )


def logarithm(site: TFLiteOperator) -> Any:
    """SignalFilterBankLog."""
    shift, scale = _options(site, "input_correction_bits", "output_scale")
    _check(site, "uint32", "int16")
    _check_shapes(site.x, site.out)
    _check_shift(shift)
    size = math.prod(site.x.shape)
    loops = signal.Logarithm(channels=size, shift=shift, scale=scale)
    table = constant(np.array([*signal.logarithms(), 0], np.uint16))
    return site.written((size,), "int16", loops.write, site.x.expr, table, name="logarithm")


def delay(site: TFLiteOperator) -> Any:
    """SignalDelay; the values that are still to come are a state."""
    (length,) = _options(site, "delay_length")
    _check(site, "int16", "int16")
    _check_shapes(site.x, site.out)
    if length == 0:
        return site.x.expr
    size = site.x.shape[-1]
    rows = math.prod(site.x.shape) // size
    x = site.builder.emit(relax.op.reshape(site.x.expr, (rows, size)))
    held = site.state("delayed", (rows, length), "int16")
    whole = site.builder.emit(relax.op.concat([held, x], axis=1))
    site.leave("delayed", relax.op.strided_slice(whole, [1], [size], [size + length]))
    return relax.op.strided_slice(whole, [1], [0], [size])


def overlap_add(site: TFLiteOperator) -> Any:
    """SignalOverlapAdd; sums that are not complete are a state."""
    _, step = _options(site, "T", "frame_step")
    dtype = site.x.dtype
    _check(site, dtype, dtype)
    if dtype not in ("int16", "float32"):
        raise NotConverted(f"its elements are {dtype}")
    *outer, frames, size = site.x.shape
    rows = math.prod(outer)
    if not 0 < step <= size or math.prod(site.out.shape) != rows * frames * step:
        raise NotConverted("its frames do not fit its output")
    loops = signal.OverlapAdd(rows=rows, frames=frames, size=size, step=step, dtype=dtype)
    x = site.builder.emit(relax.op.reshape(site.x.expr, (rows, frames, size)))
    complete, kept = frames * step, loops.kept
    held = [site.state("overlap", (rows, kept), dtype)] if kept else []
    whole = site.written((rows, complete + kept), dtype, loops.write, x, *held, name="overlap_add")
    if kept:
        site.leave("overlap", relax.op.strided_slice(whole, [1], [complete], [complete + kept]))
    return relax.op.strided_slice(whole, [1], [0], [complete])


def framer(site: TFLiteOperator) -> list[Any]:
    """SignalFramer; the values of frames to come are a state. Frames that are not valid yet have zeros for
    what was not there, where TFLite Micro writes nothing.
    """
    size, step, filled = _options(site, "frame_size", "frame_step", "prefill")
    _check(site, "int16", "int16 bool")
    samples = site.x.shape[-1]
    rows = math.prod(site.x.shape[:-1])
    if not 0 < step <= size or samples % step or math.prod(site.out.shape) * step != rows * samples * size:
        raise NotConverted("its frames do not fit its tensors")
    needed = -(-size // step)
    kept = (size if filled else needed * step) - step
    whole = site.builder.emit(relax.op.reshape(site.x.expr, (rows, samples)))
    if kept:
        held = site.state("held", (rows, kept), "int16")
        whole = site.builder.emit(relax.op.concat([held, whole], axis=1))
        site.leave("held", relax.op.strided_slice(whole, [1], [samples], [samples + kept]))
    frames = samples // step
    loops = signal.Frames(rows=rows, frames=frames, size=size, step=step)
    found = site.written((rows, frames, size), "int16", loops.write, whole, name="frames")
    begun = signal.Begun(needed=needed, more=frames)
    if filled or needed == 1:
        return [found, site.written((1,), "bool", begun.always, found, name="valid")]
    made = site.state("steps", (1,), "int32")
    site.leave("steps", site.written((1,), "int32", begun.count, made, name="steps"))
    return [found, site.written((1,), "bool", begun.valid, made, name="valid")]


def stacker(site: TFLiteOperator) -> list[Any]:
    """SignalStacker; the frames before the last are a state."""
    names = ("num_channels", "stacker_left_context", "stacker_right_context", "stacker_step")
    channels, left, right, step = _options(site, *names)
    _check(site, "int16", "int16 bool")
    frames = left + right + 1
    if (math.prod(site.x.shape), math.prod(site.out.shape)) != (channels, frames * channels):
        raise NotConverted("its frames do not fit its tensors")
    if not 0 < step <= frames:
        raise NotConverted("its options are out of range")
    loops = signal.StackedFrames(frames=frames, right=right, step=step, channels=channels)
    runs = site.state("runs", (1,), "int32")
    held = [site.state("frames", (frames - 1, channels), "int16")] if frames > 1 else []
    found = site.written((frames, channels), "int16", loops.write, site.x.expr, runs, *held, name="stack")
    if held:
        site.leave("frames", relax.op.strided_slice(found, [0], [1], [frames]))
    site.leave("runs", site.written((1,), "int32", loops.count, runs, name="runs"))
    return [found, site.written((1,), "bool", loops.valid, runs, name="valid")]


_TRANSFORMED = ("int16", "int32", "float32")


def transform(site: TFLiteOperator) -> Any:
    """SignalRfft and SignalIrfft."""
    _, length = _options(site, "T", "fft_length")
    inverse, dtype = site.operator == "SignalIrfft", site.x.dtype
    _check(site, dtype, dtype)
    if dtype not in _TRANSFORMED:
        raise NotConverted(f"its elements are {dtype}")
    if not fourier.is_transformed(length):
        raise NotConverted(f"a length of {length}, which is not 2 times a product of 2, 3 and 5")
    given, rows = site.x.shape[-1], math.prod(site.x.shape[:-1])
    wanted = length if inverse else length + 2
    if (given != length + 2 if inverse else given > length) or math.prod(site.out.shape) != rows * wanted:
        raise NotConverted("its length does not fit its tensors")
    loops = fourier.FourierTransform(
        rows=rows, length=length, given=given, inverse=inverse, numbers=Numbers(dtype=dtype)
    )
    shape = (rows, length // 2 + 1, 2) if inverse else (rows, given)
    x = site.builder.emit(relax.op.reshape(site.x.expr, shape))
    tables = [constant(table) for table in loops.tables()]
    return site.written((rows, wanted), dtype, loops.write, x, *tables, name="transform")
