"""Several models on the command line: what is refused, in whole texts, and what is printed."""

import json
from pathlib import Path

import pytest

from target_arch.cli import main
from target_arch.resources import examples
from tests.cli.commands.test_describe import call

DIGITS = str(examples() / "digits" / "digits_int8.onnx")
CONFIGS = Path(__file__).parents[3] / "soc_configs"
ON = ("--soc", "zynq_edge", "-o", "out")

Capture = pytest.CaptureFixture[str]

REFUSALS = {
    (DIGITS, "elsewhere/digits_int8.onnx"): (
        "models: error: `digits_int8.onnx` and `digits_int8.onnx` are both called `digits_int8` in C "
        "[same-name]\n"
        "hint: give one of them another name: `NAME=FILE`\n"
    ),
    (f"zynq_edge_models={DIGITS}", DIGITS): (
        "name: error: the bundle and `digits_int8.onnx` are both called `zynq_edge_models` in C "
        "[same-name]\n"
        "hint: give the bundle another name: `--name NAME`\n"
    ),
    (DIGITS, "--arenas", "shared"): (
        "command line: error: `--arenas` says how several models share memory, one is given [one-model]\n"
        "hint: leave it out\n"
    ),
    (f"a={DIGITS}", "--name", "b"): (
        "name: error: the model has two names: `a` and `b` [two-names]\n"
        "hint: say `NAME=FILE` or `--name NAME`\n"
    ),
    (f"a={DIGITS}", f"b={DIGITS}", "--image", "fpga_conv2d"): (
        "command line: error: `fpga_conv2d` is not TARGET=FILE [bad-image]\n"
    ),
    (f"a={DIGITS}", f"b={DIGITS}", "--image", "dsp_cpu=a.elf", "--image", "b:dsp_cpu=b.elf"): (
        "command line: error: `dsp_cpu` is to get `a.elf` and `b.elf` [bad-image]\nhint: name one of them\n"
    ),
    (f"a={DIGITS}", f"b={DIGITS}", "--image", "b:fpga_conv=x.bit"): (
        "model b, images: error: `zynq_edge` has no target_arch `fpga_conv` [unknown-target]\n"
        "hint: did you mean `fpga_conv2d`?\n"
    ),
    (f"a={DIGITS}", f"b={DIGITS}", "--image", "b:host_cpu=x.elf"): (
        "model b, images: error: `host_cpu` takes no image: its load process is `linked` [no-image]\n"
        "hint: those that take one: `dsp_cpu`, `fpga_conv2d`\n"
    ),
    (f"a={DIGITS}", f"b={DIGITS}", "--require", "b:conv2d_9=host_cpu"): (
        "model b, rule `require conv2d_9 = host_cpu`: error: the model has no operator and no kind of "
        "operator `conv2d_9` [unknown-operator]\n"
        "hint: did you mean `conv2d_5`?\n"
    ),
}


@pytest.mark.parametrize("arguments", REFUSALS, ids=lambda words: " ".join(map(str, words))[-40:])
def test_refusals(arguments: tuple[str, ...], capsys: Capture, tmp_path: Path) -> None:
    on = (*ON[:-1], str(tmp_path / "out"))
    assert call(capsys, "compile", *arguments, *on) == (2, "", REFUSALS[arguments])
    assert not (tmp_path / "out").exists()


def chip(folder: Path, name: str, before: str, after: str) -> str:
    """A shipped SoC file with one thing changed."""
    text = (CONFIGS / f"{name}.toml").read_text()
    assert before in text
    (folder / "chip.toml").write_text(text.replace(before, after, 1))
    return str(folder / "chip.toml")


def test_who_does_not_fit_is_named_with_a_way_out(capsys: Capture, tmp_path: Path) -> None:
    soc = chip(tmp_path, "mcu_m7", 'size = "512 KiB"', 'size = "3 KiB"')
    models = (f"a={DIGITS}", f"b={DIGITS}")
    out = str(tmp_path / "out")
    code, _, said = call(capsys, "compile", *models, "--soc", soc, "--arenas", "separate", "-o", out)
    assert code == 2
    first, *rest = said.splitlines()
    assert first.startswith("model b, step ")
    assert (
        ": error: pool `sram` needs 1,104 B, 1,024 B are available (these steps need at least 1,104 B); alive"
        in first
    )
    assert rest == [
        "model a: note: takes 2,048 B of `sram`",
        "tried: note: stripe (3)",
        "hint: `sram` 1 KiB larger, or `--arenas shared`, where the models run in turn",
    ]
    code, said, _ = call(capsys, "compile", *models, "--soc", soc, "-o", out)
    assert code == 0
    assert said.endswith(
        "memory of 2 models in bytes, arenas shared: they run in turn\n"
        "pool              capacity       a       b  together   apart\n"
        "flash.constants  1,048,576  13,104  13,104    26,208  26,208\n"
        "sram                 3,072   2,048   2,048     2,048   4,096\n"
        f"bundle in {out}: {len([p for p in (tmp_path / 'out').rglob('*') if p.is_file()])} files\n"
    )


