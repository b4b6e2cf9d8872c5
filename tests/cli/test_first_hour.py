"""Slips of the first hour: each is answered by what is wrong, and by what to write."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import fields
from onnx import TensorProto

import target_arch
from target_arch.cli.main import main
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest
from target_arch.pipeline.resolve import rules
from target_arch.plan.manifest.model import OptionsEntry
from target_arch.registry import PlugIns
from target_arch.run.references.find import reference_for
from target_arch.soc import parse_soc, read_soc
from target_arch.soc.units import BANDWIDTH, BITS
from tests.relax.models import helper, onnx_model, save
from tests.slow import slow_except

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    node = helper.make_node("Relu", ["x"], ["y"])
    return save(onnx_model([node], {"x": (1, 4)}, {"y": (1, 4)}), tmp_path / "m.onnx")


def test_model_and_soc_swapped(model: Path, capsys: Capture) -> None:
    assert main(["partition", "zynq_edge", "--soc", str(model)]) == 2
    assert capsys.readouterr().err == (
        f"{model}: error: this is a model, and a SoC file is wanted here [cannot-read]\n"
        "hint: name the model first, and the SoC after it\n"
    )


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("zynq_edge", "there is no such file [model-not-found]"),
        ("chip.toml", "extension `.toml` is not one of a model [model-type]"),
    ],
)
def test_a_soc_where_the_model_belongs(named: str, said: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "chip.toml").write_text("schema = 1\n")
    place = named if named == "zynq_edge" else str(tmp_path / named)
    assert main(["operators", place]) == 2
    assert capsys.readouterr().err == (
        f"{place}: error: {said}\nhint: that is a SoC: name the model first, and the SoC after it\n"
    )


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("zynq_edge", "there is no such file [model-not-found]"),
        ("chip.toml", "no library quantizes files that end with `.toml` [model-type]"),
    ],
)
def test_a_soc_where_the_float_model_belongs(
    named: str, said: str, model: Path, tmp_path: Path, capsys: Capture
) -> None:
    """The first complaint was that the result's name must end with `.toml`."""
    (tmp_path / "chip.toml").write_text("schema = 1\n")
    place = named if named == "zynq_edge" else str(tmp_path / named)
    given = ["--soc", "mcu_m55", "--data", str(tmp_path), "-o", str(tmp_path / "q.onnx")]
    assert main(["quantize", place, *given]) == 2
    assert capsys.readouterr().err == (
        f"{place}: error: {said}\nhint: that is a SoC: name the model first, and the SoC after it\n"
    )


@pytest.mark.parametrize("command", [["operators"], ["partition", "--soc", "zynq_edge"]])
def test_a_program_that_pytorch_itself_cannot_take_apart(
    command: list[str], tmp_path: Path, capsys: Capture
) -> None:
    """The export of a static cache that is no buffer: that the model's parts do not fit together was said."""
    torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")

    class Cache(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rows = [torch.zeros(4, 2)]

        def forward(self, x: Any, place: Any) -> Any:
            self.rows[0].index_copy_(0, place, x)
            return self.rows[0].sum(0)

    path = tmp_path / "cache.pt2"
    torch.export.save(torch.export.export(Cache(), (torch.ones(1, 2), torch.tensor([1]))), path)
    assert main([command[0], str(path), *command[1:]]) == 2
    assert capsys.readouterr().err == (
        f"{path}: error: PyTorch cannot take it apart into its core operators: Constant lifted_tensor_0 is "
        "mutated in the forward method. Pls register it as buffer [unsupported-model]\n"
        "hint: that is PyTorch's own failure: `run_decompositions()` of the program shows it whole\n"
    )


def test_float16_weights_beside_float32_values(tmp_path: Path, capsys: Capture) -> None:
    """onnxruntime refuses such a file, and it was compiled without a word."""
    weights = helper.make_tensor("w", 10, (4, 2), [0.5] * 8)
    model = onnx_model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": (1, 4)}, {"y": (1, 2)})
    model.graph.initializer.append(weights)
    path = save(model, tmp_path / "mixed.onnx")
    assert main(["partition", str(path), "--soc", "zynq_edge"]) == 2
    assert capsys.readouterr().err.endswith(
        f"{path}: error: input `B` of a `MatMul` is float16, and its other inputs are not [model-damaged]\n"
        "hint: cast one of them, and export it again\n"
    )


OPTIONS = [
    ["--memory", "sram=1KiB"],
    ["--require", "relu=host_cpu", "--forbid", "*=dsp_cpu"],
    ["--target", "dsp_cpu", "--planner", "search,nodes=300", "--exact"],
    ["--lowering-order", "program", "--divide", "auto"],
    ["--lowering-order", "s-tir=program", "--frames", "2"],
    ["--objective", "throughput", "--within", "1s"],
    ["--mode", "ddr_only", "--optimize", "size", "--io", "caller", "--partitioning-order", "dsp_cpu"],
]


@pytest.mark.parametrize("options", slow_except(OPTIONS[::3], OPTIONS))
def test_a_bundle_knows_its_options(options: list[str], model: Path, tmp_path: Path) -> None:
    """Comparing its operators compiles it again, which wanted the options again."""
    bundle = str(tmp_path / "bundle")
    assert main(["compile", str(model), "--soc", "zynq_edge", "-o", bundle, *options]) == 0
    assert main(["verify", str(model), "--bundle", bundle, "--layers", "--count", "1"]) == 0


def test_every_option_of_a_plan_is_recorded() -> None:
    """A new field of a request is an option of the manifest, or one of these: others of its keys have them,
    or they are files.
    """
    elsewhere = {"model_path", "soc", "mode", "optimize", "io", "name", "port", "input_shapes", "keep_dead"}
    elsewhere |= {"input_ranges"}
    files = {"costs", "tuning", "backend_dirs", "plug_ins", "images", "passes"}
    renamed = {"memory": "memory_limits"}
    asked = {renamed.get(each.name, each.name) for each in fields(CompileRequest)}
    assert asked - elsewhere - files - {"constants"} == {each.name for each in fields(OptionsEntry)}


def test_a_bundle_knows_the_part_that_it_is(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["y"])]
    whole = save(onnx_model(nodes, {"x": (1, 4)}, {"y": (1, 4)}), tmp_path / "two.onnx")
    bundle = str(tmp_path / "part")
    assert main(["compile", str(whole), "--soc", "zynq_edge", "--to", "h", "-o", bundle]) == 0
    assert main(["verify", str(whole), "--bundle", bundle, "--layers", "--count", "1"]) == 0


