"""Tables of a parsed file, and the faults in them."""

from collections.abc import Mapping
from typing import Any

from attrs import Factory, define

from target_arch.diagnostics import nearest
from target_arch.soc.faults import Fault, Path, dotted
from target_arch.soc.schema.kinds import check_identifier, unknown_key, wrong_type


@define
class TableDraft:
    """The faults of reading a file, and the paths that hold placeholders or were not understood, from
    which nothing more can be concluded.
    """

    faults: list[Fault] = Factory(list)
    wrong: list[Path] = Factory(list)

    def fault(
        self, rule: str, path: Path, message: str, hint: str | None = None, *, at_key: bool = False
    ) -> None:
        """One more mistake."""
        self.faults.append(Fault(rule=rule, path=path, message=message, hint=hint, at_key=at_key))


def named_tables(
    document: Mapping[str, Any], section: str, made: TableDraft, *, required: bool = False
) -> list[tuple[str, Mapping[str, Any]]]:
    """The tables of `[section.name]`; a value that is no table becomes an empty one, its name still known."""
    tables = required_value((), document, section, made) if required else document.get(section, {})
    if tables is None:
        return []
    if not isinstance(tables, dict):
        wrong_type((section,), f"tables, each written `[{section}.name]`", tables, made.faults)
        return []
    found: list[tuple[str, Mapping[str, Any]]] = []
    for name, table in tables.items():
        check_identifier((section, name), name, made.faults)
        if isinstance(table, dict):
            found.append((name, table))
        else:
            wrong_type((section, name), "a table", table, made.faults)
            made.wrong.append((section, name))
            found.append((name, {}))
    return found


def required_value(path: Path, table: Mapping[str, Any], key: str, made: TableDraft) -> Any | None:
    """The value of a key, or None; a fault where it is missing, not misspelt, and its table is one."""
    if key in table:
        return table[key]
    if path not in made.wrong and (*path, key) not in made.wrong:
        message = f"{f'`{dotted(path)}`' if path else 'this file'} lacks `{key}`"
        made.faults.append(Fault(rule="missing-key", path=(*path, key), message=message, at_key=True))
    return None


def unknown_keys(path: Path, table: Mapping[str, Any], known: tuple[str, ...], made: TableDraft) -> None:
    """A fault for each unknown key; the key that was probably meant counts as wrong."""
    for key in table:
        if key in known:
            continue
        meant = nearest(key, known)
        if meant is not None and meant not in table:
            made.wrong.append((*path, meant))
        made.faults.append(unknown_key((*path, key), known))
