"""The instructions that a program executes on an emulated board, block by block, and the cycles that LLVM's
machine code analyser gives them.

    python -m benchmarks.machine_code [--page | --classes]

prints instructions and cycles per instruction of the functions of this project's kernels on each processor;
the table in `docs/kernels.md` is this program's with `--page`. `--classes` prints the shares of classes of
instructions. Needs QEMU, `llvm-mca-19` and
`llvm-objdump-19` (Debian: `apt-get install llvm-19`).

A block is analysed as if it were repeated without end, its branch left out: operands are at hand, branches
are free, and what one block leaves unfinished delays no other block.
"""

import argparse
import bisect
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from benchmarks.instructions import MACHINES, NAMES, SHARED, counter
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.printed.text import table
from target_arch.run import Executable, build, write_bundle
from target_arch.soc import SoC, read_soc
from target_arch.soc.chip.processors import InstructionClass

_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:")
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
_REGION = re.compile(r"Code Region - r(\d+)\n.*?Total Cycles:\s+(\d+)", re.DOTALL)
_ITERATIONS = 20
_AT_ONCE = 60
_COVERED = 0.99
"""Blocks with that part of all instructions are analysed; the others are as these are on average."""
_TIMEOUT = 600
_BRANCHES = ("b.", "bl", "bx", "cb", "le", "wls", "dls")


@frozen
class Instruction:
    """Mnemonic and operands as text."""

    name: str
    operands: str

    @property
    def analysed(self) -> bool:
        """False for branches and the instructions of loops, which LLVM's tables do not price."""
        return "<" not in self.operands and not self.name.startswith(_BRANCHES)

    def __str__(self) -> str:
        return f"{self.name} {self.operands}"


Block = tuple[Instruction, ...]


@frozen(kw_only=True)
class ExecutedBlock:
    """A block of a function, and how often it was executed."""

    function: str
    block: Block
    count: int

    @property
    def instructions(self) -> int:
        """All that were executed."""
        return self.count * len(self.block)


@frozen(kw_only=True)
class AnalysedProcessor:
    """A processor as LLVM calls it, and the board that executes its code."""

    cpu: str
    triple: str
    machine: str


_PAIRS, _VECTORS = "thumbv7em-none-eabihf", "thumbv8.1m.main-none-eabihf"
PROCESSORS: Mapping[str, AnalysedProcessor] = {
    cpu: AnalysedProcessor(cpu=cpu, triple=triple, machine=machine)
    for cpu, triple, machine in (
        ("cortex-m4", _PAIRS, "Cortex-M7"),
        ("cortex-m33", "thumbv8m.main-none-eabihf", "Cortex-M7"),
        ("cortex-m7", _PAIRS, "Cortex-M7"),
        ("cortex-m55", _VECTORS, "Cortex-M55"),
        ("cortex-m85", _VECTORS, "Cortex-M55"),
    )
}


def executed(model: Path, soc: SoC, *, keep_dead: bool) -> tuple[ExecutedBlock, ...]:
    """The blocks of one run of a model on the board of a SoC: two frames less one."""
    request = CompileRequest(model_path=model, soc=soc, port="qemu_mps2", keep_dead=keep_dead)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bundle(compile_model(request).bundle, folder / "bundle")
        executable = build(folder / "bundle")
        once, twice = (_run(executable, folder, frames) for frames in (1, 2))
        twice.subtract(once)
        return tuple(_named(executable.runner, twice))


def executed_program(program: Path, board: str, folder: Path) -> tuple[ExecutedBlock, ...]:
    """The blocks of a program without files, on a board by QEMU's name."""
    quiet = ("-display", "none", "-monitor", "none", "-serial", "none")
    semihosting = ("-semihosting-config", "enable=on,target=native")
    words = ("qemu-system-arm", "-machine", board, *quiet, *semihosting, "-kernel", str(program))
    return tuple(_named(program, _counted(words, folder)))


