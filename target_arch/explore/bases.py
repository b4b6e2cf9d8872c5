"""SoC files that chips are made from, and the catalogue of those that come with the program."""

import tomllib
from pathlib import Path as File

from target_arch.explore.space import BaseChip
from target_arch.resources import soc_configs
from target_arch.soc.files.edited import EditableToml
from target_arch.soc.files.soc_file import parse_soc, soc_text


def base_chip(path_or_name: str | File) -> BaseChip:
    """The SoC file, or the shipped one of that name. Raises DiagnosticError with every mistake in it."""
    text, file, shown = soc_text(path_or_name)
    parse_soc(text, shown)
    return BaseChip(
        name=File(path_or_name).stem,
        shown=shown,
        folder=file.parent,
        toml=EditableToml(text),
        document=tomllib.loads(text),
    )


def catalogue() -> tuple[str, ...]:
    """The names of all SoC files that come with the program, in whatever folder."""
    return tuple(sorted(file.stem for file in soc_configs().rglob("*.toml")))
