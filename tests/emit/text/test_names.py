from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.listing import Listing
from target_arch.emit.text.names import comment, header_stem, identifier, identifiers, string


def test_identifier() -> None:
    assert identifier("model/conv2d/BiasAdd;1:0") == "model_conv2d_BiasAdd_1_0"
    assert identifier("0") == "n0"
    assert identifier("é") == "n"
    assert identifier("int") == "int_"
    assert len(identifier("x" * 300)) < 60


def test_no_header_of_a_model_takes_the_place_of_one_of_c() -> None:
    assert [header_stem(name) for name in ("time", "Math", "timer", "int")] == [
        "time_model",
        "Math_model",
        "timer",
        "int_",
    ]


def test_identifiers_are_different() -> None:
    assert identifiers(["a.b", "a/b", "a_b_2", "a.b"]) == {"a.b": "a_b", "a/b": "a_b_2", "a_b_2": "a_b_2_2"}


def test_what_a_model_is_named_cannot_break_c() -> None:
    assert comment("x */ y\n/* z") == "x * / y / * z"
    assert string('a"b\\??=é') == '"a\\042b\\134\\077\\077=\\303\\251"'


def test_emitter() -> None:
    out = Emitter()
    out.line("a {")
    with out.indent():
        out.line("b")
        out.line()
        out.wrapped(Listing.of(["1" * 60, "2" * 60]))
    out.line("}")
    assert out.text() == "a {\n    b\n\n    " + "1" * 60 + ",\n    " + "2" * 60 + ",\n}\n"
