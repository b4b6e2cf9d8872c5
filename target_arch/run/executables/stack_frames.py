"""Frames and calls of functions in object code of the cores that firmware is made for.

LLVM inside TVM writes neither `.stack_sizes` nor a call graph, so both are read from the instructions, as
`llvm-objdump` prints them. Every instruction that lowers the stack pointer counts, wherever it stands, so a
frame may be over-estimated; where one sets it to an unknown value, the function calls `UNREADABLE`. Calls are
relocations, and branches to other functions of the section; an indirect jump is the table of a switch. Tests
compare the frames with the section `.stack_sizes` that clang writes.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from target_arch.run.executables.stack_depth import INDIRECT, Calls

UNREADABLE = "a stack pointer that is computed"

_SECTION = "Disassembly of section "
_FUNCTION = re.compile(r"^([0-9a-f]+) <(?!\.L)([^>]+)>:$")
_RELOCATION = re.compile(r"\s[0-9a-f]+:\s+(R_\w+)\s+([^\s+-]+)")
_BRANCH = re.compile(r"\b(?:call|jump(?::\w+)?) 0x([0-9a-f]+)")
_LINKED = re.compile(r"^jalr (-?\d+)\(ra\)")
_AUIPC_BYTES = 4  # `auipc ra, 0` stands before it
_CALL = re.compile(r"R_HEX_B\d+_PCREL|R_RISCV_(CALL|JAL|RVC_JUMP|BRANCH)|R_AARCH64_(CALL|JUMP)26")
_HINT = "R_RISCV_RELAX"
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
_TARGET = re.compile(r"<(?!unknown>)([^>+]+)>")
_NUMBER = r"#?(-?(?:0x)?[0-9a-f]+)"

_Change = tuple[re.Pattern[str], Callable[[int], int]]


def _lowered(value: int) -> int:
    return max(0, -value)


def _aligned(mask: int) -> int:
    """`sp & -16` may take up to 15 bytes."""
    return max(0, -mask - 1)


_HEXAGON = (
    (
        re.compile(r"allocframe\((?:r29,)?#(\d+)\)"),
        lambda value: value + 8,
    ),  # and the return address, and r30
    (re.compile(rf"\br29 = add\(r29,#?{_NUMBER}\)"), _lowered),
    (re.compile(rf"\br29 = and\(r29,#?{_NUMBER}\)"), _aligned),
)
_RISCV = (
    (re.compile(rf"\baddi\s+sp, sp, {_NUMBER}"), _lowered),
    (re.compile(rf"\bandi\s+sp, sp, {_NUMBER}"), _aligned),
    (re.compile(rf"\baddi\s+sp, s0, {_NUMBER}"), lambda _: 0),  # back to what it was
)
_AARCH64 = (
    (re.compile(rf"\bsub\s+(?:sp|x\d+), sp, {_NUMBER}$"), lambda value: value),
    (re.compile(rf"\bsub\s+(?:sp|x\d+), sp, {_NUMBER}, lsl #12"), lambda value: value << 12),
    (re.compile(rf"\[sp, {_NUMBER}\]!"), _lowered),
    (re.compile(rf"\band\s+sp, x\d+, {_NUMBER}"), lambda mask: (1 << 64) - 1 - mask),
    (re.compile(r"\b(?:add\s+sp, sp, |sub\s+sp, x29, |mov\s+sp, x29()|add\s+sp, x29, )"), lambda _: 0),
)
_CHANGES: Mapping[str, tuple[_Change, ...]] = MappingProxyType(
    {"hexagon": _HEXAGON, "riscv64": _RISCV, "aarch64": _AARCH64}
)
_SETS = MappingProxyType(
    {
        "hexagon": re.compile(r"\br29 = |\br29:28 = "),
        "riscv64": re.compile(r"^(?!sd|sw|sh|sb|b\w+\s)\w[\w.]*\s+sp, "),
        "aarch64": re.compile(r"^(?!st|cmp|ccmp|tst)\w+\s+sp, "),
    }
)
_INDIRECT = MappingProxyType(
    {
        "hexagon": re.compile(r"\bcallr\b"),
        "riscv64": re.compile(r"^jalr\s"),
        "aarch64": re.compile(r"^blr\s"),
    }
)


def read_frames(core: str, source: str, listing: str, points_at: tuple[str, ...]) -> Calls:
    """The call graph in the output of `llvm-objdump -dr --no-show-raw-insn` for an object file for the core.

    An unknown callee or change of the stack pointer is an edge to `UNREADABLE`.
    """
    frames: dict[str, int] = {}
    edges: list[tuple[str, str]] = []
    for name, lines in _functions(listing):
        frames[name] = max(frames.get(name, 0), sum(_change(core, line) for line in lines))
        edges += [(name, UNREADABLE)] * any(_unreadable(core, line) for line in lines)
        edges += [(name, callee) for callee in _callees(core, name, lines)]
    return Calls(source=source, frames=frames, edges=tuple(dict.fromkeys(edges)), points_at=points_at)


def _functions(listing: str) -> Iterable[tuple[str, list[str]]]:
    """Each function with its instructions, and behind them `@` for a relocation, `@symbol` for a call's."""
    for section in listing.split(_SECTION)[1:]:
        starts = {
            int(begins[1], 16): begins[2] for begins in map(_FUNCTION.match, section.splitlines()) if begins
        }
        name, lines = "", list[str]()
        for line in section.splitlines():
            if begins := _FUNCTION.match(line):
                if name:
                    yield name, lines
                name, lines = begins[2], []
            elif name:
                lines += _parts(line, starts)
        if name:
            yield name, lines


def _parts(line: str, starts: Mapping[int, str]) -> Iterable[str]:
    """An instruction and its relocation: for Hexagon both are on one line, without names of targets."""
    relocation = _RELOCATION.search(line)
    instruction = _INSTRUCTION.match(line[: relocation.start()] if relocation else line)
    if instruction:
        text = " ".join(instruction[2].replace("{", " ").replace("}", " ").split())
        target = starts.get(_place(int(instruction[1], 16), text))
        yield f"{text} <{target}>" if target else text
    if relocation and relocation[1] != _HINT:
        yield f"@{relocation[2]}" if _CALL.match(relocation[1]) else "@"


def _place(address: int, text: str) -> int:
    """Where a branch without a name goes; -1: it is none."""
    if branch := _BRANCH.search(text):
        return int(branch[1], 16)
    linked = _LINKED.match(text)
    return address - _AUIPC_BYTES + int(linked[1]) if linked else -1


def _change(core: str, line: str) -> int:
    """By how much an instruction, or a packet of them, lowers the stack pointer."""
    return sum(
        lowered(int(found or "0", 0)) for form, lowered in _CHANGES[core] for found in form.findall(line)
    )


def _unreadable(core: str, line: str) -> bool:
    if not _SETS[core].search(line):
        return False
    return not any(form.search(line) for form, _ in _CHANGES[core])


def _callees(core: str, name: str, lines: list[str]) -> Iterable[str]:
    """The functions that a function calls or jumps to. A branch that is relocated goes where the relocation
    says.
    """
    for line, before, behind in zip(lines, ["", *lines], [*lines[1:], ""], strict=False):
        if line.startswith("@"):
            yield from filter(None, [line[1:]])
        elif (
            _INDIRECT[core].search(line) and "<" not in line and (before == "@" or not before.startswith("@"))
        ):
            yield INDIRECT
        elif not behind.startswith("@"):
            yield from (target for target in _TARGET.findall(line) if target != name)
