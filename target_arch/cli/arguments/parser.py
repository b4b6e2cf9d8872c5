"""The arguments of every command."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from attrs import frozen

import target_arch
from target_arch.cli.arguments.backend_starts import BACKEND_STARTS
from target_arch.cli.arguments.command_parser import CommandParser
from target_arch.cli.arguments.options import BUNDLE, MODEL, PLAN, TARGET, OptionRow, positive

Run = Callable[[argparse.Namespace], int]

_EXIT_CODES = (
    "Exit codes: 0 done, 1 what was made is not right, 2 the input is wrong, 3 a needed tool is missing, 4 a "
    "defect or the system ended the process, 130 interrupted."
)

_DESCRIPTION = (
    "Compile neural networks for all compute elements of a chip at once: from a model and a SoC file to C, "
    "with the memory plan, the copies, and a check of the results. Each COMMAND has its own --help; "
    "`demo` shows all of it."
)

_MORE_OPTIONS = (
    "Target_archs have options of their own, --<target_arch>-<option>: --help beside --soc or --target shows "
    "those of its target_archs, and `target-arch backends` those of every backend."
)

DUMPS = ("model", "partitions", "search", "execution", "lowering", "budgets", "memory", "steps", "frames")


@frozen
class Command:
    """One command: where its function is, and which arguments it takes.

    With `takes_backend_options` it also takes `--<target_arch>-<option>` for the SoC it is given. `late`
    names an argument whose words may also stand after options, where argparse does not see them.
    """

    name: str
    module: str
    help: str
    add: Callable[[CommandParser], None]
    takes_backend_options: bool = False
    late: str | None = None

    @property
    def reads_models(self) -> bool:
        """Whether it runs native code on files of others: as all do that place a model."""
        return self.takes_backend_options

    def function(self) -> Run:
        """The function, imported now."""
        module = import_module(f"target_arch.cli.commands.{self.module}")
        function: Run = getattr(module, self.name.replace("-", "_"))
        return function


def parser() -> tuple[CommandParser, Mapping[str, CommandParser]]:
    """The parser of the whole command line, and those of its commands by name."""
    made = CommandParser(prog="target-arch", description=_DESCRIPTION, epilog=_EXIT_CODES, allow_abbrev=False)
    tvm = f"apache-tvm {version('apache-tvm')}"
    made.add_argument("--version", action="version", version=f"target-arch {target_arch.__version__} ({tvm})")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        one = commands.add_parser(
            command.name, help=command.help, description=command.help, allow_abbrev=False,
            epilog=_MORE_OPTIONS if command.takes_backend_options else None,
        )  # fmt: skip
        command.add(one)
        one.add_argument(
            "--traceback", action="store_true",
            help="where a backend fails, also show Python's traceback; as does TARGET_ARCH_TRACEBACK=1",
        )  # fmt: skip
        one.add_argument(
            "--quiet", action="store_true",
            help="no progress and no notes on stderr, only errors; as does TARGET_ARCH_QUIET=1",
        )  # fmt: skip
    return made, commands.choices


def command_of(arguments: Sequence[str]) -> Command | None:
    """The command that is given: the first word. None where there is none of that name."""
    word = next((word for word in arguments if not word.startswith("-")), None)
    return next((command for command in COMMANDS if command.name == word), None)


def late_words(rest: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments that argparse left over, as words and options; a word after an option without `=` is its
    value.
    """
    words: list[str] = []
    options: list[str] = []
    for number, word in enumerate(rest):
        before = rest[number - 1] if number else ""
        is_value = before.startswith("--") and "=" not in before
        (options if word.startswith("-") or is_value else words).append(word)
    return words, options


def _socs(to: CommandParser) -> None:
    to.add_argument("soc", nargs="+", metavar="SOC", help="a SoC file, or the name of a shipped one")
    _format(to)
    _backend_dirs(to)


