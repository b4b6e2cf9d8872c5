"""The example model on a SoC with four kinds of target_archs: everything the program knows, on one page."""

import argparse
import tempfile
from pathlib import Path

from target_arch.api.soc import described
from target_arch.cli.arguments.soc_argument import found
from target_arch.cli.commands.models import DUMPERS, summary
from target_arch.cli.text.output import data, progress
from target_arch.relax.tvm_import import import_tvm
from target_arch.resources import examples

_SHOWN = ("partitions", "execution", "lowering", "budgets", "memory", "steps")
_FULL_SCALE = 16
"""The largest pixel value of a digit; the network sees pixels divided by it."""


def demo(options: argparse.Namespace) -> int:
    """Compile, print every value on the way, build, verify, and count right answers on held-out digits."""
    import_tvm()
    from target_arch.pipeline import CompileRequest, compile_model
    from target_arch.run import verify, write_bundle

    model = examples() / "digits" / "digits_int8.onnx"
    plug_ins = found(options)
    soc = described(options.soc, plug_ins)
    progress(f"planning the digits model for {soc.name}")
    made = compile_model(CompileRequest(model_path=model, soc=soc, plug_ins=plug_ins))
    for name in _SHOWN:
        data(DUMPERS[name](made) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        directory: Path = options.output or Path(folder) / made.bundle.name
        write_bundle(made.bundle, directory)
        progress("building and verifying")
        verified = verify(model, directory)
        data(f"{summary(made)}\n{verified}\n{_accuracy(model, directory)}")
    return 0 if verified.passed else 1


def _accuracy(model: Path, directory: Path) -> str:
    """Right answers of the bundle and of the reference on the digits that training never saw."""
    import numpy as np

    from target_arch.run import build, reference_for, run_frames

    with np.load(model.with_name("heldout.npz")) as held_out:
        images, labels = held_out["images"], held_out["labels"]
    inputs = images.reshape(-1, 1, 1, *images.shape[1:]).astype(np.float32) / _FULL_SCALE
    reference = reference_for(model)
    frames = run_frames(build(directory), [image.tobytes() for image in inputs])
    ours = [int(np.frombuffer(logits, np.float32).argmax()) for logits in frames]
    theirs = [int(reference.answer((image,))[0][0].argmax()) for image in inputs]
    agree = sum(a == b for a, b in zip(ours, theirs, strict=True))
    return (
        f"accuracy on {len(labels)} held-out digits\n"
        f"  this SoC, simulated  {np.mean(ours == labels):.2%}\n"
        f"  {reference.name:<19}  {np.mean(theirs == labels):.2%}\n"
        f"  same answer          {agree} of {len(labels)}\n"
    )
