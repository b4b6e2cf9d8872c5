"""The bill of materials, licences in files and the trace of a bundle."""

import hashlib
import json

import pytest
from attrs import evolve

from target_arch.emit.build.build_files import MAINS
from target_arch.emit.packages.supply import GENERATED_LICENCE, SBOM, TRACE, model_hash, tagged
from tests import tiny_plans

TAG = "SPDX-License-Identifier: "


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return dict(tiny_plans.bundle(tiny_plans.on_dsp()).files)


def test_every_file_is_listed_with_its_hash(files: dict[str, bytes]) -> None:
    bill = json.loads(files[SBOM])
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    pending, listed = list(bill["components"]), {}
    while pending:
        each = pending.pop()
        pending += each.get("components", ())
        if each["type"] == "file":
            listed[each["name"]] = each["hashes"][0]["content"]
    later = {SBOM, TRACE, "manifest.json"}
    assert listed == {
        path: hashlib.sha256(content).hexdigest() for path, content in files.items() if path not in later
    }


def test_the_bill_follows_the_schema_of_cyclonedx(files: dict[str, bytes]) -> None:
    """The schema is CycloneDX's own, which its library has."""
    pytest.importorskip(
        "cyclonedx.validation.json", reason="pip install 'cyclonedx-python-lib[json-validation]'"
    )
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    validator = JsonStrictValidator(SchemaVersion.V1_5)
    assert validator.validate_str(files[SBOM].decode()) is None
    wrong = json.loads(files[SBOM])
    wrong["components"][0]["type"] = "program"
    assert validator.validate_str(json.dumps(wrong)) is not None


def test_the_origin_is_there(files: dict[str, bytes]) -> None:
    inputs = tiny_plans.on_dsp()
    properties = {each["name"]: each["value"] for each in json.loads(files[SBOM])["metadata"]["properties"]}
    assert properties["target_arch:model_sha256"] == model_hash(inputs.members[0])
    assert properties.keys() == {
        "target_arch:model_sha256", "target_arch:soc_sha256", "target_arch:tool_version",
    }  # fmt: skip
    abi = json.loads(files["manifest.json"])["abi_hash"]
    assert properties["target_arch:soc_sha256"].startswith(abi.removeprefix("0x"))


def test_another_model_has_another_hash() -> None:
    (member,) = tiny_plans.on_dsp().members
    operators = tuple(evolve(each, id=f"{each.id}_") for each in member.model.operators)
    assert model_hash(evolve(member, model=evolve(member.model, name="other"))) != model_hash(member)
    assert model_hash(evolve(member, model=evolve(member.model, operators=operators))) != model_hash(member)


def test_text_files_say_their_licence(files: dict[str, bytes]) -> None:
    silent = {"LICENSE", "NOTICE"}
    for path, content in files.items():
        if path in silent or path.endswith(".json"):
            continue
        runtime = path.startswith(("runtime/", "include/target_arch/")) or path in MAINS
        assert f"{TAG}{'Apache-2.0' if runtime else GENERATED_LICENCE}" in content.decode(), path
    assert GENERATED_LICENCE in files["NOTICE"].decode()


def test_a_file_that_says_it_keeps_it() -> None:
    own = "/* SPDX-License-Identifier: MIT */\n"
    assert tagged("runtime/kernels/theirs.h", own) == own
    assert tagged("libraries/cmsis_nn/a.c", "int a;\n") == "int a;\n"


def test_operators_lead_to_functions_and_steps(files: dict[str, bytes]) -> None:
    (model,) = json.loads(files[TRACE])["models"]
    steps = files["src/tiny_add_steps.c"].decode()
    assert model["operators"]
    for each in model["operators"]:
        assert each["functions"]
        assert each["steps"]
        for name in each["functions"]:
            assert f"ta_status {name}(" in files[each["source"]].decode()
        assert all(f"/* {number}: dispatch" in steps for number in each["steps"])