def _show(to: CommandParser) -> None:
    to.add_argument("soc", nargs="*", metavar="SOC", help="a SoC file, or the name of a shipped one")
    to.add_argument(
        "--target", action="append", default=[], metavar=TARGET,
        help="print the SoC that these backends make, as a file that `check` accepts",
    )  # fmt: skip
    to.add_argument("--svg", type=Path, metavar="FILE", help="draw the SoC into a file instead")
    _format(to)
    _backend_dirs(to)


def _soc_and_output(to: CommandParser) -> None:
    to.add_argument("soc", metavar="SOC", help="a SoC file, or the name of a shipped one")
    to.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to a file instead of stdout")
    _backend_dirs(to)


def _chips(to: CommandParser) -> None:
    _format(to)


def _backends(to: CommandParser) -> None:
    _format(to)
    _backend_dirs(to)


def _model(to: CommandParser) -> None:
    to.add_argument("model", type=Path, metavar="MODEL", help="an .onnx, .tflite, .pt2 or .relax file")
    _soc(to)


def _soc(to: CommandParser) -> None:
    to.add_argument("--soc", metavar="SOC", help="a SoC file, or the name of a shipped one")
    _planning(to)


def _planning(to: CommandParser) -> None:
    _add(MODEL, to.add_argument_group("model"))
    plan = to.add_argument_group("plan")
    _add(PLAN, plan)
    _backend_dirs(plan)
    _format(to)


def _add(rows: tuple[OptionRow, ...], to: "argparse._ActionsContainer") -> None:
    for row in rows:
        row.add(to)


def _partition(to: CommandParser) -> None:
    _model(to)


def _operators(to: CommandParser) -> None:
    to.add_argument("model", type=Path, metavar="MODEL", help="an .onnx, .tflite, .pt2 or .relax file")
    _add(MODEL, to)
    _backend_dirs(to)
    _format(to)


def _explain(to: CommandParser) -> None:
    to.add_argument(
        "model", type=Path, metavar="MODEL",
        help="an .onnx, .tflite, .pt2 or .relax file; or RULE, as a message names it in brackets: its cause "
        "and cure",
    )  # fmt: skip
    _soc(to)
    said = "operator ids: these with the run that each place would give; none for all, without"
    to.add_argument("operator", nargs="*", metavar="OPERATOR", help=said)


def _compile(to: CommandParser) -> None:
    to.add_argument(
        "models", nargs="*", metavar="MODEL",
        help="an .onnx, .tflite, .pt2 or .relax file, or NAME=FILE; several become one bundle",
    )  # fmt: skip
    to.add_argument(
        "--workload", type=Path, metavar="FILE",
        help="a workload file, which names models and says when they run: their bundle has an arbiter",
    )  # fmt: skip
    _soc(to)
    to.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="the bundle's folder; files of others there stay",
    )
    _add(BUNDLE, to)
    to.add_argument(
        "--dump",
        action="append",
        default=[],
        choices=(*DUMPS, "all"),
        help="print a value between two stages",
    )


def _tune(to: CommandParser) -> None:
    _model(to)
    to.add_argument("-o", "--output", type=Path, metavar="FILE", help="the tuning file to write")
    to.add_argument("--target-arch", metavar="NAME", help="only the kernels of this one (default: of all)")
    to.add_argument("--trials", type=positive, default=32, help="schedules to try per task (default: 32)")
    to.add_argument("--seed", type=int, default=0, help="of the search (default: 0)")
    to.add_argument("--cc", metavar="COMMAND", help="the C compiler (default: this computer's)")
    to.add_argument("--cflags", default="-O2", help="its flags (default: -O2, as in a bundle's Makefile)")
    to.add_argument(
        "--scratch", type=int, default=0, metavar="BYTES", help="scratch that a kernel may want (default: 0)"
    )
    to.add_argument(
        "--tracker", metavar="[HOST:]PORT",
        help="measure on servers of TVM's RPC tracker, on this computer where no host is named",
    )  # fmt: skip
    to.add_argument("--key", default="target_arch", help="of these servers (default: target_arch)")


