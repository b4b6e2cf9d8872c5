"""A bundle with a changed constant or step is refused by init, and a run that is late ends with a status."""

import re
import subprocess
from pathlib import Path

import pytest

from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.resident import Resident
from target_arch.run.bundles.write import write_bundle
from target_arch.soc import read_soc
from tests.e2e.conftest import DIGITS

PROGRAM = """\
#include <stdio.h>

#include <digits_int8.h>

static unsigned calls;

static ta_status serve(void *context, uint32_t step)
{
    (void)context;
    (void)step;
    calls++;
    return TA_OK;
}

static void say(const char *what, ta_status status)
{
    printf("%s: %s\\n", what, ta_status_name(status));
}

int main(void)
{
    say("check before init", digits_int8_check(1));
    say("init", digits_int8_init(&ta_port_host));
    say("run", digits_int8_run());
    for (unsigned i = 0; i < 40; i++)
        if (digits_int8_check(1000) != TA_OK)
            return 1;
    say("check", digits_int8_check(0xffffffffu));
    say("deadline of an hour", digits_int8_deadline(4000000000u, serve, NULL));
    say("run", digits_int8_run());
    printf("served: %d\\n", calls > 50);
    say("no deadline", digits_int8_deadline(0, NULL, NULL));
    calls = 0;
    say("run", digits_int8_run());
    printf("served: %u\\n", calls);
    say("deadline that nobody keeps", digits_int8_deadline(1, NULL, NULL));
    const ta_status late = digits_int8_run();
    printf("late: %d\\n", late == TA_ERROR_DEADLINE || late == TA_ERROR_TIMEOUT);
    say("stop", digits_int8_stop());
    say("deadline after stop", digits_int8_deadline(1, NULL, NULL));
    return 0;
}
"""

FLIP = """\
#include <stdio.h>

#include <digits_int8.h>

#include "digits_int8_internal.h"

/* Flip a bit of each 61st byte of the residents: all are found by the next pass. */
int main(void)
{
    unsigned found = 0, bytes = 0;
    for (unsigned i = 0; i < digits_int8_resident_seals.count; i++)
        for (unsigned at = 0; at < digits_int8_resident_seals.seals[i].bytes; at += 61) {
            uint8_t *const byte = (uint8_t *)(uintptr_t)digits_int8_resident_seals.seals[i].start + at;
            if (digits_int8_init(&ta_port_host) != TA_OK || digits_int8_run() != TA_OK)
                return 1;
            if (digits_int8_check(0xffffffffu) != TA_OK)
                return 2;
            *byte ^= 0x20u;
            found += digits_int8_check(0xffffffffu) == TA_ERROR_CORRUPT;
            bytes++;
            if (digits_int8_stop() != TA_OK)
                return 3;
        }
    printf("%s, %u\\n", found == bytes ? "all" : "some", bytes > 50);
    return 0;
}
"""

INIT = """\
#include <stdio.h>

#include <digits_int8.h>

int main(void)
{
    printf("init: %s\\n", ta_status_name(digits_int8_init(&ta_port_host)));
    return 0;
}
"""

SAID = """\
check before init: TA_ERROR_STATE
init: TA_OK
run: TA_OK
check: TA_OK
deadline of an hour: TA_OK
run: TA_OK
served: 1
no deadline: TA_OK
run: TA_OK
served: 0
deadline that nobody keeps: TA_OK
late: 1
stop: TA_OK
deadline after stop: TA_ERROR_STATE
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bundle = compile_model(CompileRequest(model_path=DIGITS, soc=read_soc("zynq_edge"))).bundle
    path = tmp_path_factory.mktemp("integrity") / "bundle"
    write_bundle(bundle, path)
    return path


@pytest.fixture(scope="module")
def resident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a chip whose DSP memory the host sees."""
    folder = tmp_path_factory.mktemp("residents")
    soc, path = folder / "seen.toml", folder / "bundle"
    text = (Path(__file__).parents[2] / "soc_configs" / "zynq_edge.toml").read_text()
    head = "[memory.dsp_tcm]"
    assert head in text
    soc.write_text(text.replace(head, f"{head}\nbase = 0x3000_0000"))
    request = CompileRequest(model_path=DIGITS, soc=read_soc(soc), resident=Resident.AUTO)
    write_bundle(compile_model(request).bundle, path)
    return path


@pytest.mark.slow
def test_a_flipped_bit_of_a_resident_is_found(resident: Path) -> None:
    assert ran(resident, FLIP) == "all, 1\n"


def ran(folder: Path, program: str) -> str:
    """What a program says that is linked with the bundle."""
    source = folder.parent / "program.c"
    source.write_text(program)
    library = folder / "build" / "libdigits_int8.a"
    subprocess.run(["make", "-s", f"build/{library.name}"], cwd=folder, check=True)
    made = folder.parent / "program"
    folders = ("-Iinclude", "-Iruntime", "-Isrc")
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", *folders, str(source)]
    subprocess.run([*command, str(library), "-lm", "-lpthread", "-o", str(made)], cwd=folder, check=True)
    return subprocess.run([made], capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_program_checks_and_watches(folder: Path) -> None:
    assert ran(folder, PROGRAM) == SAID


@pytest.mark.parametrize(
    ("path", "pattern", "replacement"),
    [
        ("src/digits_int8_constants.c", r"= \{ /\* conv2d_2(.*)\n        -17, 3,", r"= { /* \1\n -17, 2,"),
        ("src/digits_int8_steps.c", r"\{\{(\d+), 0\}, \{(\d+), 0\}, ", r"{{\1, 0}, {\2, 16}, "),
    ],
    ids=["a constant", "a copy"],
)
def test_changed_bytes_are_refused(folder: Path, path: str, pattern: str, replacement: str) -> None:
    file = folder / path
    text = file.read_text()
    changed, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1
    file.write_text(changed)
    try:
        said = ran(folder, INIT)
    finally:
        file.write_text(text)
    assert said == "init: TA_ERROR_CORRUPT\n"
