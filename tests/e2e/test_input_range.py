"""A range that is promised of an input: what follows from it, who keeps to it and who refuses."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import target_arch
from conformance.tflite_files import TfliteFile
from target_arch.api.compilation import Compilation
from target_arch.cli.main import main
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest
from target_arch.pipeline.preparation import promised
from target_arch.plan.input_range import Ends
from target_arch.plan.model import Model, Tensor
from target_arch.plan.workloads.workload import TimedModel, Timing, Workload
from target_arch.soc import read_soc
from tests.e2e.conftest import PORTABLE

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert: pip install 'target-arch[verify]'")

ALONE = Path(__file__).parent / "input_range.c"
JOBS = Path(__file__).parent / "input_range_jobs.c"
CHECK = "-DTA_INPUTS_CHECK"
CHANNELS = 6


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(TfliteFile(), tmp_path_factory.mktemp("model") / "small.tflite")


@pytest.fixture(scope="module")
def of_floats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with an input of floats."""
    file = TfliteFile()
    real = file.input((1, 6, 6, 2), "float32")
    source = file.tensor((1, 6, 6, 2), "int8", 0.05, 0)
    file.operator("QUANTIZE", [real], [source], ("QuantizeOptions", {}), 1)
    return written(file, tmp_path_factory.mktemp("model") / "floats.tflite", source)


def written(file: TfliteFile, path: Path, source: int | None = None) -> Path:
    """A 1x1 convolution with a ReLU, and a 3x3 one that reads it. Real inputs are from -6.4 to 6.35."""
    draw = np.random.default_rng(1)
    if source is None:
        source = file.input((1, 6, 6, 2), "int8", 0.05, 0)
    middle = file.tensor((1, 6, 6, CHANNELS), "int8", 0.05, -128)
    taps = draw.integers(20, 127, (CHANNELS, 1, 1, 2))
    taps[::2] *= -1
    _conv(file, source, middle, taps, activation=1)
    out = file.output((1, 4, 4, 3), "int8", 0.3, 5)
    _conv(file, middle, out, draw.integers(-127, 128, (3, 3, 3, CHANNELS)), activation=0)
    path.write_bytes(file.content())
    return path


def _conv(file: TfliteFile, source: int, out: int, taps: np.ndarray, *, activation: int) -> None:
    """Weights of scale 0.01, and biases of zero."""
    weights = file.tensor(taps.shape, "int8", 0.01, data=taps)
    bias = file.tensor((len(taps),), "int32", 0.0005, data=np.zeros(len(taps)))
    options = {
        "padding": 1, "strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1,
        "fusedActivationFunction": activation,
    }  # fmt: skip
    file.operator("CONV_2D", [source, weights, bias], [out], ("Conv2DOptions", options), 3)


def computed(made: Compilation) -> int:
    """The channels that are computed."""
    found = made.manifest.models[0].simplification
    assert found is not None
    assert found.all_channels == CHANNELS + 3
    return found.channels


def test_channels_that_a_range_makes_constant_are_left_out(model: Path) -> None:
    """Where no input is negative, a channel with negative weights alone is zero after its ReLU."""
    assert computed(target_arch.compile(model, "zynq_edge", input_ranges={"": (0, 127)})) == CHANNELS // 2 + 3


@pytest.mark.slow
def test_a_range_that_is_the_type_changes_nothing(model: Path) -> None:
    made = target_arch.compile(model, "zynq_edge")
    assert computed(made) == CHANNELS + 3
    assert made.files == target_arch.compile(model, "zynq_edge", input_ranges={"t0": (-128, 127)}).files


def test_a_bundle_knows_its_range(model: Path, tmp_path: Path) -> None:
    bundle = target_arch.compile(model, "zynq_edge", input_ranges={"t0": (0, 90)}).write(tmp_path / "b")
    header = (tmp_path / "b" / "include" / "small.h").read_text()
    assert "#define SMALL_INPUT_T0_LOW 0\n#define SMALL_INPUT_T0_HIGH 90\n" in header
    place, values = tmp_path / "t0.npy", np.full((1, 6, 6, 2), 90, np.int8)
    np.save(place, values)
    assert len(bundle.read_inputs([place])) == 1
    values[0, 5, 5, 1] = -1
    np.save(place, values)
    (tmp_path / "t0.bin").write_bytes(values.tobytes())
    for refused in (
        lambda: bundle.read_inputs([place]),
        lambda: bundle.read_inputs([tmp_path / "t0.bin"]),
        lambda: bundle.verify(model, inputs=tmp_path),
    ):
        with pytest.raises(DiagnosticError, match="`t0` was promised to be 0 to 90, given is -1 to 90"):
            refused()
    with pytest.raises(DiagnosticError, match="input `t0` was promised to be 0 to 90, not 0 to 91"):
        bundle.verify(model, input_ranges={"t0": (0, 91)})


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high", "count"), [(-20, 127, 1000), (0, 100, 50), (3, 3, 1)])
def test_results_are_litert_s(low: int, high: int, count: int, model: Path, tmp_path: Path) -> None:
    """Also operator by operator, for which the model is compiled again."""
    asked = ["--soc", "zynq_edge", "--input-range", f"{low}:{high}", "-o", str(tmp_path)]
    assert main(["compile", str(model), *asked]) == 0
    bundle = target_arch.Bundle(directory=tmp_path)
    found = bundle.verify(model, count=count)["small"]
    assert found.equal == found.outputs == count
    assert main(["verify", str(model), "--bundle", str(tmp_path), "--layers", "--count", "1"]) == 0
    with pytest.raises(DiagnosticError, match="was promised to be"):
        bundle.run([np.full((1, 6, 6, 2), low - 1, np.int8)])