def _calibrate(to: CommandParser) -> None:
    to.add_argument(
        "models", nargs="*", type=Path, metavar="MODEL",
        help="an .onnx, .tflite, .pt2 or .relax file; with two or more an error is stated",
    )  # fmt: skip
    _soc(to)
    to.add_argument(
        "--probes", action="store_true",
        help="measure nets of the tool's own besides, with layers in many shapes; then one model is enough "
        "for an error, and none for costs",
    )  # fmt: skip
    to.add_argument(
        "--port", default="host", metavar="NAME",
        help="where to measure: host (time of C on this computer), cuda (of its NVIDIA device, too), "
        "an emulated machine such as qemu_mps2 (instructions), rtl (cycles of Verilated engines), or "
        "firmware (instructions of emulated Hexagon cores); default: host",
    )  # fmt: skip
    to.add_argument("-o", "--output", type=Path, metavar="FILE", help="the cost file to write")
    to.add_argument(
        "--update", type=Path, metavar="FILE",
        help="a cost file that this command wrote: run only models with code that it did not measure",
    )  # fmt: skip


def _explore(to: CommandParser) -> None:
    to.add_argument("space", type=Path, metavar="FILE", help="a space file: models, chips, and what varies")
    to.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="processes (default: one for each core of this computer)",
    )
    to.add_argument(
        "--store", metavar="FILE|ADDRESS",
        help="where outcomes are kept and taken from: a file (default: FILE.outcomes.jsonl beside the space "
        "file), or the address of a database, such as postgresql://USER@HOST/NAME",
    )  # fmt: skip
    to.add_argument(
        "--scheduler", metavar="ADDRESS",
        help="evaluate on the workers of Dask's scheduler there, tcp://HOST:PORT, instead of this computer",
    )  # fmt: skip
    to.add_argument(
        "--trials", type=positive, metavar="N",
        help="let Optuna choose so many points (default: every point of the space)",
    )  # fmt: skip
    to.add_argument(
        "--prune", action="store_true",
        help="do not compile points that are dominated by a lower bound of their time; with --trials that is "
        "so in any case",
    )  # fmt: skip
    to.add_argument("--seed", type=int, default=0, help="of the order or choice of points (default: 0)")
    to.add_argument("--csv", type=Path, metavar="FILE", help="write a line for every point, too")
    to.add_argument(
        "--html", type=Path, metavar="FILE",
        help="write a page with pictures, too; while points are evaluated it has the front so far",
    )  # fmt: skip
    to.add_argument(
        "--chip", type=int, metavar="POINT", help="only print the SoC file of a point, by its number"
    )
    to.add_argument("-o", "--output", type=Path, metavar="FILE", help="write that SoC file instead")
    _format(to)
    _backend_dirs(to)


def _fit(to: CommandParser) -> None:
    _models_for_chips(to)
    to.add_argument(
        "--soc", required=True, metavar="SOC", help="the SoC file to start from, or the name of a shipped one"
    )
    to.add_argument(
        "--shrink", required=True, metavar="NAME,NAME,...",
        help="what becomes smaller, one after the other: memories (their sizes), target_archs (their "
        "instances), DMA engines (their channels), or keys such as target_arch.host_cpu.clock",
    )  # fmt: skip
    to.add_argument(
        "--within", action="append", default=[], metavar="MEASURE=VALUE",
        help="a limit to keep, such as latency=12ms; may repeat",
    )  # fmt: skip
    to.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the SoC file that was found")
    _format(to)
    _backend_dirs(to)


