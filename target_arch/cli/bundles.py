"""Commands about bundles: run, verify, report."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_arch.cli.models import planned
from target_arch.cli.output import data, failure, json_data, progress, unwritable
from target_arch.cli.report_text import report_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from target_arch.run import Executable


def run(options: argparse.Namespace) -> int:
    """Build and execute: on the files given, or on the bundle's own test vector."""
    from target_arch.run import build, run_frames, run_self_test

    progress(f"building {options.bundle}")
    executable = build(options.bundle, rtl=options.rtl)
    if not options.input:
        return _self_test(run_self_test(executable), options)
    outputs = run_frames(executable, [_frame(executable, options.input)])[0]
    arrays = _arrays(executable, outputs)
    if options.output is not None:
        _save(arrays, options.output)
    if options.format == "json":
        json_data({name: array.tolist() for name, array in arrays.items()})
    else:
        data("".join(f"{name} {array.dtype}{list(array.shape)}\n{array}\n" for name, array in arrays.items()))
    return 0


def verify(options: argparse.Namespace) -> int:
    """Compare with the reference; 1 where they differ by more than the rule allows."""
    from target_arch.run import verify as compare
    from target_arch.run import write_bundle

    with tempfile.TemporaryDirectory() as folder:
        directory = options.bundle
        if directory is None:
            made = planned(options)
            directory = Path(folder) / made.bundle.name
            write_bundle(made.bundle, directory)
        progress(f"building, and comparing on {options.count} random inputs")
        found = compare(options.model, directory, count=options.count, seed=options.seed, rtl=options.rtl)
    if options.format == "json":
        json_data(found.to_json())
    else:
        data(str(found))
    return 0 if found.passed else 1


def report(options: argparse.Namespace) -> int:
    """Print the manifest in a form for people."""
    from target_arch.run import read_manifest

    manifest = read_manifest(options.bundle)
    if options.format == "json":
        json_data(manifest)
    else:
        data(report_text(manifest))
    return 0


def _self_test(passed: bool | None, options: argparse.Namespace) -> int:
    result = {None: "absent", True: "passed", False: "failed"}[passed]
    if passed is None:
        text = "the bundle has no test vector of its own"
        raise failure("no-input", str(options.bundle), text, "give an --input FILE for each model input")
    if options.format == "json":
        json_data({"self_test": result})
    else:
        data(f"self-test {result}")
    return 0 if passed else 1


def _frame(executable: "Executable", files: Sequence[Path]) -> bytes:
    inputs: Sequence[dict[str, Any]] = executable.manifest["inputs"]
    if len(files) != len(inputs):
        names = ", ".join(f"`{tensor['name']}`" for tensor in inputs)
        text = f"the model has {len(inputs)} inputs ({names}), {len(files)} files are given"
        raise failure("wrong-input", "command line", text)
    return b"".join(_tensor(path, tensor) for path, tensor in zip(files, inputs, strict=True))


def _tensor(path: Path, tensor: dict[str, Any]) -> bytes:
    """The bytes of one input. DiagnosticError where the file does not hold such a tensor."""
    try:
        content = _npy(path, tensor) if path.suffix == ".npy" else path.read_bytes()
    except OSError as error:
        raise failure("wrong-input", str(path), f"cannot be read: {error.strerror}") from error
    if len(content) != tensor["bytes"]:
        text = f"has {len(content):,} B, input `{tensor['name']}` takes {tensor['bytes']:,} B"
        raise failure("wrong-input", str(path), text)
    return content


def _npy(path: Path, tensor: dict[str, Any]) -> bytes:
    import numpy as np

    try:
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise failure("wrong-input", str(path), f"is not an .npy file: {error}") from error
    if str(array.dtype) != tensor["dtype"]:
        text = f"holds {array.dtype}, input `{tensor['name']}` is {tensor['dtype']}"
        raise failure("wrong-input", str(path), text)
    return array.tobytes()


def _arrays(executable: "Executable", outputs: bytes) -> dict[str, "NDArray[Any]"]:
    import numpy as np

    arrays, start = {}, 0
    for tensor in executable.manifest["outputs"]:
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
