"""`docs/port-the-runtime.md`, followed: clone the null port, run the suite, add operations, run it again."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from target_arch.resources import runtime_c
from tests.runtime_c.test_conformance import C99

PAGE = Path(__file__).parents[2] / "docs" / "port-the-runtime.md"
HEADER = runtime_c() / "include" / "target_arch" / "port.h"

DMA = """
/* Step 2: transfers that are over when they are queued, on a counter per channel. They reach what the host
 * does not: memories that are arrays here. */
static uint32_t counters[TA_MAX_TIMELINES];
static uint8_t hidden[8][8192];

static uint8_t *byte(ta_ref where)
{
    const ta_arena *arena = &opened->arenas[where.arena];
    uint8_t *seen = ta_pointer(opened, where);
    return seen != NULL ? seen : hidden[arena->memory] + arena->device_offset + where.offset;
}

static ta_status mine_copy_async(const ta_port *port, uint32_t channel, const ta_copy *copy)
{
    (void)port;
    for (uint32_t row = 0; row < copy->rows; row++)
        copy_row(byte(copy->target) + row * copy->target_stride,
                 byte(copy->source) + row * copy->source_stride, copy->row_bytes);
    counters[channel]++;
    return TA_OK;
}

static ta_status mine_read_timeline(const ta_port *port, uint32_t timeline, uint32_t *value)
{
    (void)port;
    *value = counters[timeline];
    return TA_OK;
}

static ta_status mine_wait(const ta_port *port, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    (void)port;
    (void)timeout_us;
    return (int32_t)(counters[timeline] - value) >= 0 ? TA_OK : TA_ERROR_TIMEOUT;
}

static ta_status mine_cancel(const ta_port *port, uint32_t timeline)
{
    (void)port;
    (void)timeline;
    return TA_OK;
}

/* Step 3: one coherent memory. */
static ta_status mine_cache_clean(const ta_port *port, const void *start, uint32_t bytes)
{
    (void)port;
    (void)start;
    (void)bytes;
    return TA_OK;
}

static ta_status mine_cache_invalidate(const ta_port *port, void *start, uint32_t bytes)
{
    return mine_cache_clean(port, start, bytes);
}

/* Step 7. */
static ta_status mine_now_us(const ta_port *port, uint64_t *now)
{
    static uint64_t calls;
    (void)port;
    *now = ++calls;
    return TA_OK;
}
"""
ADDED = ("copy_async", "read_timeline", "wait", "cancel", "cache_clean", "cache_invalidate", "now_us")


def operations() -> set[str]:
    """Every operation of a port."""
    return set(re.findall(r"^    ta_status \(\*(\w+)\)\(", HEADER.read_text(), re.MULTILINE))


def steps() -> list[str]:
    section = PAGE.read_text().partition("## Steps\n")[2].partition("\nNothing may hang")[0]
    return re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Step 1: a runtime with the port `mine`, and what the suite needs of it."""
    root = Path(shutil.copytree(runtime_c(), tmp_path / "runtime_c"))
    port = root / "ports" / "mine" / "port_mine.c"
    shutil.copytree(root / "ports" / "null", port.parent)
    port.with_name("port_null.c").rename(port)
    port.write_text(port.read_text().replace("ta_port_null", "ta_port_mine"))
    suite = root / "conformance" / "mine"
    shutil.copytree(root / "conformance" / "null", suite)
    under_test = suite / "under_test.c"
    under_test.write_text(under_test.read_text().replace("ta_port_null", "ta_port_mine"))
    return root


def run_suite(root: Path, compiler: str) -> dict[str, set[str]]:
    """Names of tests by how they ended."""
    folders = ("core", "ports/mine", "conformance", "conformance/mine")
    sources = [str(path) for name in folders for path in sorted((root / name).glob("*.c"))]
    program = root / "suite"
    command = (compiler, *C99, "-O1", "-I.", "-Iinclude", *sources, "-o", str(program))
    compiled = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    found: dict[str, set[str]] = {"ok": set(), "skip": set()}
    for line in done.stdout.splitlines()[:-1]:
        kind, _, rest = line.partition(" ")
        found[kind].add(rest.partition(" ")[2].partition(": no")[0].partition(": the port")[0])
    return found


def test_the_steps_name_every_operation() -> None:
    """What the null port has already is step 1; every other operation is named by a step."""
    named = {name for step in steps() for name in re.findall(r"`(\w+)`", step)} & operations()
    null = (runtime_c() / "ports" / "null" / "port_null.c").read_text()
    missing = set(re.findall(r"\.(\w+) = NULL", null))
    assert missing | {"open", "close", "copy", "dispatch"} == operations()
    assert missing <= named


def test_the_clone_runs_the_suite(clone: Path, needs_tool: Callable[[str], str]) -> None:
    found = run_suite(clone, needs_tool("gcc"))
    assert any("calls on the host" in name for name in found["ok"])
    assert any("copies by DMA" in name for name in found["skip"])


@pytest.mark.slow
def test_each_step_makes_fewer_tests_skip(clone: Path, needs_tool: Callable[[str], str]) -> None:
    before = run_suite(clone, needs_tool("gcc"))
    port = clone / "ports" / "mine" / "port_mine.c"
    text = port.read_text()
    table = "const ta_port ta_port_mine ="
    text = text.replace(table, f"{DMA}\n{table}")
    for name in ADDED:
        text, count = re.subn(rf"\.{name} = NULL", f".{name} = mine_{name}", text)
        assert count == 1, name
    port.write_text(text)
    after = run_suite(clone, needs_tool("gcc"))
    assert after["skip"] < before["skip"]
    assert before["ok"] < after["ok"]
