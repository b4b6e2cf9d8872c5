"""Run the tracer of a bundle: every step alone, with the tensors on the way."""

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import field, frozen

from target_arch.plan.steps import Probe
from target_arch.run.executables.executable import Executable
from target_arch.run.execute.needs import require
from target_arch.run.execute.programs import failed, started

_TIMEOUT = 600.0


@frozen(kw_only=True)
class Trace:
    """One frame: the bytes of every observed tensor, those of the outputs one after the other, and the
    seconds that each step took, by its number; next to nothing for loads and waits.
    """

    tensors: Mapping[str, bytes] = field(repr=False)
    outputs: bytes = field(repr=False)
    seconds: tuple[float, ...] = field(repr=False)


def traced(
    executable: Executable,
    probes: Sequence[Probe],
    frames: Sequence[bytes],
    replacements: Sequence[Mapping[str, bytes]] | None = None,
) -> tuple[Trace, ...]:
    """Run frames on the tracer of an executable, which was made for these probes. `replacements` are, for
    each frame, the bytes that are put in the place of the tensors whose probes are `replaced`.

    DiagnosticError where a step fails, ToolMissing as `needs.require`.
    """
    require(executable.manifest.toolchain.needs)
    assert executable.tracer is not None
    parts: list[bytes] = []
    for number, frame in enumerate(frames):
        parts.append(frame)
        if replacements is not None:
            parts += [replacements[number][probe.tensor] for probe in probes if probe.replaced]
    options = (str(len(frames)), *(("--replace",) if replacements is not None else ()))
    command = (str(executable.tracer.absolute()), *options)
    answer = started(executable, command, b"".join(parts), _TIMEOUT)
    if answer.returncode != 0:
        raise failed(executable, answer)
    return _split(executable, [probe for probe in probes if probe.observed], answer.stdout, len(frames))


def _split(
    executable: Executable, observed: Sequence[Probe], written: bytes, count: int
) -> tuple[Trace, ...]:
    (model,) = executable.manifest.models
    steps, outputs = len(model.steps), sum(executable.output_bytes)
    found, place = [], 0
    for _ in range(count):
        tensors = {}
        for probe in observed:
            tensors[probe.tensor] = written[place : place + probe.bytes]
            place += probe.bytes
        results = written[place : place + outputs]
        place += outputs
        times = np.frombuffer(written, "<u8", steps, place)
        place += times.nbytes
        seconds = tuple(float(each) * 1e-9 for each in times)
        found.append(Trace(tensors=tensors, outputs=results, seconds=seconds))
    return tuple(found)
