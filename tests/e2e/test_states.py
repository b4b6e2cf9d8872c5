"""Streaming models from ONNX: sequences of frames, several in one bundle with shared arenas, and `reset`."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsRequest, compile_models
from target_arch.relax.importer import import_model
from target_arch.run import verify_models, write_bundle
from target_arch.soc import read_soc
from tests.relax.models import helper, onnx_model, save

SHAPE = (1, 4, 2)


def convolution(path: Path) -> Path:
    """A convolution over time with its last two frames as a cache."""
    weights = np.linspace(-1, 1, 6 * 4 * 3).reshape(6, 4, 3).astype(np.float32)
    model = onnx_model(
        [
            helper.make_node("Concat", ["cache", "x"], ["window"], axis=2),
            helper.make_node("Conv", ["window", "weights"], ["y"], kernel_shape=[3]),
            helper.make_node("Slice", ["window", "one", "three", "two"], ["cache_out"]),
        ],
        {"x": (1, 4, 1), "cache": SHAPE},
        {"y": (1, 6, 1), "cache_out": SHAPE},
        {"weights": weights} | {n: np.array([v]) for n, v in (("one", 1), ("three", 3), ("two", 2))},
    )
    return save(model, path)


def oscillator(path: Path) -> Path:
    """Two states, each of which becomes the other."""
    model = onnx_model(
        [
            helper.make_node("Identity", ["b"], ["a_out"]),
            helper.make_node("Sub", ["x", "a"], ["b_out"]),
            helper.make_node("Add", ["a", "b"], ["y"]),
        ],
        dict.fromkeys(("x", "a", "b"), (1, 8)),
        dict.fromkeys(("y", "a_out", "b_out"), (1, 8)),
        {},
    )
    return save(model, path)


FILES = {"conv": convolution, "swap": oscillator}
STATES = {"conv": {"cache": "cache_out"}, "swap": {"a": "a_out", "b": "b_out"}}

PROGRAM = """
#include <string.h>

#include <mcu_m7_models.h>

int main(void)
{
    float first[8], again[8];
    int frame;
    if (mcu_m7_models_init(&ta_port_host) != TA_OK)
        return 1;
    for (frame = 0; frame < 3; frame++) {
        int i;
        if (frame == 2)
            swap_reset();
        for (i = 0; i < 8; i++)
            swap_input_x()[i] = 1.0f;
        if (swap_run() != TA_OK)
            return 1;
        memcpy(frame == 1 ? again : first, swap_output_y(), sizeof first);
        if (frame == 1 && memcmp(first, again, sizeof first) == 0)
            return 2; /* the states did not change */
        if (frame == 0)
            memcpy(again, first, sizeof first);
    }
    for (frame = 0; frame < 8; frame++)
        if (first[frame] != 0.0f)
            return 3; /* the reset left something */
    return (int)mcu_m7_models_stop();
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models' files, and a bundle of both, whose arenas are shared."""
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    made = tmp_path_factory.mktemp("states")
    soc = read_soc("mcu_m7")
    requests = tuple(
        CompileRequest(model_path=make(made / f"{name}.onnx"), soc=soc, name=name, states=STATES[name])
        for name, make in FILES.items()
    )
    write_bundle(compile_models(ModelsRequest(models=requests)).bundle, made / "out")
    return made


def test_sequences_of_two_models_that_run_in_turn(folder: Path) -> None:
    found = verify_models({name: folder / f"{name}.onnx" for name in FILES}, folder / "out", count=20)
    assert {name: each.passed for name, each in found.items()} == {"conv": True, "swap": True}
    assert found["swap"].equal == 20


def test_reset(folder: Path, needs_tool: Callable[[str], str]) -> None:
    subprocess.run([needs_tool("make"), "-s", "-C", "out"], check=True, cwd=folder)
    (folder / "program.c").write_text(PROGRAM)
    flags = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{folder}/out/include", "-pthread")
    library = "out/build/libmcu_m7_models.a"
    command = (needs_tool("cc"), *flags, "program.c", library, "-lm", "-o", "program")
    subprocess.run(command, check=True, cwd=folder)
    assert subprocess.run([folder / "program"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"cash": "y"}, "the model has no input `cash` [wrong-state]\nhint: did you mean `cache`?"),
        ({"cache": "cash"}, "the model has no output `cash` [wrong-state]\nhint: it has: `cache_out`, `y`"),
        (
            {"cache": "y"},
            "state `cache` is float32[1, 4, 2], its next value `y` is float32[1, 6, 1] [wrong-state]\n"
            "hint: both have one shape and type",
        ),
    ],
)
def test_what_is_no_state(tmp_path: Path, states: dict[str, str], message: str) -> None:
    path = convolution(tmp_path / "conv.onnx")
    with pytest.raises(DiagnosticError) as failure:
        import_model(path, states=states)
    assert str(failure.value) == f"{path}: error: {message}"