@pytest.mark.slow
def test_a_range_of_floats(of_floats: Path, tmp_path: Path) -> None:
    made = target_arch.compile(of_floats, "zynq_edge", input_ranges={"": (0, 3.3)})
    found = made.manifest.models[0].simplification
    assert found is not None
    assert found.all_channels - found.channels == CHANNELS // 2
    result = made.write(tmp_path).verify(of_floats, count=200)["floats"]
    assert result.equal == result.outputs == 200
    with pytest.raises(DiagnosticError, match=r"was promised to be 0 to 3\.29999995, given is nan to nan"):
        made.bundle(tmp_path).run([np.full((1, 6, 6, 2), np.nan, np.float32)])


@pytest.mark.parametrize(
    ("dtype", "ends", "text"),
    [
        ("float16", (0, 1), "input `x` is float16, of which nothing can be promised"),
        ("int64", (-(2**63), 1), "cannot be promised to be -9223372036854775808 to 1, which takes more than"),
        ("int64", (-(2**63), 2**63 - 1), ""),
    ],
)
def test_what_nothing_can_be_promised_of(dtype: str, ends: Ends, text: str) -> None:
    tensors = {"x": Tensor(name="x", shape=(1,), dtype=dtype)}
    one = Model(name="m", source="m", inputs=("x",), outputs=("x",), tensors=tensors, operators=())
    request = CompileRequest(model_path=Path("m"), soc=read_soc("mcu_m7"), input_ranges={"": ends})
    if not text:
        assert promised(request, one) == {}
        return
    with pytest.raises(DiagnosticError, match=text):
        promised(request, one)


def said(program: Path, folder: Path, cc: str, *more: str) -> str:
    """The output of a program with the C of a bundle."""
    sources = sorted(str(path) for path in folder.rglob("*.c") if path.stem not in ("runner", "selftest"))
    flags = f"-std=c99 -pedantic -Wall -Wextra -Werror -O0 {PORTABLE}".split()
    paths = (f"-I{folder}/include", f"-I{folder}/runtime", str(program), *sources, "-o", f"{folder}.program")
    subprocess.run((cc, *flags, *more, "-pthread", *paths, "-lm"), check=True)
    return subprocess.run(
        (f"{folder}.program",), capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize("io", ["arena", "caller"])
def test_debug_builds_refuse_other_inputs(
    io: str, model: Path, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    options = {"io": io, "frames": 2, "input_ranges": {"": (3, 90)}}
    target_arch.compile(model, "zynq_edge", **options).write(tmp_path / "b")  # type: ignore[arg-type]
    lends = ["-DLENDS"] if io == "caller" else []
    assert (
        said(ALONE, tmp_path / "b", needs_tool("cc"), *lends, CHECK) == "2: 1 1\n3: 0 0\n90: 0 0\n91: 1 1\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("check", "found"), [((CHECK,), "refused"), ((), "run")])
def test_debug_builds_refuse_inputs_of_jobs(
    check: tuple[str, ...], found: str, model: Path, tmp_path: Path, needs_tool: Callable[[str], str]
) -> None:
    timing = Timing(period=10**11, deadline=10**11, priority=1)
    models = tuple(TimedModel(name=name, file=model, timing=timing) for name in ("m0", "m1"))
    asked = [(model, {"name": each.name, "input_ranges": {"": (3, 90)}}) for each in models]
    workload = Workload(name="w", models=models, overhead=2_000_000)
    made = target_arch.compile_models(asked, "zynq_edge", name="bundle", workload=workload)  # type: ignore[arg-type]
    made.write(tmp_path / "b")
    assert said(JOBS, tmp_path / "b", needs_tool("cc"), *check) == f"m0: run\nm1: {found}\n"
