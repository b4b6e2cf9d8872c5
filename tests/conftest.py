"""Fixtures for every test: goldens, the folder of shared models, and tools a machine may lack.

A golden is in `golden/` beside the test that reads it. `--update-golden` rewrites what the selected tests
read and is refused where `CI` is set. A golden nobody reads is an orphan; a run of every test of its folder
fails for it.

Under pytest-xdist (`make test`) a worker gets whole files, or a whole room where its tests share what takes
long to make.

With `TARGET_ARCH_NO_SKIP=1` a skip is a failure: a machine that is meant to have every tool says so.

Where `CI` is set, hypothesis draws the same examples each time, so that a change is judged by what it
changed; elsewhere it draws new ones.
"""

import os
import shutil
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.earlier_run import EarlierRun, Record

# How fast examples are made is the machine's matter: beside other work the first ones take seconds.
UNTIMED = (hypothesis.HealthCheck.too_slow,)
hypothesis.settings.register_profile("local", suppress_health_check=UNTIMED)
hypothesis.settings.register_profile("ci", derandomize=True, print_blob=True, suppress_health_check=UNTIMED)
hypothesis.settings.load_profile("local")
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")

# `make test` hands its flags to each make below it; a test's own is a user's, started from a shell.
for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
    os.environ.pop(name, None)

TESTS = Path(__file__).parent
REPOSITORY = TESTS.parent

INSTALL_HINTS = {
    "clang": "apt-get install clang",
    "gcc": "apt-get install gcc",
    "g++": "apt-get install g++",
    "cc": "apt-get install gcc",
    "make": "apt-get install make",
    "cmake": "apt-get install cmake",
    "arduino-builder": "make simulators, or apt-get install arduino-builder",
    "git": "apt-get install git",
    "nm": "apt-get install binutils",
    "frama-c": "make simulators, or apt-get install frama-c-base",
    "why3": "make simulators, or apt-get install why3",
    "cvc4": "make simulators, or apt-get install cvc4",
    "iverilog": "make simulators, or apt-get install iverilog",
    "verilator": "make simulators, or apt-get install verilator",
    "vvp": "make simulators, or apt-get install iverilog",
    "aarch64-linux-gnu-gcc": "make simulators, or apt-get install gcc-aarch64-linux-gnu",
    "riscv64-linux-gnu-gcc": "make simulators, or apt-get install gcc-riscv64-linux-gnu",
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
_lost_worker = pytest.StashKey[bool]()
_orphans = pytest.StashKey[list[str]]()
_earlier = pytest.StashKey[EarlierRun]()
_record = pytest.StashKey[Record]()

MOST_WORKERS = 4
"""One needs up to 1 GB, and the longest room is not split."""

LONG_ROOMS = ("rtl", "firmware", "e2e", "tune", "runtime_c", "docs")
"""They begin first, so that no file of theirs, which takes a minute or more, is left alone at the end."""

WHOLE_ROOMS = ("rtl", "firmware")
"""What these tests share takes longer to make than one of them to run."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the goldens that the selected tests read"
    )
    parser.addoption("--record", metavar="FILE", help="write which tests passed")
    parser.addoption("--after", metavar="FILE", help="leave out the tests that passed in the recorded run")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError(
            "--update-golden is refused where CI is set: a golden is rewritten and read by a person"
        )
    config.stash[_used_goldens] = set()
    config.stash[_complete_folders] = set()
    config.stash[_incomplete_folders] = set()
    config.stash[_lost_worker] = False
    config.stash[_orphans] = []
    config.stash[_earlier] = EarlierRun.read(config.getoption("--after"))
    config.stash[_used_goldens] |= {REPOSITORY / golden for golden in config.stash[_earlier].goldens}
    if config.getoption("--record") and not hasattr(config, "workerinput"):
        config.stash[_record] = Record()
        config.pluginmanager.register(config.stash[_record])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rank = {TESTS / room: number for number, room in enumerate(LONG_ROOMS)}
    items.sort(key=lambda item: min(rank.get(folder, len(rank)) for folder in item.path.parents))
    collected = {item.path for item in items}
    config.stash[_complete_folders] = {
        folder for folder in {path.parent for path in collected} if set(folder.glob("test_*.py")) <= collected
    }
    items[:] = [item for item in items if item.nodeid not in config.stash[_earlier].passed]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """`-n auto`: a worker for each core this process may use, and none of them on a single core."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS) if cores > 1 else 0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class LoadRoomScheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            room = nodeid.split("/")[1] if nodeid.count("/") > 1 else ""
            return room if room in WHOLE_ROOMS else super()._split_scope(nodeid)

    config.option.loadscopereorder = False
    return LoadRoomScheduling(config, log)


def pytest_deselected(items: Iterable[pytest.Item]) -> None:
    for item in items:
        item.config.stash[_incomplete_folders].add(item.path.parent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.outcome != "passed":
        item.config.stash[_incomplete_folders].add(item.path.parent)
    must_run = os.environ.get("TARGET_ARCH_NO_SKIP") == "1"
    if report.skipped and not hasattr(report, "wasxfail") and must_run:
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


GOLDEN_SETS = {"used": _used_goldens, "complete": _complete_folders, "incomplete": _incomplete_folders}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """What a worker knows of goldens is added to what the others know."""
    told = getattr(node, "workeroutput", {})
    node.config.stash[_lost_worker] |= error is not None or "goldens" not in told
    for name, paths in told.get("goldens", {}).items():
        node.config.stash[GOLDEN_SETS[name]].update(map(Path, paths))


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workeroutput"):
        sets = {name: sorted(map(str, config.stash[key])) for name, key in GOLDEN_SETS.items()}
        config.workeroutput["goldens"] = sets
    elif session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and not session.shouldfail:
        config.stash[_orphans] = orphan_goldens(config)
        if config.stash[_orphans]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if _record in config.stash:
            goldens = {str(path.relative_to(REPOSITORY)) for path in config.stash[_used_goldens]}
            config.stash[_record].write(config.getoption("--record"), frozenset(goldens))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.stash[_orphans]:
        terminalreporter.section("goldens that no test reads")
        terminalreporter.write_line("\n".join(config.stash[_orphans]))


def orphan_goldens(config: pytest.Config) -> list[str]:
    """Goldens that no test read, in the folders whose tests all ran and passed."""
    stash = config.stash
    if stash[_lost_worker] or config.option.collectonly:
        return []
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
