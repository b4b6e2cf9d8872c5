"""The contract of ports: the description of one system for the C runtime by a plug-in, as one value.

A port is a folder of C (`docs/port-the-runtime.md` lists its files) and a `PortKind`. It is found by
the entry-point group `target_arch.ports`, in the folder `ports` of a `--backend-dir`, or added in Python;
it is checked when it is first asked for.
"""

from collections.abc import Callable, Mapping

from attrs import field, frozen

ENTRY_POINT_GROUP = "target_arch.ports"
MACHINE = "{machine}"
"""Stands for the name of the machine in `BareMetal.emulator`."""
FILE, ADDRESS = "{file}", "{address}"
"""Stand for the path of a file and its address in `BareMetal.load_file`."""


@frozen(kw_only=True)
class AddressRange:
    """Bytes of a machine from `start` up to, not including, `end`."""

    start: int
    end: int
    writable: bool = True


@frozen(kw_only=True)
class Machine:
    """A board. `name` is its name in the emulator, `cores` how many of its cores execute the program.

    `flags` make a compiler produce code for it; `counter_hz` is the frequency of the timer that the port
    reads; `regions` are where it has memory.
    """

    name: str
    cpu: str
    flags: tuple[str, ...]
    counter_hz: int
    regions: tuple[AddressRange, ...]
    cores: int = 1


@frozen(kw_only=True)
class Hosted:
    """A port whose programs run on the computer that compiles them, under its operating system.

    `libraries` are those of the system that programs are linked with (`m` is -lm). With `threads` they are
    compiled and linked for POSIX threads. A port that `simulates` is given a `ta_simulation`
    (`ports/host/simulator.h`): its bundles carry the simulators of devices, and it has the functions
    `<prefix>_set_lazy` and `<prefix>_set_jitter`. One that takes `modules` runs the kernels of a device that
    has a compiler of its own and nothing else beside the host; its kernels call `<prefix>_launch`. One that
    `complains` has `const char *<prefix>_complaint(void)`: more about a failure, or "". One that
    `joins_calls` has `dispatch_all` and `succeeded`: with frames in flight, calls for a core that follow each
    other are one order, and one look settles all that are over. `needs` are things that `run` looks for
    first: names of programs, or of `target_arch.run.execute.needs`.
    """

    libraries: tuple[str, ...] = ("m",)
    threads: bool = False
    simulates: bool = False
    modules: bool = False
    complains: bool = False
    joins_calls: bool = False
    needs: tuple[str, ...] = ()


@frozen(kw_only=True)
class BareMetal:
    """A port whose programs run without an operating system, on one of several machines, here emulated.

    A SoC file says in its table `[port.<name>]` on which machine, and where code and data go; the linker
    script of the bundle is made from that. It names the port's symbols `<prefix>_reset` (the entry),
    `<prefix>_vectors` (in section `.vectors`) and defines `ta_stack_start` and the like; `<prefix>_start` is
    the first function that has a stack frame. The programs of a bundle call `<prefix>_open`, `_read`,
    `_write`, `_close`, `_say`, `_say_number`, `_ticks`, `_count_steps`, `_count_steps_of`, `_stack_used` and
    `_stack_bytes`, as `ports/qemu_mps2/qemu_mps2.h` declares them.

    `emulator` is the command that runs a program, up to its name, with MACHINE where the machine's name goes;
    an instruction takes 2^`shift` ns of emulated time. `packages` are the Debian packages of programs.
    `load_file` are words before the last one of `emulator` that put a file into memory, with FILE and
    ADDRESS in their places; a port without them has no weights files.
    """

    machines: tuple[Machine, ...]
    compiler: str
    archiver: str
    emulator: tuple[str, ...]
    shift: int
    flags: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(factory=dict)
    load_file: tuple[str, ...] = ()

    def machine(self, name: str) -> Machine:
        """The machine of that name. KeyError where the port runs on none of that name."""
        found = next((machine for machine in self.machines if machine.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def command(self, machine: str) -> tuple[str, ...]:
        """The command that runs a program on a machine, up to the name of the program."""
        return tuple(word.replace(MACHINE, machine) for word in self.emulator)


@frozen(kw_only=True)
class PortKind:
    """One system that the C runtime runs on. Its table of operations is the C symbol `ta_port_<name>`.

    `files` returns path (below `runtime/`) → text of its C sources and headers; those that end in `.c` are
    compiled. `header`, below `runtime/`, declares its own functions, which begin with `prefix`; a port that
    has only its table needs neither.
    """

    name: str
    description: str
    files: Callable[[], Mapping[str, str]]
    system: Hosted | BareMetal
    prefix: str = ""
    header: str = ""

    @property
    def hosted(self) -> Hosted:
        """The hosted half of a port; empty for a port without an operating system."""
        return self.system if isinstance(self.system, Hosted) else _NOT_HOSTED

    @property
    def bare_metal(self) -> BareMetal | None:
        """The machines of a port without an operating system; None for a hosted one."""
        return self.system if isinstance(self.system, BareMetal) else None

    @property
    def include(self) -> str:
        """The line of C that includes its header."""
        return f'#include "{self.header}"'

    def __str__(self) -> str:
        system = self.system
        if isinstance(system, BareMetal):
            machines = ", ".join(machine.name for machine in system.machines)
            return f"{self.name} (bare metal: {machines}): {self.description}\n"
        about = [f"-l{name}" for name in system.libraries]
        about += [name for name in ("threads", "simulates", "modules") if getattr(system, name)]
        return f"{self.name} (hosted: {', '.join(about)}): {self.description}\n"


_NOT_HOSTED = Hosted()
