"""A port, a load process, a policy and a planner that the package knows nothing of: compiled for and run."""

import json
import re
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve
from onnx import helper

from target_arch.backend.port import PortKind
from target_arch.cli import main
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.registry import PlugIns
from target_arch.resources import examples
from target_arch.run import build, run_frames, run_self_test, write_bundle
from target_arch.soc import read_soc
from tests.relax.models import onnx_model, save
from tests.systems import COMPILER, EMULATOR, QEMU_MPS2

FOLDER = Path(__file__).parents[1] / "plug_in_folder"
DIGITS = examples() / "digits" / "digits_int8.onnx"
DIRS = ("--backend-dir", str(FOLDER))

Tool = Callable[[str], str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    made = onnx_model(nodes, {"x": (1, 8)}, {"y": (1, 8)}, {})
    return save(made, tmp_path_factory.mktemp("model") / "relu.onnx")


def test_port_policy_and_planner_of_a_folder(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], needs_tool: Tool
) -> None:
    needs_tool("cc")
    wishes = ("--port", "twin", "--lowering-order", "last-first", "--planner", "stacked")
    assert main(["compile", str(model), "--soc", "mcu_m7", *DIRS, *wishes, "-o", str(tmp_path / "b")]) == 0
    capsys.readouterr()
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert (manifest["port"], manifest["models"][0]["lowering_policy"]) == ("twin", "last-first")
    assert manifest["toolchain"] == {"libraries": ["m"], "needs": []}
    assert (tmp_path / "b" / "runtime" / "ports" / "twin" / "port_twin.c").is_file()
    frame = b"".join(value.to_bytes(4, "little") for value in (0x3F800000, 0xBF800000) * 4)
    (answer,) = run_frames(build(tmp_path / "b"), [frame])
    assert answer == b"".join(value.to_bytes(4, "little") for value in (0x3F800000, 0) * 4)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (
            ("--port", "twn"),
            "ports: error: there is no port `twn` [unknown-port]\nhint: did you mean `twin`?\n",
        ),
        (
            ("--planner", "stackd"),
            "memory plan: error: there is no algorithm `stackd` [unknown-algorithm]\n"
            "hint: did you mean `stacked`?\n",
        ),
        (
            ("--lowering-order", "last-frist"),
            "lowering order: error: there is no policy `last-frist` [unknown-policy]\n"
            "hint: did you mean `last-first`?\n",
        ),
    ],
)
def test_unknown_names_have_their_nearest(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], wish: tuple[str, str], said: str
) -> None:
    code = main(["compile", str(model), "--soc", "mcu_m7", *DIRS, *wish, "-o", str(tmp_path / "b")])
    assert (code, capsys.readouterr().err) == (2, said)


def test_help_names_all_that_was_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit):
        main(["compile", "--help", *DIRS])
    text = capsys.readouterr().out
    assert "found: accelerators-first, c-first, last-first, program" in text
    assert re.search(r"found: best, by-area, .* stacked", text)
    assert "found: cuda, host, null, qemu_mps2, qemu_sse200, twin" in text
    assert re.search(r"load processes found: bitstream, .*fuses", text)


def test_a_soc_file_names_load_process_and_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "soc_configs" / "quad_conv.toml").read_text()
    text = text.replace(
        'process = "bitstream", image = "conv2d_small.bit"', 'process = "fuses", image = "a.fuses"'
    )
    text = re.sub(r'order = "c-first"', 'order = "last-first"', text)
    file = tmp_path / "fused.toml"
    file.write_text(text)
    assert main(["check", str(file), *DIRS]) == 0
    assert main(["check", str(file)]) == 2
    rules = re.findall(r"\[([a-z-]+)\]$", capsys.readouterr().err, re.MULTILINE)
    assert "unknown-load-process" in rules


