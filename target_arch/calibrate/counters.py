"""The ports that can be measured on, and what each of them counts in a run of a bundle.

On this computer every step is timed alone, the least of the runs of half a second. An emulated machine counts
the instructions of every step. Verilated engines count the cycles of every command.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from target_arch.backend.contract import Backend
from target_arch.backend.port import BareMetal, PortKind
from target_arch.diagnostics import DiagnosticError, listed, refusal
from target_arch.emit.programs.tracer import TRACED_PORT, trace_table
from target_arch.pipeline import CompiledModel
from target_arch.plan.kernels import Codegen
from target_arch.plan.steps import Copy, Dispatch
from target_arch.resources import rtl
from target_arch.run import Executable, build, run_frames, run_on_machine, write_bundle
from target_arch.run.execute.traced import traced
from target_arch.run.tools.toolchain import find_compiler, find_cross_compiler
from target_arch.soc.model import HOST_ENGINE, TargetArch

RTL = "rtl"
_LOG = "TARGET_ARCH_RTL_CYCLES"
_COUNTS = 3
"""Counts at the end of a line of the log: the command, register accesses, transfers."""
_BEFORE_WORDS = 3
"""Core, begin and end."""
_RUNS = 15
_SECONDS = 0.5
"""Runs go on for so long on this computer, since what else it does comes and goes."""
_MOST_RUNS = 20_000


@frozen(kw_only=True)
class CountingPort:
    """A port that counts. `unit` names it; `cycles` where it is cycles of the target_arch's clock, or
    instructions, one in each, else it is seconds.

    `takes` says which target_archs can be measured, `count` is the amount of each step by its number.
    """

    port: str
    unit: str
    cycles: bool
    rtl: bool
    takes: Callable[[TargetArch, Backend], bool]
    count: Callable[[CompiledModel, Executable], Mapping[int, float]]
    tools: str

    def counted(self, made: CompiledModel) -> Mapping[int, float]:
        """The amount of each step of a bundle that counts, by its number. Raises as `run.build` and running
        do.
        """
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / "bundle"
            write_bundle(made.bundle, directory)
            tracer = trace_table(made.model.name, (), len(made.steps.steps)) if self._is_traced else None
            return self.count(made, build(directory, rtl=self.rtl, tracer=tracer))

    @property
    def emulated(self) -> bool:
        """True where it counts the instructions of an emulated machine."""
        return self.port != TRACED_PORT

    @property
    def _is_traced(self) -> bool:
        return self.port == TRACED_PORT and not self.rtl


def counter(name: str, ports: Mapping[str, PortKind]) -> CountingPort:
    """The port of that name, as it counts; `rtl` is the host's with engines as Verilated RTL. DiagnosticError
    for a port that there is not, and one that cannot count. ToolMissing without a compiler.
    """
    if name == RTL:
        return CountingPort(
            port=TRACED_PORT, unit="cycles", cycles=True, rtl=True, takes=_has_rtl, count=_commands,
            tools="Verilator",
        )  # fmt: skip
    if name == TRACED_PORT:
        return CountingPort(
            port=name, unit="nanoseconds", cycles=False, rtl=False, takes=_is_c, count=_seconds,
            tools=find_compiler().version,
        )  # fmt: skip
    port = ports[name]
    if not isinstance(port.system, BareMetal):
        raise _cannot_count(name, ports)
    tools = find_cross_compiler(port.system.compiler, port.system.packages).version
    return CountingPort(
        port=name, unit="instructions", cycles=True, rtl=False, takes=_is_host, count=_instructions,
        tools=tools,
    )  # fmt: skip


def _cannot_count(name: str, ports: Mapping[str, PortKind]) -> DiagnosticError:
    emulated = (known for known in ports if isinstance(ports[known].system, BareMetal))
    able = listed(sorted({RTL, TRACED_PORT, *emulated}))
    said = f"port `{name}` counts neither time nor instructions"
    return refusal("cannot-count", "port", said, f"ports that do: {able}")


def _is_c(arch: TargetArch, backend: Backend) -> bool:
    """This computer's time is that of C alone: devices are threads that simulate them."""
    return backend.codegen is Codegen.C


def _is_host(arch: TargetArch, backend: Backend) -> bool:
    return arch.host


def _has_rtl(arch: TargetArch, backend: Backend) -> bool:
    return not arch.host and (rtl() / backend.name).is_dir()


def _frame(executable: Executable) -> bytes:
    return bytes(sum(executable.input_bytes))


def _seconds(made: CompiledModel, executable: Executable) -> dict[int, float]:
    """Seconds of calls and of copies by the host; what DMA engines do is simulated."""
    traces = traced(executable, (), [_frame(executable)] * _RUNS)
    one = min(sum(trace.seconds) for trace in traces)
    more = min(int(_SECONDS / one), _MOST_RUNS) - _RUNS
    if more > 0:
        traces += traced(executable, (), [_frame(executable)] * more)
    return {
        number: min(trace.seconds[number] for trace in traces)
        for number, step in enumerate(made.steps.steps)
        if isinstance(step, Dispatch) or (isinstance(step, Copy) and step.engine == HOST_ENGINE)
    }


def _instructions(made: CompiledModel, executable: Executable) -> dict[int, float]:
    _, profile = run_on_machine(executable, (_frame(executable),))
    return {
        number: float(profile.steps[number])
        for number, step in enumerate(made.steps.steps)
        if isinstance(step, Dispatch | Copy) and profile.steps[number]
    }


def _commands(made: CompiledModel, executable: Executable) -> dict[int, float]:
    """Cycles by the words of a command, from the log of the models; how long one takes follows from its words
    alone.
    """
    log = executable.directory / "cycles"
    before = os.environ.get(_LOG)
    os.environ[_LOG] = str(log)
    try:
        run_frames(executable, [_frame(executable)])
    finally:
        os.environ.pop(_LOG)
        if before is not None:
            os.environ[_LOG] = before
    cycles = command_cycles(log.read_text(encoding="utf-8")) if log.exists() else {}
    return {
        number: cycles[step.words]
        for number, step in enumerate(made.steps.steps)
        if isinstance(step, Dispatch) and step.words in cycles
    }


def command_cycles(log: str) -> dict[tuple[int, ...], float]:
    """Cycles by the words of a command: its own, and those of accesses to its registers."""
    found = {}
    for line in log.splitlines():
        fields = [int(field) for field in line.split()[1:]]
        command, access, _ = fields[-_COUNTS:]
        found[tuple(fields[_BEFORE_WORDS:-_COUNTS])] = float(command + access)
    return found
