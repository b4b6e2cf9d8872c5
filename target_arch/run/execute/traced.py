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
class HostTime:
    """The seconds of the host for an asynchronous step: to start it in a whole run and alone, and to see that
    it is over when it has been so for a while.
    """

    in_run: float
    alone: float
    end: float


@frozen(kw_only=True)
class Trace:
    """One frame: the bytes of every observed tensor, those of the outputs one after the other, and the
    seconds that each step took, by its number; next to nothing for loads and waits. `host` is likewise by
    step, empty where it was not asked for.
    """

    tensors: Mapping[str, bytes] = field(repr=False)
    outputs: bytes = field(repr=False)
    seconds: tuple[float, ...] = field(repr=False)
    host: tuple[HostTime, ...] = field(default=(), repr=False)


def traced(
    executable: Executable,
    probes: Sequence[Probe],
    frames: Sequence[bytes],
    replacements: Sequence[Mapping[str, bytes]] | None = None,
    *,
    orders: bool = False,
) -> tuple[Trace, ...]:
    """Run frames on the tracer of an executable, which was made for these probes. `replacements` are, for
    each frame, the bytes that are put in the place of the tensors whose probes are `replaced`. With `orders`,
    which takes no probes, each frame is run thrice for the host's time.

    DiagnosticError where a step fails, ToolMissing as `needs.require`.
    """
    require(executable.manifest.toolchain.needs)
    assert executable.tracer is not None
    parts: list[bytes] = []
    for number, frame in enumerate(frames):
        parts.append(frame)
        if replacements is not None:
            parts += [replacements[number][probe.tensor] for probe in probes if probe.replaced]
    asked = {"--replace": replacements is not None, "--orders": orders}
    options = (str(len(frames)), *(option for option, wanted in asked.items() if wanted))
    command = (str(executable.tracer.absolute()), *options)
    answer = started(executable, command, b"".join(parts), _TIMEOUT)
    if answer.returncode != 0:
        raise failed(executable, answer)
    observed = [probe for probe in probes if probe.observed]
    return _split(executable, observed, answer.stdout, len(frames), 4 if orders else 1)


def _split(
    executable: Executable, observed: Sequence[Probe], written: bytes, count: int, tables: int
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
        times = np.frombuffer(written, "<u8", tables * steps, place).reshape(tables, steps)
        place += times.nbytes
        seconds, *host = (times * 1e-9).tolist()
        by_step = (HostTime(in_run=one, alone=two, end=end) for one, two, end in zip(*host, strict=True))
        found.append(Trace(tensors=tensors, outputs=results, seconds=tuple(seconds), host=tuple(by_step)))
    return tuple(found)
