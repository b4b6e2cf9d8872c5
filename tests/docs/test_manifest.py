"""docs/manifest.md has a table for every part of a manifest, and each table exactly the keys there are."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from target_arch.emit import manifest
from target_arch.emit.digests import with_files
from target_arch.plan.execution import Activity, ActivityKind, Execution
from target_arch.plan.goal import Goal
from target_arch.plan.inputs.shapes import InputShapes
from target_arch.plan.kernels import Library
from target_arch.plan.lowered import Attempt
from target_arch.plan.memory import Budget, PoolBudget
from target_arch.plan.model import State
from target_arch.plan.partitions import PlacementFacts
from target_arch.plan.steps import StateBuffers
from target_arch.plan.tuning import TuningRecord, tuning_of
from target_arch.run import Verification
from target_arch.run.bundles.manifest import facts_of_models
from target_arch.run.executables.firmware import FirmwareImage
from target_arch.run.executables.image import Fill, Image, OutputSection
from target_arch.run.executables.stack_depth import Depth
from target_arch.soc.cores import CORES
from tests import tiny_plans
from tests.systems import QEMU_MPS2

PAGE = Path(__file__).parents[2] / "docs" / "manifest.md"
KEY_CELL = re.compile(r"^\| (`.*?`) \|", re.MULTILINE)


def documented(chapter: str) -> dict[str, set[str]]:
    """The keys of each table, by the part that its heading names, in the chapter that begins so; that before
    the first such heading has an empty name.
    """
    found: dict[str, set[str]] = {}
    (text,) = (
        each for each in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE) if each.startswith(chapter)
    )
    for number, section in enumerate(re.split(r"^### ", text, flags=re.MULTILINE)):
        heading = "" if number == 0 else section.partition("\n")[0]
        keys = {key for cell in KEY_CELL.findall(section) for key in re.findall(r"`(\w+)`", cell)}
        for part in re.findall(r"`(\w+)", heading) or [""]:
            found[part] = keys
    return found


@pytest.fixture(scope="module")
def complete() -> dict[str, Any]:
    """A manifest of which no part is empty, as a program reads it."""
    inputs = tiny_plans.on_dsp()
    offered = PoolBudget(memory="tcm", live=0, remaining=1024, guaranteed=1024, used=48)
    found = Verification(
        reference="r",
        rule="r",
        seed=0,
        frames=1,
        outputs=1,
        equal=1,
        equal_to="",
        largest=0.0,
        allowed=0.0,
        self_test="passed",
    )
    span = Activity(step=0, kind=ActivityKind.RUN, what="add0", where="dsp", start=0.0, end=1e-6)
    facts = PlacementFacts(method="m", search_makespan=1e-6, search_bound=1e-6)
    (member,) = inputs.members
    tensor, buffer = member.lowered.steps.inputs[0]
    lowered, library = member.lowered, Library(name="l", include=("include",), sources=("l.c",))
    buffers = tuple(
        evolve(each, caller=tensor if each.name == buffer else "") for each in lowered.steps.buffers
    )
    record = TuningRecord(
        task="conv2d_0", what="w", measured="m", rule="r", choice="c",
        baseline=2.0, tuned=1.0, scratch=0, trace="[]",
    )  # fmt: skip
    made = manifest(
        tiny_plans.changed(
            inputs,
            soc=evolve(inputs.soc, ports=(tiny_plans.port(),)),
            goal=Goal.SIZE,
            port=QEMU_MPS2,
            graph=evolve(lowered.graph, facts=facts),
            model=evolve(member.model, states=(State(tensor=tensor, next="y"),)),
            steps=evolve(
                lowered.steps,
                states=(StateBuffers(tensor=tensor, now=buffer, next=buffer),),
                buffers=buffers,
            ),
            kernels={"p0": evolve(lowered.kernels["p0"], libraries=(library,), tuned=("conv2d_0",))},
            budgets=(Budget(partition="p0", sites={"add0": (offered,)}),),
            execution=Execution(makespan=1e-6, bound=1e-6, alone=1e-6, overlap="o", spans=(span,)),
            attempts=(
                Attempt(kind="re-place", operator="a", instance="npu", reason="r", outcome="on `dsp`"),
            ),
            tuning=tuning_of((record,)),
            input_shapes=InputShapes(batch=1),
        )
    )
    image = Image(
        stack=Depth(bytes=1, path=("main",), unknown=()),
        reserved=64,
        parts=(OutputSection(section=".text", memory="flash", what="code", predicted=1, linked=1),),
        fills=(Fill(memory="flash", capacity=4096, predicted=1, linked=1),),
        libraries=(),
    )
    firmware = FirmwareImage(
        target_arch="dsp",
        core=CORES["hexagon"],
        path=Path("dsp.elf"),
        boot=Path("boot.elf"),
        parts=(OutputSection(section=".stack", memory="tcm", what="stack", predicted=64, linked=64),),
        fill=Fill(memory="tcm", capacity=4096, predicted=64, linked=64),
        stack=image.stack,
        description={"functions": ["add0"]},
    )
    built = {"image": image.to_json(), "firmware": [firmware.to_json()]}
    of_models = facts_of_models(made, {member.name: {"verification": found.to_json()}})
    read: dict[str, Any] = json.loads(
        json.dumps(with_files({**made, **of_models, **built}, {"Makefile": b""}))
    )
    return read


def test_the_top_level(complete: dict[str, Any]) -> None:
    assert documented("# The manifest")[""] == complete.keys()


def test_every_part_of_the_bundle_has_a_table_with_its_keys(complete: dict[str, Any]) -> None:
    parts = {key: value for key, value in complete.items() if key not in ("files", "models")}
    require_tables("Of the bundle", parts, beside={"", "files"})


def test_each_model_has_a_table_and_its_parts_too(complete: dict[str, Any]) -> None:
    (model,) = complete["models"]
    assert documented("Each model")[""] == model.keys()
    require_tables("Each model", model, beside={""})


def require_tables(chapter: str, found: dict[str, Any], beside: set[str]) -> None:
    """Every part of these values has a table in the chapter, and nothing else but those `beside`."""
    tables = documented(chapter)
    parts = {key: value for key, value in found.items() if isinstance(value, list | dict)}
    assert tables.keys() - beside == parts.keys()
    for part, value in parts.items():
        entries = value if isinstance(value, list) else list(value.values()) if part == "pools" else [value]
        assert entries, part
        for entry in entries:
            assert entry.keys() == tables[part], part


def test_the_words_of_buffers_and_steps(complete: dict[str, Any]) -> None:
    text, (model,) = PAGE.read_text(), complete["models"]
    words = {entry["kind"] for entry in (*model["buffers"], *model["steps"])}
    assert [word for word in sorted(words) if f"`{word}`" not in text] == []