def _choose(to: CommandParser) -> None:
    _models_for_chips(to)
    to.add_argument(
        "--soc", action="append", default=[], metavar="SOC",
        help="a SoC file, or the name of a shipped one; may repeat (default: all shipped ones)",
    )  # fmt: skip
    to.add_argument(
        "--limit", action="append", default=[], metavar="MEASURE=VALUE",
        help="a limit to keep, such as latency=12ms or kws.bytes.sram=64KiB; may repeat",
    )  # fmt: skip
    to.add_argument("--by", default="latency", metavar="MEASURE", help="what ranks them (default: latency)")
    to.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="processes (default: one for each core of this computer)",
    )
    _format(to)
    _backend_dirs(to)


def _quantize(to: CommandParser) -> None:
    to.add_argument("model", type=Path, metavar="MODEL", help="a float .onnx or .tflite file")
    to.add_argument(
        "--data", type=Path, required=True, metavar="PLACE",
        help="frames to calibrate and judge with: an .npz file with an array for each input, or a folder "
        "with an .npy file for each; frames are the first dimension",
    )  # fmt: skip
    to.add_argument(
        "--labels", type=Path, metavar="FILE",
        help="an .npy file with the class of each frame, for accuracies (default: the array `labels` of the "
        ".npz file, if it has one)",
    )  # fmt: skip
    to.add_argument("--soc", required=True, metavar="SOC", help="a SoC file, or the name of a shipped one")
    to.add_argument(
        "--within", action="append", default=[], metavar="NAME=VALUE,...",
        help="limits to keep, bytes of memories and time, as in flash=512KiB,latency=20ms; may repeat "
        "(default: what the library's own int8 model takes)",
    )  # fmt: skip
    to.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the quantized model")
    _add(tuple(row for row in PLAN if row.flag in {"--mode", "--optimize"}), to)
    _format(to)
    _backend_dirs(to)


def _models_for_chips(to: CommandParser) -> None:
    to.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="an .onnx, .tflite or .pt2 file, or NAME=FILE; or several",
    )
    to.add_argument(
        "--store",
        metavar="FILE|ADDRESS",
        help="keep outcomes in a file or a database, and take them from there",
    )


def _run(to: CommandParser) -> None:
    to.add_argument("bundle", type=Path, metavar="BUNDLE", help="a folder that `compile` wrote")
    _port(to)
    to.add_argument(
        "--input", type=Path, action="append", default=[], metavar="FILE",
        help="one file per model input: .npy, or raw bytes; without any, the bundle's own test vector is run",
    )  # fmt: skip
    to.add_argument(
        "-o", "--output", type=Path, metavar="PLACE",
        help="write each output to PLACE/<name>.npy, or the only one to a file that ends with .npy",
    )  # fmt: skip
    to.add_argument(
        "--top",
        type=positive,
        metavar="N",
        help="print the N largest elements of every output; of the bundle's own test vector without --input",
    )
    to.add_argument(
        "--times", action="store_true",
        help="also run the steps one by one, and print how long each takes beside what was predicted",
    )  # fmt: skip
    to.add_argument(
        "--profile", type=Path, metavar="FILE",
        help="write these times as a timeline that Perfetto opens; of an emulated machine its instructions",
    )  # fmt: skip
    _simulated(to)
    _format(to)


def _port(to: CommandParser) -> None:
    to.add_argument("--port", help="refuse a bundle that carries another port of the C runtime")


