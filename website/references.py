"""The reference pages of the site, each made from the tables that the program uses."""

import argparse
import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import target_arch
from target_arch.api.calibration import CalibrateOptions
from target_arch.api.model_outcome import ModelOutcome
from target_arch.api.options import CompileOptions
from target_arch.api.placed import Partitioning
from target_arch.api.shown import Shown
from target_arch.api.tuning import TuneOptions
from target_arch.api.views.archives import Archive
from target_arch.api.views.programs import Images
from target_arch.api.views.report import Report
from target_arch.api.views.times import StepTimes
from target_arch.calibrate import CalibrationReport
from target_arch.cli.arguments.parser import COMMANDS, parser
from target_arch.diagnostics import Diagnostic, rules
from target_arch.plan.manifest.bundle import Manifest
from target_arch.soc.files.json_schema import json_schema
from target_arch.soc.schema.records import key_paths

PYTHON = (
    target_arch.load_soc,
    target_arch.compile,
    target_arch.compile_models,
    CompileOptions,
    target_arch.Compilation,
    ModelOutcome,
    target_arch.partition,
    Partitioning,
    target_arch.operators,
    target_arch.calibrate_costs,
    CalibrateOptions,
    CalibrationReport,
    target_arch.tune_kernels,
    TuneOptions,
    target_arch.Bundle,
    target_arch.compare,
    Shown,
    Report,
    Images,
    Archive,
    StepTimes,
    target_arch.DiagnosticError,
    Diagnostic,
)
"""The values on the page about Python, in its order."""

_TYPES = {"string": "text", "boolean": "true or false", "integer": "integer", "number": "number"}


def pages() -> Mapping[str, str]:
    """Every page by its name."""
    return {
        "command-line": _command_line(),
        "rules": _rules(),
        "soc-file": _soc_file(),
        "manifest": _manifest(),
        "python": _python(),
    }


def _command_line() -> str:
    """The help of every command."""
    _, commands = parser()
    parts = [
        f"## {each.name}\n\n{each.help}\n\n```text\n{_help(commands[each.name])}```\n" for each in COMMANDS
    ]
    return "# Command line\n\nWhat `target-arch COMMAND --help` prints.\n\n" + "\n".join(parts)


def _help(command: argparse.ArgumentParser) -> str:
    command.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=100)
    return command.format_help()


def _rules() -> str:
    """Every rule with cause and cure, by group."""
    lines = [
        "# Messages",
        "",
        "A message ends with the name of its rule in brackets. This is every rule; `target-arch explain "
        "RULE` prints one of them.",
    ]
    group = ""
    for rule in rules().values():
        if rule.group != group:
            group = rule.group
            lines += ["", f"## {rule.title}", "", "| rule | cause | cure |", "|---|---|---|"]
        lines.append(f"| `{rule.name}` {_anchor(rule.name)} | {_cell(rule.cause)} | {_cell(rule.cure)} |")
    return "\n".join(lines) + "\n"


def _soc_file() -> str:
    """Every key of a SoC file, from the JSON Schema."""
    schema = json_schema()
    head = (
        "# Keys of the SoC file\n\nEvery table and key, from the schema that `check` goes by. [The SoC "
        "file](../soc-file.md) has their purpose, with examples.\n"
    )
    return head + "".join(_table(name, part) for name, part in _tables("", schema))


