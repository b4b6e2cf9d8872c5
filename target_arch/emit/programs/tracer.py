"""The table of `runtime_c/programs/tracer.c`: a program that runs one model of a bundle step by step on a
port of this computer, and on the host port shows the tensors on the way.
"""

from collections.abc import Sequence

from target_arch.emit.text.emitter import Emitter
from target_arch.plan.steps import Probe

WATCHED_PORT = "host"
"""The one port whose tensors can be watched: the program reads its state."""

TRACE_TABLE = "trace_table.h"


def trace_table(bundle: str, probes: Sequence[Probe], steps: int, port: str = WATCHED_PORT) -> str:
    """The C text for the bundle of one model with that C name, which has so many steps. On another port than
    WATCHED_PORT there are no probes.
    """
    out = Emitter()
    out.lines((f"#include <{bundle}.h>", ""))
    if port == WATCHED_PORT:
        out.lines(('#include "ports/host/state.h"', "", "#define BYTE(where) ta_host_byte(where)"))
    else:
        assert not probes
        out.lines((f"extern const ta_port ta_port_{port};", ""))
        out.line("#define BYTE(where) ((void)(where), (uint8_t *)NULL)")
    out.lines((f"#define PORT ta_port_{port}", f"#define TRACED(name) {bundle}_##name"))
    out.line(f"enum {{ PROBES = {len(probes)}, STEPS = {steps} }};")
    rows = [
        f"{{{each.step}, {each.operand}, {each.skip}, {each.bytes}, {each.observed:d}, {each.replaced:d}}},"
        for each in probes
    ]
    out.table("static const probe probes", rows or ["{0, 0, 0, 0, 0, 0},"])
    return out.text()
