"""Tools that are missing, and what is said then."""

import builtins
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from target_arch.run import ToolMissing, find_compiler, reference_for, self_test

INSTALL = "hint: install gcc or clang (`apt-get install gcc`), or name one in the environment variable CC"


def test_without_any_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolMissing) as failure:
        find_compiler()
    message = "c-compiler: error: no C compiler: `cc` and `gcc` and `clang` not found [tool-missing]"
    assert str(failure.value) == f"{message}\n{INSTALL}"


def test_cc_names_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m32")
    with pytest.raises(ToolMissing) as failure:
        find_compiler()
    message = "c-compiler: error: no C compiler: `no-such-compiler -m32` not found [tool-missing]"
    assert str(failure.value) == f"{message}\n{INSTALL}"


def test_a_compiler_that_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(ToolMissing, match="`false --version` does not work"):
        find_compiler()


@pytest.mark.parametrize(
    ("suffix", "package", "extra"),
    [(".tflite", "ai-edge-litert", "verify"), (".onnx", "onnxruntime", "verify"), (".pt2", "torch", "torch")],
)
def test_without_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, package: str, extra: str
) -> None:
    real = builtins.__import__

    def absent(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> object:
        if name.partition(".")[0] in {"ai_edge_litert", "onnxruntime", "torch"}:
            raise ImportError(name)
        return real(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", absent)
    model = tmp_path / f"model{suffix}"
    model.write_bytes(b"")
    with pytest.raises(ToolMissing) as failure:
        reference_for(model)
    message = f"reference: error: the package `{package}` is not installed [tool-missing]"
    assert str(failure.value) == f"{message}\nhint: pip install 'target-arch[{extra}]'"
    assert self_test(model) == f"the package `{package}` is not installed"