def _run(executable: Executable, folder: Path, frames: int) -> Counter[tuple[int, int]]:
    machine = executable.machine
    assert machine is not None
    here = folder / f"frames{frames}"
    here.mkdir()
    (here / "frames").write_bytes(bytes(sum(executable.input_bytes)) * frames)
    words = list(machine.emulator)
    at = words.index("-icount")  # a block is cut where it is counted
    return _counted((*words[:at], *words[at + 2 :], str(executable.runner.absolute())), here)


def _counted(words: Sequence[str], folder: Path) -> Counter[tuple[int, int]]:
    """By address and length of a block, how often it was executed."""
    plugin, output = counter(folder), folder / "blocks"
    command = (words[0], "-plugin", f"{plugin},out={output}", *words[1:])
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_TIMEOUT)
    found: Counter[tuple[int, int]] = Counter()
    for line in output.read_text(encoding="utf-8").splitlines():
        address, length, count, _ = line.split(" ", 3)
        found[int(address, 16) & ~1, int(length)] += int(count)
    return found


def _named(program: Path, counts: Mapping[tuple[int, int], int]) -> Iterator[ExecutedBlock]:
    listing = _disassembled(program)
    order = sorted(listing)
    for (address, length), count in counts.items():
        first = bisect.bisect_left(order, address)
        lines = [listing[each] for each in order[first : first + length]]
        if count > 0 and lines:
            block = tuple(instruction for _, instruction in lines)
            yield ExecutedBlock(function=lines[0][0], block=block, count=count)


def _disassembled(program: Path) -> dict[int, tuple[str, Instruction]]:
    """By address, the function and the instruction."""
    target = ("--triple=thumbv8.1m.main-none-eabi", "--mcpu=cortex-m55")
    command = ("llvm-objdump-19", "-d", "--no-show-raw-insn", "--no-print-imm-hex", *target, str(program))
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found, function = {}, "?"
    for line in text.splitlines():
        if named := _FUNCTION.match(line):
            function = named[1]
        elif part := _LINE.match(line):
            operands = part[3].split("@")[0].strip() if "<" not in part[3] else part[3]
            found[int(part[1], 16)] = (function, Instruction(part[2], operands))
    return found


def cycles(blocks: Iterable[ExecutedBlock], processor: AnalysedProcessor) -> float:
    """The cycles of all of them."""
    counts: Counter[Block] = Counter()
    for each in blocks:
        counts[each.block] += each.count
    total = sum(count * len(block) for block, count in counts.items())
    chosen, covered = [], 0
    for block in sorted(counts, key=lambda block: (-counts[block] * len(block), str(block))):
        chosen.append(block)
        covered += counts[block] * len(block)
        if covered > _COVERED * total:
            break
    each_takes = analysed(chosen, processor)
    return sum(each_takes[block] * counts[block] for block in chosen) * total / covered


def analysed(blocks: Sequence[Block], processor: AnalysedProcessor) -> dict[Block, float]:
    """The cycles of one execution of each block, repeated without end."""
    found = {}
    for first in range(0, len(blocks), _AT_ONCE):
        some = blocks[first : first + _AT_ONCE]
        answer = _analyse("".join(map(_region, range(len(some)), some)), processor)
        for number, total in _REGION.findall(answer):
            found[some[int(number)]] = int(total) / _ITERATIONS
    return {block: found.get(block, float(len(block))) for block in blocks}


def _region(number: int, block: Block) -> str:
    lines = [str(instruction) for instruction in block if instruction.analysed] or ["nop"]
    return "\n".join((f"@ LLVM-MCA-BEGIN r{number}", *lines, "@ LLVM-MCA-END", ""))


def _analyse(text: str, processor: AnalysedProcessor) -> str:
    flags = ("-skip-unsupported-instructions=any", "-instruction-info=0", "-resource-pressure=0")
    target = (f"-mtriple={processor.triple}", f"-mcpu={processor.cpu}", f"-iterations={_ITERATIONS}")
    head = ".syntax unified\n.thumb\n"
    command = ("llvm-mca-19", *target, *flags)
    return subprocess.run(command, input=head + text, check=True, capture_output=True, text=True).stdout


