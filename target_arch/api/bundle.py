"""A bundle on disk: build it, run it, verify it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from target_arch import report
from target_arch.api.shown import Shown
from target_arch.api.times import StepTimes, measured
from target_arch.diagnostics import DiagnosticError, listed, refusal
from target_arch.plan.lowered import Lowered
from target_arch.run import (
    Executable,
    Profile,
    Verification,
    build,
    models_in,
    read_manifest,
    run_frames,
    run_on_machine,
    run_self_test,
    self_test_on_machine,
    tensors_in,
    verify_models,
)
from target_arch.run.bundles.shown import read_report

Array = NDArray[Any]
Arrays = Mapping[str, Array]


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

    @property
    def manifest(self) -> dict[str, Any]:
        """What the bundle says of itself. DiagnosticError where the folder holds none."""
        return read_manifest(self.directory)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of its models."""
        return tuple(str(model["model"]) for model in models_in(self.manifest))

    def simulated(self, *, rtl: bool = False, firmware: bool = False) -> "Bundle":
        """The same bundle, built otherwise."""
        return evolve(self, rtl=rtl, firmware=firmware)

    def build(self) -> Executable:
        """Compile and link its programs, as far as they are not there yet. Raises as `run.build` does."""
        return build(self.directory, rtl=self.rtl, firmware=self.firmware)

    def run(self, inputs: Arrays | Sequence[Array] = ()) -> dict[str, Array]:
        """Build it, and run it once: the outputs by name for `inputs` by name, or in order.

        DiagnosticError where an input is missing, is not one of the model's, or has another shape or element
        type; and where the run fails.
        """
        return self.counted(inputs)[0]

    def counted(self, inputs: Arrays | Sequence[Array] = ()) -> tuple[dict[str, Array], Profile | None]:
        """As `run`, with the instructions of every step where it runs on an emulated machine."""
        executable = self.build()
        frame = packed(executable, inputs, str(self.directory))
        if executable.machine is None:
            return unpacked(executable, run_frames(executable, [frame])[0]), None
        frames, profile = run_on_machine(executable, [frame])
        return unpacked(executable, frames[0]), profile

    def self_test(self) -> tuple[bool, Profile | None] | None:
        """Build it, and run it on its own test vector: whether its outputs are the recorded ones, and the
        instructions as of `counted`. None where it has no vector. DiagnosticError where the run fails.
        """
        executable = self.build()
        if executable.machine is not None:
            return self_test_on_machine(executable)
        passed = run_self_test(executable)
        return None if passed is None else (passed, None)

    def times(self, inputs: Arrays | Sequence[Array] | None = None) -> StepTimes:
        """How long each of its steps takes on this computer, for these inputs or zeros, beside what was
        predicted for the SoC. DiagnosticError where it has several models, or another port than `host`.
        """
        frame = None if inputs is None else packed(self.build(), inputs, str(self.directory))
        return measured(self.directory, frame, rtl=self.rtl)

    def report(self) -> Shown[report.Shown]:
        """What it is, as a page that stands alone; with its verification and the sizes of programs, as far as
        they were recorded. Raises as `run.bundles.shown.read_report` does.
        """
        found = read_report(self.directory)
        return Shown(
            title=f"report of {found.name}", value=found, text=repr(self), page=report.report_page(found)
        )

    def verify(
        self,
        models: str | Path | Mapping[str, str | Path],
        *,
        count: int = 50,
        seed: int = 0,
        layers: bool = False,
    ) -> dict[str, Verification]:
        """Compare it with the references of its model files (by name, or the only one) on random inputs; the
        result of each model by its name. `layers` as `verify --layers`: of a bundle that a `Compilation`
        gave. Raises as `run.verify_models` does.
        """
        files = models if isinstance(models, Mapping) else {Path(models).stem: models}
        return verify_models(
            {name: Path(file) for name, file in files.items()},
            self.directory,
            count=count,
            seed=seed,
            planned=None if self.firmware else self.planned,
            layers=layers,
            rtl=self.rtl,
            firmware=self.firmware,
        )


def packed(executable: Executable, inputs: Arrays | Sequence[Array], place: str) -> bytes:
    """The bytes of one frame. DiagnosticError where the inputs are not those of the models."""
    wanted = tensors_in(executable.manifest, "inputs")
    names = [str(tensor["name"]) for tensor in wanted]
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(wanted):
            raise _wrong(place, f"there are {len(wanted)} inputs ({listed(names)}), {len(inputs)} are given")
        inputs = dict(zip(names, inputs, strict=True))
    if sorted(inputs) != sorted(names):
        raise _wrong(place, f"the inputs are {listed(names)}; given are {listed(inputs) or 'none'}")
    return b"".join(_bytes(inputs[str(tensor["name"])], tensor, place) for tensor in wanted)


def unpacked(executable: Executable, outputs: bytes) -> dict[str, Array]:
    """The outputs of a frame by name."""
    arrays, start = {}, 0
    for tensor in tensors_in(executable.manifest, "outputs"):
        content = outputs[start : start + tensor["bytes"]]
        arrays[tensor["name"]] = np.frombuffer(content, tensor["dtype"]).reshape(tensor["shape"])
        start += tensor["bytes"]
    return arrays


def _bytes(value: Array, tensor: Mapping[str, Any], place: str) -> bytes:
    array = np.asarray(value)
    has, takes = f"{array.dtype}{list(array.shape)}", f"{tensor['dtype']}{list(tensor['shape'])}"
    if has != takes:
        raise _wrong(place, f"input `{tensor['name']}` is {takes}, given is {has}")
    return array.tobytes()


def _wrong(place: str, message: str) -> DiagnosticError:
    return refusal("wrong-input", place, message)
