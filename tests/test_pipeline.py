"""The way from requests to a bundle: a single model is a list of one."""

import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsRequest, compile_model, compile_models
from target_arch.plan.goal import Goal
from target_arch.plan.model_pools import Sharing
from target_arch.resources import examples
from target_arch.soc import read_soc

DIGITS = examples() / "digits" / "digits_int8.onnx"


def digits(name: str | None = None) -> CompileRequest:
    return CompileRequest(model_path=DIGITS, soc=read_soc("mcu_m7"), name=name)


def test_one_model_is_a_list_of_one() -> None:
    """Its bundle has no part that only several need, and its pools are those of its plan, to the byte."""
    alone, made = compile_model(digits()), compile_models(ModelsRequest(models=(digits(),)))
    assert made.bundle == made.models[0].bundle == alone.bundle
    assert list(made.manifest.models) == [made.models[0].manifest] == [alone.manifest]
    assert {pool.pool: pool.bytes for pool in made.pools.pools} == alone.plan.peaks
    assert not any("models" in path for path in made.bundle.files)


def test_a_single_model_and_its_bundle_have_one_name() -> None:
    named = compile_models(ModelsRequest(models=(digits(),), name="ten", arenas=Sharing.SEPARATE))
    assert named.bundle.name == named.models[0].model.name == "ten"
    with pytest.raises(DiagnosticError, match=r"the model has two names: `ten` and `digits` \[two-names\]"):
        compile_models(ModelsRequest(models=(digits("ten"),), name="digits"))


@pytest.mark.parametrize(
    ("called", "name"), [("8-bit net", "model_8_bit_net"), ("模型", "model"), ("int", "int")]
)
def test_names_that_are_no_identifiers_give_one_name_to_model_and_bundle(called: str, name: str) -> None:
    made = compile_models(ModelsRequest(models=(digits(called),)))
    assert made.manifest.name == made.models[0].model.name == name
    stem = made.bundle.name
    headers = [path for path in made.bundle.files if path.startswith("include/") and path.count("/") == 1]
    assert sorted(headers) == sorted((f"include/{stem}.h", "include/mcu_m7_soc.h"))
    assert f"ta_status {stem}_run(void)" in made.bundle.files[f"src/{stem}.c"].decode()


def test_several_models_have_manifests_below_that_of_the_bundle() -> None:
    made = compile_models(ModelsRequest(models=(digits("a"), digits("b"))))
    assert list(made.manifest.models) == [one.manifest for one in made.models]
    assert {one.bundle.name for one in made.models} == {made.bundle.name} == {"mcu_m7_models"}


def test_arenas_of_an_unknown_kind_are_refused() -> None:
    with pytest.raises(DiagnosticError) as found:
        compile_models(ModelsRequest(models=(digits("a"), digits("b")), arenas="shred"))
    assert str(found.value) == (
        "arenas: error: arenas cannot be `shred` [unknown-arenas]\nhint: did you mean `shared`?"
    )


def test_a_goal_that_there_is_not_is_refused() -> None:
    with pytest.raises(DiagnosticError) as found:
        compile_models(ModelsRequest(models=(evolve(digits(), optimize="sized"),)))
    assert str(found.value) == (
        "optimize: error: there is no goal `sized` [unknown-goal]\nhint: did you mean `size`?"
    )


def test_a_choice_of_division_that_there_is_not_is_refused() -> None:
    with pytest.raises(DiagnosticError) as found:
        compile_models(ModelsRequest(models=(evolve(digits(), divide="always"),)))
    assert str(found.value) == (
        "divide: error: there is no choice `always` [unknown-divide]\n"
        "hint: there are: `auto`, `host`, `never`"
    )


def test_a_choice_of_residents_that_there_is_not_is_refused() -> None:
    with pytest.raises(DiagnosticError) as found:
        compile_models(ModelsRequest(models=(evolve(digits(), resident="always"),)))
    assert str(found.value) == (
        "resident: error: there is no choice `always` [unknown-resident]\nhint: there are: `auto`, `never`"
    )


def test_models_of_one_bundle_are_for_one_chip_and_port() -> None:
    wishes = {"soc": read_soc("mcu_m55"), "port": "qemu_mps2", "optimize": Goal.SIZE, "memory": {"sram": 1}}
    unlike = evolve(digits("b"), **wishes)
    with pytest.raises(DiagnosticError) as found:
        compile_models(ModelsRequest(models=(digits("a"), unlike)))
    assert str(found.value).split("\n\n") == [
        f"{place}: error: `b` has another than `a`, and models of one bundle have one [unlike-models]\n"
        "hint: give all models the same, or make a bundle of each"
        for place in wishes
    ]


def test_a_list_without_a_model_is_refused() -> None:
    with pytest.raises(DiagnosticError) as found:
        compile_models(ModelsRequest(models=()))
    assert str(found.value) == "models: error: there is no model to compile [no-models]"