_CLASSES: tuple[tuple[tuple[str, ...], InstructionClass], ...] = (
    (("vldr", "vld"), InstructionClass.VECTOR_LOAD),
    (("vstr", "vst"), InstructionClass.VECTOR_STORE),
    (("v",), InstructionClass.VECTOR),
    (("ldr", "ldm", "pop"), InstructionClass.LOAD),
    (("str", "stm", "push"), InstructionClass.STORE),
    (("sdiv", "udiv"), InstructionClass.DIVIDE),
    (("mul", "mla", "mls", "sml", "smu", "smm", "uml", "umu"), InstructionClass.MULTIPLY),
)


def classes(blocks: Iterable[ExecutedBlock]) -> Counter[InstructionClass]:
    """How many instructions of each class were executed; one of several registers counts as one."""
    found: Counter[InstructionClass] = Counter()
    for each in blocks:
        for instruction in each.block:
            found[_class(instruction)] += each.count
    return found


def _class(instruction: Instruction) -> InstructionClass:
    if not instruction.analysed:
        return InstructionClass.BRANCH
    for starts, kind in _CLASSES:
        if instruction.name.startswith(starts):
            return kind
    return InstructionClass.ALU


def shares() -> Iterator[str]:
    """A line for each board and model: the share of each class."""
    for machine in ("Cortex-M7", "Cortex-M55"):
        for name in NAMES:
            counts = classes(executed(_model(name), read_soc(MACHINES[machine].soc), keep_dead=False))
            parts = ", ".join(f"{kind} {count / counts.total():.3f}" for kind, count in counts.most_common())
            yield f"{machine} {name}: {parts}"


def page() -> Iterator[str]:
    """The lines of a table in Markdown: cycles per instruction of the functions that take most."""
    blocks = {
        machine: [
            block
            for name in NAMES
            for block in executed(_model(name), read_soc(MACHINES[machine].soc), keep_dead=False)
        ]
        for machine in ("Cortex-M7", "Cortex-M55")
    }
    titles = [name.removeprefix("cortex-") for name in PROCESSORS]
    yield f"| function | instructions of | {' | '.join(title.upper() for title in titles)} |"
    yield "|---|---|" + "---:|" * len(titles)
    for machine, some in blocks.items():
        for function in _largest(some):
            own = [each for each in some if _base(each.function) == function]
            total = sum(each.instructions for each in own)
            numbers = [
                f"{cycles(own, each) / total:.2f}" if each.machine == machine else ""
                for each in PROCESSORS.values()
            ]
            yield f"| `{function}` | {machine[7:]} | {' | '.join(numbers)} |"


def _model(name: str) -> Path:
    return SHARED / "models" / f"{name}.tflite"


def _largest(blocks: Sequence[ExecutedBlock]) -> list[str]:
    """The functions with more than a hundredth of all instructions."""
    counts: Counter[str] = Counter()
    for each in blocks:
        counts[_base(each.function)] += each.instructions
    return [function for function, count in counts.most_common() if count > 0.01 * counts.total()]


def _base(function: str) -> str:
    """The name in the source: a compiler appends to it."""
    return function.split(".", maxsplit=1)[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--page", action="store_true", help="as Markdown")
    form.add_argument("--classes", action="store_true", help="shares of classes of instructions")
    options = parser.parse_args(arguments)
    if options.page:
        print(*page(), sep="\n")
        return
    if options.classes:
        print(*shares(), sep="\n")
        return
    rows = []
    for name in NAMES:
        for title, processor in PROCESSORS.items():
            soc = read_soc(MACHINES[processor.machine].soc)
            blocks = executed(_model(name), soc, keep_dead=False)
            count = sum(each.instructions for each in blocks)
            rows.append((name, title, f"{count:,}", f"{cycles(blocks, processor) / count:.2f}"))
    print(table(("model", "processor", "instructions", "cycles of each"), rows, right=(2, 3)))


if __name__ == "__main__":
    main()
