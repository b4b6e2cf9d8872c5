"""Constants as bytes: the same results in every form, and damage that init finds and names."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from target_arch import Bundle, compile, compile_models
from target_arch.cli.main import main
from target_arch.diagnostics import DiagnosticError
from target_arch.emit.crc32c import crc32c
from target_arch.plan.constants_form import LARGE, ConstantsForm
from target_arch.run.bundles.manifest import read_manifest
from tests.e2e.conftest import DIGITS
from tests.slow import slow_except

Tool = Callable[[str], str]
FORMS = ("text", "section", "file")
IMAGE = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bundle]:
    """The example model on a chip with all kinds of target_archs, in each form."""
    folder = tmp_path_factory.mktemp("weights")
    return {form: compile(DIGITS, "zynq_edge", constants=form).write(folder / form) for form in FORMS}


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """The example model on a microcontroller, its constants in a file."""
    return compile(DIGITS, "mcu_m7", constants="file").write(tmp_path / "bundle")


@pytest.fixture
def trained_on(tmp_path: Path) -> Path:
    """The example model with one other weight."""
    model = onnx.load(DIGITS)
    for constant in model.graph.initializer:
        values = numpy_helper.to_array(constant).copy()
        if values.dtype == np.int8 and values.ndim > 1:
            values.flat[0] = 1
            constant.CopyFrom(numpy_helper.from_array(values, constant.name))
            break
    onnx.save(model, tmp_path / "digits_int8.onnx")
    return tmp_path / "digits_int8.onnx"


def weights_file(bundle: Bundle) -> Path:
    (one,) = bundle.weights.value.weights
    return bundle.directory / one.file


def test_every_form_has_the_same_results(bundles: dict[str, Bundle]) -> None:
    outputs = {form: bundle.run([IMAGE])["logits"] for form, bundle in bundles.items()}
    for form in FORMS:
        np.testing.assert_array_equal(outputs[form], outputs["text"])


def test_the_manifest_and_the_file_agree(bundles: dict[str, Bundle]) -> None:
    assert bundles["text"].manifest.weights is None
    for form in ("section", "file"):
        bundle = bundles[form]
        entry = bundle.manifest.weights
        assert entry is not None
        assert entry.constants == form
        (file,) = entry.weights
        content = weights_file(bundle).read_bytes()
        assert len(content) == file.bytes
        for one in file.tensors:
            assert f"0x{crc32c(content[one.offset : one.offset + one.bytes]):08x}" == one.crc32c
            assert one.offset % 16 == 0


def test_small_models_are_text_and_large_ones_are_not() -> None:
    assert ConstantsForm.AUTO.of_bytes(LARGE) is ConstantsForm.TEXT
    assert ConstantsForm.AUTO.of_bytes(LARGE + 1) is ConstantsForm.SECTION
    assert ConstantsForm.FILE.of_bytes(1) is ConstantsForm.FILE


def test_a_model_without_constants_has_no_files(tmp_path: Path) -> None:
    """Its program asked for damaged weights that the bundle did not declare, and was not built."""
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    bundle = compile(onnx.helper.make_model(graph), "mcu_m7", constants="file").write(tmp_path / "bundle")
    outputs = bundle.run({"x": np.array([[-1, 0, 1, 2]], np.float32)})
    np.testing.assert_array_equal(outputs["y"], [[0, 0, 1, 2]])


@pytest.mark.parametrize("form", slow_except(["file"], ["section", "file"]))
def test_models_together_have_files_of_their_own(form: str, tmp_path: Path) -> None:
    models = [(DIGITS, {"name": name, "constants": form}) for name in ("one", "two")]
    bundle = compile_models(models, "mcu_m7", name="both").write(tmp_path / "bundle")  # type: ignore[arg-type]
    assert [one.model for one in bundle.weights.value.weights] == ["one", "two"]
    outputs = bundle.run([IMAGE, IMAGE])
    np.testing.assert_array_equal(outputs["one.logits"], outputs["two.logits"])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["section", "file"])
def test_memory_of_the_caller(form: str, bundles: dict[str, Bundle], tmp_path: Path) -> None:
    lent = compile(DIGITS, "zynq_edge", constants=form, io="caller").write(tmp_path / "bundle")
    np.testing.assert_array_equal(lent.run([IMAGE])["logits"], bundles["text"].run([IMAGE])["logits"])


@pytest.mark.parametrize("form", slow_except(["file"], ["section", "file"]))
def test_on_a_board(form: str, needs_tool: Tool, tmp_path: Path) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        needs_tool(tool)
    bundle = compile(DIGITS, "mcu_m7", constants=form, port="qemu_mps2").write(tmp_path / "bundle")
    ran = bundle.self_test()
    assert ran is not None
    assert ran[0]
    assert not bundle.images().differences
    if form == "file":
        (one,) = bundle.weights.value.weights
        assert one.address == 0xFC000
        assert "ASSERT(ta_flash_end - 0x0 <= 0xfc000" in (bundle.directory / "mcu_m7.ld").read_text()


def test_a_program_that_reaches_into_the_partition(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "soc_configs" / "mcu_m7.toml").read_text()
    (tmp_path / "mcu_m7.toml").write_text(text)
    made = compile(DIGITS, tmp_path / "mcu_m7.toml", constants="file", port="qemu_mps2")
    assert b"0xfc000" in made.files["mcu_m7.ld"]
    assert b"0x100000" in compile(DIGITS, "mcu_m7", constants="section").files["mcu_m7.ld"]


@pytest.mark.slow
@pytest.mark.parametrize("build", ["make", "cmake"])
@pytest.mark.parametrize("form", ["section", "file"])
def test_other_builds(build: str, form: str, bundles: dict[str, Bundle], needs_tool: Tool) -> None:
    folder = bundles[form].directory
    needs_tool(build)
    commands = {
        "make": (["make", "-s", "selftest"],),
        "cmake": (
            ["cmake", "-S", ".", "-B", "build/cmake"],
            ["cmake", "--build", "build/cmake"],
            ["ctest", "--test-dir", "build/cmake"],
        ),
    }
    for command in commands[build]:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def refused(bundle: Bundle) -> str:
    with pytest.raises(DiagnosticError) as fault:
        bundle.run([IMAGE])
    return str(fault.value)


def test_an_altered_tensor_is_named(bundle: Bundle) -> None:
    (one,) = bundle.weights.value.weights
    tensor = next(each for each in one.tensors if each.name == "conv2d_5.packed")
    content = bytearray(weights_file(bundle).read_bytes())
    content[tensor.offset + 7] ^= 0x40
    weights_file(bundle).write_bytes(content)
    assert refused(bundle) == (
        "bundle: error: init failed with TA_ERROR_CORRUPT: `conv2d_5.packed` is missing, truncated or "
        "altered [run-failed]"
    )


@pytest.mark.parametrize(
    ("kept", "named"), [(13_000, "dense_8.packed"), (0, "digits_int8_flash_constants.bin"), (-1, "checks")]
)
def test_a_truncated_file_is_named(bundle: Bundle, kept: int, named: str) -> None:
    content = weights_file(bundle).read_bytes()
    weights_file(bundle).write_bytes(content[:kept])
    assert f"init failed with TA_ERROR_CORRUPT: `{named}` is missing" in refused(bundle)


def test_no_file(bundle: Bundle) -> None:
    weights_file(bundle).unlink()
    assert "`digits_int8_flash_constants.bin` is missing" in refused(bundle)


def test_altered_bytes_in_the_program(bundles: dict[str, Bundle], tmp_path: Path) -> None:
    bundle = compile(DIGITS, "mcu_m7", constants="section").write(tmp_path / "bundle")
    content = bytearray(weights_file(bundle).read_bytes())
    content[13_104 + 16] ^= 1  # the CRC of the first tensor
    weights_file(bundle).write_bytes(content)
    assert "init failed with TA_ERROR_CORRUPT: `checks` is missing" in refused(bundle)


def test_the_file_of_another_program(bundle: Bundle, tmp_path: Path) -> None:
    other = compile(DIGITS, "mcu_m7", constants="file", optimize="size").write(tmp_path / "other")
    table = [(one.name, one.offset) for one in bundle.weights.value.weights[0].tensors]
    if table != [(one.name, one.offset) for one in other.weights.value.weights[0].tensors]:
        other = compile(DIGITS, "mcu_m7", constants="file", io="caller").write(tmp_path / "caller")
    weights_file(bundle).write_bytes(weights_file(other).read_bytes())
    assert refused(bundle) == "bundle: error: init failed with TA_ERROR_ABI_MISMATCH [run-failed]"


def test_other_weights_for_the_same_program(
    bundle: Bundle, trained_on: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = bundle.run([IMAGE])["logits"]
    kernels = (bundle.directory / "src" / "digits_int8_host_cpu_kernels.c").read_bytes()
    assert main(["weights", str(bundle.directory), str(trained_on)]) == 0
    assert capsys.readouterr().out.endswith(f"weights in {bundle.directory} are those of {trained_on}\n")
    assert (bundle.directory / "src" / "digits_int8_host_cpu_kernels.c").read_bytes() == kernels
    assert not np.array_equal(bundle.run([IMAGE])["logits"], before)
    assert bundle.verify(trained_on, count=5)["digits_int8"].passed


def test_weights_of_another_bundle(bundle: Bundle, trained_on: Path, tmp_path: Path) -> None:
    other = compile(trained_on, "mcu_m7", constants="file").write(tmp_path / "other")
    bundle.replace_weights(other.files)
    assert bundle.manifest == other.manifest
    assert bundle.verify(trained_on, count=5)["digits_int8"].passed


def test_weights_for_another_program(bundle: Bundle, bundles: dict[str, Bundle]) -> None:
    files = read_manifest(bundle.directory).files
    with pytest.raises(DiagnosticError) as fault:
        bundle.replace_weights(bundles["file"].files)
    assert re.sub("[0-9]+ more", "N more", str(fault.value)) == (
        f"{bundle.directory}: error: these weights are for another program: it has other `CMakeLists.txt`, "
        "`Makefile`, `README.md` and N more [another-program]\n"
        "hint: compile the new model into a bundle of its own"
    )
    assert read_manifest(bundle.directory).files == files


def test_no_weights_files(bundles: dict[str, Bundle], capsys: pytest.CaptureFixture[str]) -> None:
    folder = bundles["text"].directory
    assert main(["weights", str(folder)]) == 2
    assert capsys.readouterr().err == (
        f"{folder}: error: its constants are C, and it has no weights files [no-weights]\n"
        "hint: compile it with `constants` as `section` or `file`\n"
    )


def test_the_table(bundle: Bundle, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", str(bundle.directory)]) == 0
    head, columns, first, *_ = capsys.readouterr().out.splitlines()
    program = bundle.weights.value.weights[0].program
    assert head == (
        "weights/digits_int8_flash_constants.bin: 13,220 B, aligned to 16 B, 24 tensors of digits_int8 in "
        f"flash.constants, program {program}"
    )
    assert columns.split() == ["offset", "bytes", "CRC-32C", "tensor"]
    assert first.split()[::3] == ["0", "conv2d_1.folded"]
    assert main(["weights", str(bundle.directory), "--format=json"]) == 0
    assert json.loads(capsys.readouterr().out)["constants"] == "file"


def test_a_form_that_there_is_not() -> None:
    with pytest.raises(DiagnosticError) as fault:
        compile(DIGITS, "mcu_m7", constants="files")
    assert str(fault.value) == (
        "constants: error: constants cannot be `files` [unknown-constants]\nhint: did you mean `file`?"
    )


def test_a_port_that_finds_no_files() -> None:
    with pytest.raises(DiagnosticError) as fault:
        compile(DIGITS, "mcu_m7", constants="file", port="null")
    assert str(fault.value) == (
        "constants: error: programs on port `null` have no way to find a weights file [no-weights-files]\n"
        "hint: let constants be linked: `section`, or `text`"
    )
