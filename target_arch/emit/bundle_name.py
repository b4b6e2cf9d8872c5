"""The names in a bundle: its own, and those of its models, which have to differ in C."""

from collections.abc import Iterator, Sequence

from target_arch.diagnostics import Blank, Diagnostic, DiagnosticError, Keyword, advice
from target_arch.emit.text.names import header_stem
from target_arch.plan.model import model_name

_NAME = Blank("NAME")


def bundle_name(soc: str, models: Sequence[tuple[str, str]], wanted: str | None) -> str:
    """The bundle's name: that of a single model; of several the one that is `wanted`, or `<soc>_models`.

    `models` are pairs of a name made by `model_name`, and a file. DiagnosticError where two of these, or
    several models and their bundle, have one name in C, and where the bundle of one model is wanted under
    another name than its own.
    """
    if len(models) == 1:
        ((name, _),) = models
        faults = list(_two_names(name, wanted or name))
    else:
        name = wanted or f"{soc}_models"
        faults = [*_same(models), *_as_bundle(models, name)]
    if faults:
        raise DiagnosticError(faults)
    return name


def qualified(model: str, name: str, models: int) -> str:
    """The name of something of a model as its bundle has it: `model.name` if it has several `models`."""
    return f"{model}.{name}" if models > 1 else name


def _same(models: Sequence[tuple[str, str]]) -> Iterator[Diagnostic]:
    """A fault for each model whose name an earlier model has."""
    seen: dict[str, str] = {}
    for name, file in models:
        if _in_c(name) in seen:
            message = f"`{seen[_in_c(name)]}` and `{file}` are both called `{header_stem(name)}` in C"
            hint = advice("give one of them another name: ", Keyword("model.name", _NAME))
            yield Diagnostic(rule="same-name", place="models", message=message, hint=hint)
        seen.setdefault(_in_c(name), file)


def _as_bundle(models: Sequence[tuple[str, str]], bundle: str) -> Iterator[Diagnostic]:
    file = next((file for name, file in models if _in_c(name) == _in_c(bundle)), None)
    if file is not None:
        message = f"the bundle and `{file}` are both called `{header_stem(bundle)}` in C"
        hint = advice("give the bundle another name: ", Keyword("name", _NAME))
        yield Diagnostic(rule="same-name", place="name", message=message, hint=hint)


def _two_names(model: str, bundle: str) -> Iterator[Diagnostic]:
    if model != model_name(bundle):
        message = f"the model has two names: `{model}` and `{bundle}`"
        hint = advice("say ", Keyword("model.name", _NAME), " or ", Keyword("name", _NAME))
        yield Diagnostic(rule="two-names", place="name", message=message, hint=hint)


def _in_c(name: str) -> str:
    """Names that differ only in case have macros of one name."""
    return header_stem(name).upper()
