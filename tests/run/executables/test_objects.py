"""Objects by the hash of what goes into them: which change of a file makes which object again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.run.executables.libraries import Libraries
from target_arch.run.executables.objects import Objects

Tool = Callable[[str], str]
FILES = {
    "include/one.h": "#define ONE 1\n",
    "include/both.h": "#include <one.h>\n#define TWO 2\n",
    "include/other.h": "#define OTHER 3\n",
    "src/one.c": '#include "both.h"\nint one(void) { return ONE; }\n',
    "src/other.c": "#include <other.h>\nint other(void) { return OTHER; }\n",
    "runtime/core.c": "#include <stddef.h>\nint core(void) { return 0; }\n",
}
SOURCES = tuple(name for name in FILES if name.endswith(".c"))


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "target-arch"


def made(folder: Path, cc: str, **changed: str) -> dict[str, Path]:
    for name, text in (FILES | {name.replace("__", "."): text for name, text in changed.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    objects = Objects(
        directory=folder,
        command=(cc, "-Iinclude"),
        version="1",
        folder=folder / "build",
        foreign=Libraries(flags=(), elsewhere=(), headers=()),
        headers=tuple((folder / "include").glob("*.h")),
    )
    return objects.made(SOURCES)


def differing(before: dict[str, Path], after: dict[str, Path]) -> list[str]:
    return [source for source in SOURCES if before[source].name != after[source].name]


def test_a_changed_header_concerns_sources_that_include_it(tmp_path: Path, needs_tool: Tool) -> None:
    cc, folder = needs_tool("gcc"), tmp_path / "bundle"
    before = made(folder, cc)
    assert all(path.is_file() for path in before.values())
    assert made(folder, cc) == before
    assert differing(before, made(folder, cc, **{"include/one__h": "#define ONE 11\n"})) == ["src/one.c"]
    assert differing(before, made(folder, cc, **{"include/other__h": "#define OTHER 4\n"})) == ["src/other.c"]


def test_an_include_by_a_macro_may_be_any_header(tmp_path: Path, needs_tool: Tool) -> None:
    cc, folder = needs_tool("gcc"), tmp_path / "bundle"
    computed = {"src/other__c": "#define H <other.h>\n#include H\nint other(void) { return OTHER; }\n"}
    before = made(folder, cc, **computed)
    after = made(folder, cc, **computed, **{"include/one__h": "#define ONE 11\n"})
    assert differing(before, after) == ["src/one.c", "src/other.c"]


def test_bundles_share_the_objects_of_the_runtime(tmp_path: Path, caches: Path, needs_tool: Tool) -> None:
    first, second = (made(tmp_path / name, needs_tool("gcc")) for name in ("first", "second"))
    assert first["runtime/core.c"] == second["runtime/core.c"]
    assert first["runtime/core.c"].parent == caches / "runtime"
    assert first["src/one.c"].parent == tmp_path / "first" / "build"


def test_without_a_folder_of_caches_they_are_kept_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs_tool: Tool
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    found = made(tmp_path / "bundle", needs_tool("gcc"))
    assert {path.parent for path in found.values()} == {tmp_path / "bundle" / "build"}