@pytest.mark.slow
def test_the_host_port_checks_an_image_by_its_load_process(tmp_path: Path, needs_tool: Tool) -> None:
    needs_tool("cc")
    needs_tool("make")
    soc = read_soc("quad_conv")
    (arch,) = (each for each in soc.archs if each.load.image is not None)
    fused = evolve(arch, load=evolve(arch.load, process="fuses", image="a.fuses"))
    chip = evolve(soc, archs=tuple(fused if each is arch else each for each in soc.archs))
    plug_ins = PlugIns.discover([FOLDER])
    made = compile_model(CompileRequest(model_path=DIGITS, soc=chip, plug_ins=plug_ins))
    write_bundle(made.bundle, tmp_path / "b")
    assert "256u /* fuses */" in made.bundle.files["src/quad_conv_soc.c"].decode()
    assert "{256u /* fuses */, fuses_check}," in made.bundle.files["src/quad_conv_simulation.c"].decode()
    passed = run_self_test(build(tmp_path / "b"))
    assert passed in (True, None), "a stand-in is no image"
    steps = made.bundle.files["src/digits_int8_steps.c"].decode()
    macros = re.findall(r"#ifdef (\w*IMAGE\w*)", steps)
    assert burnt(tmp_path / "b", macros, b"F") == (0, "")
    assert burnt(tmp_path / "b", macros, b"X") == (8, "init: step 0: TA_ERROR_IMAGE\n")


def burnt(folder: Path, macros: list[str], image: bytes) -> tuple[int, str]:
    """Make and run the bundle with an image in the place of stand-ins: exit code and messages."""
    source, made = folder.with_name("burnt.c"), folder.with_name("burnt.o")
    source.write_text(f"const unsigned char burnt[] = {{{', '.join(map(str, image))}}};\n")
    subprocess.run(("cc", "-c", "-o", str(made), str(source)), check=True)
    values = {"": "burnt", "_BYTES": f"{len(image)}u", "_CRC32": f"{zlib.crc32(image)}u"}
    flags = " ".join(f"-D{macro}{end}={value}" for macro in macros for end, value in values.items())
    build = f"build_{image.decode()}"
    variables = (f"CPPFLAGS={flags}", f"LDFLAGS={made}", f"BUILD={build}")
    subprocess.run(("make", "-s", f"{build}/runner", *variables), cwd=folder, check=True)
    done = subprocess.run((folder / build / "runner",), input=b"", capture_output=True, check=False)
    return done.returncode, done.stderr.decode()


def renamed() -> PortKind:
    """The port `board`: that of the emulated boards under names of its own."""
    names = {"ports/qemu_mps2/qemu_mps2": "ports/board/board", "ports/qemu_mps2": "ports/board"}
    names |= {"ta_port_qemu_mps2": "ta_port_board", "ta_mps2_": "ta_board_"}

    def board(text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    def files() -> dict[str, str]:
        return {board(path): board(text) for path, text in QEMU_MPS2.files().items()}

    return evolve(QEMU_MPS2, name="board", prefix="ta_board", header="ports/board/board.h", files=files)


def test_a_bare_metal_port_of_a_stranger(model: Path, tmp_path: Path, needs_tool: Tool) -> None:
    needs_tool(COMPILER)
    needs_tool(EMULATOR)
    plug_ins = PlugIns.discover()
    plug_ins.ports.add(renamed())
    soc = read_soc("mcu_m7")
    chip = evolve(soc, ports=tuple(evolve(port, name="board") for port in soc.ports))
    made = compile_model(CompileRequest(model_path=model, soc=chip, plug_ins=plug_ins, port="board"))
    assert not [
        path for path, data in made.bundle.files.items() if b"ta_mps2_" in data or b"/qemu_mps2" in data
    ]
    write_bundle(made.bundle, tmp_path / "b")
    frame = b"".join(value.to_bytes(4, "little") for value in (0x3F800000, 0xBF800000) * 4)
    executable = build(tmp_path / "b")
    assert executable.image is not None
    assert executable.image.differences == ()
    (answer,) = run_frames(executable, [frame])
    assert answer == b"".join(value.to_bytes(4, "little") for value in (0x3F800000, 0) * 4)
