"""`diff` blocks of a page, applied to files."""

from pathlib import Path


def applied(diff: str, folder: Path = Path()) -> None:
    """Change one file below `folder`: each hunk (they begin with `@@`) has one place in it."""
    head, *lines = diff.splitlines()
    path = folder / head.removeprefix("--- ")
    text = path.read_text()
    for hunk in "\n".join(lines).split("\n@@\n"):
        old = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[:1] in ("", " ", "-"))
        new = "".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[:1] in ("", " ", "+"))
        assert text.count(old) == 1, f"{path} does not have once:\n{old}"
        text = text.replace(old, new)
    path.write_text(text)
