"""The names for programs: text or paths, values that show themselves, mistakes as diagnostics."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import target_arch
from target_arch.api.bundle import Bundle
from target_arch.api.compilation import Compilation
from target_arch.cli.main import main
from target_arch.resources import examples
from tests.relax.models import helper, onnx_model, onnx_reference

WRONG: Any = 3
"""No argument of any function."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Add", ["h", "x"], ["y"])]
    path = tmp_path_factory.mktemp("model") / "small.onnx"
    path.write_bytes(onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}).SerializeToString())
    return path


@pytest.fixture(scope="module")
def made(model: Path) -> Compilation:
    return target_arch.compile(str(model), "zynq_edge", require={"*": "host_cpu"})


@pytest.fixture(scope="module")
def bundle(made: Compilation, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return made.write(str(tmp_path_factory.mktemp("bundle") / "small"))


def test_everything_shows_itself_in_a_line(made: Compilation, bundle: Bundle) -> None:
    soc = target_arch.load_soc("zynq_edge")
    shown = (soc, made, made.stages, made.memory, made.timeline, made.explain(made.operators[0]), bundle)
    for value in (*shown, made.stages.model, made.stages.graph, made.stages.bundle):
        assert "\n" not in repr(value)
        assert len(repr(value)) < 200, repr(value)
    assert repr(soc) == "<SoC zynq_edge: host_cpu, dsp_cpu, fpga_conv2d, accelerator>"


def test_texts_are_those_of_the_command_line(made: Compilation) -> None:
    assert str(made).startswith("partitions: 1\n")
    assert "memory plan in bytes" in str(made.memory)
    assert str(made.explain("add_1")).startswith("operator add_1: on host_cpu")
    assert "<pre>" in made.memory._repr_html_()
    assert made.timeline.value.makespan > 0


def test_a_report_for_notebooks(made: Compilation) -> None:
    assert made.report().page.startswith("<!")
    assert made._repr_html_().startswith("<iframe srcdoc=")


def test_run_takes_and_gives_arrays(model: Path, bundle: Bundle) -> None:
    x = np.array([[-1, 2, -3, 4]], np.float32)
    (expected,) = onnx_reference(model, {"x": x})
    np.testing.assert_array_equal(bundle.run({"x": x})["y"], expected)
    np.testing.assert_array_equal(Bundle(directory=str(bundle.directory)).run([x])["y"], expected)


def test_its_own_vector_and_its_report(bundle: Bundle) -> None:
    assert bundle.self_test() == (True, None)
    assert "<title>small on zynq_edge</title>" in bundle.report().page


def test_verify_with_every_operator(model: Path, bundle: Bundle) -> None:
    (found,) = bundle.verify(model, count=3, layers=True).values()
    assert found.passed
    assert found.layers is not None
    assert [layer.operator for layer in found.layers.layers] == ["relu_0", "add_1"]


def test_operators_of_a_bundle_that_was_there(
    model: Path, made: Compilation, bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compiled again, it has to be the same; by itself it has no operators."""
    (found,) = made.bundle(bundle.directory).verify(model, count=2, layers=True).values()
    assert found.layers is not None
    with pytest.raises(target_arch.DiagnosticError, match="a bundle alone has only their C"):
        Bundle(directory=bundle.directory).verify(model, layers=True)
    given = ["verify", str(model), "--bundle", str(bundle.directory), "--layers", "--count", "2"]
    assert main([*given, "--require", "*=host_cpu"]) == 0
    assert "2 of 2 right" in capsys.readouterr().out
    assert main([*given, "--optimize", "size"]) == 2
    assert "[another-compilation]" in capsys.readouterr().err
    assert main([*given, "-o", str(tmp_path / "kept")]) == 2
    assert "[two-bundles]" in capsys.readouterr().err


def test_a_verified_bundle_is_kept(model: Path, tmp_path: Path) -> None:
    kept = Bundle(directory=tmp_path / "kept")
    given = ["verify", str(model), "--target", "c", "--layers", "--count", "2", "-o", str(kept.directory)]
    assert main(given) == 0
    assert [layer.operator for layer in kept.manifest.models[0].verification.layers.layers] == [
        "relu_0",
        "add_1",
    ]


def test_arguments_of_other_types_are_diagnostics(model: Path, made: Compilation, bundle: Bundle) -> None:
    """These were a TypeError, a ValueError, a KeyError and an AttributeError."""
    mistakes: list[tuple[Any, str]] = [
        (lambda: bundle.verify(model, count="x"), "option `count` is 'x', and takes `int`"),
        (lambda: bundle.verify(model, seed=-1), "`count` is at least 1 and `seed` at least 0, not 50 and -1"),
        (lambda: target_arch.compile_models(["m.onnx"], "zynq_edge"), "takes `Sequence[tuple[Any"),
        (lambda: target_arch.compile(model, "zynq_edge", targets=["c"]), "has no target_arch `c`"),
        (lambda: made.explain(3), "option `operator` is 3, and takes `str`"),
        (lambda: bundle.run(None), "inputs are arrays by name or in order; given is `NoneType`"),  # type: ignore[arg-type]
        (lambda: bundle.run(3), "inputs are arrays by name or in order; given is `int`"),  # type: ignore[arg-type]
    ]
    for call, said in mistakes:
        with pytest.raises(target_arch.DiagnosticError, match=re.escape(said)):
            call()


def test_mistakes_are_diagnostics(made: Compilation, bundle: Bundle) -> None:
    with pytest.raises(target_arch.DiagnosticError) as unknown:
        made.explain("ad_1")
    assert [(each.rule, each.hint) for each in unknown.value.diagnostics] == [
        ("unknown-operator", "did you mean `add_1`?")
    ]
    with pytest.raises(
        target_arch.DiagnosticError, match=r"input `x` is float32\[1, 4\], given is int64\[4\]"
    ):
        bundle.run({"x": np.arange(4)})
    with pytest.raises(target_arch.DiagnosticError, match=r"the inputs are `x`; given are `z`"):
        bundle.run({"z": np.zeros((1, 4), np.float32)})
    with pytest.raises(target_arch.DiagnosticError):
        target_arch.load_soc("no_such_chip")


@pytest.mark.parametrize(
    ("use", "absent"),
    [
        ("target_arch.load_soc('mcu_m7'), target_arch.compile, target_arch.partition", "tvm"),
        ("target_arch.partition(sys.argv[1], 'mcu_m7')", "torch"),
    ],
)
def test_what_is_not_needed_is_not_imported(use: str, absent: str, model: Path) -> None:
    """TVM takes a second, and PyTorch, which TVM would import, three."""
    program = f"import sys, target_arch; {use}; print({absent!r} in sys.modules)"
    command = [sys.executable, "-c", program, str(model)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_several_models_are_one_bundle(model: Path, tmp_path: Path) -> None:
    models = [(model, {"name": "one"}), (str(model), {"name": "two", "require": {"*": "dsp_cpu"}})]
    made = target_arch.compile_models(models, "zynq_edge", name="both")
    assert repr(made).startswith("<compilation of one: 2 operators, 2 on host_cpu; ")
    assert [each.name for each in made.models] == ["one", "two"]
    assert "memory of 2 models in bytes" in str(made.pools)
    assert made.models[1].explain("add_1").value.instance == "dsp_cpu"
    with pytest.raises(target_arch.DiagnosticError, match="there are several models: `one`, `two`"):
        made.explain("add_1")
    bundle = made.write(tmp_path / "both")
    x = np.array([[-1, 2, -3, 4]], np.float32)
    outputs = bundle.run({"one.x": x, "two.x": x})
    assert [outputs[name].tolist() for name in ("one.y", "two.y")] == [[[-1, 4, -3, 8]]] * 2
    assert "one" in made.report().page


def test_placed_and_not_lowered(model: Path) -> None:
    placed = target_arch.partition(model, "zynq_edge", require={"relu": "dsp_cpu"}, runs_of=["relu_0"])
    assert repr(placed) == "<partitioning of small: 1 on dsp_cpu, 1 on host_cpu>"
    assert str(placed).startswith("partitions: 2\n")
    assert [part["target_arch"] for part in placed.to_json()["partitions"]] == ["dsp_cpu", "host_cpu"]
    assert placed.explain("relu_0").json["instance"] == "dsp_cpu"


@pytest.mark.slow
def test_cores_on_which_frames_take_turns() -> None:
    """A compilation says it as the placement for it does; without frames no core is one of several."""
    digits, chip = examples() / "digits" / "digits_int8.onnx", examples() / "cores" / "dual_m33.toml"
    made = target_arch.compile(digits, chip, frames="auto")
    placed = target_arch.partition(digits, chip, frames="auto", runs_of=["conv2d_1"])
    assert "frames in flight take turns on it" in str(placed.explain("conv2d_1"))
    for found in (made.explain("conv2d_1"), placed.explain("conv2d_1")):
        first, second = found.json["turns"]
        last = f"frames in flight take turns on `{first}`, `{second}`: each computes whole frames"
        assert str(found).splitlines()[-1] == last
    assert target_arch.partition(digits, chip).explain("conv2d_1").json["turns"] is None


def test_the_typo_of_an_option(model: Path) -> None:
    """Also the name of a field of the request, which is no option."""
    with pytest.raises(target_arch.DiagnosticError) as typo:
        target_arch.compile(model, "mcu_m7", plannr="best")  # type: ignore[call-arg]
    said = "options: error: there is no option `plannr` [unknown-keyword]\nhint: did you mean `planner`?"
    assert str(typo.value) == said
    with pytest.raises(target_arch.DiagnosticError, match="there is no option `mode`"):
        target_arch.partition(model, "mcu_m7", mode="default")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("batch", "x", "option `batch` is 'x', and takes `int | None`"),
        ("batch", True, "option `batch` is True, and takes `int | None`"),
        ("require", {"*": 3}, "option `require` is {'*': 3}, and takes `Mapping[str, str]`"),
        ("targets", "dsp_cpu", "option `targets` is 'dsp_cpu', and takes `Sequence[str]`"),
        ("states", {1: "a"}, "option `states` is {1: 'a'}, and takes `Mapping[str, str]`"),
        ("costs", 3, "option `costs` is 3, and takes `str | Path`"),
        ("forbid", {"a": 1}, "option `forbid` is {'a': 1}, and takes `Mapping[str, str | Sequence[str]]`"),
        ("name", b"a", "option `name` is b'a', and takes `str | None`"),
    ],
)  # fmt: skip
def test_options_of_other_types(model: Path, option: str, value: object, said: str) -> None:
    with pytest.raises(target_arch.DiagnosticError) as fault:
        target_arch.compile(model, "mcu_m7", **{option: value})  # type: ignore[arg-type]
    assert str(fault.value) == f"options: error: {said} [bad-keyword]"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: target_arch.load_soc(WRONG), "`name_or_file` is 3, and takes `str | Path`"),
        (lambda: target_arch.quantize_model("m", "mcu_m55", WRONG), "`data` is 3, and takes `str | Path`"),
        (lambda: target_arch.explore_chips(WRONG), "`space` is 3, and takes `str | Path`"),
        (lambda: target_arch.choose_chip(WRONG), "`models` is 3, and takes `Mapping[str, str | Path]`"),
        (lambda: target_arch.tune_kernels("m", WRONG), "`soc` is 3, and takes `str | Path | SoC`"),
    ],
)  # fmt: skip
def test_arguments_of_every_function(call: Any, said: str) -> None:
    """They ended in a `TypeError` of the library that met them first."""
    with pytest.raises(target_arch.DiagnosticError) as fault:
        call()
    assert str(fault.value) == f"options: error: option {said} [bad-keyword]"


def test_a_bundle_is_written_to_a_path(model: Path) -> None:
    with pytest.raises(target_arch.DiagnosticError, match="`directory` is 3, and takes"):
        target_arch.compile(model, "mcu_m7").write(WRONG)


def test_options_may_be_of_numpy(model: Path) -> None:
    limits: dict[str, Any] = {"sram": np.int64(4096)}
    made = target_arch.compile(model, "mcu_m7", memory_limits=limits, targets=[])
    assert made.operators == ("relu_0", "add_1")
    with pytest.raises(target_arch.DiagnosticError, match=r"could become 3"):
        target_arch.compile(model, "mcu_m7", batch=np.int64(3))  # type: ignore[arg-type]


def test_two_bundles_beside_each_other(model: Path, bundle: Bundle, tmp_path: Path) -> None:
    other = target_arch.compile(model, "zynq_edge", require={"*": "dsp_cpu"}).write(tmp_path / "other")
    found = target_arch.compare(bundle.directory, str(other.directory))
    assert [moved["after"] for moved in found.json[0]["moved"]] == ["dsp_cpu", "dsp_cpu"]
    assert found.page.startswith("<!")


def test_operators_of_a_file(model: Path) -> None:
    assert [(use.name, use.count) for use in target_arch.operators(model).uses] == [("Add", 1), ("Relu", 1)]


def test_frames_and_archives(bundle: Bundle) -> None:
    frames = bundle.run_frames([[np.full((1, 4), value, np.float32)] for value in (1, -1)])
    assert [frame["y"].tolist() for frame in frames] == [[[2] * 4], [[-1] * 4]]
    assert bundle.packaged("mlf").name == "small.tar"


def test_times_of_steps(bundle: Bundle) -> None:
    times = bundle.times()
    assert [step.what for step in times.steps if "dispatch" in step.what] == [
        "dispatch relu_0 on host_cpu",
        "dispatch add_1 on host_cpu",
    ]
    assert all(step.seconds > 0 for step in times.steps if step.predicted)
    assert "predicted on zynq_edge" in str(times)


def test_run_prints_what_it_is_asked_for(
    bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.array([[-1, 2, -3, 4]], np.float32))
    given = ["run", str(bundle.directory), "--input", str(tmp_path / "x.npy")]
    more = [
        "--top",
        "2",
        "--times",
        "--profile",
        str(tmp_path / "p.json"),
        "--output",
        str(tmp_path / "y.npy"),
    ]
    assert main([*given, *more]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("y float32[1, 4], largest\n  [0, 3] 8.0\n  [0, 1] 4.0\n")
    assert "on this computer" in printed
    assert np.load(tmp_path / "y.npy").tolist() == [[-1, 4, -3, 8]]
    events = json.loads((tmp_path / "p.json").read_text())["traceEvents"]
    assert [event["name"] for event in events if event.get("cat") == "run"] == ["relu_0", "add_1"]
    assert main(["run", str(bundle.directory), "--top", "2"]) == 0
    assert capsys.readouterr().out.startswith("y float32[1, 4], largest\n  [0, ")
