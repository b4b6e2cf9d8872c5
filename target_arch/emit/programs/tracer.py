"""The table of `runtime_c/programs/tracer.c`: a program that runs one model of a bundle step by step on the
host port, and shows the tensors on the way.
"""

from collections.abc import Sequence

from target_arch.emit.text.emitter import Emitter
from target_arch.plan.steps import Probe

TRACED_PORT = "host"
"""The one port whose programs can be watched: this program reads its state."""

TRACE_TABLE = "trace_table.h"


def trace_table(bundle: str, probes: Sequence[Probe], steps: int) -> str:
    """The C text for the bundle of one model with that C name, which has so many steps."""
    out = Emitter()
    out.lines((f"#include <{bundle}.h>", "", f"#define TRACED(name) {bundle}_##name"))
    out.line(f"enum {{ PROBES = {len(probes)}, STEPS = {steps} }};")
    rows = [
        f"{{{each.step}, {each.operand}, {each.skip}, {each.bytes}, {each.observed:d}, {each.replaced:d}}},"
        for each in probes
    ]
    out.table("static const probe probes", rows or ["{0, 0, 0, 0, 0, 0},"])
    return out.text()
