"""Commands that execute bundles: run, verify."""

import argparse
import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from target_arch.cli.arguments import soc_argument
from target_arch.cli.arguments.option_texts import input_ranges
from target_arch.cli.arguments.options import without_defaults
from target_arch.cli.arguments.targets import selection
from target_arch.cli.commands.compile import compiled, named_files
from target_arch.cli.text.output import data, json_data, progress, unwritable, write_text
from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.plan.model import file_name
from target_arch.plan.printed.reasoning import duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from target_arch.api.bundle import Bundle, Verification
    from target_arch.api.compilation import Compilation
    from target_arch.api.shown import Shown
    from target_arch.api.views.times import StepTimes


def run(options: argparse.Namespace) -> int:
    """Build and execute: on the files given, or on the bundle's own test vector."""
    from target_arch.api.bundle import Bundle

    bundle = Bundle(directory=options.bundle, rtl=options.rtl, firmware=options.firmware)
    _same_port(bundle, options)
    progress(f"building {options.bundle}")
    since = perf_counter()
    inputs = _inputs(bundle, options)
    arrays: dict[str, NDArray[Any]] = {}
    passed = True
    if inputs is None:
        found = bundle.self_test()
        if found is None:
            raise _no_vector(bundle)
        passed, profile = found
    else:
        arrays, profile = bundle.counted(inputs)
        if options.output is not None:
            _save(arrays, options.output)
    if profile is not None:
        _say_run(arrays, options, {"profile": profile.json}, passed, _what(bundle, since))
        _say_profile(bundle, profile, options)
        return 0 if passed else 1
    times = _times(bundle, options, inputs)
    more: dict[str, object] = {} if times is None else {"times": times.to_json()}
    _say_run(arrays, options, more, passed, _what(bundle, since))
    if times is not None and options.format != "json":
        data(f"\n{times}")
    return 0 if passed else 1


def _inputs(bundle: "Bundle", options: argparse.Namespace) -> "list[NDArray[Any]] | None":
    """The inputs in files, or those of the bundle's own test vector where its outputs are asked for; None
    where the vector is to be compared with.
    """
    if options.input:
        return bundle.read_inputs(options.input)
    return None if options.output is None and options.top is None else bundle.own_inputs


def _what(bundle: "Bundle", since: float) -> str:
    """The self-test in words, and how long building and running took."""
    manifest = bundle.manifest
    tests = dict.fromkeys(model.self_test.reference or "" for model in manifest.models)
    references, took = " and ".join(filter(None, tests)), duration(perf_counter() - since)
    return f"its own input on port `{manifest.port}`, compared with {references}; built and run in {took}"


def _say_run(
    arrays: dict[str, "NDArray[Any]"],
    options: argparse.Namespace,
    more: dict[str, object],
    passed: bool,
    what: str,
) -> None:
    """Print the outputs, or the largest elements of each, or how the self-test ended, and `what` it was; in
    JSON also `more`.
    """
    result = "passed" if passed else "failed"
    if options.format == "json":
        about = {name: array.tolist() for name, array in arrays.items()} or {"self_test": result}
        json_data({**about, **more})
    else:
        data(_outputs(arrays, options) if arrays else f"self-test {result}: {what}")


def _outputs(arrays: dict[str, "NDArray[Any]"], options: argparse.Namespace) -> str:
    """Every output, or the largest elements of each."""
    if options.top is None:
        return _text(arrays)
    return "".join(_largest(name, array, options.top) for name, array in arrays.items())


def _largest(name: str, array: "NDArray[Any]", count: int) -> str:
    """The largest elements of an output with their indices, the first of equal ones first."""
    import numpy as np

    order = np.argsort(-array.ravel().astype(np.float64), kind="stable")[:count]
    lines = [
        f"  {list(map(int, np.unravel_index(index, array.shape)))} {array.flat[index]}" for index in order
    ]
    return "\n".join((f"{name} {array.dtype}{list(array.shape)}, largest", *lines)) + "\n"


def _times(
    bundle: "Bundle", options: argparse.Namespace, inputs: "list[NDArray[Any]] | None"
) -> "StepTimes | None":
    """The time of each step, where it is to be printed; the timeline of them is written here."""
    if not options.times and options.profile is None:
        return None
    found = bundle.times(inputs)
    if options.profile is not None:
        _profile(bundle, options.profile, [step.seconds for step in found.steps])
    return found if options.times else None


def _profile(bundle: "Bundle", place: Path, seconds: list[float]) -> None:
    write_text(place, json.dumps(bundle.trace(seconds)) + "\n")


def _say_profile(bundle: "Bundle", profile: "Shown[Any]", options: argparse.Namespace) -> None:
    """Print the instructions of every step on an emulated machine as text, and write their timeline."""
    if options.format != "json":
        data(str(profile))
    if options.profile is not None:
        # One microsecond of the timeline is one instruction.
        _profile(bundle, options.profile, [1e-6 * count for count in profile.value.steps])


def verify(options: argparse.Namespace) -> int:
    """Compare with the reference of every model; 1 where one differs by more than its rule allows."""
    files = named_files(options.models)
    with tempfile.TemporaryDirectory() as folder:
        bundle = _written(options, Path(folder)) if options.bundle is None else _given(options)
        progress("building, and comparing")
        results = bundle.simulated(rtl=options.rtl, firmware=options.firmware).verify(
            files,
            count=options.count,
            seed=options.seed,
            layers=options.layers,
            inputs=options.inputs,
            expected=options.expected,
            labels=options.labels,
            input_ranges={} if options.bundle is None else input_ranges(options.input_range),
        )
    _say(results, options)
    return 0 if all(each.passed for each in results.values()) else 1


