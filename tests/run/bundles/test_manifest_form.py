"""Manifests are read only if they have what readers need; every fault is shown at its place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.run import read_manifest
from target_arch.run.bundles.contents import claims_of
from tests import tiny_plans

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def manifest() -> str:
    return tiny_plans.bundle(tiny_plans.on_dsp()).files["manifest.json"].decode()


def refusals(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(DiagnosticError) as caught:
        read_manifest(folder)
    return [(each.rule, each.message) for each in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["models"][0].pop("steps"), "`models[0]` lacks `steps`"),
        (lambda m: m["models"][0].update(steps=7), "`steps` must be a list, not an integer"),
        (lambda m: m["models"][0]["steps"][0].update(kind="jump"), "`kind` cannot be `jump`"),
        (lambda m: m["models"][0]["partitions"].append(None), "`partitions[1]` must be a table, not null"),
        (lambda m: m["models"][0].update(execution={"alone": -1}), "`alone` must not be negative"),
        (
            lambda m: m["models"][0].update(execution=RUN),
            "it takes 700 us, and its lower bound is 702 us",
        ),
        (lambda m: m["models"][0]["inputs"][0].update(bytes=1), "`x:0` has 1 B, its shape and type need 8 B"),
        (lambda m: m["models"][0]["inputs"][0].update(dtype="object"), "`dtype` cannot be `object`"),
        (
            lambda m: m["files"].update({"src/../../a.c": "0"}),
            "`src/../../a.c` is no path inside of this folder",
        ),
        (lambda m: m.update(machine=MACHINE), "`compiler` is missing"),
        (lambda m: m.pop("models"), "this file lacks `models`"),
        (lambda m: m["models"].clear(), "`models` has none"),
        (lambda m: m["models"].append(m["models"][0]), "two of `models` have one name"),
        (lambda m: m["pools"]["tcm"]["peaks"].clear(), "`tiny-add` is missing"),
    ],
)
def test_what_readers_need(tmp_path: Path, manifest: str, change: Change, message: str) -> None:
    value = json.loads(manifest)
    change(value)
    assert ("bad-manifest", message) in refusals(tmp_path, json.dumps(value))


RUN = {
    "makespan": 700e-6, "bound": 700e-6, "gap": 0.0, "division_bound": 702e-6, "busy": 1.0, "instances": 2,
    "alone": 700e-6, "undivided": 0.0, "copied": 0.0, "filling": 0.0,
    "overlap": "", "entries": [], "waits": [],
}  # fmt: skip
MACHINE = {"name": "m", "code": "c", "data": "d", "stack": 1, "memories": []}


def test_all_faults_at_once_with_their_places(tmp_path: Path, manifest: str) -> None:
    value = json.loads(manifest)
    value["models"][0]["inputs"][0]["name"] = 1
    del value["models"][0]["steps"][0]["what"]
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(value, indent=1))
    with pytest.raises(DiagnosticError) as caught:
        read_manifest(tmp_path)
    lines = str(caught.value).splitlines()
    line = 1 + path.read_text().splitlines().index('     "name": 1,')
    assert lines[:4] == [
        f"{path}:{line}:14: error: `name` must be text, not an integer [bad-manifest]",
        f'{line:5} |      "name": 1,',
        "      |              ^",
        "hint: compile the model again",
    ]
    assert lines[5].endswith("error: `models[0].steps[0]` lacks `what` [bad-manifest]")


@pytest.mark.parametrize(
    ("schema", "found"), [(1, "schema 1"), (3, "schema 3"), ("2", "schema '2'"), (None, "no schema")]
)
def test_another_schema_is_refused(tmp_path: Path, manifest: str, schema: object, found: str) -> None:
    value = json.loads(manifest) | {"schema": schema}
    if schema is None:
        del value["schema"]
    (tmp_path / "manifest.json").write_text(json.dumps(value))
    with pytest.raises(DiagnosticError) as caught:
        read_manifest(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: error: its manifest has {found}, and this version of target-arch reads schema 2 "
        "[another-schema]\nhint: compile the model again, with this version"
    )


def test_new_keys_are_accepted(tmp_path: Path, manifest: str) -> None:
    value = json.loads(manifest) | {"new": [{}]}
    (tmp_path / "manifest.json").write_text(json.dumps(value))
    assert read_manifest(tmp_path).name == "tiny-add"


@pytest.mark.parametrize(
    "journal", ["", "[]", "7", '{"a": 1}', '{"a": [1]}', "[" * 100_000, '{"../a": ["0"]}']
)
def test_a_damaged_journal_claims_nothing(tmp_path: Path, journal: str) -> None:
    (tmp_path / ".target_arch-replacing").mkdir()
    (tmp_path / ".target_arch-replacing" / "journal.json").write_text(journal)
    assert claims_of(tmp_path).keys() <= {"manifest.json"}
