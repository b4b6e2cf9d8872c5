"""The command that makes a bundle, of a list of models."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.cli.commands.models import dump, request, summary
from target_arch.cli.text.output import data, note, progress
from target_arch.diagnostics import refusal
from target_arch.plan import text
from target_arch.plan.model_pools import Sharing
from target_arch.relax.tvm_import import import_tvm

if TYPE_CHECKING:
    from target_arch.pipeline import ModelsCompilation

_QUALIFIED = ("require", "prefer", "forbid", "image", "input_shape", "input_value", "state")
"""Options whose values may begin with the name of the model they are for."""


def compile(options: argparse.Namespace) -> int:
    """Write a bundle and print its summary."""
    from target_arch.emit import MANIFEST
    from target_arch.run import write_bundle

    if options.dump and options.format == "json":
        said = "`--dump` prints text, `--format=json` is for programs"
        raise refusal("bad-format", "command line", said, "the manifest has all of it; leave one of them out")
    made = compiled(options)
    write_bundle(made.bundle, options.output)
    if options.format == "json":
        data(made.bundle.files[MANIFEST].decode())
        return 0
    for one in made.models:
        dump(one, options.dump)
        data(summary(one))
    shared = text.model_pools(made.pools) if len(made.models) > 1 else ""
    data(f"{shared}bundle in {options.output}: {len(made.bundle.files)} files\n")
    return 0


def compiled(options: argparse.Namespace) -> "ModelsCompilation":
    """The compilation of the models that the arguments name. Prints a note for each record of `--tuning-db`
    that belongs to no kernel.
    """
    _require_several_for_arenas(options)
    progress(f"planning {', '.join(options.models)}")
    import_tvm()
    from target_arch.pipeline import ModelsRequest, compile_models

    files = [named_file(given) for given in options.models]
    names = [name or path.stem for name, path in files]
    requests = tuple(
        request(_options_of(options, names, number, files[number])) for number in range(len(files))
    )
    made = compile_models(
        ModelsRequest(models=requests, arenas=options.arenas or Sharing.SHARED, name=options.name)
    )
    used = {task for one in made.models for kernel in one.kernels.values() for task in kernel.tuned}
    for task in sorted(made.models[0].request.tuning.records.keys() - used):
        note(f"{options.tuning_db}: note: record `{task}` belongs to no kernel of this compilation")
    return made


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
    options: argparse.Namespace, names: Sequence[str], number: int, file: tuple[str | None, Path]
) -> argparse.Namespace:
    """The options of one model: without the settings for others."""
    own = {key: _mine(getattr(options, key), names, number) for key in _QUALIFIED}
    name, path = file
    return argparse.Namespace(**{**vars(options), **own, "model": path, "name": name})


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
