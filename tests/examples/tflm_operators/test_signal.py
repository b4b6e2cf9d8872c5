"""TFLite Micro's signal operators: every bit as its interpreter's answers, of which digests are kept here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

import target_arch
from conformance.tflite_files import TfliteFile
from conformance.tflite_operators import run_once
from conformance.tflite_signal import CASES, LIBRARIES, digest, drawn, library, ours
from target_arch.relax.importer import import_model
from target_arch.run.references.tflite_facts import needs_tflite_micro
from tests.relax.readers.tflite_operators.refusals import reasons
from tests.slow import slow_except

DIGESTS = {
    "CIRCULAR_BUFFER": "0db539bcb08d7ca9",
    "SignalDelay": "5fcac5f1ee65de50",
    "SignalEnergy": "6fcf46d3e18583d3",
    "SignalFftAutoScale": "cff411e968fb3f2e",
    "SignalFilterBank": "28fd16c84bcbf856",
    "SignalFilterBankLog": "74fb5ef8950eae84",
    "SignalFilterBankSpectralSubtraction": "71c2797f3d7fbb2d",
    "SignalFilterBankSquareRoot": "a4072a7316dcc5ff",
    "SignalFramer": "be861335c384a38e",
    "SignalIrfft": "36557699f5d16084",
    "SignalOverlapAdd": "32ae927f35bb346a",
    "SignalPCAN": "659d1f1628246ba2",
    "SignalRfft": "db3bef25f723a097",
    "SignalStacker": "1fd9a4c34131f071",
    "SignalWindow": "ef763982c9018bc6",
    "SignalIrfft of other lengths": "7fbe7f18a643c6cc",
    "SignalRfft of other lengths": "4b26b420d2c044b8",
}
"""Of tflite-micro 0.dev20261023182759, by `python -m conformance.tflite_signal --digests`."""


@pytest.mark.parametrize("code", slow_except(sorted(CASES)[::4], CASES))
def test_answers_are_bit_equal(code: str, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    model, frames = drawn(code, 0)
    assert digest(ours(model, frames, tmp_path)) == DIGESTS[code]


FRAME, STEP, LENGTH, CHANNELS = 480, 160, 512, 40
SUBTRACTION = {
    "num_channels": CHANNELS,
    "smoothing": 410,
    "one_minus_smoothing": 15974,
    "alternate_smoothing": 983,
    "alternate_one_minus_smoothing": 15401,
    "min_signal_remaining": 819,
    "spectral_subtraction_bits": 14,
    "smoothing_bits": 10,
    "clamping": False,
}


def front_end() -> TfliteFile:
    """From samples to the logarithms of a filter bank, as in front of a keyword spotter."""
    rng, file, bins = np.random.default_rng(0), TfliteFile(), LENGTH // 2 + 1

    def then(code: str, given: list[int], *outputs: tuple[tuple[int, ...], str], **options: Any) -> list[int]:
        found = [file.tensor(shape, dtype) for shape, dtype in outputs]
        file.operator(code, given, found, custom=options)
        return found

    def constant(values: Any) -> int:
        return file.tensor((len(values),), "int16", data=np.asarray(values))

    samples = file.input((1, STEP), "int16")
    options = {"frame_size": FRAME, "frame_step": STEP, "prefill": True}
    framed = then("SignalFramer", [samples], ((1, 1, FRAME), "int16"), ((), "bool"), **options)
    hann = constant(4095 * np.hanning(FRAME))
    (weighted,) = then("SignalWindow", [framed[0], hann], ((1, 1, FRAME), "int16"), shift=12)
    flat = file.tensor((FRAME,), "int16")
    file.operator("RESHAPE", [weighted, file.numbers(FRAME)], [flat], ("ReshapeOptions", {}))
    scaled, bits = then("SignalFftAutoScale", [flat], ((FRAME,), "int16"), ((), "int32"))
    (spectrum,) = then("SignalRfft", [scaled], ((2 * bins,), "int16"), T=7, fft_length=LENGTH)
    (energy,) = then("SignalEnergy", [spectrum], ((bins,), "uint32"), start_index=0, end_index=bins)
    size, firsts = 6 * (CHANNELS + 1), 6 * np.arange(CHANNELS + 1)
    weights = (rng.integers(0, 4096, size), rng.integers(0, 4096, size), 4 + firsts, firsts, firsts * 0 + 6)
    given = [energy, *map(constant, weights)]
    (bank,) = then("SignalFilterBank", given, ((CHANNELS,), "uint64"), num_channels=CHANNELS)
    row = ((CHANNELS,), "uint32")
    (roots,) = then("SignalFilterBankSquareRoot", [bank, bits], row)
    clean, noise = then("SignalFilterBankSpectralSubtraction", [roots], row, row, **SUBTRACTION)
    gains = constant(rng.integers(0, 32767, 125))
    (level,) = then("SignalPCAN", [clean, noise, gains], row, snr_shift=6)
    options = {"output_scale": 1600, "input_correction_bits": 3}
    result = file.output((CHANNELS,), "int16")
    file.operator("SignalFilterBankLog", [level], [result], custom=options)
    return file


def test_a_front_end_is_bit_equal(tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    needs_tool("gcc")
    rng = np.random.default_rng(1)
    frames = [rng.integers(-(2**14), 2**14, STEP).astype(np.int16).tobytes() for _ in range(6)]
    answers = run_once(front_end().content(), frames, tmp_path, LIBRARIES)
    assert len(set(answers)) == len(frames)
    assert digest(answers) == "a44c80050c9c720b"


def transform(code: str, given: int, wanted: int, length: int, dtype: str = "float32") -> TfliteFile:
    file = TfliteFile()
    x, y = file.input((3, given), dtype), file.output((3, wanted), dtype)
    file.operator(code, [x], [y], custom={"T": 0, "fft_length": length})
    return file


@pytest.mark.parametrize("length", slow_except([4], [4, 32, 60, 256]))
def test_transforms_of_floats(length: int, tmp_path: Path, needs_tool: Callable[[str], str]) -> None:
    """Those that NumPy computes."""
    needs_tool("gcc")
    rng = np.random.default_rng(length)
    values = rng.normal(0, 1, (3, length - 1)).astype(np.float32)
    content = transform("SignalRfft", length - 1, length + 2, length).content()
    (answer,) = run_once(content, [values.tobytes()], tmp_path, LIBRARIES)
    found = np.frombuffer(answer, np.complex64).reshape(3, -1)
    np.testing.assert_allclose(found, np.fft.rfft(values, length), rtol=1e-4, atol=1e-4)
    content = transform("SignalIrfft", length + 2, length, length).content()
    (answer,) = run_once(content, [found.tobytes()], tmp_path, LIBRARIES)
    back = np.frombuffer(answer, np.float32).reshape(3, length)
    np.testing.assert_allclose(back[:, :-1], values, atol=1e-5)


def test_states_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(drawn("SignalStacker", 0)[0].file.content())
    model, _ = import_model(path, foreign=library())
    assert sorted(state.tensor for state in model.states) == ["t1_frames", "t1_runs"]


def window(dtype: str = "int16", weights: int = 4, **options: Any) -> TfliteFile:
    file = TfliteFile()
    x, y = file.input((2, 4), dtype), file.output((2, 4), dtype)
    table = file.tensor((weights,), "int16", data=np.ones(weights))
    file.operator("SignalWindow", [x, table], [y], custom=options or {"shift": 12})
    return file


SEVENS = transform("SignalRfft", 14, 16, 14)
REFUSED = {
    "its elements are int8, int16, int8": window("int8"),
    "its options are not shift": window(shift=12, other=1),
    "its options are out of range": window(shift=40),
    "its weights do not fit its rows": window(weights=3),
    "a length of 14, which is not 2 times a product of 2, 3 and 5": SEVENS,
    "its length does not fit its tensors": transform("SignalRfft", 9, 10, 8),
    "its elements are uint8": transform("SignalRfft", 8, 10, 8, "uint8"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_others_are_refused(why: str, tmp_path: Path) -> None:
    assert reasons(REFUSED[why].content(), tmp_path, library())[0].endswith(f" once, at `t1`: {why}")


def test_without_the_library_the_refusal_names_it(tmp_path: Path) -> None:
    assert reasons(window().content(), tmp_path) == [
        "`SignalWindow` once, at `t1`: a custom operator that is read by the library in "
        "`examples/tflm_operators`, given as a folder of backends"
    ]


def test_its_operators_are_found_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(window().content())
    uses = target_arch.operators(tmp_path / "m.tflite", backend_dirs=LIBRARIES).uses
    assert [(use.name, use.reason) for use in uses] == [("SignalWindow", None)]


def test_their_reference_is_tflite_micro() -> None:
    assert needs_tflite_micro(window().content())
    assert not needs_tflite_micro(TfliteFile().content())
