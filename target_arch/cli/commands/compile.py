"""The command that makes a bundle, of a list of models."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.cli.arguments.options import OF_MODELS, bundle_options, merged
from target_arch.cli.arguments.parser import DUMPS
from target_arch.cli.arguments.targets import configured
from target_arch.cli.text.output import data, note, progress
from target_arch.diagnostics import refusal

if TYPE_CHECKING:
    from target_arch.api.compilation import Compilation
    from target_arch.api.model_outcome import ModelOutcome
    from target_arch.api.options import CompileOptions
    from target_arch.plan.workloads.workload import Workload


def compile(options: argparse.Namespace) -> int:
    """Write a bundle and print its summary."""
    if options.dump and options.format == "json":
        said = "`--dump` prints text, `--format=json` is for programs"
        raise refusal("bad-format", "command line", said, "the manifest has all of it; leave one of them out")
    workload = _workload(options)
    if workload is not None:
        options.models = [f"{each.name}={each.file}" for each in workload.models]
    made = compiled(options, workload=workload)
    made.write(options.output)
    if options.format == "json":
        data(made.files["manifest.json"].decode())
        return 0
    for one in made.models:
        _dump(one, options.dump)
        data(one.summary)
    shared = str(made.pools) if len(made.models) > 1 else ""
    times = "" if made.responses is None else str(made.responses)
    data(f"{shared}{times}bundle in {options.output}: {len(made.files)} files\n")
    return 0


def compiled(
    options: argparse.Namespace,
    recorded: "CompileOptions | None" = None,
    workload: "Workload | None" = None,
) -> "Compilation":
    """The compilation of the models that the arguments name, with the `recorded` options where an argument
    says nothing. Prints a note for each record of `--tuning-db` that chooses nothing.
    """
    _require_several_for_arenas(options)
    progress(f"planning {', '.join(options.models)}")
    from target_arch.api.compilation import compile_models

    chosen = configured(options)
    files = [named_file(given) for given in options.models]
    models = [
        (path, merged(recorded or {}, bundle_options(_options_of(options, files, number), chosen)))
        for number, (_, path) in enumerate(files)
    ]
    made = compile_models(
        models, chosen.soc, arenas=options.arenas or "shared", name=options.name, workload=workload
    )
    for task in made.unused_records:
        note(f"{options.tuning_db}: note: record `{task}` chooses nothing in this compilation")
    return made


def _workload(options: argparse.Namespace) -> "Workload | None":
    """The workload that the arguments name. DiagnosticError where they name models as well, or neither."""
    if options.workload is None:
        if not options.models:
            said = "there is no model to compile"
            raise refusal("no-models", "command line", said, "name a model file, or `--workload FILE`")
        return None
    if options.models:
        said = "a workload names its models, and others are given"
        raise refusal(
            "bad-workload", "command line", said, "leave the models out, or write them into the file"
        )
    from target_arch.plan.workloads.workload_file import read_workload

    return read_workload(options.workload)


def _dump(made: "ModelOutcome", wanted: Sequence[str]) -> None:
    """Print the values that `--dump` names, and the attempts to make the model fit."""
    for stage in DUMPS:
        if stage in wanted or "all" in wanted:
            data(made.text(stage) + "\n")
    if made.attempts:
        data(made.attempts)


def named_files(given: Sequence[str]) -> dict[str, Path]:
    """Model files by name. DiagnosticError where two have one name."""
    found: dict[str, Path] = {}
    for each in given:
        name, path = named_file(each)
        name = name or path.stem
        if name in found:
            said = f"`{found[name].name}` and `{path.name}` are both called `{name}`"
            raise refusal("same-name", "command line", said, "give one of them another name: `NAME=FILE`")
        found[name] = path
    return found


def named_file(given: str) -> tuple[str | None, Path]:
    """`NAME=FILE` as name and file; None where there is no name, as in the path of a file with a `=`."""
    name, equals, path = given.partition("=")
    if not equals or Path(given).exists():
        return None, Path(given)
    return name, Path(path)


def _require_several_for_arenas(options: argparse.Namespace) -> None:
    if options.arenas is not None and len(options.models) == 1:
        said = "`--arenas` says how several models share memory, one is given"
        raise refusal("one-model", "command line", said, "leave it out")


def _options_of(
    options: argparse.Namespace, files: Sequence[tuple[str | None, Path]], number: int
) -> argparse.Namespace:
    """The options of one model: without the settings for others."""
    names = [name or path.stem for name, path in files]
    own = {key: _mine(getattr(options, key), names, number) for key in OF_MODELS}
    return argparse.Namespace(**{**vars(options), **own, "name": files[number][0]})


def _mine(given: Sequence[str], names: Sequence[str], number: int) -> list[str]:
    """The settings for this model and those that name no model, without the prefix `MODEL:`."""
    mine = []
    for each in given:
        model, colon, rest = each.partition(":")
        if not colon or model not in names:
            mine.append(each)
        elif model == names[number]:
            mine.append(rest)
    return mine
