"""What a bundle is called, and that its models can be told apart in C."""

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.emit.bundle_name import bundle_name

TWO = (("kws", "kws.tflite"), ("vww", "vww.onnx"))


def test_one_model_names_its_bundle_and_several_take_the_chips_name() -> None:
    assert bundle_name("duo", TWO[:1], None) == "kws"
    assert bundle_name("duo", (("my_kws", "my-kws.tflite"),), "my-kws") == "my_kws"
    assert bundle_name("duo", TWO, None) == "duo_models"
    assert bundle_name("duo", TWO, "ears_and_eyes") == "ears_and_eyes"


REFUSALS = {
    "name: error: the model has two names: `kws` and `ears` [two-names]\n"
    "hint: say `model.name=NAME` or `name=NAME`": (TWO[:1], "ears"),
    "name: error: the bundle and `vww.onnx` are both called `VWW` in C [same-name]\n"
    "hint: give the bundle another name: `name=NAME`": (TWO, "VWW"),
    "models: error: `kws.tflite` and `other.onnx` are both called `k_w_s` in C [same-name]\n"
    "hint: give one of them another name: `model.name=NAME`": (
        (("K-w-s", "kws.tflite"), ("k w s", "other.onnx")),
        None,
    ),
}


@pytest.mark.parametrize("text", REFUSALS)
def test_names_that_clash_are_refused(text: str) -> None:
    models, wanted = REFUSALS[text]
    with pytest.raises(DiagnosticError) as found:
        bundle_name("duo", models, wanted)
    assert str(found.value) == text
