"""The example model on a SoC with four kinds of target_archs: everything the program knows, on one page."""

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from target_arch.api.soc import described
from target_arch.cli.arguments.soc_argument import found
from target_arch.cli.text.output import data, progress
from target_arch.resources import examples

if TYPE_CHECKING:
    from target_arch.api.bundle import Bundle

_SHOWN = ("partitions", "execution", "lowering", "budgets", "memory", "steps")
_FULL_SCALE = 16
"""The largest pixel value of a digit; the network sees pixels divided by it."""


def demo(options: argparse.Namespace) -> int:
    """Compile, print every value on the way, build, verify, and count right answers on held-out digits."""
    from target_arch.api.compilation import compile as compiled

    model = examples() / "digits" / "digits_int8.onnx"
    plug_ins = found(options)
    soc = described(options.soc, plug_ins)
    progress(f"planning the digits model for {soc.name}")
    made = compiled(model, soc, plug_ins=plug_ins)
    (one,) = made.models
    for stage in _SHOWN:
        data(one.text(stage) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        bundle = made.write(options.output or Path(folder) / made.name)
        progress("building and verifying")
        (verified,) = bundle.verify(model).values()
        data(f"{one.summary}\n{verified}\n{_accuracy(model, bundle)}")
    return 0 if verified.passed else 1


def _accuracy(model: Path, bundle: "Bundle") -> str:
    """Right answers of the bundle and of the reference on the digits that training never saw."""
    import numpy as np

    from target_arch.api.reference import reference

    with np.load(model.with_name("heldout.npz")) as held_out:
        images, labels = held_out["images"], held_out["labels"]
    inputs = images.reshape(-1, 1, 1, *images.shape[1:]).astype(np.float32) / _FULL_SCALE
    original = reference(model)
    ours = [
        int(scores.argmax())
        for frame in bundle.run_frames([[i] for i in inputs])
        for scores in frame.values()
    ]
    theirs = [int(original.answer((image,))[0][0].argmax()) for image in inputs]
    agree = sum(a == b for a, b in zip(ours, theirs, strict=True))
    return (
        f"accuracy on {len(labels)} held-out digits\n"
        f"  this SoC, simulated  {np.mean(ours == labels):.2%}\n"
        f"  {original.name:<19}  {np.mean(theirs == labels):.2%}\n"
        f"  same answer          {agree} of {len(labels)}\n"
    )
