"""Commands that execute bundles: run, verify."""

import argparse
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_arch.cli.commands.compile import compiled, named_files
from target_arch.cli.text.machine import profile_json, profile_text
from target_arch.cli.text.output import data, json_data, progress, unwritable
from target_arch.diagnostics import DiagnosticError, refusal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from target_arch.pipeline import ModelsCompilation
    from target_arch.run import Executable, Verification
    from target_arch.run.verification.layers import Planned

_NPY_HEADER = 10_000
"""Bytes that numpy reads of a header."""


def run(options: argparse.Namespace) -> int:
    """Build and execute: on the files given, or on the bundle's own test vector."""
    from target_arch.run import build, run_frames, run_self_test

    _same_port(options)
    progress(f"building {options.bundle}")
    executable = build(options.bundle, rtl=options.rtl, firmware=options.firmware)
    if executable.machine is not None:
        return _run_on_machine(executable, options)
    if not options.input:
        return _self_test(run_self_test(executable), options)
    outputs = run_frames(executable, [_frame(executable, options.input)])[0]
    arrays = _arrays(executable, outputs)
    if options.output is not None:
        _save(arrays, options.output)
    if options.format == "json":
        json_data({name: array.tolist() for name, array in arrays.items()})
    else:
        data(_text(arrays))
    return 0


def _run_on_machine(executable: "Executable", options: argparse.Namespace) -> int:
    """As `run`, on an emulated machine, with the instructions of every step; text and JSON have both."""
    from target_arch.run import run_on_machine, self_test_on_machine

    arrays: dict[str, NDArray[Any]] = {}
    passed = True
    if options.input:
        outputs, profile = run_on_machine(executable, [_frame(executable, options.input)])
        arrays = _arrays(executable, outputs[0])
        if options.output is not None:
            _save(arrays, options.output)
    else:
        found = self_test_on_machine(executable)
        if found is None:
            raise _no_vector(options)
        passed, profile = found
    if options.format == "json":
        results = {name: array.tolist() for name, array in arrays.items()}
        about = results if arrays else {"self_test": "passed" if passed else "failed"}
        json_data({**about, "profile": profile_json(profile)})
    else:
        data(_text(arrays) if arrays else f"self-test {'passed' if passed else 'failed'}\n")
        data(profile_text(executable.manifest, profile))
    return 0 if passed else 1


def verify(options: argparse.Namespace) -> int:
    """Compare with the reference of every model; 1 where one differs by more than its rule allows."""
    from target_arch.run import verify_models, write_bundle

    files = named_files(options.models)
    with tempfile.TemporaryDirectory() as folder:
        directory, planned = options.bundle, None
        if directory is not None:
            if options.layers:
                text = "`--layers` needs the operators as they were compiled, a bundle has only their C"
                raise refusal("no-operators", "command line", text, "leave `--bundle` out, and name the SoC")
            _same_port(options)
            if options.target:
                text = "`--target` says what to compile for, `--bundle` is compiled already"
                raise refusal("two-socs", "command line", text, "leave one of them out")
            if options.input_shape or options.batch:
                text = "`--input-shape` and `--batch` say what to compile, `--bundle` is compiled already"
                raise refusal("two-shapes", "command line", text, "leave them out: the bundle has its shapes")
        else:
            made = compiled(options)
            planned = _planned(made, options)
            directory = Path(folder) / made.bundle.name
            write_bundle(made.bundle, directory)
        progress(f"building, and comparing on {options.count} random inputs")
        found = verify_models(
            files,
            directory,
            count=options.count,
            seed=options.seed,
            planned=planned,
            layers=options.layers,
            rtl=options.rtl,
            firmware=options.firmware,
        )
    _say(found, options)
    return 0 if all(each.passed for each in found.values()) else 1


def _planned(made: "ModelsCompilation", options: argparse.Namespace) -> "Planned | None":
    """The only model of a bundle for the host port. DiagnosticError where `--layers` wants it, and there is
    none.
    """
    from target_arch.run.verification.layers import Planned

    one, *others = made.models
    fault = "one model at a time" if others else "programs on this computer"
    if others or made.manifest["port"] != "host" or options.firmware:
        if options.layers:
            text = f"`--layers` watches {fault}"
            raise refusal("no-layers", "command line", text, "verify one model with `--port host`")
        return None
    return Planned(model=one.model, graph=one.graph, steps=one.steps)