def test_a_bandwidth_in_bits() -> None:
    text = 'schema = 1\nname = "a"\n[memory.ddr]\nbase = 0\nsize = "1 MiB"\nread_bandwidth = "66 Mbit/s"\n'
    with pytest.raises(DiagnosticError) as fault:
        parse_soc(text, "a.toml")
    (found,) = [each for each in fault.value.diagnostics if each.rule == "bad-unit"]
    assert str(found) == (
        "a.toml:6:18: error: `Mbit/s` counts bits, and bandwidths are in bytes [bad-unit]\n"
        '    6 | read_bandwidth = "66 Mbit/s"\n'
        "      |                  ^^^^^^^^^^^\n"
        "hint: write `8.25 MB/s`"
    )
    assert not BITS.keys() & BANDWIDTH.keys()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["sram=0"],
            "`--memory sram=0` leaves nothing of `sram` [bad-memory]\n"
            "hint: the least is 1 byte; a memory mode of the SoC file says which memories are used at all",
        ),
        (
            ["sram=4kB"],
            "`--memory sram=4kB` has a size of `4kB`: bytes, or a number with `B`, `GiB`, `KiB`, `MiB` "
            "[bad-memory]\nhint: write `--memory sram=40KiB`, once per memory",
        ),
        (
            ["=4"],
            "`--memory =4` names no memory and size [bad-memory]\n"
            "hint: write `--memory sram=40KiB`, once per memory",
        ),
        (
            ["sram=4", "sram=5"],
            "`--memory sram=5` names a memory twice [bad-memory]\n"
            "hint: write `--memory sram=40KiB`, once per memory",
        ),
    ],
)
def test_limits_of_memory(given: list[str], said: str, model: Path, capsys: Capture) -> None:
    options = [word for each in given for word in ("--memory", each)]
    assert main(["partition", str(model), "--soc", "zynq_edge", *options]) == 2
    assert capsys.readouterr().err == f"command line: error: {said}\n"


def test_a_rule_that_is_not_there_cannot_be_dropped(model: Path, capsys: Capture) -> None:
    assert main(["partition", str(model), "--soc", "zynq_edge", "--require", "conv2d="]) == 2
    assert capsys.readouterr().err == (
        "require: error: `zynq_edge` has no rule `require` for `conv2d` that could be dropped [no-rule]\n"
        "hint: leave it out\n"
    )


def test_a_rule_that_is_there_can_be_dropped(model: Path) -> None:
    soc = read_soc("zynq_edge")
    wanted = CompileRequest(
        model_path=model, soc=soc, plug_ins=PlugIns.discover(), forbid={"relu": ()}, prefer={"relu": ""}
    )
    with pytest.raises(DiagnosticError) as fault:
        rules(wanted)
    assert [each.place for each in fault.value.diagnostics] == ["prefer", "forbid"]


def test_help_begins_with_what_it_is_for(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = " ".join(capsys.readouterr().out.partition("positional arguments")[0].split())
    assert "COMMAND ... Compile neural networks for all compute elements of a chip at once:" in text
    assert "DiagnosticError" not in text


def test_libraries_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """TVM warned of powers and of indices, onnxruntime of constants that nobody reads."""
    nodes = [helper.make_node("Gather", ["x", "i"], ["g"]), helper.make_node("Pow", ["g", "e"], ["y"])]
    constants = {"e": np.array(3, np.float32), "unread": np.ones(4, np.float32)}
    content = onnx_model(nodes, {"x": (5, 3)}, {"y": (2, 3)}, constants)
    content.graph.input.append(helper.make_tensor_value_info("i", TensorProto.INT64, (2,)))
    model = save(content, tmp_path / "m.onnx")
    target_arch.compile(model, "mcu_m7")
    reference = reference_for(model)
    reference.answer(reference.frames(1, 0)[0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_place_that_is_dearer_alone(shared: Path) -> None:
    """`cheapest: 92.7 us vs 8.99 us` was said, which read as a fault."""
    made = target_arch.compile(shared / "models" / "ic_resnet_int8.tflite", "zynq_edge")
    said = [str(made.explain(name)).splitlines()[0] for name in made.operators]
    alone = next(line for line in said if "together" in line)
    form = r"operator \S+: on \S+; cheapest together with its neighbours; alone \S+ us, and \S+ us on `\S+`"
    assert re.fullmatch(form, alone)
