"""Dotted keys of very many parts are refused before `tomllib` reads them."""

import time

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.soc.files.key_depth import longest_key
from target_arch.soc.files.soc_file import parse_soc

MANY = 20_000


@pytest.mark.parametrize(
    "line",
    ["{} = 1", "[{}]", "[[{}]]", "a = {{ {} = 1 }}", "a = [{{ b = 1, {} = 1 }}]", "'''\n''' = 1\n{} = 1"],
)
@pytest.mark.parametrize("joint", [".", " . ", '."a".', ".'a.a'.", '."\\"".'])
def test_refused_at_once(line: str, joint: str) -> None:
    start = time.process_time()
    with pytest.raises(DiagnosticError) as caught:
        parse_soc("schema = 1\n" + line.format(joint.join(["k"] * MANY)), "a.toml")
    assert [each.rule for each in caught.value.diagnostics] == ["too-deep"]
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    "text", ["# {}", "a = '{}'", 'a = "{}"', 'a = """\n{}\n"""', "a = '''{}'''", "a = [\n1.5,]\n" * 99]
)
def test_dots_elsewhere(text: str) -> None:
    assert longest_key(text.format("a." * MANY), 32) is None
