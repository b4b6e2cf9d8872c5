"""From a model file to printed plans, bundles and verification, as a user types it."""

import json
from pathlib import Path

import numpy as np
import pytest

from target_arch.cli import main
from target_arch.pipeline import CompileRequest, partition_model
from target_arch.resources import soc_configs
from target_arch.soc import read_soc
from tests.cli.commands.test_describe import call

DIGITS = str(Path(__file__).parents[3] / "examples" / "digits" / "digits_int8.onnx")
HELD_OUT = Path(DIGITS).with_name("heldout.npz")

MANIFEST_KEYS = {
    "schema", "name", "soc", "mode", "port", "abi_hash", "models", "pools", "image", "files",
}  # fmt: skip


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits model, compiled for zynq_edge."""
    folder = tmp_path_factory.mktemp("bundle") / "digits"
    assert main(["compile", DIGITS, "--soc", "zynq_edge", "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def image() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    with np.load(HELD_OUT) as data:
        return (data["images"][:1, None] / 16).astype(np.float32)


def test_partition_prints_a_reason_for_every_operator(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "partition", DIGITS, "--soc", "zynq_edge")
    assert code == 0
    assert all("cheapest" in line or "only" in line for line in out.splitlines()[2:-1])
    assert out.splitlines()[-1].startswith("expected run, before lowering: ")


def test_a_limit_that_a_run_misses_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    _, missed, _ = call(capsys, "partition", DIGITS, "--soc", "zynq_edge", "--within", "100us")
    assert "expected run, before lowering: 123 us; " in missed
    assert missed.endswith("; to take 100 us at most, which a run misses by 22.8 us\n")
    _, kept, _ = call(capsys, "partition", DIGITS, "--soc", "zynq_edge", "--within", "1ms")
    assert kept.endswith("; to take 1 ms at most\n")


def test_partitions_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "partition", DIGITS, "--soc", "zynq_edge", "--format=json")
    assert code == 0
    found = json.loads(out)
    assert {"id", "target_arch", "instance", "operators", "reason"} == set(found["partitions"][0])
    assert found["execution"]["bound"] <= found["execution"]["makespan"]
    assert found["placement"]["search_bound"] <= found["placement"]["search_makespan"]


@pytest.fixture(scope="module")
def operators() -> dict[str, str]:
    """The first operator of each kind in the digits model: kind → id."""
    graph = partition_model(CompileRequest(model_path=Path(DIGITS), soc=read_soc("mcu_m55")))
    return {operator.kind: operator.id for operator in reversed(graph.model.operators)}


def test_explain_one_operator(capsys: pytest.CaptureFixture[str], operators: dict[str, str]) -> None:
    conv = operators["conv2d"]
    code, out, _ = call(capsys, "explain", DIGITS, "--soc", "zynq_edge", conv, "--format=json")
    assert code == 0
    (choice,) = json.loads(out)
    assert choice["operator"] == conv
    refused = {candidate["instance"]: candidate["refusal"] for candidate in choice["candidates"]}
    assert refused["host_cpu"] is None
    assert "kernel" in refused["accelerator"] or "pointwise" in refused["accelerator"]
    keys = {"instance", "refusal", "run", "seconds", "measured", "joules", "change"}
    assert all(set(candidate) == keys for candidate in choice["candidates"])
    changes = {candidate["instance"]: candidate["change"] for candidate in choice["candidates"]}
    assert changes[choice["instance"]] is None
    assert changes["host_cpu"].startswith("if its compute fell from ")
    assert changes["accelerator"] is None
    for seconds in (candidate["seconds"] for candidate in choice["candidates"] if candidate["seconds"]):
        assert seconds["total"] == pytest.approx(seconds["compute"] + seconds["copy"])


def test_explain_knows_its_operators(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "explain", DIGITS, "--soc", "zynq_edge", "conv2d_44", "ad_3")
    assert (code, out) == (2, "")
    assert err == (
        "explain: error: model `digits_int8` has no operator `conv2d_44` [unknown-operator]\n"
        "hint: did you mean `conv2d_4`?\n"
        "\n"
        "explain: error: model `digits_int8` has no operator `ad_3` [unknown-operator]\n"
        "hint: did you mean `add_3`?\n"
    )


def test_a_kind_that_the_model_lacks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """On the command line it is an error; a SoC file is for many models."""
    code, out, err = call(capsys, "partition", DIGITS, "--soc", "zynq_edge", "--require", "softmax=dsp_cpu")
    assert (code, out) == (2, "")
    assert err == (
        "rule `require softmax = dsp_cpu`: error: the model has no operator and no kind of operator "
        "`softmax` [unknown-operator]\n"
        "hint: known here: `*`, `add`, `add_3`, `avg_pool2d`, `avg_pool2d_6`, `conv2d`, `conv2d_1`, "
        "`conv2d_2`, `conv2d_4`, `conv2d_5`, `dense`, `dense_7`, `dense_8`, `dequantize`, `dequantize_9`, "
        "`quantize`, `quantize_0`\n"
    )
    file = tmp_path / "general.toml"
    text = (soc_configs() / "zynq_edge.toml").read_text()
    assert text.count("[partitioning]\n") == 1
    file.write_text(text.replace("[partitioning]\n", '[partitioning]\nrequire = { softmax = "dsp_cpu" }\n'))
    assert call(capsys, "partition", DIGITS, "--soc", str(file))[0] == 0


def test_values_between_stages_are_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    both = ("--dump", "memory", "--format=json", "-o", str(tmp_path / "out"))
    code, out, err = call(capsys, "compile", DIGITS, "--soc", "mcu_m7", *both)
    assert code == 2
    assert [each["rule"] for each in json.loads(out)["diagnostics"]] == ["bad-format"]
    assert err == (
        "command line: error: `--dump` prints text, `--format=json` is for programs [bad-format]\n"
        "hint: the manifest has all of it; leave one of them out\n"
    )
    assert not (tmp_path / "out").exists()


def test_a_partitioning_order_beside_targets(capsys: pytest.CaptureFixture[str]) -> None:
    both = ("--target=accelerator,dsp_cpu", "--partitioning-order=dsp_cpu")
    assert call(capsys, "partition", DIGITS, "--soc", "zynq_edge", *both)[0] == 0


def test_wishes_are_honoured(capsys: pytest.CaptureFixture[str], operators: dict[str, str]) -> None:
    add, conv = operators["add"], operators["conv2d"]
    wishes = ("--require", f"{add}=dsp_cpu", "--forbid", f"{conv}=fpga_conv2d", "--format=json")
    code, out, _ = call(capsys, "partition", DIGITS, "--soc", "zynq_edge", *wishes)
    assert code == 0
    places = {
        operator: part["instance"] for part in json.loads(out)["partitions"] for operator in part["operators"]
    }
    assert places[add] == "dsp_cpu"
    assert places[conv] != "fpga_conv2d"


def test_the_report_tells_the_energy_that_compile_tells(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    costs, out = tmp_path / "costs.json", str(tmp_path / "out")
    measured = {"add": {"time": "5 us", "energy": "3 uJ"}}
    costs.write_text(json.dumps({"schema": 1, "operators": {"dsp_cpu": measured}}))
    _, said, _ = call(capsys, "compile", DIGITS, "--soc", "zynq_edge", "--cost", str(costs), "-o", out)
    (run,) = (line for line in said.splitlines() if line.startswith("simulated run: "))
    assert run.endswith("; energy of operators (1): 3 uJ")
    assert run in call(capsys, "report", out)[1].splitlines()


def test_a_requirement_of_what_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    both = ("--target", "dsp_cpu", "--require", "conv2d_5=accelerator")
    assert call(capsys, "partition", DIGITS, "--soc", "zynq_edge", *both) == (
        2,
        "",
        "operator conv2d_5 (conv4): error: a rule requires `conv2d` on `accelerator`, which refuses it: "
        "`accelerator`: it is not among the chosen targets [placement-not-honoured]\n"
        "hint: drop the rule, or require a target that supports the operator\n",
    )


def test_targets_restrict(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(
        capsys, "partition", DIGITS, "--soc", "zynq_edge", "--target=accelerator", "--format=json"
    )
    assert code == 0
    assert {part["target_arch"] for part in json.loads(out)["partitions"]} == {"accelerator", "host_cpu"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--require", "add_4"), "command line: error: `add_4` is not OPERATOR=TARGET [bad-wish]"),
        (("--require", "=add_4"), "command line: error: `=add_4` is not OPERATOR=TARGET [bad-wish]"),
        (
            ("--partitioning-order", "npu"),
            "order: error: `zynq_edge` has no target_arch `npu` [unknown-target]",
        ),
        (
            ("--partitioning-order", "dsp_cpu,dsp_cpu"),
            "order: error: the partitioning order names `dsp_cpu` twice [repeated-name]",
        ),
        (
            ("--require", "add_4=dsp"),
            "command line: error: SoC `zynq_edge` has no target_arch `dsp` [unknown-target-arch]",
        ),
        (("--mode", "fast"), "mode: error: `zynq_edge` has no memory mode `fast` [unknown-mode]"),
        (
            ("--require", "add_4=dsp_cpu", "--require", "add_4=host_cpu"),
            "command line: error: operator `add_4` is wanted on `dsp_cpu` and on `host_cpu` [bad-wish]",
        ),
    ],
)
def test_wishes_that_cannot_be(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = call(capsys, "partition", DIGITS, "--soc", "zynq_edge", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(said)


def described(folder: Path, costs: str) -> str:
    """A SoC file in that folder that names a cost file."""
    text = (soc_configs() / "zynq_edge.toml").read_text()
    (folder / "soc.toml").write_text(f'{text}\n[cost]\nfile = "costs.json"\n')
    (folder / "costs.json").write_text(costs)
    return str(folder / "soc.toml")


def test_the_cost_file_of_a_soc_file_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What was measured counts, and the load process is what the file says it is."""
    costs = {
        "schema": 1,
        "operators": {"fpga_conv2d": {"conv2d_4": "90 ms"}},
        "loads": {
            "accelerator": {"bytes": "3 KiB", "time": "2 s"},
            "dsp_cpu": {"bytes": "2 KiB", "time": "1 s"},
        },
    }
    soc = described(tmp_path, json.dumps(costs))
    code, out, _ = call(capsys, "explain", DIGITS, "--soc", soc, "conv2d_4")
    assert code == 0
    assert "  fpga_conv2d: compute 90 ms (measured), " in out
    code, out, _ = call(capsys, "partition", DIGITS, "--soc", soc, "--target", "dsp_cpu,host_cpu")
    assert code == 0
    assert "; before the first run 1 s to load 2,048 B\n" in out
    folder = tmp_path / "out"
    assert (
        call(capsys, "compile", DIGITS, "--soc", soc, "--target", "dsp_cpu,host_cpu", "-o", str(folder))[0]
        == 0
    )
    assert "; before the first run 1 s to load 2,048 B\n" in call(capsys, "report", str(folder))[1]


