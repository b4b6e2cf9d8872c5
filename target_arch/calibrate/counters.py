"""The ports that can be measured on, and what each of them counts in a run of a bundle.

On this computer every step is timed alone, the least of the runs of half a second: of C, and of a device
that takes modules all that it does; and likewise what steps of devices take of the host, where they are
started in a run as it is. An emulated machine counts the instructions of every step. Verilated engines count
the cycles of every command, and emulated cores the instructions of every call of their firmware.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, field, frozen

from target_arch.backend.contract import Backend
from target_arch.backend.port import BareMetal, PortKind
from target_arch.diagnostics import DiagnosticError, listed, name_hint, refusal
from target_arch.emit.build.firmware import PROCESS
from target_arch.emit.programs.tracer import WATCHED_PORT, trace_table
from target_arch.pipeline import CompiledModel
from target_arch.plan.kernels import Codegen
from target_arch.plan.steps import Copy, Dispatch
from target_arch.resources import rtl
from target_arch.run import Executable, build, run_frames, run_on_machine, write_bundle
from target_arch.run.execute.needs import device_name, require
from target_arch.run.execute.traced import traced
from target_arch.run.tools.toolchain import find_compiler, find_cross_compiler
from target_arch.soc.cores import CORES
from target_arch.soc.model import HOST_ENGINE, TargetArch

RTL, FIRMWARE = "rtl", "firmware"
NANOSECONDS, _INSTRUCTIONS, _CYCLES = "nanoseconds", "instructions", "cycles"
_RTL_LOG, CORE_LOG = "TARGET_ARCH_RTL_CYCLES", "TARGET_ARCH_CORE_LOG"
_COUNTS = 3
"""Counts at the end of a line of the log: the command, register accesses, transfers."""
_BEFORE_WORDS = 3
"""Core, begin and end."""
_RUNS = 15
_SECONDS = 0.5
"""Runs go on for so long on this computer, since what else it does comes and goes."""
_MOST_RUNS = 20_000
_PASSES = 5
"""So many times its steps' own time does a frame take where orders are timed, too."""
_LEAST_PART = 0.05
"""The part of a step's time from the order to its end that is the device's at least."""


@frozen(kw_only=True)
class HostOrder:
    """The seconds of the host for a step of a device: to start it, and to see that it was over."""

    start: float
    end: float


@frozen(kw_only=True)
class Counts:
    """The amounts of the steps of a run, by their numbers, and what those of devices took of the host."""

    amounts: Mapping[int, float]
    orders: Mapping[int, HostOrder] = field(factory=dict)


@frozen(kw_only=True)
class CountingPort:
    """A port that counts. `unit` names it; `cycles` where it is cycles of the target_arch's clock, or
    instructions, one in each, else it is seconds.

    `takes` says which target_archs can be measured, `count` what the steps take.
    """

    port: str
    unit: str
    cycles: bool
    rtl: bool
    firmware: bool = False
    takes: Callable[[TargetArch, Backend], bool]
    count: Callable[[CompiledModel, Executable], Counts]
    tools: str

    def counted(self, made: CompiledModel) -> Counts:
        """The amounts of a bundle's steps that count, and orders. Raises as `run.build` and running do."""
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / "bundle"
            write_bundle(made.bundle, directory)
            steps = len(made.steps.steps)
            table = trace_table(made.model.name, (), steps, self.port) if self.unit == NANOSECONDS else None
            return self.count(made, build(directory, rtl=self.rtl, firmware=self.firmware, tracer=table))

    @property
    def emulated(self) -> bool:
        """True where it counts the instructions of an emulated machine."""
        return self.unit == _INSTRUCTIONS


def counter(name: str, ports: Mapping[str, PortKind]) -> CountingPort:
    """The port of that name, as it counts; `rtl` is the host's with engines as Verilated RTL, `firmware` the
    host's with cores that execute firmware. DiagnosticError for a port that there is not, and one that cannot
    count. ToolMissing without a compiler.
    """
    if name == RTL:
        return CountingPort(
            port=WATCHED_PORT, unit=_CYCLES, cycles=True, rtl=True, takes=_has_rtl, count=_commands,
            tools="Verilator",
        )  # fmt: skip
    if name == FIRMWARE:
        return CountingPort(
            port=WATCHED_PORT, unit=_INSTRUCTIONS, cycles=True, rtl=False, firmware=True,
            takes=_has_counting_core, count=_calls, tools="QEMU",
        )  # fmt: skip
    if name == WATCHED_PORT:
        return CountingPort(
            port=name, unit=NANOSECONDS, cycles=False, rtl=False, takes=_is_c, count=_seconds_of_host,
            tools=find_compiler().version,
        )  # fmt: skip
    if name not in ports:
        said = f"there is no port `{name}`"
        raise refusal("unknown-port", "port", said, name_hint(name, _able(ports), "ports that count"))
    port = ports[name]
    if port.hosted.modules:
        require(port.hosted.needs)
        return CountingPort(
            port=name, unit=NANOSECONDS, cycles=False, rtl=False, takes=_has_module, count=_seconds_of_all,
            tools=f"{find_compiler().version}, {device_name()}",
        )  # fmt: skip
    if not isinstance(port.system, BareMetal):
        raise _cannot_count(name, ports)
    tools = find_cross_compiler(port.system.compiler, port.system.packages).version
    return CountingPort(
        port=name, unit=_INSTRUCTIONS, cycles=True, rtl=False, takes=_is_host, count=_instructions,
        tools=tools,
    )  # fmt: skip


