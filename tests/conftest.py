"""Fixtures for every test: goldens, the folder of shared models, and tools a machine may lack.

A golden lies in `golden/` beside the test that reads it. `--update-golden` rewrites what the selected tests
read and is refused where `CI` is set. A golden nobody reads is an orphan; `test_golden.py` fails for it.

With `TARGET_ARCH_NO_SKIP=1` a skip is a failure: a machine that is meant to have every tool says so.
"""

import os
import shutil
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
REPOSITORY = TESTS.parent

INSTALL_HINTS = {
    "clang": "apt-get install clang",
    "gcc": "apt-get install gcc",
    "g++": "apt-get install g++",
    "cc": "apt-get install gcc",
    "make": "apt-get install make",
    "cmake": "apt-get install cmake",
    "git": "apt-get install git",
    "iverilog": "make simulators, or apt-get install iverilog",
    "verilator": "make simulators, or apt-get install verilator",
    "vvp": "make simulators, or apt-get install iverilog",
    "arm-none-eabi-gcc": "make simulators",
    "qemu-system-arm": "make simulators",
    "ld.lld": "make simulators, or apt-get install lld",
    "qemu-hexagon": "make simulators, or apt-get install qemu-user",
    "qemu-riscv64": "make simulators, or apt-get install qemu-user",
    "qemu-aarch64": "make simulators, or apt-get install qemu-user",
}

GoldenCheck = Callable[[str, str], None]

_used_goldens = pytest.StashKey[set[Path]]()
_complete_folders = pytest.StashKey[set[Path]]()
_incomplete_folders = pytest.StashKey[set[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the goldens that the selected tests read"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError(
            "--update-golden is refused where CI is set: a golden is rewritten and read by a person"
        )
    config.stash[_used_goldens] = set()
    config.stash[_complete_folders] = set()
    config.stash[_incomplete_folders] = set()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The orphan test looks back at what every other test read, so it runs last."""
    items.sort(key=lambda item: item.path == TESTS / "test_golden.py")
    collected = {item.path for item in items}
    config.stash[_complete_folders] = {
        folder for folder in {path.parent for path in collected} if set(folder.glob("test_*.py")) <= collected
    }


def pytest_deselected(items: Iterable[pytest.Item]) -> None:
    for item in items:
        item.config.stash[_incomplete_folders].add(item.path.parent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.outcome != "passed":
        item.config.stash[_incomplete_folders].add(item.path.parent)
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("TARGET_ARCH_NO_SKIP"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped, and TARGET_ARCH_NO_SKIP refuses that: {reason}"
    return report


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> GoldenCheck:
    """`golden(name, text)`: the text equals `golden/<name>.txt` beside the test. A suffix given is kept."""

    def check(name: str, text: str) -> None:
        file_name = name if Path(name).suffix else f"{name}.txt"
        path = request.path.parent / "golden" / file_name
        request.config.stash[_used_goldens].add(path)
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.is_file(), (
            f"no golden {path.relative_to(REPOSITORY)}: make it with --update-golden, then read it"
        )
        assert text == path.read_text()

    return check


@pytest.fixture
def orphan_goldens(request: pytest.FixtureRequest) -> list[str]:
    """Goldens that no test read, in the folders whose tests all ran and passed."""
    stash = request.config.stash
    folders = stash[_complete_folders] - stash[_incomplete_folders]
    present = {path for folder in folders for path in (folder / "golden").rglob("*") if path.is_file()}
    return sorted(str(path.relative_to(REPOSITORY)) for path in present - stash[_used_goldens])


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `../shared` beside the repository, with the reference models. Skips where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "models").is_dir():
        pytest.skip("no folder ../shared beside the repository: the reference models are there")
    return folder


@pytest.fixture(scope="session")
def needs_tool() -> Callable[[str], str]:
    """`needs_tool(name)`: the path of a program, or a skip that says how to install it."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"needs `{name}`: {INSTALL_HINTS.get(name, f'install {name}')}")
        return path

    return find
