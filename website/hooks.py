"""The pages of the site that are not in docs/: those of the repository's root, and generated references.

MkDocs calls these functions: https://www.mkdocs.org/user-guide/configuration/#hooks
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from references import pages

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the root; on the site they are below `project/`."""
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in docs/."""
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"project/{name}", content=text))
    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Lead links of the repository to pages of the site; what the site does not have is named, not linked."""
    here = PurePosixPath(page.file.src_uri)
    known = {file.src_uri for file in files}
    return LINK.sub(lambda found: _link(found, here, known), markdown)


def _link(found: re.Match[str], here: PurePosixPath, known: set[str]) -> str:
    text, target, anchor = found[1], found[2], found[3] or ""
    folder = PurePosixPath() if here.parts[0] == "project" else PurePosixPath("docs") / here.parent
    path = _normal(folder / target)
    wanted = path.removeprefix("docs/") if path.startswith("docs/") else f"project/{path}"
    if wanted not in known:
        return text
    up = "../" * (len(here.parts) - 1)
    return f"[{text}]({up}{wanted}{anchor})"


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