def _able(ports: Mapping[str, PortKind]) -> set[str]:
    """The names that can be measured on."""
    others = (name for name, port in ports.items() if port.bare_metal is not None or port.hosted.modules)
    return {FIRMWARE, RTL, WATCHED_PORT, *others}


def _cannot_count(name: str, ports: Mapping[str, PortKind]) -> DiagnosticError:
    said = f"port `{name}` counts neither time nor instructions"
    return refusal("cannot-count", "port", said, f"ports that do: {listed(sorted(_able(ports)))}")


def _is_c(arch: TargetArch, backend: Backend) -> bool:
    """This computer's time is that of C alone: devices are threads that simulate them."""
    return backend.codegen is Codegen.C


def _has_module(arch: TargetArch, backend: Backend) -> bool:
    """A device behind a driver takes the time that it takes; C beside it is that of the host."""
    return arch.host or backend.codegen is Codegen.CUDA


def _is_host(arch: TargetArch, backend: Backend) -> bool:
    return arch.host


def _has_rtl(arch: TargetArch, backend: Backend) -> bool:
    return not arch.host and (rtl() / backend.name).is_dir()


def _has_counting_core(arch: TargetArch, backend: Backend) -> bool:
    return backend.name in CORES and CORES[backend.name].counts and arch.load.process == PROCESS


def _frame(executable: Executable) -> bytes:
    return bytes(sum(executable.input_bytes))


def _seconds_of_host(made: CompiledModel, executable: Executable) -> Counts:
    """Seconds of calls and of copies by the host; what DMA engines do is simulated."""
    counts = _seconds_of_all(made, executable)
    steps = made.steps.steps
    simulated = {
        number for number, step in enumerate(steps) if isinstance(step, Copy) and step.engine != HOST_ENGINE
    }
    amounts = {number: counts.amounts[number] for number in counts.amounts.keys() - simulated}
    return evolve(counts, amounts=amounts)


def _seconds_of_all(made: CompiledModel, executable: Executable) -> Counts:
    """Seconds of calls and copies: those of devices without what they take of the host, and of further cores
    without the wake-up that a SoC file states beside every call.
    """
    soc = made.request.soc
    work = {n: step for n, step in enumerate(made.steps.steps) if isinstance(step, Dispatch | Copy)}
    ordered = [number for number, step in work.items() if step.event is not None]
    traces = traced(executable, (), [_frame(executable)] * _RUNS, orders=bool(ordered))
    one = min(sum(trace.seconds) for trace in traces) * (_PASSES if ordered else 1)
    more = min(int(_SECONDS / one), _MOST_RUNS) - _RUNS
    if more > 0:
        traces += traced(executable, (), [_frame(executable)] * more, orders=bool(ordered))
    amounts = {number: min(trace.seconds[number] for trace in traces) for number in work}
    orders = dict[int, HostOrder]()
    for number in ordered:
        host, whole = [trace.host[number] for trace in traces], amounts[number]
        start, end = min(each.alone for each in host), min(each.end for each in host)
        step = work[number]
        wake = soc.instance(step.instance).arch.wake if isinstance(step, Dispatch) else 0.0
        amounts[number] = max(whole - start - end - wake, whole * _LEAST_PART)
        orders[number] = HostOrder(start=min(each.in_run for each in host), end=end)
    return Counts(amounts=amounts, orders=orders)


def _instructions(made: CompiledModel, executable: Executable) -> Counts:
    _, profile = run_on_machine(executable, (_frame(executable),))
    amounts = {
        number: float(profile.steps[number])
        for number, step in enumerate(made.steps.steps)
        if isinstance(step, Dispatch | Copy) and profile.steps[number]
    }
    return Counts(amounts=amounts)


def _commands(made: CompiledModel, executable: Executable) -> Counts:
    """Cycles by the words of a command, from the log of the models; how long one takes follows from its words
    alone.
    """
    cycles = command_cycles(_logged(executable, _RTL_LOG))
    amounts = {
        number: cycles[step.words]
        for number, step in enumerate(made.steps.steps)
        if isinstance(step, Dispatch) and step.words in cycles
    }
    return Counts(amounts=amounts)


def _calls(made: CompiledModel, executable: Executable) -> Counts:
    """Instructions of calls on the one core with firmware, which logs them in the order of the steps."""
    log = _logged(executable, CORE_LOG)
    counts = [float(line.split()[-1]) for line in log.splitlines()]
    cores = {image.target_arch for image in executable.firmware}
    calls = [
        number
        for number, step in enumerate(made.steps.steps)
        if isinstance(step, Dispatch) and made.request.soc.instance(step.instance).arch.name in cores
    ]
    return Counts(amounts=dict(zip(calls, counts, strict=True)))


def _logged(executable: Executable, variable: str) -> str:
    """The log of one run, whose place the environment names; empty where nothing was logged."""
    log = executable.directory / variable.lower()
    with _set(variable, str(log)):
        run_frames(executable, [_frame(executable)])
    return log.read_text(encoding="utf-8") if log.exists() else ""


@contextmanager
def _set(variable: str, value: str) -> Iterator[None]:
    """The environment with that variable, until the end of the block."""
    before = os.environ.get(variable)
    os.environ[variable] = value
    try:
        yield
    finally:
        del os.environ[variable]
        if before is not None:
            os.environ[variable] = before


def command_cycles(log: str) -> dict[tuple[int, ...], float]:
    """Cycles by the words of a command: its own, and those of accesses to its registers."""
    found = {}
    for line in log.splitlines():
        fields = [int(field) for field in line.split()[1:]]
        command, access, _ = fields[-_COUNTS:]
        found[tuple(fields[_BEFORE_WORDS:-_COUNTS])] = float(command + access)
    return found
