"""Tuning from model to bundle: what is found is kept in a file, used by `compile`, and changes no bit."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.cli import main
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompiledModel, CompileRequest, compile_model
from target_arch.plan.model import Model
from target_arch.plan.tuning import (
    DEFINITION,
    NOTHING_TUNED,
    Tuning,
    TuningRecord,
    read_tuning,
    tuning_of,
    tuning_text,
)
from target_arch.relax.lower.operators import definition_of, lower_operator, signature_of
from target_arch.relax.lower.recorded_schedule import task_name
from target_arch.relax.tuning.search import Search
from target_arch.relax.tuning.tasks import function_of, task_of, tunable
from target_arch.run import verify, write_bundle
from target_arch.soc import read_soc
from target_arch.soc.schema.records import to_json
from target_arch.tune import TuneRequest, TuningReport, tune
from tests.backends.c.one import constant, one_operator, quantized
from tests.cli.closed_schema import require_described
from tests.e2e.conftest import DIGITS
from tests.slow import slow_except

REQUEST = CompileRequest(model_path=DIGITS, soc=read_soc("mcu_m7"), optimize="size")
"""Without kernels, every convolution and dense layer has a schedule."""


def conv2d() -> Model:
    return one_operator(
        "conv2d",
        "tflite",
        [quantized("x", (1, 6, 6, 4), 0.1, 3)],
        quantized("out", (1, 4, 4, 8), 0.2, 1),
        (
            constant(quantized("w", (8, 3, 3, 4), [0.01] * 8, 0), np.zeros((8, 3, 3, 4))),
            constant(quantized("b", (8,), 1.0, 0, "int32"), np.zeros(8)),
        ),
    )


MODEL = conv2d()


def record(**changes: object) -> TuningRecord:
    """A record of MODEL's operator, its schedule the third that the search proposes."""
    function = function_of(MODEL.operators[0], MODEL)
    search = Search(function, "conv2d", trials=4, batch=4, seed=3)
    trace = search.candidates()[2].trace
    made = TuningRecord(
        task=task_name(function, "conv2d"), what="conv2d", measured="nobody",
        rule=DEFINITION, choice=DEFINITION, baseline=2e-6, tuned=1e-6, scratch=0, trace=trace,
    )  # fmt: skip
    return evolve(made, **changes)


@pytest.fixture(scope="module")
def report() -> TuningReport:
    return tune(TuneRequest(compilation=REQUEST, trials=6))


@pytest.mark.slow
def test_the_report_states_every_task_and_the_total(report: TuningReport) -> None:
    kinds = [gain.task.rpartition("_")[0] for gain in report.gains]
    assert kinds
    assert all(gain.measured == 6 and 0 < gain.after <= gain.before for gain in report.gains)
    assert {each.task for each in report.tuning.records.values()} == {
        gain.task for gain in report.gains if gain.kept
    }
    text = str(report)
    assert text.startswith("measured by ")
    assert text.splitlines()[-1].startswith("total of these kernels: ")
    assert report.runners == 0
    require_described("tune", report.to_json())


def found(trials: int = 4) -> Tuning:
    """Records for every tunable kernel of the digits, whether better or not: the first candidate of each."""
    made = compile_model(REQUEST)
    records = {}
    for operator in made.model.operators:
        if operator.kind not in ("conv2d", "dense", "depthwise_conv2d"):
            continue
        function = function_of(operator, made.model)
        candidate = Search(function, operator.kind, trials=trials, batch=trials, seed=1).candidates()[-1]
        name = task_name(function, operator.kind)
        records[name] = record(task=name, trace=candidate.trace, scratch=sum(candidate.scratch))
    return tuning_of(records.values())


@pytest.fixture(scope="module")
def tuned() -> CompiledModel:
    return compile_model(evolve(REQUEST, tuning=found()))


@pytest.mark.slow
def test_a_tuned_bundle_computes_the_same_bits(tuned: CompiledModel, tmp_path: Path) -> None:
    write_bundle(tuned.bundle, tmp_path / "bundle")
    verification = verify(DIGITS, tmp_path / "bundle", count=10)
    assert verification.passed, str(verification)
    assert verification.self_test == "passed"
    used = {task for kernel in tuned.kernels.values() for task in kernel.tuned}
    others = tuned.request.tuning.records.keys() - used
    assert len(used) >= 3, "kernels of their own; the rest are one function with what follows them"
    assert to_json(tuned.manifest.tuning) == {"used": sorted(used), "unused": sorted(others)}