def _verify(to: CommandParser) -> None:
    to.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="the model the bundle was compiled from, or NAME=FILE; all of them, where it has several",
    )
    given = to.add_mutually_exclusive_group()
    given.add_argument("--bundle", type=Path, metavar="DIR", help="a folder that `compile` wrote")
    given.add_argument(
        "--soc", metavar="SOC", help="compile for this SoC (or for --target) first, into a temporary folder"
    )
    to.add_argument("--count", type=positive, default=50, help="how many inputs (default: 50)")
    to.add_argument(
        "--inputs", type=Path, metavar="PLACE",
        help="recorded inputs instead of random ones: an .npz file with an array for each input, or a folder "
        "with an .npy file for each; frames are the first dimension. Outputs there are expected ones",
    )  # fmt: skip
    to.add_argument(
        "--expected", type=Path, metavar="PLACE",
        help="the outputs of these inputs, of which all or some are recorded likewise",
    )  # fmt: skip
    to.add_argument(
        "--labels", type=Path, metavar="FILE.npy",
        help="the class of each of these inputs: prints the accuracy, beside the reference's; also the array "
        "`labels` of the .npz file",
    )  # fmt: skip
    to.add_argument("--seed", type=int, default=0, help="of the random inputs (default: 0)")
    to.add_argument(
        "--layers", action="store_true",
        help="also compare every operator, each on the reference's own inputs of it; of a --bundle with the "
        "options that it was compiled with",
    )  # fmt: skip
    to.add_argument(
        "-o", "--output", type=Path, metavar="DIR",
        help="keep the bundle that is compiled there, with the result, for `report`",
    )  # fmt: skip
    _simulated(to)
    _planning(to)
    _add(BUNDLE, to)


def _simulated(to: CommandParser) -> None:
    to.add_argument(
        "--rtl", action="store_true",
        help="simulate devices that exist as Verilog by their RTL, with Verilator, not by their behaviour",
    )  # fmt: skip
    to.add_argument(
        "--firmware", action="store_true",
        help="give cores that take firmware a process of their own, which executes it under an emulator",
    )  # fmt: skip


def _report(to: CommandParser) -> None:
    to.add_argument("bundle", type=Path, metavar="BUNDLE", help="a folder that `compile` wrote")
    to.add_argument(
        "--image",
        action="store_true",
        help="build for the machine and cores it is for, and print what programs take of every memory",
    )
    files = to.add_argument_group("instead of text, files")
    files.add_argument("--html", type=Path, metavar="FILE", help="one page with all pictures and tables")
    files.add_argument("--svg", type=Path, metavar="DIR", help="every picture as a file of its own")
    files.add_argument(
        "--perfetto", type=Path, metavar="FILE", help="the simulated run as a trace for Perfetto's UI"
    )
    files.add_argument("--json", type=Path, metavar="FILE", help="the values that the page shows")
    _format(to)


def _package(to: CommandParser) -> None:
    to.add_argument("bundle", type=Path, metavar="BUNDLE", help="a folder that `compile` wrote")
    to.add_argument(
        "layout", choices=("arduino", "mlf"),
        help="arduino: a ZIP file with a library; mlf: a tar file in the shape of TVM's Model Library Format",
    )  # fmt: skip
    to.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: the bundle's name with .zip or .tar"
    )


def _weights(to: CommandParser) -> None:
    to.add_argument("bundle", type=Path, metavar="BUNDLE", help="a folder that `compile` wrote")
    to.add_argument(
        "new", nargs="?", metavar="NEW",
        help="another bundle of the same program, or a model, which is compiled as the bundle was: its "
        "weights replace those of BUNDLE",
    )  # fmt: skip
    _soc(to)
    _add(BUNDLE, to)


def _compare(to: CommandParser) -> None:
    to.add_argument("before", type=Path, metavar="BEFORE", help="a folder that `compile` wrote")
    to.add_argument("after", type=Path, metavar="AFTER", help="another one")
    to.add_argument("--html", type=Path, metavar="FILE", help="write a page instead, with pictures of both")
    _format(to)


def _new_soc(to: CommandParser) -> None:
    to.add_argument("name", metavar="NAME", help="the SoC's name, a lower-case identifier")
    to.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: NAME.toml")


def _new_backend(to: CommandParser) -> None:
    to.add_argument("name", metavar="NAME", help="the backend's name, a lower-case identifier")
    to.add_argument(
        "--start",
        choices=tuple(BACKEND_STARTS),
        default=next(iter(BACKEND_STARTS)),
        help="what its accelerator computes: float32 relu, tile by tile (the default); or int8 convolutions "
        "with the residual sum after them, whole layers at a time",
    )
    to.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: NAME")


