"""TFLite Micro's signal operators and CIRCULAR_BUFFER, random models of each, against its interpreter.

    python -m conformance.tflite_signal [--only NAME …] [--variants 20] [--digests]

TFLite Micro is a package of its own (`pip install tflite-micro`). Each model runs on several frames, since
many of these operators have states. `--digests` prints those of TFLite Micro's answers, which the tests
compare with: they do without the package.
"""

import argparse
import hashlib
import math
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from attrs import field, frozen

from conformance.tflite_files import Array, TfliteFile
from conformance.tflite_operators import run_once
from target_arch.backend.operators import Foreign
from target_arch.registry import PlugIns
from target_arch.resources import examples

LIBRARIES = (examples() / "tflm_operators" / "src",)
"""The folder of the library that converts these operators."""
FRAMES = 8
Frame = tuple[Array, ...]


@frozen(kw_only=True, eq=False)
class SignalModel:
    """A model of one operator: `frame` draws its inputs; where `flagged`, its last output says whether the
    others were written.
    """

    file: TfliteFile
    frame: Callable[[], Frame]
    outputs: tuple[tuple[int, str], ...]
    flagged: bool = False


@frozen(kw_only=True, eq=False)
class Source:
    """A source of random numbers, and the model that is drawn from it."""

    rng: np.random.Generator
    file: TfliteFile = field(factory=TfliteFile)

    def extent(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def int16(self, *shape: int) -> Array:
        return self.rng.integers(-(2**15), 2**15, shape).astype(np.int16)

    def uint32(self, *shape: int) -> Array:
        return self.unsigned("uint32", *shape)

    def unsigned(self, dtype: str, *shape: int) -> Array:
        """Values of all magnitudes."""
        bits = np.iinfo(dtype).bits
        values = self.rng.integers(0, 2**64 - 1, shape, dtype=np.uint64, endpoint=True) >> np.uint64(
            64 - bits
        )
        return (values >> self.rng.integers(0, bits, shape).astype(np.uint64)).astype(dtype)

    def constant(self, values: Array) -> int:
        return self.file.tensor(values.shape, values.dtype.name, data=values)

    def made(
        self,
        code: str,
        inputs: Sequence[int],
        outputs: Sequence[tuple[tuple[int, ...], str]],
        frame: Callable[[], Frame],
        **options: int,
    ) -> SignalModel:
        """The model of an operator with these inputs, which writes outputs of these shapes and types."""
        results = [self.file.output(shape, dtype) for shape, dtype in outputs]
        self.file.operator(code, list(inputs), results, custom=options)
        sizes = tuple((math.prod(shape), dtype) for shape, dtype in outputs)
        return SignalModel(
            file=self.file, frame=frame, outputs=sizes, flagged=len(sizes) > 1 and sizes[-1][1] == "bool"
        )


def window(source: Source) -> SignalModel:
    rows, size = source.extent(1, 3), source.extent(3, 40)
    given = [source.file.input((rows, size), "int16"), source.constant(source.int16(size))]
    result = (((rows, size), "int16"),)
    return source.made(
        "SignalWindow", given, result, lambda: (source.int16(rows, size),), shift=source.extent(8, 15)
    )


def energy(source: Source) -> SignalModel:
    size = source.extent(3, 40)
    x = source.file.input((2 * size,), "int16")
    options = {"start_index": 0, "end_index": size}
    return source.made(
        "SignalEnergy", [x], (((size,), "uint32"),), lambda: (source.int16(2 * size),), **options
    )


def auto_scale(source: Source) -> SignalModel:
    size = source.extent(3, 40)

    def frame() -> Frame:
        values = source.int16(size) >> source.extent(0, 15)
        return (np.where(source.rng.integers(0, 12, size) == 0, -(2**15), values).astype(np.int16),)

    outputs = (((size,), "int16"), ((), "int32"))
    return source.made("SignalFftAutoScale", [source.file.input((size,), "int16")], outputs, frame)


def filter_bank(source: Source) -> SignalModel:
    channels, size = source.extent(1, 7), 90
    widths = source.rng.integers(0, 12, channels + 1)
    places = np.cumsum(np.r_[0, widths[:-1]])
    weights = source.rng.integers(-100, 2**15, (2, int(widths.sum()) + 1))
    starts = source.rng.integers(0, size - 12, channels + 1)
    tables = [source.constant(each.astype(np.int16)) for each in (*weights, starts, places, widths)]
    given = [source.file.input((size,), "uint32"), *tables]
    return source.made(
        "SignalFilterBank",
        given,
        (((channels,), "uint64"),),
        lambda: (source.uint32(size),),
        num_channels=channels,
    )


def square_root(source: Source) -> SignalModel:
    size = source.extent(3, 40)
    given = [source.file.input((size,), "uint64"), source.file.input((), "int32")]
    ends = np.array([0, 2**32 - 1, 2**64 - 1], np.uint64)

    def frame() -> Frame:
        values = np.concatenate([ends, source.unsigned("uint64", size - len(ends))])
        return values, np.array(source.extent(0, 15), np.int32)

    return source.made("SignalFilterBankSquareRoot", given, (((size,), "uint32"),), frame)


def spectral_subtraction(source: Source) -> SignalModel:
    size, one = source.extent(3, 40), 1 << 14
    shares = [source.extent(0, one) for _ in range(3)]
    options = {
        "num_channels": size,
        "smoothing": shares[0],
        "one_minus_smoothing": one - shares[0],
        "alternate_smoothing": shares[1],
        "alternate_one_minus_smoothing": one - shares[1],
        "min_signal_remaining": shares[2],
        "spectral_subtraction_bits": 14,
        "smoothing_bits": source.extent(0, 10),
        "clamping": bool(source.extent(0, 1)),
    }
    x, outputs = source.file.input((size,), "uint32"), (((size,), "uint32"),) * 2
    code = "SignalFilterBankSpectralSubtraction"
    return source.made(code, [x], outputs, lambda: (source.uint32(size),), **options)


def gain_control(source: Source) -> SignalModel:
    size = source.extent(3, 40)
    table = source.constant(source.int16(125))
    given = [*(source.file.input((size,), "uint32") for _ in range(2)), table]

    def frame() -> Frame:
        return source.uint32(size), source.uint32(size)

    shift = source.extent(0, 20)
    return source.made("SignalPCAN", given, (((size,), "uint32"),), frame, snr_shift=shift)


def logarithm(source: Source) -> SignalModel:
    size = source.extent(3, 40)
    x = source.file.input((size,), "uint32")
    options = {
        "output_scale": (1, 1600, 65536, 100000)[source.extent(0, 3)],
        "input_correction_bits": source.extent(0, 7),
    }
    return source.made(
        "SignalFilterBankLog", [x], (((size,), "int16"),), lambda: (source.uint32(size),), **options
    )


def delay(source: Source) -> SignalModel:
    shape = source.extent(1, 2), source.extent(3, 40)
    x = source.file.input(shape, "int16")
    length = source.extent(0, 60)
    return source.made(
        "SignalDelay", [x], ((shape, "int16"),), lambda: (source.int16(*shape),), delay_length=length
    )


def framer(source: Source) -> SignalModel:
    rows, frames, step = source.extent(1, 2), source.extent(1, 3), source.extent(1, 11)
    size = source.extent(step, 4 * step)
    options = {"frame_size": size, "frame_step": step, "prefill": bool(source.extent(0, 1))}
    x = source.file.input((rows, frames * step), "int16")
    outputs = (((rows, frames, size), "int16"), ((), "bool"))
    return source.made("SignalFramer", [x], outputs, lambda: (source.int16(rows, frames * step),), **options)


def stacker(source: Source) -> SignalModel:
    size, left, right = source.extent(3, 40), source.extent(0, 3), source.extent(0, 3)
    frames = left + right + 1
    options = {
        "num_channels": size,
        "stacker_left_context": left,
        "stacker_right_context": right,
        "stacker_step": source.extent(1, frames),
    }
    x, outputs = source.file.input((size,), "int16"), (((frames * size,), "int16"), ((), "bool"))
    return source.made("SignalStacker", [x], outputs, lambda: (source.int16(size),), **options)


def overlap_add(source: Source) -> SignalModel:
    rows, frames, size = source.extent(1, 2), source.extent(1, 3), source.extent(3, 40)
    step = source.extent(1, size)
    x = source.file.input((rows, frames, size), "int16")
    outputs = (((rows, frames * step), "int16"),)
    options = {"T": _INT16, "frame_step": step}
    return source.made(
        "SignalOverlapAdd", [x], outputs, lambda: (source.int16(rows, frames, size),), **options
    )


def circular_buffer(source: Source) -> SignalModel:
    """With a second output, it is complete in one of several runs only."""
    shape, slots, flags = (source.extent(1, 3), source.extent(1, 9)), source.extent(1, 6), source.extent(0, 1)
    x = source.file.input((1, 1, *shape), "int8", 0.5, source.extent(-100, 100))
    buffer = source.file.like(x, (1, slots, *shape), variable=True)
    valid = [source.file.output((), "bool")] if flags else []
    cycles = source.extent(1, 4) if flags else 1
    source.file.operator("CIRCULAR_BUFFER", [x], [buffer, *valid], custom={"cycles_max": cycles})
    moved = source.file.like(x, (slots, math.prod(shape)), output=True)
    wanted = source.file.numbers(slots, math.prod(shape))
    source.file.operator("RESHAPE", [buffer, wanted], [moved], ("ReshapeOptions", {}))
    sizes = (*(((1, "bool"),) if flags else ()), (slots * math.prod(shape), "int8"))

    def frame() -> Frame:
        return (source.rng.integers(-128, 128, (1, 1, *shape)).astype(np.int8),)

    return SignalModel(file=source.file, frame=frame, outputs=sizes)


def transform(code: str, source: Source, *, powers: bool = True) -> SignalModel:
    """Of integers: the last digit of a float depends on the processor. Lengths are powers of two, or not."""
    rows, length = source.extent(1, 2), 1 << source.extent(2, 10)
    if not powers:
        length = 2 * 2 ** source.extent(0, 3) * 3 ** source.extent(0, 2) * 5 ** source.extent(1, 2)
    dtype, number = (("int16", _INT16), ("int32", _INT32))[source.extent(0, 1)]
    given = length + 2 if code == "SignalIrfft" else source.extent(1, length)
    wanted = length if code == "SignalIrfft" else length + 2
    most = np.iinfo(dtype).max

    def frame() -> Frame:
        return (source.rng.integers(-most - 1, most, (rows, given), endpoint=True).astype(dtype),)

    x, outputs = source.file.input((rows, given), dtype), (((rows, wanted), dtype),)
    return source.made(code, [x], outputs, frame, T=number, fft_length=length)


_INT32, _INT16 = 2, 7
"""Element types in TFLite's schema."""

CASES: Mapping[str, Callable[[Source], SignalModel]] = {
    "CIRCULAR_BUFFER": circular_buffer,
    "SignalDelay": delay,
    "SignalEnergy": energy,
    "SignalFftAutoScale": auto_scale,
    "SignalFilterBank": filter_bank,
    "SignalFilterBankLog": logarithm,
    "SignalFilterBankSpectralSubtraction": spectral_subtraction,
    "SignalFilterBankSquareRoot": square_root,
    "SignalFramer": framer,
    "SignalIrfft": partial(transform, "SignalIrfft"),
    "SignalOverlapAdd": overlap_add,
    "SignalPCAN": gain_control,
    "SignalRfft": partial(transform, "SignalRfft"),
    "SignalStacker": stacker,
    "SignalWindow": window,
    "SignalIrfft of other lengths": partial(transform, "SignalIrfft", powers=False),
    "SignalRfft of other lengths": partial(transform, "SignalRfft", powers=False),
}


def library() -> Foreign:
    """The converters of these operators."""
    return PlugIns.discover(LIBRARIES).operators.converter


Cases = Mapping[str, Callable[[Source], SignalModel]]


def drawn(code: str, seed: int, cases: Cases = CASES) -> tuple[SignalModel, list[Frame]]:
    """A random model, always alike, and its frames."""
    source = Source(rng=np.random.default_rng([seed, *code.encode()]))
    model = cases[code](source)
    return model, [model.frame() for _ in range(FRAMES)]


def ours(model: SignalModel, frames: Sequence[Frame], folder: Path) -> list[bytes]:
    """What our program answers, without outputs that count for nothing."""
    given = [b"".join(value.tobytes() for value in frame) for frame in frames]
    return [_counting(answer, model) for answer in run_once(model.file.content(), given, folder, LIBRARIES)]


def theirs(model: SignalModel, frames: Sequence[Frame]) -> list[bytes]:
    """What TFLite Micro answers. ImportError where it is not installed."""
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(model.file.content(), arena_size=1 << 20)
    answers = []
    for frame in frames:
        for number, value in enumerate(frame):
            interpreter.set_input(value, number)
        interpreter.invoke()
        found = [np.asarray(interpreter.get_output(number)) for number in range(len(model.outputs))]
        answers.append(_counting(b"".join(value.tobytes() for value in found), model))
    return answers


def _counting(answer: bytes, model: SignalModel) -> bytes:
    """The flag alone, where it says that the others were not written."""
    return answer if not model.flagged or answer[-1] else answer[-1:]


def digest(answers: Sequence[bytes]) -> str:
    """A digest of all answers."""
    return hashlib.sha256(b"".join(answers)).hexdigest()[:16]


def compared(about: str, cases: Cases) -> int:
    """Print what differs, or the digests; 1 where something differs. `about` is the help."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="NAME", default=list(cases))
    parser.add_argument("--variants", type=int, default=20)
    parser.add_argument("--digests", action="store_true", help="of the first variant")
    arguments = parser.parse_args()
    wrong = 0
    for code in arguments.only:
        equal = 0
        for seed in range(1 if arguments.digests else arguments.variants):
            model, frames = drawn(code, seed, cases)
            expected = theirs(model, frames)
            if arguments.digests:
                print(f'    "{code}": "{digest(expected)}",')
                continue
            with tempfile.TemporaryDirectory() as folder:
                equal += ours(model, frames, Path(folder)) == expected
        if not arguments.digests:
            print(f"{code}: {equal} of {arguments.variants} equal", flush=True)
            wrong += equal != arguments.variants
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(compared(__doc__ or "", CASES))