def test_a_mistake_in_the_cost_file_has_its_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described(tmp_path, '{\n "schema": 1,\n "loads": {"dsp_cpu": {"time": "1 sec"}}\n}\n')
    monkeypatch.chdir(tmp_path)
    assert call(capsys, "partition", DIGITS, "--soc", "soc.toml") == (
        2,
        "",
        "costs.json:3:32: error: `sec` is no unit of time [bad-unit]\n"
        '    3 |  "loads": {"dsp_cpu": {"time": "1 sec"}}\n'
        "      |                                ^^^^^^^\n"
        "hint: units are: `ms`, `ns`, `s`, `us`\n",
    )


def test_compile_for_programs_is_the_manifest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    code, out, _ = call(
        capsys, "compile", DIGITS, "--soc", "mcu_m55", "-o", str(folder), "--name", "mine", "--format=json"
    )
    assert code == 0
    assert json.loads(out) == json.loads((folder / "manifest.json").read_text())
    assert set(json.loads(out)) >= MANIFEST_KEYS
    assert (folder / "include" / "mine.h").is_file()


def test_dumps_print_the_values_between_stages(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(
        capsys, "compile", DIGITS, "--soc", "mcu_m55", "-o", str(tmp_path / "out"), "--dump", "all"
    )
    assert code == 0
    headings = (
        "model digits_int8",
        "partitions: ",
        "lowering order: c-first",
        "memory plan in bytes",
        "steps: ",
    )
    assert [heading for heading in headings if heading not in out] == []


def test_report_tells_the_manifest(capsys: pytest.CaptureFixture[str], bundle: Path) -> None:
    code, out, _ = call(capsys, "report", str(bundle))
    assert code == 0
    assert out.startswith("digits_int8 fits: ")
    assert out.splitlines()[1].startswith("digits_int8 on zynq_edge, mode default, ABI hash 0x")
    assert "; before the first run 15 ms to load 2,162,688 B\n" in out
    assert "budgets of the accelerators in bytes\n" in out
    assert "verification: " in out


def test_verify_a_bundle(capsys: pytest.CaptureFixture[str], bundle: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[verify]'")
    code, out, _ = call(capsys, "verify", DIGITS, "--bundle", str(bundle), "--count=3")
    assert code == 0
    assert out.startswith("verification passed\n")
    assert call(capsys, "report", str(bundle))[1].rstrip().splitlines()[-1].startswith("verification: passed")
    found = call(capsys, "verify", DIGITS, "--bundle", str(bundle), "--count=1", "--format=json")[1]
    assert {name: each["passed"] for name, each in json.loads(found).items()} == {"digits_int8": True}


def test_run_on_an_image(
    capsys: pytest.CaptureFixture[str],
    bundle: Path,
    tmp_path: Path,
    image: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> None:
    np.save(tmp_path / "image.npy", image)
    (tmp_path / "image.bin").write_bytes(image.tobytes())
    first = call(capsys, "run", str(bundle), "--input", str(tmp_path / "image.npy"), "--format=json")
    second = call(
        capsys,
        "run",
        str(bundle),
        "--input",
        str(tmp_path / "image.bin"),
        "--format=json",
        "-o",
        str(tmp_path),
    )
    assert first == second
    logits = json.loads(first[1])["logits"]
    with np.load(HELD_OUT) as data:
        assert int(np.argmax(logits)) == data["labels"][0]
    assert np.load(tmp_path / "logits.npy").tolist() == logits


def test_run_without_input_is_the_self_test(capsys: pytest.CaptureFixture[str], bundle: Path) -> None:
    code, out_text, err = call(capsys, "run", str(bundle))
    assert (code, err) == (0, "")
    assert out_text.startswith("self-test passed: its own input on port `host`, compared with ")


@pytest.fixture
def wrong_inputs(tmp_path: Path) -> dict[str, tuple[str, ...]]:
    np.save(tmp_path / "double.npy", np.zeros((1, 1, 8, 8)))
    np.save(tmp_path / "last.npy", np.zeros((1, 8, 8, 1), np.float32))
    (tmp_path / "short.bin").write_bytes(b"1234")
    (tmp_path / "text.npy").write_text("not an array")
    return {
        "input `image` is float32[1, 1, 8, 8], given is float64[1, 1, 8, 8]": (str(tmp_path / "double.npy"),),
        'hint: convert it: `array.astype("float32")`': (str(tmp_path / "double.npy"),),
        "input `image` is float32[1, 1, 8, 8], given is float32[1, 8, 8, 1]": (str(tmp_path / "last.npy"),),
        "has 4 B, input `image` takes 256 B": (str(tmp_path / "short.bin"),),
        "is not an .npy file": (str(tmp_path / "text.npy"),),
        "cannot be read: No such file or directory": (str(tmp_path / "absent.bin"),),
        "there are 1 inputs (`image`), 2 files are given": ("a", "b"),
    }


def test_inputs_that_do_not_fit(
    capsys: pytest.CaptureFixture[str], bundle: Path, wrong_inputs: dict[str, tuple[str, ...]]
) -> None:
    for said, files in wrong_inputs.items():
        given = [argument for file in files for argument in ("--input", file)]
        code, out, err = call(capsys, "run", str(bundle), *given)
        assert (code, out) == (2, "")
        assert said in err


def test_phases_have_lowering_orders_of_their_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    orders = ("--lowering-order", "c-first", "--lowering-order", "s-tir=program")
    out_folder = str(tmp_path / "out")
    code, out, _ = call(
        capsys, "compile", DIGITS, "--soc", "zynq_edge", *orders, "--dump", "lowering", "-o", out_folder
    )
    assert code == 0
    assert out.startswith(
        "lowering order: graph: c-first, s-tir: program, ns-tir: c-first, codegen: c-first\n"
    )


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        (
            ("s-tir=program", "s-tir=p0,p1"),
            "command line: error: phase `s-tir` has two orders: `program` and `p0,p1` [contradictory-order]\n"
            "hint: say `--lowering-order` once for each\n",
        ),
        (
            ("program", "c-first"),
            "command line: error: lowering has two orders: `program` and `c-first` [contradictory-order]\n"
            "hint: say `--lowering-order` once for each\n",
        ),
        (
            ("stir=program",),
            "lowering order: error: there is no phase `stir` [unknown-phase]\nhint: did you mean `s-tir`?\n",
        ),
    ],
)
def test_lowering_orders_that_cannot_be(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, orders: tuple[str, ...], said: str
) -> None:
    given = [word for order in orders for word in ("--lowering-order", order)]
    code, _, err = call(capsys, "compile", DIGITS, "--soc", "mcu_m7", *given, "-o", str(tmp_path / "out"))
    assert code == 2
    assert err.endswith(said)
