"""Workload files: what they say, and every mistake at its place, all at once."""

from pathlib import Path

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.workloads.workload import Overload, Schedule, Timing, Workload, WorkloadPlacement
from target_arch.plan.workloads.workload_file import parse_workload, read_workload

_MS = 10**9

TWO = """schema = 1
margin = 0.5
overhead = "2 us"

[model.kws]
file = "kws.tflite"
period = "33 ms"
deadline = "30 ms"
offset = "1 ms"
jitter = "500 us"
overload = "drop_oldest"

[model.vww]
file = "vww.tflite"
on = "demand"
period = "66 ms"
longest_step = "400 us"
"""


def workload(text: str, folder: Path) -> Workload:
    for name in ("kws", "vww"):
        (folder / f"{name}.tflite").touch()
    file = folder / "two.toml"
    file.write_text(text)
    return read_workload(file)


def test_a_workload(tmp_path: Path) -> None:
    made = workload(TWO, tmp_path)
    assert (made.name, made.schedule, made.margin, made.overhead) == (
        "two",
        Schedule.PRIORITIES,
        0.5,
        2_000_000,
    )
    kws, vww = made.models
    assert (kws.name, kws.file) == ("kws", tmp_path / "kws.tflite")
    assert kws.timing == Timing(
        period=33 * _MS,
        deadline=30 * _MS,
        offset=_MS,
        jitter=_MS // 2,
        priority=2,
        overload=Overload.DROP_OLDEST,
    )
    assert vww.timing == Timing(period=66 * _MS, deadline=66 * _MS, priority=1, demand=True)
    assert [each.timing.places for each in made.models] == [2, 1]
    assert [each.longest_step for each in made.models] == [None, 400_000_000]


def test_models_may_be_placed_together(tmp_path: Path) -> None:
    text = TWO.replace("margin", 'placement = "together"\nmargin')
    assert workload(TWO, tmp_path).placement is WorkloadPlacement.ALONE
    assert workload(text, tmp_path).placement is WorkloadPlacement.TOGETHER


def test_given_priorities_stay(tmp_path: Path) -> None:
    text = TWO.replace('period = "33 ms"', 'period = "33 ms"\npriority = 3')
    made = workload(text.replace('on = "demand"', "priority = 9"), tmp_path)
    assert [each.timing.priority for each in made.models] == [3, 9]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "schema = 1",
            "schema = 2",
            """two.toml:1:10: error: this file has no `schema` that is read here [schema-version]
    1 | schema = 2
      |          ^
hint: this version reads `schema = 1`""",
        ),
        (
            'deadline = "30 ms"',
            'deadline = "40 ms"',
            """two.toml:8:12: error: `deadline` is longer than `period`, and no job may wait [bad-timing]
    8 | deadline = "40 ms"
      |            ^^^^^^^
hint: write `overload = "queue"`""",
        ),
        (
            'deadline = "30 ms"\noffset = "1 ms"\njitter = "500 us"\noverload = "drop_oldest"',
            'deadline = "300 ms"\noverload = "queue"',
            """two.toml:8:12: error: `deadline` is more than 8 periods, and no more jobs may wait [bad-timing]
    8 | deadline = "300 ms"
      |            ^^^^^^^^""",
        ),
        (
            'jitter = "500 us"',
            'jitter = "30 ms"',
            """two.toml:10:10: error: `jitter` must be shorter than the deadline [bad-timing]
   10 | jitter = "30 ms"
      |          ^^^^^^^""",
        ),
        (
            'period = "66 ms"',
            'period = "66.0005 ms"',
            """two.toml:16:10: error: `period` must be a whole number of microseconds [bad-timing]
   16 | period = "66.0005 ms"
      |          ^^^^^^^^^^^^
hint: the runtime counts them""",
        ),
        (
            'on = "demand"',
            'on = "demand"\noffset = "1 ms"',
            """two.toml:16:10: error: `offset` means nothing on demand: the program says when [bad-timing]
   16 | offset = "1 ms"
      |          ^^^^^^""",
        ),
        (
            "margin = 0.5",
            'margin = 0.5\nschedule = "table"',
            """two.toml:16:6: error: a table has no time for what comes on demand [bad-timing]
   16 | on = "demand"
      |      ^^^^^^^^
hint: write `schedule = "priorities"`""",
        ),
        (
            'on = "demand"',
            "priority = 1",
            """two.toml:5:8: error: `kws` has no `priority`, and others have one [bad-timing]
    5 | [model.kws]
      |        ^^^
hint: give one to all, or to none: then a shorter deadline goes first""",
        ),
        (
            "margin = 0.5",
            "margin = -1",
            """two.toml:2:10: error: `margin` must be from 0 to 100 [out-of-range]
    2 | margin = -1
      |          ^^""",
        ),
        (
            "margin = 0.5",
            'margin = "much"',
            """two.toml:2:10: error: `margin` must be a number, not text [wrong-type]
    2 | margin = "much"
      |          ^^^^^^""",
        ),
        (
            'file = "vww.tflite"',
            'file = "vww.onnx"',
            """two.toml:14:8: error: there is no file `vww.onnx` [model-not-found]
   14 | file = "vww.onnx"
      |        ^^^^^^^^^^""",
        ),
    ],
)
def test_mistakes(
    before: str, after: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("kws", "vww"):
        Path(f"{name}.tflite").touch()
    assert before in TWO
    with pytest.raises(DiagnosticError) as caught:
        parse_workload(TWO.replace(before, after), "two.toml")
    assert str(caught.value) == said


def test_a_model_that_is_no_table() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_workload('schema = 1\n[model]\nkws = "kws.tflite"\n', "none.toml")
    assert str(caught.value) == (
        "none.toml:3:7: error: `kws` must be a table, not text [wrong-type]\n"
        '    3 | kws = "kws.tflite"\n'
        "      |       ^^^^^^^^^^^^"
    )


def test_a_name_that_is_too_long_for_a_file() -> None:
    text = f'schema = 1\n[model.kws]\nfile = "{"x" * 300}"\nperiod = "1 s"\n'
    with pytest.raises(DiagnosticError) as caught:
        parse_workload(text, "none.toml")
    said = f"none.toml:3:8: error: there is no file `{'x' * 300}` [model-not-found]"
    assert str(caught.value).splitlines()[0] == said


def test_a_file_without_models() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_workload("schema = 1\n[model]\n", "none.toml")
    assert str(caught.value) == (
        "none.toml:2:2: error: the file names no model [no-models]\n"
        "    2 | [model]\n"
        "      |  ^^^^^\n"
        "hint: `[model.NAME]` with `file = …`"
    )
