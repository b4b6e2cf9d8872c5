"""The name of a bundle, and a check that the names of its models differ in C."""

from collections.abc import Iterator, Sequence

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.emit.text.names import identifier


def bundle_name(soc: str, models: Sequence[tuple[str, str]], wanted: str | None) -> str:
    """The bundle's name: that of a single model; of several the one that is `wanted`, or `<soc>_models`.

    `models` are pairs of name and file. DiagnosticError where two of these, or several models and their
    bundle, have one name in C, and where the bundle of one model is wanted under another name than its own.
    """
    first = models[0][0]
    name = wanted or (first if len(models) == 1 else f"{soc}_models")
    faults = [*_same(models), *(_as_bundle(models, name) if len(models) > 1 else _two_names(first, name))]
    if faults:
        raise DiagnosticError(faults)
    return name


def _same(models: Sequence[tuple[str, str]]) -> Iterator[Diagnostic]:
    """A fault for each model whose name an earlier model has."""
    seen: dict[str, str] = {}
    for name, file in models:
        if _in_c(name) in seen:
            message = f"`{seen[_in_c(name)]}` and `{file}` are both called `{identifier(name)}` in C"
            hint = "give one of them another name: `NAME=FILE`"
            yield Diagnostic(rule="same-name", place="models", message=message, hint=hint)
        seen.setdefault(_in_c(name), file)


def _as_bundle(models: Sequence[tuple[str, str]], bundle: str) -> Iterator[Diagnostic]:
    file = next((file for name, file in models if _in_c(name) == _in_c(bundle)), None)
    if file is not None:
        message = f"the bundle and `{file}` are both called `{identifier(bundle)}` in C"
        hint = "give the bundle another name: `--name NAME`"
        yield Diagnostic(rule="same-name", place="name", message=message, hint=hint)


def _two_names(model: str, bundle: str) -> Iterator[Diagnostic]:
    if model != bundle:
        message = f"the model has two names: `{model}` and `{bundle}`"
        hint = "say `NAME=FILE` or `--name NAME`"
        yield Diagnostic(rule="two-names", place="name", message=message, hint=hint)


def _in_c(name: str) -> str:
    """Names that differ only in case have macros of one name."""
    return identifier(name).upper()