def _say(found: "dict[str, Verification]", options: argparse.Namespace) -> None:
    """Print the result of comparing; of several models, each with its name."""
    if options.format == "json":
        by_name = {name: each.to_json() for name, each in found.items()}
        json_data(by_name if len(found) > 1 else next(iter(by_name.values())))
    else:
        data("".join(f"{name}: {each}" if len(found) > 1 else str(each) for name, each in found.items()))
        for each in found.values():
            if each.layers is not None and (options.layers or not each.layers.passed):
                data(f"\n{each.layers}")


def _same_port(options: argparse.Namespace) -> None:
    """DiagnosticError where the bundle carries another port than the one asked for."""
    from target_arch.run import read_manifest

    carried = read_manifest(options.bundle)["port"]
    if options.port not in (None, carried):
        text = f"the bundle carries port `{carried}`, not `{options.port}`"
        raise refusal("another-port", str(options.bundle), text, f"compile it with `--port {options.port}`")


def _self_test(passed: bool | None, options: argparse.Namespace) -> int:
    result = "passed" if passed else "failed"
    if passed is None:
        raise _no_vector(options)
    if options.format == "json":
        json_data({"self_test": result})
    else:
        data(f"self-test {result}")
    return 0 if passed else 1


def _no_vector(options: argparse.Namespace) -> DiagnosticError:
    from target_arch.run import read_manifest
    from target_arch.run.bundles.manifest import models_in

    reasons = [str(each["self_test"]["missing"]) for each in models_in(read_manifest(options.bundle))]
    text = f"the bundle has no test vector of its own: {'; '.join(reasons)}"
    return refusal("no-input", str(options.bundle), text, "give an --input FILE for each model input")


def _text(arrays: dict[str, "NDArray[Any]"]) -> str:
    return "".join(f"{name} {array.dtype}{list(array.shape)}\n{array}\n" for name, array in arrays.items())


def _frame(executable: "Executable", files: Sequence[Path]) -> bytes:
    from target_arch.run import tensors_in

    inputs = tensors_in(executable.manifest, "inputs")
    if len(files) != len(inputs):
        names = ", ".join(f"`{tensor['name']}`" for tensor in inputs)
        subject = "all models have" if "models" in executable.manifest else "the model has"
        text = f"{subject} {len(inputs)} inputs ({names}), {len(files)} files are given"
        raise refusal("wrong-input", "command line", text)
    return b"".join(_tensor(path, tensor) for path, tensor in zip(files, inputs, strict=True))


def _tensor(path: Path, tensor: dict[str, Any]) -> bytes:
    """The bytes of one input. DiagnosticError where the file does not hold such a tensor."""
    try:
        content = _npy(path, tensor) if path.suffix == ".npy" else path.read_bytes()
    except OSError as error:
        raise refusal("wrong-input", str(path), f"cannot be read: {error.strerror}") from error
    if len(content) != tensor["bytes"]:
        text = f"has {len(content):,} B, input `{tensor['name']}` takes {tensor['bytes']:,} B"
        raise refusal("wrong-input", str(path), text)
    return content


def _npy(path: Path, tensor: dict[str, Any]) -> bytes:
    """The elements of an `.npy` file, which is no larger than its header and the tensor."""
    import numpy as np

    size, most = path.stat().st_size, tensor["bytes"] + _NPY_HEADER
    if size > most:
        text = f"has {size:,} B, an `.npy` file of input `{tensor['name']}` at most {most:,} B"
        raise refusal("wrong-input", str(path), text)
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except OSError:
        raise
    except Exception as error:
        # numpy evaluates the header as Python, and raises whatever that does.
        said = (str(error) or type(error).__name__).splitlines()[0]
        raise refusal("wrong-input", str(path), f"is not an .npy file: {said}") from error
    if str(array.dtype) != tensor["dtype"]:
        text = f"holds {array.dtype}, input `{tensor['name']}` is {tensor['dtype']}"
        raise refusal("wrong-input", str(path), text)
    return array.tobytes()


def _arrays(executable: "Executable", outputs: bytes) -> dict[str, "NDArray[Any]"]:
    import numpy as np

    from target_arch.run import tensors_in

    arrays, start = {}, 0
    for tensor in tensors_in(executable.manifest, "outputs"):
        content = outputs[start : start + tensor["bytes"]]
        arrays[tensor["name"]] = np.frombuffer(content, tensor["dtype"]).reshape(tensor["shape"])
        start += tensor["bytes"]
    return arrays


def _save(arrays: dict[str, "NDArray[Any]"], folder: Path) -> None:
    import numpy as np

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            np.save(folder / f"{_file_name(name)}.npy", array)
    except OSError as error:
        raise unwritable(folder, error) from error


def _file_name(tensor: str) -> str:
    """A tensor's name as a file name; models use `/` and `:` freely."""
    return "".join(character if character.isalnum() or character in "._-" else "_" for character in tensor)
