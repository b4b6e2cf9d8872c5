"""The reference of a model, and the self-test vector from it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_arch.diagnostics import DiagnosticError, refusal
from target_arch.emit import SelfTest, Tolerance
from target_arch.plan.inputs.cut import WHOLE, ModelCut
from target_arch.plan.model import Model
from target_arch.run.references import rounding
from target_arch.run.references.bounded import BoundedAnswer, bounds_of_model, padded
from target_arch.run.references.onnxruntime import NO_VALUES, ort
from target_arch.run.references.reference import Frame, Reference, Shapes, promised, spread, tolerance
from target_arch.run.references.stateful import stateful


def _litert(model: Path, shapes: Shapes, cut: ModelCut) -> Reference:
    """The package with the schema of TFLite has two hundred modules, which other files do not need."""
    from target_arch.run.references.litert import litert

    return litert(model, shapes, cut)


def _pytorch(model: Path, shapes: Shapes, cut: ModelCut, loaded: Any = None) -> Reference:
    """Its files have readers of their own."""
    from target_arch.run.references.pytorch import pytorch

    return pytorch(model, shapes, cut, loaded)


def _relax_vm(model: Path, shapes: Shapes, cut: ModelCut) -> Reference:
    """TVM's compiler and machine take a second to import."""
    from target_arch.run.references.relax_vm import relax_vm

    return relax_vm(model, shapes)


REFERENCES: Mapping[str, Callable[[Path, Shapes, ModelCut], Reference]] = {
    ".onnx": lambda model, shapes, cut: ort(model, shapes, cut=cut),
    ".pt2": _pytorch,
    ".relax": _relax_vm,
    ".tflite": _litert,
}


def reference_for(
    model: Path,
    shapes: Shapes = (),
    states: Sequence[tuple[int, int]] = (),
    values: Mapping[str, float] = NO_VALUES,
    cut: ModelCut = WHOLE,
    bounds: Sequence[BoundedAnswer] = (),
    loaded: Any = None,
) -> Reference:
    """The reference of a model file, or of a part of it, by its ending. `states` are the numbers of its
    inputs and outputs that are states, `values` the numbers that inputs of an ONNX model are; such are no
    inputs any more. Outputs with one of the `bounds` have their largest size. `loaded` is the program in a
    PyTorch file, where that was read before.

    `shapes` are those of the inputs, in order, where the file leaves dimensions open. ToolMissing where its
    package is not installed, DiagnosticError where it has none or cannot read the file.
    """
    kind = model.suffix.lower()
    if kind not in REFERENCES:
        hint = f"a model file ends with one of {', '.join(f'`{suffix}`' for suffix in sorted(REFERENCES))}"
        raise refusal(
            "no-reference", model, f"there is no reference for files that end with `{model.suffix}`", hint
        )
    if not model.is_file():
        raise refusal("model-unreadable", model, "there is no such file", None)
    if loaded is not None:
        reference = _pytorch(model, shapes, cut, loaded)
    else:
        reference = ort(model, shapes, values, cut) if values else REFERENCES[kind](model, shapes, cut)
    return padded(stateful(reference, states), bounds)


def self_test(
    model: Path,
    shapes: Shapes = (),
    states: Sequence[tuple[int, int]] = (),
    values: Mapping[str, float] = NO_VALUES,
    cut: ModelCut = WHOLE,
    *,
    imported: Model | None = None,
    loaded: Any = None,
) -> SelfTest | str:
    """One random input and the answer to it, for the bundle to carry; the rest as in `reference_for`.

    The answer is the reference's. Where that rounds otherwise than exact arithmetic, so that the outputs of a
    deep model may be any number of steps apart, it is that of exact arithmetic on the `imported` model, if
    this has all its operators. `loaded` as in `reference_for`. The reason where there is no answer: the
    package is missing, or cannot run the model.
    """
    try:
        bounds = () if imported is None else bounds_of_model(imported)
        reference = reference_for(model, shapes, states, values, cut, bounds, loaded)
        ranges = [] if imported is None else map(imported.input_ranges.get, imported.inputs)
        return _vector(promised(reference, tuple(ranges)), imported)
    except DiagnosticError as error:
        return error.diagnostics[0].message


def _vector(reference: Reference, model: Model | None) -> SelfTest:
    (frame,) = reference.frames(1, seed=0)
    found = None
    if model is not None and reference.layers.judges:
        from target_arch.run.exact.oracle import exact_outputs

        found = exact_outputs(model, frame)
    if found is not None:
        return SelfTest(
            reference="exact integer arithmetic",
            inputs=tuple(value.tobytes() for value in frame),
            outputs=tuple(value.tobytes() for value in found),
            tolerances=tuple(Tolerance(absolute=0.0) for _ in found),
        )
    answers = reference.answer(frame)
    limits = _limits(reference, frame, answers)
    return SelfTest(
        reference=reference.name,
        inputs=tuple(value.tobytes() for value in frame),
        outputs=tuple(value.tobytes() for value in answers[0]),
        tolerances=tuple(
            tolerance(reference, output, limit * unit, value.dtype)
            for output, (limit, unit, value) in enumerate(
                zip(limits, reference.units, answers[0], strict=True)
            )
        ),
    )


def _limits(reference: Reference, frame: Frame, answers: tuple[Frame, ...]) -> tuple[float, ...]:
    """The allowed difference of each output of a right bundle, in units."""
    if reference.rounds:
        return rounding.limits(reference, (frame,), answers[:1])
    apart = spread(reference, [answers])
    allowed = tuple(each + apart for each in reference.limits)
    if not reference.layers.judges:
        return allowed
    steps = rounding.step_limits(reference, (frame,), answers[:1])
    return tuple(each + more for each, more in zip(allowed, steps, strict=True))
