"""Commands about chips and backends: nothing here imports TVM."""

import argparse
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

import attrs

from target_arch.api.soc import described, soc_header, soc_picture
from target_arch.backend.contract import Option
from target_arch.cli.arguments.soc_argument import found
from target_arch.cli.arguments.target_text import parsed
from target_arch.cli.arguments.targets import built
from target_arch.cli.text.output import (
    PrintedDiagnostic,
    as_json,
    data,
    json_data,
    message,
    rendered,
    unwritable,
    write_text,
)
from target_arch.cli.text.soc_template import soc_template
from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.registry import Backends, PlugInError
from target_arch.soc import SoC


class CheckedFile(TypedDict):
    """A SoC file that is right, or what is wrong with it."""

    file: Annotated[str, "as it was named"]
    ok: bool
    diagnostics: Annotated[list[PrintedDiagnostic], "every mistake; empty where it is right"]
    soc: NotRequired[Annotated[str, "the SoC's name; absent where the file is wrong"]]


class ListedBackend(TypedDict):
    """A backend that was found and can be used."""

    name: str
    codegen: Annotated[str, "the kind of code that it makes"]
    description: str
    options: Annotated[list[Option], "of its own"]
    contract: Annotated[int, "the version of the contract that it is written for"]
    origin: Annotated[str, "where it was found"]


def check(options: argparse.Namespace) -> int:
    """Print one line per SoC that is right; every mistake of the others is a message."""
    plug_ins = found(options)
    results: list[CheckedFile] = []
    wrong = 0
    for name in options.soc:
        try:
            soc = described(name, plug_ins)
        except DiagnosticError as error:
            wrong += 1
            results.append({"file": name, "ok": False, "diagnostics": as_json(error.diagnostics)})
            message(rendered(error))
        else:
            results.append({"file": name, "ok": True, "diagnostics": [], "soc": soc.name})
            if options.format == "text":
                data(f"{soc.name}: ok ({_size(soc)})")
    if options.format == "json":
        json_data(results)
    return 2 if wrong else 0


def show(options: argparse.Namespace) -> int:
    """Print the summary of each SoC."""
    from target_arch.soc.text import show as summary

    plug_ins = found(options)
    if options.target:
        return _show_built(options, plug_ins.backends)
    if not options.soc:
        raise refusal("no-soc", "command line", "neither a SoC nor `--target` is given", "`show zynq_edge`")
    socs = [described(name, plug_ins) for name in options.soc]
    if options.svg is not None:
        return _draw(socs, options.svg)
    if options.format == "json":
        json_data([attrs.asdict(soc) for soc in socs])
        return 0
    for number, soc in enumerate(socs):
        codegen = {arch.backend: plug_ins.backends[arch.backend].codegen for arch in soc.archs}
        data(("\n" if number else "") + summary(soc, codegen))
    return 0


def chips(options: argparse.Namespace) -> int:
    """Print a line for each shipped SoC file of a real chip."""
    from target_arch.soc.files.chip_listing import listed_chips, listing

    found_chips = listed_chips()
    if options.format == "json":
        json_data([attrs.asdict(chip) for chip in found_chips])
    else:
        data(listing(found_chips))
    return 0


def _show_built(options: argparse.Namespace, backends: Backends) -> int:
    """Print the SoC that `--target` builds: as TOML, or its values as JSON."""
    from target_arch.soc.files.toml_writer import toml

    if options.soc:
        said = f"`--target` builds a SoC of its own, beside `{options.soc[0]}`"
        raise refusal("two-socs", "command line", said, "leave one of them out")
    soc = built(parsed(options.target), backends)
    if options.svg is not None:
        return _draw([soc], options.svg)
    if options.format == "json":
        json_data([attrs.asdict(soc)])
    else:
        data(toml(soc))
    return 0


def _draw(socs: list[SoC], path: Path) -> int:
    """Write the picture of a SoC."""
    if len(socs) > 1:
        raise refusal("one-picture", "command line", f"{len(socs)} SoCs do not go into one file", "name one")
    write_text(path, soc_picture(socs[0]))
    data(str(path))
    return 0


def headers(options: argparse.Namespace) -> int:
    """Print the C header of a SoC."""
    text = soc_header(described(options.soc, found(options)))
    if options.output is None:
        data(text)
    else:
        write_text(options.output, text)
    return 0


def backends(options: argparse.Namespace) -> int:
    """List every backend; one that cannot be used is a message, and the others are listed all the same."""
    known = Backends.discover(options.backend_dir)
    rows: list[ListedBackend] = []
    wrong = 0
    for name in known:
        try:
            backend = known[name]
        except PlugInError as error:
            wrong += 1
            message(rendered(error))
            continue
        rows.append(
            {
                "name": name,
                "codegen": backend.codegen,
                "description": backend.description,
                "options": list(backend.options),
                "contract": backend.contract,
                "origin": known.origin(name),
            }
        )
    if options.format == "json":
        json_data([{**row, "options": list(map(attrs.asdict, row["options"]))} for row in rows])
    else:
        data("\n".join(_backend_lines(row) for row in rows))
    return 2 if wrong else 0


def new_soc(options: argparse.Namespace) -> int:
    """Write a SoC file that passes `check`; an existing file is left alone."""
    name: str = options.name
    if not (name.isascii() and name.isidentifier() and name == name.lower()):
        hint = "use letters a to z, digits and `_`, a letter first"
        if name.endswith(".toml"):
            hint = f"the file is called so by itself: `target-arch new-soc {name.removesuffix('.toml')}`"
        raise refusal("bad-name", "command line", f"`{name}` is not a lower-case identifier", hint)
    path: Path = options.output or Path(f"{name}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(soc_template(name))
    except FileExistsError:
        raise refusal("output-exists", str(path), "there is such a file already", "name another") from None
    except OSError as error:
        raise unwritable(path, error) from error
    data(f"{path}: edit it, then `target-arch check {path}`")
    return 0


def _backend_lines(row: ListedBackend) -> str:
    head = f"{row['name']} ({row['codegen']}): {row['description']}"
    lines = [head, f"  contract {row['contract']}, {row['origin']}"]
    lines += [f"  option {option.name} = {option.default}: {option.help}" for option in row["options"]]
    return "\n".join(lines)


def _size(soc: SoC) -> str:
    kinds = ", ".join(arch.name for arch in soc.archs)
    counts = f"{len(soc.memories)} memories, {len(soc.copies)} copy paths"
    return f"{len(soc.instances)} instances of {kinds}; {counts}"
