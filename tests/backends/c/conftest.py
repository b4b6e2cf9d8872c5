"""What the tests of the C backend share."""

from collections.abc import Callable

import pytest

from tests.backends.c.one import Compile, compiler


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> Compile:
    """Compiles C functions with gcc and clang, warnings as errors; what runs has UBSan in it."""
    return compiler(tmp_path_factory.mktemp("kernels"), needs_tool("gcc"), needs_tool("clang"))