def _tables(name: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables of a schema by their headings, each before those in it."""
    yield name, schema
    for key, part in schema["properties"].items():
        below = f"{name}.{key}".lstrip(".")
        if "properties" in part:
            yield from _tables(below, part)
        elif "properties" in part.get("items", {}):
            yield from _tables(f"[{below}]", part["items"])
        elif (
            isinstance(part.get("additionalProperties"), dict)
            and "properties" in part["additionalProperties"]
        ):
            yield from _tables(f"{below}.NAME", part["additionalProperties"])
        else:
            yield from (
                each
                for choice in part.get("anyOf", ())
                if "properties" in choice
                for each in _tables(below, choice)
            )


def _table(name: str, schema: Mapping[str, Any]) -> str:
    rows = [
        (
            f"`{key}`",
            _type(part),
            "yes" if key in schema.get("required", ()) else "",
            part.get("description", ""),
        )
        for key, part in schema["properties"].items()
    ]
    return f"\n## {f'`[{name}]`' if name else 'Top level'}\n\n" + _rows(
        ("key", "value", "required", "meaning"), rows
    )


def _type(part: Mapping[str, Any]) -> str:
    """The kind of a value, in words."""
    if "const" in part or "enum" in part:
        return ", ".join(f"`{word}`" for word in part.get("enum", (part.get("const"),)))
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(_type(each) for each in part["anyOf"]))
    if part["type"] == "array":
        return f"list of {_type(part['items'])}"
    if part["type"] == "object":
        return "table"
    return _TYPES[part["type"]] + _limits(part)


def _limits(part: Mapping[str, Any]) -> str:
    """The range of a number, or the units of a text."""
    _, has_units, units = part.get("pattern", "").partition(" *(")
    if has_units:
        return " with a unit: " + ", ".join(f"`{unit}`" for unit in units.rstrip(")$").split("|"))
    if "minimum" not in part:
        return ""
    least = f"{part['minimum']:,}"
    return f", {least} to {part['maximum']:,}" if "maximum" in part else f" from {least}"


def _manifest() -> str:
    """Every key of a manifest, from the classes that it is read into."""
    meaning = "[The manifest](../manifest.md) has their meaning."
    head = f"# Keys of the manifest\n\nEvery key by its path. {meaning}\n\n"
    rows = [(f"`{path}`", words) for path, words in sorted(key_paths(Manifest))]
    return head + _rows(("key", "value"), rows)


def _python() -> str:
    """Signatures and contracts of the Python API."""
    head = "# Python\n\nSignatures and contracts; a tour is in [Python](../python.md).\n"
    return head + "".join(_documented(each) for each in PYTHON)


def _documented(value: Any) -> str:
    text = f"\n## {value.__name__}\n\n"
    if not inspect.isclass(value):
        return text + _called(value) + f"{inspect.getdoc(value)}\n"
    text += f"{inspect.getdoc(value)}\n" + "".join(_options(value))
    for name, member in vars(value).items():
        inner = member.fget if isinstance(member, property) else member
        if name.startswith("_") or not inspect.isfunction(inner) or not inner.__doc__:
            continue
        called = _called(inner, is_property=isinstance(member, property))
        text += f"\n### {value.__name__}.{name}\n\n{called}{inspect.getdoc(inner)}\n"
    return text


def _called(function: Any, *, is_property: bool = False) -> str:
    """The signature as in the source."""
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(made, ast.FunctionDef)
    made.args.args = [each for each in made.args.args if each.arg != "self"]
    given = "" if is_property else f"({ast.unparse(made.args)})"
    result = "" if made.returns is None else f" -> {ast.unparse(made.returns)}"
    # The names of what is imported late stand in quotes.
    line = f"{made.name}{given}{result}".replace("-> '", "-> ").removesuffix("'")
    lines = textwrap.fill(line, width=100, subsequent_indent="    ", break_long_words=False)
    return f"```text\n{lines}\n```\n\n"


def _options(value: Any) -> Iterator[str]:
    """The fields of a table of options, each with the text below it in the source."""
    if value not in (CompileOptions, TuneOptions):
        return
    yield "\n| option | type | |\n|---|---|---|\n"
    (shape,) = ast.parse(inspect.getsource(value)).body
    assert isinstance(shape, ast.ClassDef)
    for field, text in zip(shape.body, shape.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            kind, said = _cell(ast.unparse(field.annotation)), ast.literal_eval(text.value)
            yield f"| `{ast.unparse(field.target)}` | `{kind}` | {_cell(' '.join(said.split()))} |\n"


def _anchor(name: str) -> str:
    return f'<a id="{name}"></a>'


def _rows(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(header)
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