def _written(options: argparse.Namespace, folder: Path) -> "Bundle":
    """Compile into `--output`, or into `folder`."""
    made = compiled(options)
    _require_operators(made, options)
    return made.write(options.output or folder / made.name)


def _given(options: argparse.Namespace) -> "Bundle":
    """The bundle of `--bundle`; with its operators, where `--layers` asks for them."""
    from target_arch.api.bundle import Bundle

    bundle = Bundle(directory=options.bundle)
    _same_port(bundle, options)
    if options.output is not None:
        text = "`--output` says where to keep a bundle that is compiled here, `--bundle` is compiled already"
        raise refusal("two-bundles", "command line", text, "leave one of them out")
    if options.layers:
        return _with_operators(bundle, options)
    if options.target:
        text = "`--target` says what to compile for, `--bundle` is compiled already"
        raise refusal("two-socs", "command line", text, "leave one of them out")
    if options.input_shape or options.batch:
        text = "`--input-shape` and `--batch` say what to compile, `--bundle` is compiled already"
        raise refusal("two-shapes", "command line", text, "leave them out: the bundle has its shapes")
    if options.input_value:
        text = "`--input-value` says what to compile, `--bundle` is compiled already"
        raise refusal("two-values", "command line", text, "leave it out: the bundle has its values")
    if getattr(options, "from") or options.to:
        text = "`--from` and `--to` say what to compile, `--bundle` is compiled already"
        raise refusal("two-cuts", "command line", text, "leave them out: the bundle has its part")
    return bundle


def _with_operators(bundle: "Bundle", options: argparse.Namespace) -> "Bundle":
    """The bundle with its model as it was compiled. DiagnosticError where the options give another bundle."""
    if len(bundle.models) > 1:
        raise _no_layers("one model at a time")
    made = compiled_again(bundle, argparse.Namespace(**{**vars(options), "input_range": []}))
    same = made.bundle(bundle.directory)
    _require_operators(made, options)
    return same


def compiled_again(bundle: "Bundle", options: argparse.Namespace) -> "Compilation":
    """The models that the options name, compiled as the first model of a bundle was: with its SoC file, and
    the options that its manifest records, beside these.
    """
    from target_arch.api.recorded import recorded_options

    manifest = bundle.manifest
    again = argparse.Namespace(**vars(options))
    again.soc = str(bundle.directory / f"{manifest.soc}.toml")
    again.selection = selection(again, soc_argument.found(again))
    again.name = options.name or manifest.models[0].name
    return compiled(without_defaults(again), recorded_options(manifest))


def _require_operators(made: "Compilation", options: argparse.Namespace) -> None:
    """DiagnosticError where `--layers` wants what only one model on this computer has."""
    if not options.layers:
        return
    if len(made.models) > 1:
        raise _no_layers("one model at a time")
    if not made.watchable or options.firmware:
        raise _no_layers("programs on this computer")


def _no_layers(watched: str) -> DiagnosticError:
    text = f"`--layers` watches {watched}"
    return refusal("no-layers", "command line", text, "verify one model with `--port host`")


def _say(results: "dict[str, Verification]", options: argparse.Namespace) -> None:
    """Print the result of comparing: as JSON by the name of the model, as text with it where there are
    several.
    """
    if options.format == "json":
        json_data({name: each.to_json() for name, each in results.items()})
    else:
        data("".join(f"{name}: {each}" if len(results) > 1 else str(each) for name, each in results.items()))
        for each in results.values():
            if each.layers is not None and (options.layers or not each.layers.passed):
                data(f"\n{each.layers}")


def _same_port(bundle: "Bundle", options: argparse.Namespace) -> None:
    """DiagnosticError where the bundle carries another port than the one asked for."""
    carried = bundle.manifest.port
    if options.port not in (None, carried):
        text = f"the bundle carries port `{carried}`, not `{options.port}`"
        raise refusal("another-port", str(bundle.directory), text, f"compile it with `--port {options.port}`")


def _no_vector(bundle: "Bundle") -> DiagnosticError:
    reasons = [str(model.self_test.missing) for model in bundle.manifest.models]
    text = f"the bundle has no test vector of its own: {'; '.join(reasons)}"
    return refusal("no-input", str(bundle.directory), text, "give an --input FILE for each model input")


def _text(arrays: dict[str, "NDArray[Any]"]) -> str:
    return "".join(f"{name} {array.dtype}{list(array.shape)}\n{array}\n" for name, array in arrays.items())


def _save(arrays: dict[str, "NDArray[Any]"], place: Path) -> None:
    """Into a folder, or the only output into an `.npy` file."""
    import numpy as np

    if place.suffix == ".npy" and len(arrays) > 1:
        text = f"`{place.name}` is one file, and there are {len(arrays)} outputs"
        raise refusal("several-outputs", "command line", text, "name a folder for them")
    folder = place.parent if place.suffix == ".npy" else place
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            np.save(place if place.suffix == ".npy" else folder / f"{file_name(name)}.npy", array)
    except OSError as error:
        raise unwritable(place, error) from error
