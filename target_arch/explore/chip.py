"""The chip of a point: its base's SoC file with the point's values put in, read as every SoC file is.

Comments of the base stay, so that the file of a point reads like one that a person wrote. Tests:
`tests/explore/test_evaluate.py`.
"""

import json
import os
from pathlib import Path as File

from attrs import evolve, field, frozen

from target_arch.diagnostics import DiagnosticError
from target_arch.explore.space import Point, Space
from target_arch.registry.plug_ins import PlugIns
from target_arch.soc.files.edited import EditableToml
from target_arch.soc.files.soc_file import SOC_FILE, parse_soc, place_faults_in, with_costs
from target_arch.soc.files.toml_file import document
from target_arch.soc.model import SoC


@frozen(kw_only=True)
class ChipFile:
    """A SoC file in memory: its text, its name in messages, and the folder that paths in it start from."""

    text: str = field(repr=False)
    shown: str
    folder: File

    def soc(self, plug_ins: PlugIns) -> SoC:
        """The SoC. Raises DiagnosticError as for a file on disk, at places in this text."""
        soc = parse_soc(self.text, self.shown)
        faults = plug_ins.faults(soc)
        if faults:
            raise DiagnosticError(place_faults_in(faults, self.shown, self.text))
        return with_costs(soc, self.folder, self.shown, self.text)

    def beside(self, folder: File) -> str:
        """The text for a file in another folder: it names the same cost file."""
        named = self.cost_file()
        if named is None:
            return self.text
        return self.with_costs(os.path.relpath(self.folder / named, folder)).text

    def cost_file(self) -> str | None:
        """The cost file that the text names; None where it names none."""
        if "cost" not in self.text:
            return None
        named = document(self.text, self.shown, SOC_FILE).get("cost")
        return str(named["file"]) if isinstance(named, dict) and "file" in named else None

    def with_costs(self, file: str) -> "ChipFile":
        """The SoC file with another cost file, whose path starts from the same folder."""
        return evolve(self, text=EditableToml(self.text).edited({("cost", "file"): json.dumps(file)}))


def chip_file(space: Space, point: Point) -> ChipFile:
    """The SoC file of a point. Raises FormulaError where a tie has no value."""
    base = space.chip(point)
    values = space.shown(point)
    return ChipFile(
        text=base.toml.edited(space.literals(point)),
        shown=f"{base.shown} with {values}" if values else base.shown,
        folder=base.folder,
    )