def bram(folder: Path, size: int) -> str:
    """zynq_edge whose host sees the memory of the conv2d engine, of that size."""
    before = 'size = "64 KiB"\nobservers = { fpga_conv2d = 0x0 }'
    after = f"size = {size}\nbase = 0x4000_0000\nobservers = {{ fpga_conv2d = 0x0 }}"
    return chip(folder, "zynq_edge", before, after)


def test_budgets_of_the_second_know_what_the_first_took(capsys: Capture, tmp_path: Path) -> None:
    models, on = (f"a={DIGITS}", f"b={DIGITS}"), ("--soc", bram(tmp_path, 16384), "--arenas", "separate")
    code, out, _ = call(capsys, "compile", *models, *on, "-o", str(tmp_path / "out"), "--format=json")
    assert code == 0
    manifest = json.loads(out)
    capacities = []
    for model in manifest["models"]:
        pools = [each for each in model["budgets"] if each["pool"] == "conv_bram"]
        assert pools
        capacities.append({each["live"] + each["remaining"] for each in pools})
    taken = manifest["pools"]["conv_bram"]["peaks"]["a"]
    assert capacities == [{16384}, {16384 - -(-taken // 16) * 16}]


def test_the_first_makes_room_where_it_took_too_much(capsys: Capture, tmp_path: Path) -> None:
    wishes = ("--require", "conv2d_4=fpga_conv2d", "--arenas", "separate", "-o", str(tmp_path / "out"))
    models = (f"a={DIGITS}", f"b={DIGITS}")
    code, out, _ = call(capsys, "compile", *models, "--soc", bram(tmp_path, 3072), *wishes)
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["conv_bram", "3,072", "1,424", "1,648", "3,072", "3,072"] in rows
    code, _, said = call(capsys, "compile", *models, "--soc", bram(tmp_path, 1536), *wishes)
    assert code == 2
    assert said == (
        "model b, operator conv2d_4 (conv3): error: a rule requires `conv2d` on `fpga_conv2d`, which refuses "
        "it: `fpga_conv2d`: the smallest tile needs 1,024 B of `conv_bram`, it has 112 B "
        "[placement-not-honoured]\n"
        "hint: drop the rule, or require a target that supports the operator\n"
    )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits model twice."""
    folder = tmp_path_factory.mktemp("two") / "bundle"
    assert main(["compile", f"a={DIGITS}", f"b={DIGITS}", "--soc", "mcu_m55", "-o", str(folder)]) == 0
    return folder


def test_run_takes_and_gives_the_tensors_of_every_model(two: Path, capsys: Capture, tmp_path: Path) -> None:
    code, out_text, err = call(capsys, "run", str(two))
    assert (code, err) == (0, "")
    assert out_text.startswith("self-test passed: its own input on port `host`, compared with ")
    (tmp_path / "x.bin").write_bytes(bytes(256))
    image = ("--input", str(tmp_path / "x.bin"))
    code, out, _ = call(capsys, "run", str(two), *image, *image, "--format=json")
    outputs = json.loads(out)
    assert code == 0
    assert [name.partition(".")[0] for name in outputs] == ["a", "b"]
    assert len({str(values) for values in outputs.values()}) == 1
    code, _, said = call(capsys, "run", str(two), *image)
    assert (code, said.partition(" inputs")[0]) == (2, f"{two}: error: there are 2")


def test_verify_and_report_look_at_every_model(two: Path, capsys: Capture) -> None:
    pytest.importorskip("onnxruntime")
    models = (f"a={DIGITS}", f"b.={DIGITS}")  # `b` in C
    code, out, _ = call(capsys, "verify", *models, "--bundle", str(two), "--count", "2")
    assert code == 0
    assert [line for line in out.splitlines() if line.endswith(" passed")] == [
        "a: verification passed", "  self-test           passed",
        "b: verification passed", "  self-test           passed",
    ]  # fmt: skip
    code, out, _ = call(capsys, "report", str(two))
    assert code == 0
    assert out.count("verification: passed, 2 of 2 outputs bit-equal") == 2
    assert "\nmemory of 2 models in bytes, arenas shared: they run in turn\n" in out
    code, _, said = call(capsys, "verify", models[0], "--bundle", str(two))
    assert (code, said) == (
        2,
        f"{two}: error: the bundle has `a`, `b`; given are `a` [another-model]\n"
        "hint: name the files of all its models, `NAME=FILE` where a file is called otherwise\n",
    )
    code, _, said = call(capsys, "verify", models[0], models[0], "--bundle", str(two))
    assert (code, said) == (
        2,
        "command line: error: `digits_int8.onnx` and `digits_int8.onnx` are both called `a` [same-name]\n"
        "hint: give one of them another name: `NAME=FILE`\n",
    )
