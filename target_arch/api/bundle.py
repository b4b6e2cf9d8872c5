"""A bundle on disk: build it, run it, verify it."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from target_arch import run
from target_arch.api import views
from target_arch.api.model_file import Model, model_file
from target_arch.api.option_types import require_options
from target_arch.api.shown import Shown
from target_arch.diagnostics import DiagnosticError, listed, refusal
from target_arch.plan.lowered import Lowered
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import TensorEntry
from target_arch.plan.manifest.weights import WeightsEntry
from target_arch.run.bundles.files import read_files
from target_arch.run.bundles.manifest import inputs_of, outputs_of, read_manifest
from target_arch.run.bundles.weights import replace_weights
from target_arch.run.execute.own_vector import own_vector
from target_arch.run.execute.tensors import checked_tensor, read_tensor

if TYPE_CHECKING:
    from target_arch.api.views.archives import Archive, Layout
    from target_arch.api.views.programs import Images
    from target_arch.api.views.report import Report
    from target_arch.api.views.times import StepTimes
    from target_arch.run import Executable, OperatorCheck, Profile, Verification

__all__ = ["Bundle", "Verification"]

Array = NDArray[Any]
Arrays = Mapping[str, Array]


class VerifyOptions(TypedDict, total=False):
    """The options of `Bundle.verify`."""

    count: int
    """The most inputs; 50 without it."""
    seed: int
    """Of random inputs."""
    layers: bool
    """Whether operators are compared one by one, too; of a bundle that a `Compilation` gave."""
    inputs: str | Path | None
    """Recorded inputs, a file or folder as of `verify --inputs`."""
    expected: str | Path | None
    """The outputs that these should have, where they are not with them."""
    labels: str | Path | None
    """The file with the class of each of these."""
    input_ranges: Mapping[str, tuple[float, float]] | None
    """The lowest and the highest random value of inputs by name."""


@frozen(kw_only=True, repr=False)
class Bundle:
    """The folder of a bundle, and how it is built: with `rtl` devices are simulated by their Verilog, with
    `firmware` cores execute their firmware under an emulator.

    `planned` is its only model, where it was compiled in this process: `verify` needs it for `layers`.
    """

    directory: Path = field(converter=Path)
    rtl: bool = False
    firmware: bool = False
    planned: Lowered | None = None

    def __repr__(self) -> str:
        return f"<bundle {str(self.directory)!r}: {', '.join(self.models)}>"

    def __str__(self) -> str:
        return views.report_text(self.manifest)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the bundle. DiagnosticError where the folder holds none."""
        return read_manifest(self.directory)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of its models."""
        return tuple(model.name for model in self.manifest.models)

    @property
    def inputs(self) -> tuple[TensorEntry, ...]:
        """The inputs of all models in order, each with `name` (`model.input` where there are several models),
        `shape`, `dtype` and `bytes`.
        """
        return tuple(inputs_of(self.manifest))

    def simulated(self, *, rtl: bool = False, firmware: bool = False) -> "Bundle":
        """The same bundle, built otherwise."""
        return evolve(self, rtl=rtl, firmware=firmware)

    def build(self) -> "Executable":
        """Compile and link its programs, as far as they are not there yet. Raises as `run.build` does."""
        return run.build(self.directory, rtl=self.rtl, firmware=self.firmware)

    def read_inputs(self, files: Sequence[str | Path]) -> list[Array]:
        """The inputs of all models in order, each from an `.npy` file or, as raw bytes, from another one.
        DiagnosticError where a file does not hold its input.
        """
        inputs = self.inputs
        if len(files) != len(inputs):
            names = listed(str(tensor.name) for tensor in inputs)
            raise _wrong(
                str(self.directory), f"there are {len(inputs)} inputs ({names}), {len(files)} files are given"
            )
        return [read_tensor(Path(file), tensor) for file, tensor in zip(files, inputs, strict=True)]

    def run(self, inputs: Arrays | Sequence[Array] = ()) -> dict[str, Array]:
        """Build it, and run it once: the outputs by name for `inputs` by name, or in order.

        DiagnosticError where an input is missing, is not one of the model's, or has another shape or element
        type; and where the run fails.
        """
        return self.counted(inputs)[0]

    def run_frames(self, frames: Sequence[Arrays | Sequence[Array]]) -> list[dict[str, Array]]:
        """As `run`, of several frames one after the other in one process: a state goes from each to the next.
        Of programs for this computer.
        """
        executable = self.build()
        given = [packed(executable, inputs, str(self.directory)) for inputs in frames]
        return [unpacked(executable, outputs) for outputs in run.run_frames(executable, given)]

    def counted(
        self, inputs: Arrays | Sequence[Array] = ()
    ) -> "tuple[dict[str, Array], Shown[Profile] | None]":
        """As `run`, with the instructions of every step where it runs on an emulated machine."""
        executable = self.build()
        frame = packed(executable, inputs, str(self.directory))
        if executable.machine is None:
            return unpacked(executable, run.run_frames(executable, [frame])[0]), None
        frames, profile = run.run_on_machine(executable, [frame])
        return unpacked(executable, frames[0]), views.instructions(executable.manifest, profile)

    def self_test(self) -> "tuple[bool, Shown[Profile] | None] | None":
        """Build it, and run it on its own test vector: whether its outputs are the recorded ones, and the
        instructions as of `counted`. None where it has no vector: then nothing is built. DiagnosticError
        where the run fails.
        """
        if not self.manifest.has_vectors:
            return None
        executable = self.build()
        if executable.machine is None:
            return bool(run.run_self_test(executable)), None
        found = run.self_test_on_machine(executable)
        return None if found is None else (found[0], views.instructions(executable.manifest, found[1]))

    @property
    def own_inputs(self) -> list[Array]:
        """The inputs of its own test vector, in order. DiagnosticError where it has none."""
        return own_vector(self.directory, self.manifest)

    def times(self, inputs: Arrays | Sequence[Array] | None = None) -> "StepTimes":
        """How long each of its steps takes on this computer, for these inputs or zeros, beside the time that
        was predicted for the SoC. DiagnosticError where it has several models, or another port than `host`.
        """
        frame = None if inputs is None else packed(self.build(), inputs, str(self.directory))
        return views.measured(self.directory, frame, rtl=self.rtl)

    def trace(self, seconds: Sequence[float]) -> dict[str, object]:
        """The steps of its only model, one after the other, with these times: as `Report.trace`."""
        return views.timeline(self.directory, seconds)

    def images(self) -> "Images":
        """Link its programs for its machine or its cores, and account for every memory of theirs; recorded in
        the manifest, for `report`. Raises as `api.views.programs.images` does.
        """
        return views.images(self.directory)

    def report(self) -> "Report":
        """Its report; with its verification and the sizes of programs, as far as they were recorded. Raises
        as `run.bundles.shown.read_report` does.
        """
        return views.report_in(self.directory)

    def packaged(self, layout: "Layout") -> "Archive":
        """Its files in the layout of another tool. DiagnosticError where one is missing."""
        return views.archived(self.directory, layout)

    @property
    def weights(self) -> Shown[WeightsEntry]:
        """The table of its weights files. DiagnosticError where its constants are C."""
        return views.weights_table(self.directory)

    @property
    def files(self) -> Mapping[str, bytes]:
        """Its files by their paths. DiagnosticError where one is missing."""
        return read_files(self.directory)[1]

    def replace_weights(self, files: Mapping[str, bytes]) -> None:
        """Put the weights of another bundle or compilation, with these `files`, into this one, whose program
        stays. Raises as `run.bundles.weights.replace_weights` does.
        """
        replace_weights(self.directory, files)

    def verify(
        self, models: Model | Mapping[str, Model], **options: Unpack[VerifyOptions]
    ) -> "dict[str, Verification]":
        """Compare it with the references of its models (files or in memory, by name, or the only one);
        the result of each model by its name. Raises as `run.verify_models` does, and for options of other
        types.
        """
        from target_arch.run.verification.inputs import CallersInputs

        require_options(options, VerifyOptions)
        count, seed = options.get("count", 50), options.get("seed", 0)
        if count < 1 or seed < 0:
            text = f"`count` is at least 1 and `seed` at least 0, not {count} and {seed}"
            raise refusal("bad-keyword", "options", text)
        with ExitStack() as files:
            several = models if isinstance(models, Mapping) else {None: models}
            there = {name: files.enter_context(model_file(model)) for name, model in several.items()}
            return run.verify_models(
                {name or file.stem: file for name, file in there.items()},
                self.directory,
                count=count,
                seed=seed,
                operators=self._operators(always=options.get("layers", False)),
                inputs=CallersInputs(
                    recorded=_path(options.get("inputs")),
                    expected=_path(options.get("expected")),
                    labels=_path(options.get("labels")),
                    ranges=dict(options.get("input_ranges") or {}),
                ),
                rtl=self.rtl,
                firmware=self.firmware,
            )

    def _operators(self, *, always: bool) -> "OperatorCheck | None":
        if self.planned is not None and not self.firmware:
            return run.OperatorCheck(planned=self.planned, always=always)
        if not always:
            return None
        message = "operators are compared as they were compiled, a bundle alone has only their C"
        raise refusal("no-operators", self.directory, message, "compile again, with the same options")


def _path(place: str | Path | None) -> Path | None:
    return None if place is None else Path(place)


def packed(executable: "Executable", inputs: Arrays | Sequence[Array], place: str) -> bytes:
    """The bytes of one frame. DiagnosticError where the inputs are not those of the models."""
    wanted = inputs_of(executable.manifest)
    names = [tensor.name for tensor in wanted]
    if not isinstance(inputs, Mapping):
        if not isinstance(inputs, Sequence):
            given = type(inputs).__name__
            raise _wrong(place, f"inputs are arrays by name or in order; given is `{given}`")
        if len(inputs) != len(wanted):
            raise _wrong(place, f"there are {len(wanted)} inputs ({listed(names)}), {len(inputs)} are given")
        inputs = dict(zip(names, inputs, strict=True))
    if sorted(inputs) != sorted(names):
        raise _wrong(place, f"the inputs are {listed(names)}; given are {listed(inputs) or 'none'}")
    arrays = [checked_tensor(np.asarray(inputs[tensor.name]), tensor, place) for tensor in wanted]
    return b"".join(array.tobytes() for array in arrays)


def unpacked(executable: "Executable", outputs: bytes) -> dict[str, Array]:
    """The outputs of a frame by name."""
    arrays, start = {}, 0
    for tensor in outputs_of(executable.manifest):
        content = outputs[start : start + tensor.bytes]
        arrays[tensor.name] = np.frombuffer(content, tensor.dtype).reshape(tensor.shape)
        start += tensor.bytes
    return arrays


def _wrong(place: str, message: str) -> DiagnosticError:
    return refusal("wrong-input", place, message)
