"""Take one step out of the emitted step table, as a careless edit would, and leave the rest consistent.

The step's line goes; later steps on its timeline, and those that wait for them, count one less. Nothing else
changes: not the copy's own entry, not the place of any other step. Seals lose their CRCs. So a
bundle without one of its copies still runs to its end, and only its results can tell.
"""

import re
from pathlib import Path

_STEP = re.compile(
    r"^    \{TA_STEP_(?P<kind>\w+), (?P<index>\d+), \{(?P<timeline>\w+), (?P<value>\d+)\}\},"
    r" /\* (?P<number>\d+): "
)
_SEAL = re.compile(r"^    \{(&?\w+, [\w ]+), 0x[0-9a-f]{8}u, 0\},$", re.MULTILINE)
_COUNT = re.compile(r"^    (\d+), /\* steps \*/$")


def step_numbers(directory: Path, kind: str) -> tuple[int, ...]:
    """The numbers of all steps of a kind (`COPY`, `WAIT`, `DISPATCH`, `LOAD`) in the bundle's table."""
    found = (_STEP.match(line) for line in _table(directory).read_text().splitlines())
    return tuple(int(match["number"]) for match in found if match and match["kind"] == kind)


def delete_step(directory: Path, number: int) -> str:
    """Rewrite the bundle's step table without step `number`; returns the file's old text (see `restore`)."""
    path = _table(directory)
    text = path.read_text()
    path.write_text(without_step(text, number))
    return text


def restore(directory: Path, text: str) -> None:
    """Undo `delete_step`."""
    _table(directory).write_text(text)


def without_step(text: str, number: int) -> str:
    """The text of `src/<model>_steps.c` without one step. KeyError where it has none of that number."""
    gone = next(
        (match for match in map(_STEP.match, text.splitlines()) if match and int(match["number"]) == number),
        None,
    )
    if gone is None:
        raise KeyError(number)
    removed = 0
    lines: list[str] = []
    for line in text.splitlines():
        match = _STEP.match(line)
        rewritten = _counted_down(line, match, gone) if match else line
        if rewritten is None:
            removed += 1
        else:
            lines.append(rewritten)
    count = next(index for index, line in enumerate(lines) if _COUNT.match(line))
    lines[count] = _COUNT.sub(lambda found: f"    {int(found[1]) - removed}, /* steps */", lines[count])
    return unsealed("\n".join(lines) + "\n")


def unsealed(text: str) -> str:
    """The text of `src/<model>_steps.c` with tables that init compares with no CRC."""
    return _SEAL.sub(r"    {\1, 0, 1},", text)


def _counted_down(line: str, step: re.Match[str], gone: re.Match[str]) -> str | None:
    """The line as it is after the step is gone; None for the step itself and for a wait that has nothing
    left.
    """
    if step["number"] == gone["number"]:
        return None
    later = int(step["value"]) > int(gone["value"]) or step["kind"] == "WAIT"
    signals = gone["kind"] in ("COPY", "DISPATCH") and gone["timeline"] != "TA_TIMELINE_NONE"
    if (
        not signals
        or step["timeline"] != gone["timeline"]
        or not later
        or int(step["value"]) < int(gone["value"])
    ):
        return line
    value = int(step["value"]) - 1
    if value == 0:
        return None
    return line[: step.start("value")] + str(value) + line[step.end("value") :]


def _table(directory: Path) -> Path:
    (path,) = (directory / "src").glob("*_steps.c")
    return path