def _new_operator(to: CommandParser) -> None:
    to.add_argument("name", metavar="NAME", help="the library's name, a lower-case identifier")
    to.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: NAME")


def _demo(to: CommandParser) -> None:
    to.add_argument("--soc", default="zynq_edge", metavar="SOC", help="default: zynq_edge")
    to.add_argument("-o", "--output", type=Path, metavar="DIR", help="keep the bundle there")
    _backend_dirs(to)


def _completion(to: CommandParser) -> None:
    to.add_argument(
        "shell", choices=("bash", "fish", "zsh"),
        help="the shell that the script is for; its start file takes it by eval \"$(target-arch completion "
        "bash)\", or zsh, and that of fish by target-arch completion fish | source",
    )  # fmt: skip


def _schema(to: CommandParser) -> None:
    to.add_argument(
        "name", nargs="?", metavar="NAME",
        help="a command, `failure` (what each prints with its messages) or `soc` (SoC files); none lists all",
    )  # fmt: skip


def _format(to: CommandParser) -> None:
    to.add_argument("--format", choices=("text", "json"), default="text", help="json for programs")


def _backend_dirs(to: "argparse._ActionsContainer") -> None:
    to.add_argument(
        "--backend-dir", type=Path, action="append", default=[], metavar="DIR",
        help="a folder with backends of your own, and in its folders load_processes, operators, planners, "
        "policies and ports other plug-ins; may repeat. Its Python files are run: name only folders that "
        "you trust",
    )  # fmt: skip


COMMANDS = (
    Command("check", "describe", "check SoC files and say everything that is wrong", _socs),
    Command("show", "describe", "print what a SoC file describes, or what --target builds", _show),
    Command("chips", "describe", "list the real chips that are described, and what of them is known", _chips),
    Command("headers", "describe", "print the C header of a SoC", _soc_and_output),
    Command("backends", "describe", "list the backends that were found", _backends),
    Command("operators", "operators", "list a model's operators, and which have no form yet", _operators),
    Command("partition", "models", "print which operator goes where", _partition, True),
    Command(
        "explain",
        "models",
        "say why an operator is where it is, and why nowhere else; or what a rule of messages means",
        _explain,
        True,
        "operator",
    ),
    Command("compile", "compile", "make a bundle of C from a model, or several", _compile, True, "models"),
    Command("tune", "tune", "find better code for operators by measuring", _tune, True),
    Command(
        "calibrate",
        "calibrate",
        "measure and fit the costs of a chip's operators",
        _calibrate,
        True,
        "models",
    ),
    Command("explore", "explore", "compare many chips for the same models", _explore),
    Command("fit", "explore", "find the smallest chip that holds some models", _fit),
    Command("choose", "explore", "rank chips for some models", _choose),
    Command("quantize", "quantizing", "make a float model one of integers that fits a chip", _quantize),
    Command("run", "bundles", "build a bundle with this machine's C compiler and run it", _run),
    Command(
        "verify",
        "bundles",
        "compare a bundle with the reference its model came from",
        _verify,
        True,
        "models",
    ),
    Command("report", "reports", "print what a bundle's manifest says", _report),
    Command("weights", "weights", "print the weights files of a bundle, or replace them", _weights, True),
    Command("compare", "reports", "show two bundles side by side: what moved, what it cost", _compare),
    Command("package", "package", "write a bundle in the layout of another tool", _package),
    Command("new-soc", "describe", "write a small commented SoC file to start from", _new_soc),
    Command("new-backend", "new_package", "write a package with a backend that works", _new_backend),
    Command("new-operator", "new_package", "write a package with an operator of your own", _new_operator),
    Command("schema", "schema", "print the JSON Schema of what a command prints with --format json", _schema),
    Command("completion", "completion", "print a script that completes arguments in a shell", _completion),
    Command("demo", "demo", "the example model from file to verified C, with everything printed", _demo),
)
