"""Read SoC files.

The text is parsed by `toml_file.py`, its values by `build.py`, relations between them are judged by
`rules/check.py`; here the faults of all three get their places. Tests: `tests/soc`; one broken file per rule:
`tests/soc/bad`.
"""

from collections.abc import Iterable
from os.path import isfile
from pathlib import Path as File

from attrs import evolve

from target_arch.diagnostics import Diagnostic, DiagnosticError, name_hint
from target_arch.resources import soc_configs
from target_arch.soc.faults import Fault
from target_arch.soc.files.build import SocDraft, draft, schema_fault
from target_arch.soc.files.cost_file import read_costs
from target_arch.soc.files.presence import is_file
from target_arch.soc.files.toml_file import document, placed, read_text
from target_arch.soc.host_copies import with_host_copies
from target_arch.soc.model import SoC
from target_arch.soc.rules.check import relations

SOC_FILE = "SoC file"


def shipped_socs() -> tuple[str, ...]:
    """The names of the SoC files that come with the package."""
    return tuple(sorted(file.stem for file in soc_configs().glob("*.toml")))


def shipped_chips() -> tuple[str, ...]:
    """The names of the SoC files of real chips that come with the package."""
    return tuple(sorted(file.stem for file in (soc_configs() / "chips").glob("*.toml")))


def read_soc(path_or_name: str | File) -> SoC:
    """The SoC of a file, or of a shipped description by its name.

    Raises DiagnosticError with every mistake in it.
    """
    text, path, shown = soc_text(path_or_name)
    soc = parse_soc(text, shown)
    return with_costs(soc, path.parent, shown, text)


def parse_soc(text: str, path: str) -> SoC:
    """The SoC a TOML text describes; `path` is its name in messages. Raises DiagnosticError."""
    text = text.replace("\r\n", "\n")
    values = document(text, path, SOC_FILE)
    unsupported = schema_fault(values)
    made = SocDraft(faults=[unsupported]) if unsupported else draft(values)
    if made.soc is not None:
        made.faults += relations(made.soc, made.wrong, made.origins)
    if made.faults or made.soc is None:
        raise DiagnosticError(place_faults_in(made.faults, path, text))
    return with_host_copies(made.soc)


def with_costs(soc: SoC, folder: File, shown: str, text: str) -> SoC:
    """The SoC with the path of its cost file, which it has relative to `folder`, as seen from here; raises
    DiagnosticError for the mistakes in that file.
    """
    if not soc.cost_file:
        return soc
    file = folder / soc.cost_file
    if not is_file(file):
        said = f"there is no cost file `{soc.cost_file}`"
        hint = "its path is relative to the folder of this file"
        fault = Fault(rule="no-cost-file", path=("cost", "file"), message=said, hint=hint)
        raise DiagnosticError(place_faults_in([fault], shown, text))
    read_costs(file, soc)
    return evolve(soc, cost_file=str(file))


def place_faults(faults: Iterable[Fault], path_or_name: str | File) -> tuple[Diagnostic, ...]:
    """The faults that others found in a SoC at their places in the file it was read from a moment ago.

    Copy paths are counted as in the file. Raises DiagnosticError where the file cannot be read any more.
    """
    path, shown = _located(path_or_name)
    return place_faults_in(faults, shown, _read(path, shown))


def place_faults_in(faults: Iterable[Fault], path: str, text: str) -> tuple[Diagnostic, ...]:
    """As `place_faults`, in the text of a SoC file; `path` is its name in messages."""
    return placed(faults, path, text.replace("\r\n", "\n"), SOC_FILE)


def soc_text(path_or_name: str | File) -> tuple[str, File, str]:
    """The text of a SoC file or of a shipped one, its path, and its name in messages. Raises
    DiagnosticError.
    """
    path, shown = _located(path_or_name)
    return _read(path, shown), path, shown


def _located(path_or_name: str | File) -> tuple[File, str]:
    """The file, and how to call it: for a shipped one not by the folder of this installation."""
    path = File(path_or_name)
    folders = dict.fromkeys(shipped_socs(), "") | dict.fromkeys(shipped_chips(), "chips/")
    if str(path_or_name) in folders and not path.is_file():
        place = f"{folders[str(path_or_name)]}{path_or_name}.toml"
        return soc_configs() / place, f"soc_configs/{place}"
    return path, str(path_or_name)


def _read(path: File, shown: str) -> str:
    names = (*shipped_socs(), *shipped_chips())
    hint = name_hint(File(shown).stem, names, "give the path of a file or one of the shipped")
    if isfile(f"{path}.toml"):  # False where such a name is too long for the system
        hint = f"did you mean `{shown}.toml`?"
    return read_text(path, shown, SOC_FILE, hint, "name the model first, and the SoC after it")