@pytest.mark.slow
def test_the_same_file_gives_the_same_bundle(tuned: CompiledModel, tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(tuning_text(tuned.request.tuning))
    again = compile_model(evolve(REQUEST, tuning=read_tuning(path)))
    assert again.bundle.files == tuned.bundle.files
    assert tuning_text(again.request.tuning) == path.read_text()
    plain = compile_model(REQUEST)
    assert plain.manifest.tuning is None
    assert plain.bundle.files != tuned.bundle.files


KERNELS = evolve(REQUEST, optimize="balanced")


def test_a_record_that_beat_another_code_changes_nothing(tuned: CompiledModel) -> None:
    """These records were measured beside the default schedule, which is slower than a kernel."""
    made = compile_model(evolve(KERNELS, tuning=tuned.request.tuning))
    assert made.manifest.tuning.used == ()
    plain = compile_model(KERNELS)
    assert {**made.bundle.files, "manifest.json": b""} == {**plain.bundle.files, "manifest.json": b""}


def choices() -> Mapping[str, tuple[str, ...]]:
    """What there is for each task of the digits that has a kernel."""
    made = compile_model(KERNELS)
    codes = {name: found for kernel in made.kernels.values() for name, found in kernel.choices.items()}
    operators = [each for each in made.model.operators if each.id in codes]
    return {task_of(each, made.model): codes[each.id] for each in operators}


def test_the_codes_of_operators() -> None:
    layouts = (f"s8_conv2d in {layout}" for layout in ("quads", "pairs", "chunks", "fours", "lines"))
    products = (*layouts, DEFINITION)
    assert set(choices().values()) == {products}, "the layout of `mcu_m7` first"


@pytest.mark.parametrize("turn", slow_except([], [1, 2, 3, 4, 5], by_hand=[1, 2, 3, 4]))
def test_every_code_computes_the_same_bits(turn: int, tmp_path: Path) -> None:
    wished = [record(task=task, rule=c[0], choice=c[turn], trace="") for task, c in choices().items()]
    made = compile_model(evolve(KERNELS, tuning=tuning_of(wished)))
    assert to_json(made.manifest.tuning) == {"used": sorted(choices()), "unused": []}
    write_bundle(made.bundle, tmp_path / "bundle")
    verification = verify(DIGITS, tmp_path / "bundle", count=10)
    assert verification.passed, str(verification)
    other = compile_model(KERNELS).bundle.files
    assert made.bundle.files != other


@pytest.mark.long
def test_kernels_are_tuned() -> None:
    report = tune(TuneRequest(compilation=KERNELS, trials=2))
    by_task = {gain.task: gain for gain in report.gains}
    for task, codes in choices().items():
        assert by_task[task].choice in codes
        assert by_task[task].measured >= len(codes) - 1
        assert by_task[task].refused == 0, "all have the bits of the rules' kernel"
    for task, kept in report.tuning.records.items():
        assert (kept.rule, kept.choice) == (choices()[task][0], by_task[task].choice)


def test_a_record_of_a_kernel_that_is_not_there() -> None:
    task, (rule, *_) = next(iter(choices().items()))
    wished = record(task=task, rule=rule, choice="s8_conv2d in dozens", trace="")
    with pytest.raises(DiagnosticError) as refusal:
        compile_model(evolve(KERNELS, tuning=tuning_of([wished])))
    assert str(refusal.value) == (
        f"tuning record {task}: error: there is no `s8_conv2d in dozens` in place of `{rule}` "
        "[stale-record]\n"
        "hint: tune again, or take the record out of the file"
    )


def test_a_record_changes_the_function_and_names_its_task() -> None:
    operator = MODEL.operators[0]
    plain = lower_operator(operator, MODEL)
    better = lower_operator(operator, MODEL, tuning_of([record()]))
    assert (plain.task, better.task) == (None, record().task)
    assert better.function.text != plain.function.text
    assert better.function.parameters == plain.function.parameters
    other = lower_operator(operator, MODEL, tuning_of([record(task="conv2d_0123456789abcdef")]))
    assert (other.task, other.function) == (None, plain.function)


def test_the_name_of_a_task_is_the_same_in_every_process() -> None:
    assert record().task == "conv2d_7c33fa4c13107574"


def test_reductions_alone_are_tuned() -> None:
    pool = one_operator(
        "max_pool2d", "tflite", [quantized("x", (1, 4, 4, 3), 0.1, 0)],
        quantized("out", (1, 2, 2, 3), 0.1, 0), kernel=(2, 2), strides=(2, 2),
    )  # fmt: skip
    relu = one_operator("relu", "tflite", [quantized("x", (1, 8), 0.1, 0)], quantized("out", (1, 8), 0.1, 0))
    assert tunable(function_of(pool.operators[0], pool))
    assert not tunable(function_of(relu.operators[0], relu))
    assert definition_of(signature_of(relu.operators[0], relu)).packed == ()


def test_a_record_whose_schedule_does_not_apply() -> None:
    trace = json.loads(record().trace)
    trace[0][0][1] = []
    trace[0][0][2] = ["no_such_block", "main"]
    stale = record(trace=json.dumps(trace))
    with pytest.raises(DiagnosticError) as refusal:
        lower_operator(MODEL.operators[0], MODEL, tuning_of([stale]))
    text = str(refusal.value)
    assert text.startswith(f"tuning record {stale.task}: error: its schedule does not apply: ")
    assert text.endswith("[stale-record]\nhint: tune again, or take the record out of the file")


HINT = "hint: `target-arch tune` writes such files"
WRONG = {
    "another file": ("[1]", [": error: is no tuning file [bad-tuning]"]),
    "keys": (
        tuning_text(tuning_of([record(task="a")])).replace('"what"', '"waht"'),
        [":13:4: error: unknown key `waht` [bad-tuning]"],
    ),
    "types": (
        tuning_text(tuning_of([record(task="a")])).replace('"scratch": 0', '"scratch": "much"'),
        [":9:15: error: `scratch` must be an integer, not text [bad-tuning]"],
    ),
    "no table": (
        tuning_text(Tuning()).replace("[]", "[7]"),
        [":3:14: error: `records[0]` must be a table, not an integer [bad-tuning]"],
    ),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_file_that_is_wrong(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(WRONG[name][0])
    with pytest.raises(DiagnosticError) as refusal:
        read_tuning(path)
    lines = str(refusal.value).splitlines()
    told = sorted(line.removeprefix(str(path)) for line in lines if line.startswith(str(path)))
    assert (told, lines[-1]) == (WRONG[name][1], HINT)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match=r"cannot be read: No such file or directory \[bad-tuning\]"):
        read_tuning(tmp_path / "tuning.json")


def test_a_foreign_file(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps({**json.loads(tuning_text(Tuning())), "tvm": "0.1"}))
    with pytest.raises(
        DiagnosticError, match=r"is foreign: tvm 0.1 wrote it, this is tvm 0.27.*foreign-tuning"
    ):
        read_tuning(path)


def test_nothing_to_tune() -> None:
    soc = read_soc("zynq_edge")
    with pytest.raises(DiagnosticError) as refusal:
        tune(TuneRequest(compilation=evolve(REQUEST, soc=soc), target_arch="accelerator"))
    assert str(refusal.value) == (
        "target_arch: error: model `digits_int8` has no kernel on `accelerator` to tune [nothing-to-tune]\n"
        "hint: there are some on `dsp_cpu`"
    )
    with pytest.raises(DiagnosticError) as refusal:
        tune(TuneRequest(compilation=REQUEST, target_arch="gpu"))
    assert str(refusal.value) == (
        "target_arch: error: SoC `mcu_m7` has no target_arch `gpu` [unknown-target-arch]\n"
        "hint: there are: `host_cpu`"
    )


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(tuning_text(tuning_of([record()])))
    arguments = ["compile", str(DIGITS), "--soc", "mcu_m7", "-o", str(tmp_path / "bundle")]
    assert main([*arguments, "--tuning-db", str(path)]) == 0
    note = f"{path}: note: record `{record().task}` chooses nothing in this compilation\n"
    assert note in capsys.readouterr().err
    assert main(["tune", str(DIGITS), "--soc", "mcu_m7", "--tracker", "here"]) == 2
    assert "`--tracker here` is not HOST:PORT or PORT [bad-tracker]" in capsys.readouterr().err
    assert main(["tune", str(DIGITS), "--soc", "mcu_m7", "--cc", "no-such-cc"]) == 3
    assert Tuning() == NOTHING_TUNED
